"""A trained model as its user meets it: conditions in, fields with error bars out, in physical units."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from sureflow.data.drawn import drawn_ranges, estimated_ranges
from sureflow.data.header import Header
from sureflow.data.meshes import Points
from sureflow.data.normalize import Standard
from sureflow.data.resampling import RESAMPLING
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings
from sureflow.predictive import Predictive
from sureflow.runtime import one_blas_thread
from sureflow.surrogate.asked import (
    asked_conditions,
    is_single,
    located,
    refusal,
    require_draws,
    table_of_conditions,
)
from sureflow.surrogate.declared_observer import DeclaredObserver
from sureflow.surrogate.number_space import NumberSpace
from sureflow.surrogate.numbers import RunNumbers
from sureflow.surrogate.observe import Observer
from sureflow.surrogate.predictor import Conditions, Predictor
from sureflow.surrogate.space import Space
from sureflow.surrogate.specification import Specification
from sureflow.surrogate.wall_bars import wall_std
from sureflow.uq.bars import Calibrations, Query
from sureflow.uq.domain import Place, TrainingDomain, most_usual
from sureflow.uq.mesh_error import MeshError
from sureflow.validation import shortened

if TYPE_CHECKING:
    import xarray

SAMPLES = 32  # fields that the bars of a quantity are read off from


@dataclass(frozen=True)
class StoredFile:
    """A file of arrays that an artifact has already: saving into the same folder leaves it there."""

    path: Path
    checksum: str


@dataclass(frozen=True)
class Answer:
    """A prediction, evaluated once: the model's own bars, the calibrated ones, and where its conditions lie."""

    raw: Predictive
    predictive: Predictive
    place: Place


@dataclass(frozen=True)
class Surrogate:
    """A model with all that is needed to use it: scaling, normalizer, mesh and training domain.

    Make one with `sureflow.fit` or `sureflow.load`.
    """

    predictor: Predictor
    header: Header
    field_scale: Standard | None  # of the physical fields of the training runs: the units of errors
    domain: TrainingDomain
    data_checksum: str
    calibration: Calibrations | None = None
    numbers: RunNumbers | None = None  # of a run, each by a process of its own
    mesh_error: MeshError | None = None  # of the mesh of the runs, where finer ones told it
    comparison: tuple[Mapping[str, Any], ...] = ()  # what cross-validation found, where the model was chosen by it
    stored: StoredFile | None = None

    @classmethod
    def of(cls, runs: Runs, predictor: Predictor) -> Self:
        """The surrogate of a model that was fitted to `runs`."""
        domain = domain_of(runs.header, runs.parameters)
        return cls(predictor, runs.header, Standard.of_fields(runs), domain, runs.checksum)

    @property
    def spec(self) -> Specification:
        return self.predictor.spec

    @property
    def space(self) -> Space:
        return self.predictor.space

    @property
    def settings(self) -> ModelSettings:
        return self.predictor.settings

    @property
    def model_name(self) -> str:
        """Such as interpolation, pod-gp or deeponet."""
        return self.settings.title

    @property
    def uq(self) -> str:
        """Where the error bars come from: the name of a head or sampler, gp or loo."""
        return self.settings.uq

    @property
    def names(self) -> tuple[str, ...]:
        return self.header.names

    @property
    def units(self) -> tuple[str, ...]:
        return self.header.units

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return self.header.parameter_names

    @cached_property
    def seen_domain(self) -> TrainingDomain:
        """The training domain with what is new to the model in it.

        Rounding makes the model's own runs look new by a little; what is new by hardly more is not.
        """
        runs = self.domain.parameters
        rounding = 2.0 * float(self.novelty(runs).max())
        usual = max(most_usual(self.predictor.left_out_novelty(runs)), rounding)
        return replace(self.domain, novelty=self.novelty, usual=usual, impossible=self.predictor.impossible)

    @cached_property
    def trusted_domain(self) -> TrainingDomain:
        """The same, reaching as far as calibration could teach."""
        domain = self.seen_domain
        return replace(domain, reach=self.calibration.fields.reach) if self.calibration else domain

    @cached_property
    def number_space(self) -> NumberSpace:
        """What its numbers are learned over."""
        return NumberSpace.of(self.header, self.predictor, self.domain)

    @property
    def calibrated_with(self) -> Conditions:
        """Conditions of runs that were not trained on and gave the bars: no test may use them."""
        runs = self.calibration.fields.conditions if self.calibration else ()
        return np.array(runs, float).reshape(-1, len(self.parameter_names))

    # Arrays in, arrays out

    @one_blas_thread()
    def answer(self, conditions: Conditions, points: Points | None = None, *, extrapolate: bool = True) -> Answer:
        """Mean and parts (case, variable, point) in physical units, on the mesh of the runs or at physical points."""
        conditions = np.asarray(conditions, float)
        place = self.place(conditions, extrapolate=extrapolate)
        raw = found = self.raw_predictive(conditions)
        if self.calibration is not None:
            with self._evaluated():
                found = self.calibration.fields.calibrated(raw, self._query(place))
            self._require_finite(found, conditions)
        if self.space.resampling is not None and found.parts:
            lost = np.broadcast_to(self.space.resampling.std, np.shape(found.mean))
            found = Predictive(found.mean, {**found.parts, RESAMPLING: lost})
        if points is None:
            return Answer(raw, found, place)
        mean, parts_at = self.predictor.mean_at(raw, conditions, points), self.predictor.parts_at
        own, bars = (Predictive(mean, parts_at(one, conditions, points)) for one in (raw, found))
        return Answer(own, bars, place)

    def predictive(self, conditions: Conditions, points: Points | None = None) -> Predictive:
        """Mean and parts; calibrated where the model is."""
        return self.answer(conditions, points).predictive

    def raw_predictive(self, conditions: Conditions) -> Predictive:
        """Mean and the model's own parts on the mesh of the runs, before any calibration.

        A model from elsewhere may hold finite numbers that no training gives: what it makes of them is not answered.
        """
        with self._evaluated():
            found = self.predictor(conditions)
        self._require_finite(found, conditions)
        return found

    def _require_finite(self, found: Predictive, conditions: Conditions) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            arrays = (found.mean,) if found.std is None else (found.mean, found.std)
        finite = np.all([np.isfinite(values).all(axis=(1, 2)) for values in arrays], axis=0)
        if not finite.all():
            first = conditions[np.flatnonzero(~finite)[0]]
            at = ", ".join(f"{name}={value:g}" for name, value in zip(self.parameter_names, first, strict=True))
            raise SureflowError(
                f"the {self.model_name} gives values that are not finite at {at}: choose a condition nearer to "
                "the training runs, or train it again"
            )

    def novelty(self, conditions: Conditions) -> Float[np.ndarray, " case"]:
        """How new conditions are to the model: 0 at its training runs, about 1 at one of them that it had not seen."""
        with self._evaluated():
            return self.predictor.novelty(conditions, self._training_inputs)

    @cached_property
    def _training_inputs(self) -> Float[np.ndarray, "run input"]:
        return self.predictor.inputs(self.domain.parameters)

    @contextmanager
    def _evaluated(self) -> Iterator[None]:
        """Arrays of a model from elsewhere may not fit together, or overflow."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                yield
        except (ValueError, IndexError) as error:
            raise SureflowError(
                f"the {self.model_name} cannot be evaluated ({shortened(error)}): its arrays do not fit together; train it "
                "again"
            ) from error

    @property
    def has_samples(self) -> bool:
        """Whether the model can draw possible fields: a single network cannot."""
        return self.predictor.fitted.has_samples

    def samples(
        self, conditions: ArrayLike, count: int, seed: int = 0
    ) -> Float[np.ndarray, "sample case variable point"]:
        """Possible fields on the mesh of the runs in physical units, each one whole: what a derived quantity needs.

        Conditions are an array (case, parameter); how far out they lie is not asked. The members of an ensemble, at most
        `count` of them; else `count` draws.
        """
        require_draws(count, seed)
        return self.predictor.samples(table_of_conditions(conditions, self.parameter_names), count, seed)

    # Names in, labelled arrays out

    def predict(
        self,
        *,
        points: ArrayLike | None = None,
        on: str | Path | None = None,
        extrapolate: bool = False,
        **parameters: ArrayLike,
    ) -> "xarray.Dataset":
        """Fields at one condition, as in `predict(mach=25, altitude_km=46)`, or at several given as sequences.

        For every field u: `u`, its standard deviation `u_std`, and the parts of that as `u_std_<part>`, over the cells or
        points of the mesh, with (case) before them for several conditions. The attribute `verdict` says whether a condition
        lies outside the training domain; one that is too far out is answered with `extrapolate` only. A calibrated model's
        own standard deviation stays in `u_std_raw`; its intervals are u +- `u_interval90` for 90 % of the points of a run
        and u +- `u_band90` for the whole field with 90 % confidence, where enough runs were held out to tell. The attribute
        `bars` says what the bars are worth. With `points`, or `on` the mesh in a file of any format that is imported, the
        prediction is there instead of on the mesh of the runs.

        >>> import numpy as np, sureflow as sf
        >>> x, angle = np.linspace(0, 1, 50)[:, None], np.linspace(0, 4, 15)
        >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
        >>> field = sf.fit(runs, "interpolation").predict(angle=[1.2, 2.1], points=[[0.25], [0.5]])
        >>> field.p.shape, field.p_std.shape, field.attrs["verdict"]
        ((2, 2), (2, 2), 'inside')
        """
        from sureflow.surrogate.labelled import labelled_prediction
        from sureflow.surrogate.on_mesh import predict_on

        if on is not None:
            if points is not None:
                raise SureflowError("points and another mesh are both given: give one of them")
            return predict_on(self, on, extrapolate=extrapolate, **parameters)
        conditions = self.conditions(parameters)
        at = None if points is None else located(points, len(self.space.axes))
        answer = self.answer(conditions, at, extrapolate=extrapolate)
        return labelled_prediction(self, answer, at, single=is_single(parameters))

    def quantities(self, *, extrapolate: bool = False, **parameters: ArrayLike) -> "xarray.Dataset":
        """Stand-off, pressures, drag and heat flux at one condition or several, each with its standard deviation `_std`.

        Friction and heat flux need runs that say what their wall does, as those of a campaign do.

        The bars of a calibrated model come from the errors of these very quantities on held-out runs, and widen with
        distance; those of an uncalibrated one from samples of whole fields. A single network has neither. Beside the value
        read off the predicted fields stands that of a Gaussian process of the number alone, with `_gp` after its name; the
        attribute `better` says which of the two errs less on runs left out. Numbers of a run that cannot be read off fields,
        such as a heat flux, have the process alone.
        """
        from sureflow.surrogate.labelled import labelled_quantities

        if self.observer is None and self.numbers is None:
            raise SureflowError(
                f"there are no quantities: they are read off velocity, density and temperature around a body whose gas and free "
                f"stream are known, declared with the runs, or learned from numbers of the runs; these runs have "
                f"{', '.join(self.names)}, and no numbers"
            )
        conditions = self.conditions(parameters)
        place = self.place(conditions, extrapolate=extrapolate)
        return labelled_quantities(self, place, single=is_single(parameters))

    def quantity_error(self, name: str) -> float | None:
        """Relative error of a quantity that is read off the fields, on held-out runs inside; None of an uncalibrated model."""
        if self.calibration is None or self.calibration.quantities is None or self.observer is None:
            return None
        names = [quantity.name for quantity in self.observer.quantities]
        return float(self.calibration.quantities.scale[names.index(name), 0])  # at the novelty of a run left out

    def better_way(self, name: str) -> str | None:
        """Whether a quantity errs less on runs left out if it is read off the `field`, or as a number by its process (`gp`)."""
        field = self.quantity_error(name)
        if field is None or self.numbers is None or name not in self.numbers.facts():
            return None
        return "gp" if self.numbers.facts()[name].error < field else "field"

    def surface(self, *, extrapolate: bool = False, **parameters: ArrayLike) -> "xarray.Dataset":
        """Pressure, heat flux and shear along the body at one condition or several, each with its standard deviation.

        The bars of a calibrated model come from the errors of these distributions on held-out runs and sides, face by face,
        and from what their numbers differ by where these are learned as well (`both_ways`); those of an uncalibrated one from
        samples of whole fields. A single network has neither. Heat flux and shear need runs that say what their wall does.
        """
        from sureflow.surrogate.both_ways import wall_both_ways
        from sureflow.surrogate.labelled import labelled_surface

        observer = self._require_observer()
        answer = self.answer(self.conditions(parameters), extrapolate=extrapolate)
        values, std = wall_both_ways(self, observer, answer)
        return labelled_surface(self, observer, values, std, answer.place, single=is_single(parameters))

    def along_wall(self, observer: Observer, answer: Answer) -> tuple[np.ndarray, np.ndarray | None]:
        """Distributions (case, distribution, face) of an answer and their standard deviation, where the model has one."""
        conditions = answer.place.conditions
        values, std = observer.along_body(np.asarray(answer.predictive.mean), conditions), None
        if self.calibration is not None and self.calibration.wall is not None:
            std = wall_std(self.calibration.wall, values, answer.place.novelty, answer.place.beyond)
        elif self.has_samples:
            samples = answer_samples(self, answer, conditions)
            away = np.stack([observer.along_body(sample, conditions) for sample in samples]) - values
            std = np.sqrt(np.nanmean(away**2, axis=0))
        return values, std

    def _require_observer(self) -> Observer:
        if self._of_body is None:
            raise SureflowError(
                f"quantities are read off velocity, density and temperature around a body whose gas and free stream are "
                f"known; these runs have {', '.join(self.names)}"
            )
        return self._of_body

    def quantity_slopes(self, **parameters: float) -> Float[np.ndarray, "quantity parameter"]:
        """Exact derivatives of the declared quantities by the parameters, at one condition."""
        observer = self.observer
        if not isinstance(observer, DeclaredObserver):
            raise SureflowError(
                "only declared quantities have derivatives, and these runs declare none: declare them with the runs"
            )
        condition = self.conditions(parameters)[0]
        widths = np.maximum(self.domain.upper - self.domain.lower, 1e-12)
        d_run, d_geometry = self.predictor.slopes(condition, widths)
        run = np.asarray(self.predictor(condition[None]).mean, float)[0]
        return observer.slopes(run, self.space.at(condition), d_run, d_geometry)

    @cached_property
    def observer(self) -> Observer | DeclaredObserver | None:
        """What reads quantities off the fields: those that the runs declare, else those of a flow around a body, or None."""
        return DeclaredObserver.of(self.header, self.space) or self._of_body

    @cached_property
    def _of_body(self) -> Observer | None:
        """What reads a flow around a body, or None where these are not its fields."""
        observer = Observer.of(self.header, self.space)
        calibrated = None if self.calibration is None or self.header.quantities else self.calibration.quantities
        if observer is None or calibrated is None:
            return observer
        # A model that was calibrated before friction and heat flux were read has bars of the others alone.
        return replace(observer, quantities=observer.quantities[: len(calibrated.scale)])

    def observed(
        self, observer: Observer | DeclaredObserver, conditions: Conditions, answer: "Answer | None" = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Quantities (case, quantity) and their standard deviation, where the model has one; from an answer that is there."""
        if self.calibration is not None and self.calibration.quantities is not None:
            raw = self.predictor(conditions) if answer is None else answer.raw
            values = observer(np.asarray(raw.mean), conditions)
            place = self.trusted_domain.place(conditions) if answer is None else answer.place
            return values, self.calibration.quantities.relative_std(self._query(place)) * np.abs(values)
        answer = self.answer(conditions) if answer is None else answer
        values = observer(np.asarray(answer.raw.mean), conditions)
        if not self.has_samples:
            return values, None
        return values, observer.spread(values, answer_samples(self, answer, conditions), conditions)

    def conditions(self, parameters: Mapping[str, Any]) -> Conditions:
        """Conditions (case, parameter) from values by name."""
        return asked_conditions(parameters, self.parameter_names, self.domain.logarithmic)

    def place(self, conditions: Conditions, *, extrapolate: bool) -> Place:
        """Where conditions lie; those that are too far out are refused unless an extrapolation is asked for."""
        place = self.trusted_domain.place(conditions)
        if place.refused is not None and not extrapolate:
            raise refusal(place.refused)
        return place

    def _query(self, place: Place) -> Query:
        predictor = self.predictor
        return Query(place, predictor.unit, self.space.neighbors.largest, predictor, predictor.scaling.inputs)

    def calibrate(self, runs: Runs, *, folds: bool = False) -> "Surrogate":
        """The same model with error bars fitted to runs that it has not seen, or to folds over its training runs."""
        from sureflow.surrogate.calibrate import calibrate

        return calibrate(self, runs, folds=folds)

    def explore(self, path: str | Path | None = None, **options: Any) -> Any:
        """A page to look at the model with: shown in a notebook, or written to a file that ends in .html."""
        import sureflow

        return sureflow.explore(self, path, **options)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Keep the model in a folder, which `sureflow.load` and all commands read."""
        from sureflow.surrogate.artifact import save

        save(self, Path(folder), overwrite=overwrite)

    def __repr__(self) -> str:
        from sureflow.surrogate.labelled import description

        return description(self)

    def _repr_html_(self) -> str:
        from sureflow.surrogate.labelled import description_html

        return description_html(self)


def domain_of(header: Header, parameters: Conditions) -> TrainingDomain:
    """The domain of training runs with these parameters."""
    return TrainingDomain(
        header.parameter_names,
        parameters,
        limits=header.limits,
        declared=header.declared,
        drawn=drawn_ranges(header, parameters),
        estimated=estimated_ranges(header, parameters),
        logarithmic=frozenset(item.name for item in header.parameters if item.scale == "log"),
    )


def answer_samples(
    surrogate: Surrogate, answer: Answer, conditions: Conditions, count: int = SAMPLES, seed: int = 0
) -> Float[np.ndarray, "sample case variable point"]:
    """Samples of whole fields with the calibrated bars, where the model has them: each deviation from the mean times
    calibrated over own standard deviation. Where the model's own is zero its samples do not deviate, and stay.
    """
    drawn, mean = surrogate.samples(conditions, count, seed), np.asarray(answer.raw.mean)
    own, std = answer.raw.std, answer.predictive.std
    if surrogate.calibration is None or own is None or std is None:
        return drawn
    own, std = np.asarray(own), np.asarray(std)
    spread = mean + (drawn - mean) * np.divide(std, own, out=np.ones_like(std), where=own > 0)
    return surrogate.predictor.possible(spread, conditions)
