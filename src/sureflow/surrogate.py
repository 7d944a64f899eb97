"""A trained model as its user meets it: conditions in, fields with error bars out, in physical units."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float
from numpy.typing import ArrayLike

from sureflow.data.dataset import PHYSICAL, Dataset, Mesh
from sureflow.data.locate import cell_index, interpolate, points_in, require_points
from sureflow.data.normalize import Normalizer
from sureflow.data.scaling import NoScaling, Scaling
from sureflow.data.schema import LONG_NAMES
from sureflow.errors import SureflowError
from sureflow.models import FieldModel, FieldModelSettings
from sureflow.physics.gas import Gas
from sureflow.predictive import Predictive
from sureflow.train.loop import Recipe
from sureflow.uq.calibrate import Calibration, calibrated
from sureflow.uq.domain import Standing, TrainingDomain
from sureflow.uq.ensemble import member_means, predict_normalized

METERS = {"units": "m"}
# What the arrays of a prediction are, by what follows the name of a field in theirs; the others are parts of the bars.
MEANINGS = {
    "": "{}",
    "_std": "standard deviation of the {}",
    "_std_raw": "standard deviation of the {} before calibration",
    "_interval90": "half width of the 90 % interval of the {} at a point",
    "_band90": "half width of the 90 % band of the {}, for all points at once",
}
UNSCALED = NoScaling()
LEVEL = 0.9  # of the intervals that predictions carry


@dataclass(frozen=True)
class Surrogate:
    """A model with all that is needed to use it: scaling, normalizer, mesh and training domain.

    The model is either networks for single points (`recipe` is a Recipe and `weights` are theirs) or one for whole fields
    (its settings, and the fitted model). `calibration` is what was learned about its error bars, as plain JSON values.
    """

    recipe: Recipe | FieldModelSettings
    weights: Any
    normalizer: Normalizer
    coordinates: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    mesh_points: dict[str, Float[np.ndarray, "point coordinate"]]
    mesh: Mesh | None
    domain: TrainingDomain
    data_checksum: str
    scaling: Scaling = UNSCALED
    calibration: Mapping[str, Any] | None = None
    gas: Gas | None = None  # of the runs, where it is known: what quantities of interest are read off with

    @classmethod
    def of(
        cls,
        training: Dataset,
        recipe: Recipe | FieldModelSettings,
        coordinates: str,
        normalizer: Normalizer,
        weights: Any,
        scaling: Scaling,
    ):
        """The surrogate of a model that was trained on `training`, which is in physical units."""
        return cls(
            recipe=recipe,
            weights=weights,
            normalizer=normalizer,
            coordinates=coordinates,
            names=training.names,
            units=training.units,
            mesh_points=training.coordinates,
            mesh=training.mesh,
            domain=TrainingDomain(training.parameter_names, training.parameters),
            data_checksum=training.checksum,
            scaling=scaling,
            gas=training.gas,
        )

    @property
    def model_name(self) -> str:
        """deeponet, pod-deeponet, pod-gp or interpolation."""
        return getattr(self.recipe.model if isinstance(self.recipe, Recipe) else self.recipe, "name")  # noqa: B009

    @property
    def uq(self) -> str:
        """Where the error bars come from: the name of a head, ensemble, gp or loo."""
        if not isinstance(self.recipe, Recipe):
            return self.recipe.uq
        head = self.recipe.head.name
        return "ensemble" if head == "deterministic" and self.recipe.members > 1 else head

    def predictive(
        self,
        conditions: Float[np.ndarray, "case parameter"],
        points: Float[np.ndarray, "point 2"] | None = None,
    ) -> Predictive:
        """Mean and parts (case, variable, point) in physical units, on the training mesh or at physical points.

        The parts are calibrated where the model is; `raw_predictive` gives the model's own.
        """
        if self.calibration is None:
            return self.raw_predictive(conditions, points)
        conditions = np.asarray(conditions, float)
        on_mesh = calibrated(
            self.calibrations["fields"], self.raw_predictive, self.trusted_domain, self.unit, conditions
        )
        if points is None:
            return on_mesh
        return Predictive(self.raw_predictive(conditions, points).mean, self._parts_at(on_mesh, points))

    @cached_property
    def calibrations(self) -> dict[str, Calibration]:
        """What was learned about the bars of the `fields` and, where they can be read off, of the `quantities`."""
        return {name: Calibration.from_dict(values) for name, values in (self.calibration or {}).items()}

    @property
    def calibrated_with(self) -> Float[np.ndarray, "run parameter"]:
        """Conditions of runs that were not trained on and gave the bars: what is tested on them is no test."""
        runs = self.calibrations["fields"].conditions if self.calibration else ()
        return np.array(runs, float).reshape(-1, len(self.domain.names))

    @cached_property
    def trusted_domain(self) -> TrainingDomain:
        """The training domain with what the model sees of it, which reaches as far as calibration could teach."""
        domain = replace(self.domain, inputs=self.scaling.inputs)
        return replace(domain, reach=self.calibrations["fields"].reach) if self.calibration else domain

    def unit(
        self, fields: Float[np.ndarray, "case variable point"], conditions: Float[np.ndarray, "case parameter"]
    ) -> Float[np.ndarray, "case variable #point"]:
        """Physical size of one unit of the model's normalized space, where the fields are these."""
        slope = self.scaling.slope(self.scaling.forward(fields, conditions), conditions)
        return np.broadcast_to(slope * self.normalizer.fields.std[:, None], (len(conditions), *fields.shape[1:]))

    def raw_predictive(
        self,
        conditions: Float[np.ndarray, "case parameter"],
        points: Float[np.ndarray, "point 2"] | None = None,
    ) -> Predictive:
        """Mean and the model's own parts, as it gives them before any calibration."""
        inputs = self.scaling.inputs(np.asarray(conditions, float))
        if isinstance(self.weights, FieldModel):
            normalized = self.weights.predict(self.normalizer.parameters.forward(inputs))
        else:
            normalized = predict_normalized(
                self.weights,
                self.normalizer.network_coordinates(self._model_points(points)),
                self.normalizer.network_parameters(inputs),
                recipe=self.recipe,
            )
        physical = self.scaling.physical(self.normalizer.physical(normalized), conditions)
        if points is None or not isinstance(self.weights, FieldModel):
            return physical
        return Predictive(self._at_points(np.asarray(physical.mean), points), self._parts_at(physical, points))

    @property
    def has_samples(self) -> bool:
        """Whether the model can draw possible fields: a single network cannot."""
        return isinstance(self.weights, FieldModel) or (isinstance(self.recipe, Recipe) and self.recipe.members > 1)

    def samples(
        self, conditions: Float[np.ndarray, "case parameter"], count: int, seed: int = 0
    ) -> Float[np.ndarray, "sample case variable point"]:
        """Possible fields on the training mesh in physical units, each one whole: what a derived quantity needs.

        The members of an ensemble, at most `count` of them; else `count` draws.
        """
        inputs = self.scaling.inputs(np.asarray(conditions, float))
        if isinstance(self.weights, FieldModel):
            rng = np.random.default_rng(seed)
            drawn = self.weights.samples(self.normalizer.parameters.forward(inputs), count, rng)
        else:
            drawn = self._members(inputs)[:count]
        scaled = np.asarray(self.normalizer.physical(Predictive(drawn, {})).mean)
        return self.scaling.inverse(scaled, conditions)

    def _members(self, inputs: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, "member case variable point"]:
        if not self.has_samples:
            raise SureflowError("a single network has no members to sample: train an ensemble, as with --uq ensemble")
        coordinates = self.normalizer.network_coordinates(self._model_points(None))
        parameters = self.normalizer.network_parameters(inputs)
        return np.asarray(member_means(self.weights, coordinates, parameters, recipe=self.recipe))

    def _model_points(self, points: Float[np.ndarray, "point 2"] | None) -> Float[np.ndarray, "point coordinate"]:
        """The mesh, or physical points, in the coordinates of the networks."""
        if points is None:
            return self.mesh_points[self.coordinates]
        return points_in(self.coordinates, self.mesh_points, self.mesh, points)

    def _parts_at(self, on_mesh: Predictive, points: Float[np.ndarray, "point 2"]) -> dict[str, np.ndarray]:
        """The parts at points. Beyond the outermost cell centers a line through two of them may end below zero."""
        parts = {name: self._at_points(np.asarray(part), points) for name, part in on_mesh.parts.items()}
        return {name: np.maximum(part, 0.0) for name, part in parts.items()}

    def _at_points(
        self, fields: Float[np.ndarray, "case variable cell"], points: Float[np.ndarray, "point 2"]
    ) -> Float[np.ndarray, "case variable point"]:
        """Fields on the cells of the mesh, interpolated to physical points."""
        if self.mesh is None:
            raise SureflowError(
                f"a {self.model_name} model predicts at points of its own mesh only, since that is not structured: "
                "leave the points out, or train a deeponet"
            )
        index = cell_index(self.mesh, np.asarray(points, float))
        by_cell = np.moveaxis(fields, 2, 0)
        found = interpolate(by_cell.reshape(len(by_cell), -1), self.mesh.shape, index)
        return np.moveaxis(found.reshape(len(points), *by_cell.shape[1:]), 0, 2)

    def predict(
        self, *, points: ArrayLike | None = None, extrapolate: bool = False, **parameters: ArrayLike
    ) -> xarray.Dataset:
        """Fields at one condition, as in `predict(mach=25, altitude_km=46)`, or at several given as sequences.

        For every variable u: `u`, its standard deviation `u_std`, and the parts of that as `u_std_<part>`; over the
        cells (j, i) of a structured training mesh, else over (point); with (case) before them for several conditions.
        The attribute `verdict` says whether a condition lies outside the training domain; one that is too far out is
        answered with `extrapolate` only. A calibrated model's own standard deviation stays in `u_std_raw`; its intervals
        are u +- `u_interval90` for 90 % of the points of a run and u +- `u_band90` for the whole field with 90 %
        confidence, where enough runs were held out to tell. The attribute `bars` says what the bars are worth.
        """
        conditions = self._conditions(parameters)
        if not extrapolate:
            self._refuse(conditions)
        located = None if points is None else np.asarray(points, float)
        if located is not None:
            require_points(located, self.mesh_points[PHYSICAL].shape[1])
        fields = _labelled(self, self.predictive(conditions, located), conditions, located)
        return fields if any(np.ndim(value) for value in parameters.values()) else fields.isel(case=0)

    def _refuse(self, conditions: Float[np.ndarray, "case parameter"]) -> None:
        for condition in conditions:
            verdict = self.trusted_domain.judge(condition)
            if verdict.standing == Standing.REFUSED:
                raise SureflowError(
                    f"refused: {verdict.reason}. Compute runs there, or ask with --extrapolate (extrapolate=True)"
                )

    def _conditions(self, parameters: dict[str, Any]) -> Float[np.ndarray, "case parameter"]:
        if set(parameters) != set(self.domain.names):
            raise SureflowError(
                f"this model takes {', '.join(self.domain.names)}; given: {', '.join(parameters) or 'nothing'}"
            )
        columns = {name: np.atleast_1d(np.asarray(parameters[name], float)) for name in self.domain.names}
        try:
            conditions = np.column_stack(np.broadcast_arrays(*columns.values()))
        except ValueError:
            counts = ", ".join(f"{values.size} of {name}" for name, values in columns.items())
            raise SureflowError(
                f"conditions need as many values of one parameter as of another; given: {counts}"
            ) from None
        if not np.isfinite(conditions).all():
            raise SureflowError("conditions must be finite numbers")
        return conditions


def _labelled(
    surrogate: Surrogate,
    predictive: Predictive,
    conditions: Float[np.ndarray, "case parameter"],
    points: Float[np.ndarray, "point coordinate"] | None,
) -> xarray.Dataset:
    """Names, units, coordinates and the verdict around the arrays of a prediction."""
    if points is None and surrogate.mesh is not None:
        space = _cells(surrogate.mesh, surrogate.mesh_points[PHYSICAL])
    else:
        space = _points(surrogate.mesh_points[PHYSICAL] if points is None else points)
    arrays = {"": predictive.mean} | {f"_std_{name}": part for name, part in predictive.parts.items()}
    if predictive.std is not None:
        arrays["_std"] = predictive.std
    if surrogate.calibration is not None:
        own = surrogate.raw_predictive(conditions, points).std
        arrays |= ({} if own is None else {"_std_raw": own}) | _intervals(surrogate, np.asarray(predictive.std))
    shape = tuple(space.sizes[dim] for dim in space["x"].dims)
    fields = {
        name + suffix: (
            ("case", *space["x"].dims),
            values[:, variable].reshape(-1, *shape),
            {"units": unit, "long_name": _meaning(suffix).format(LONG_NAMES.get(name, name))},
        )
        for variable, (name, unit) in enumerate(zip(surrogate.names, surrogate.units, strict=True))
        for suffix, values in arrays.items()
    }
    explained = {"long_name": "distance outside the training domain, in widths of it"}
    extrapolation = ("case", surrogate.domain.distance(conditions), explained)
    parameters = {name: ("case", conditions[:, column]) for column, name in enumerate(surrogate.domain.names)}
    attributes = {"verdict": surrogate.trusted_domain.summary(conditions), "bars": _bars(surrogate)}
    return space.assign(fields).assign(extrapolation=extrapolation).assign_coords(parameters).assign_attrs(attributes)


def _meaning(suffix: str) -> str:
    return MEANINGS.get(suffix) or suffix.removeprefix("_std_") + " part of the standard deviation of the {}"


def _intervals(surrogate: Surrogate, std: Float[np.ndarray, "case variable point"]) -> dict[str, np.ndarray]:
    """Half widths of the 90 % intervals, point by point and for the whole field, where enough runs were held out."""
    fitted = surrogate.calibrations["fields"]
    widths = {}
    if np.isfinite(fitted.factors[LEVEL]).all():
        widths["_interval90"] = fitted.half_width(std, LEVEL)
    if np.isfinite(fitted.band_factors[LEVEL]).all():
        widths["_band90"] = fitted.half_width(std, LEVEL, simultaneous=True)
    return widths


def _bars(surrogate: Surrogate) -> str:
    """What the bars of a prediction are worth, in a sentence."""
    if surrogate.calibration is None:
        return "uncalibrated: the model's own"
    fitted = surrogate.calibrations["fields"]
    by = "runs that the model had not seen" if fitted.exact else "runs left out in folds over the training runs"
    beyond = "" if fitted.reach else "; beyond it bars are not widened, since no run taught how"
    return f"calibrated with {fitted.runs} {by}; intervals are promised inside the training hull only{beyond}"


def _cells(mesh: Mesh, centers: Float[np.ndarray, "point 2"]) -> xarray.Dataset:
    """The cells of a structured mesh as coordinates, with its nodes."""
    x, r = centers.T.reshape(2, *mesh.shape)
    nodes = ("node_j", "node_i")
    return xarray.Dataset(
        coords={
            "x": (("j", "i"), x, METERS),
            "r": (("j", "i"), r, METERS),
            "node_x": (nodes, mesh.node_x, METERS),
            "node_r": (nodes, mesh.node_r, METERS),
        }
    )


def _points(points: Float[np.ndarray, "point coordinate"]) -> xarray.Dataset:
    """Points as coordinates: x, r and, beyond the plane, x3 and so on."""
    axes = ("x", "r", *(f"x{axis}" for axis in range(3, points.shape[1] + 1)))
    return xarray.Dataset(
        coords={axis: ("point", values, METERS) for axis, values in zip(axes, points.T, strict=False)}
    )
