"""The contract of a model: settings that fit to a view of the runs, and a fitted model that predicts.

Everything is in normalized space. What distinguishes models beyond this contract is said by their `Capabilities`, never by
their class. A model of your own is two small classes and `@MODELS.add`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, get_type_hints

import numpy as np
from jaxtyping import Float, Int

from sureflow.data.meshes import Topology
from sureflow.distances import distances
from sureflow.errors import SureflowError
from sureflow.models.belief import Belief
from sureflow.models.train_settings import TrainSettings
from sureflow.predictive import Predictive
from sureflow.registry import SettingsRegistry

Inputs = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]
Samples = Float[np.ndarray, "sample case variable point"]
Groups = Sequence[Int[np.ndarray, " _"]]  # of training runs, by their numbers
# Of points that all runs share, or of each run.
Coordinates = Float[np.ndarray, "point coordinate"] | Float[np.ndarray, "case point coordinate"]


@dataclass(frozen=True)
class View:
    """Runs as a model learns from them: what it is given, what it shall answer, and where in space that is.

    `fields` are float64 in memory; those of runs too large for that are mapped from a file, in the precision of the runs.
    `shape` is how the values of one field lie in a structured block, slowest index first.
    """

    inputs: Inputs
    fields: Fields
    coordinates: Coordinates
    names: tuple[str, ...]
    topology: Topology = field(default_factory=Topology)
    shape: tuple[int, ...] | None = None
    layer: "LayerView | None" = None
    coarser: "View | None" = None  # runs of a coarser mesh, in the cells of this one

    @property
    def sizes(self) -> "Sizes":
        return Sizes(self.inputs.shape[1], self.coordinates.shape[-1], len(self.names), self.shape)


@dataclass(frozen=True)
class LayerView:
    """What a model that needs a wall layer is told of it, besides the last columns of its inputs.

    Those are, of every condition, where its lines lie and where landmarks of the layer lie on them, and the normalized
    temperatures of wall and stagnation (`layer_columns`). `rows` are those of `WallLayer`; `zero` is what zero is in normalized
    fields.
    """

    rows: tuple[float, float, float]
    density: int  # the columns of the fields
    temperature: int
    zero: Float[np.ndarray, " variable"]


class Sizes(NamedTuple):
    """The numbers that the shapes of a model's arrays follow from, besides its settings."""

    inputs: int
    coordinates: int
    fields: int
    shape: tuple[int, ...] | None = None  # of a structured block


@dataclass(frozen=True)
class Capabilities:
    """What a model can do, and what it needs."""

    refits_quickly: bool = False  # so that calibration and comparison may fit it again for every fold
    leaves_out: bool = False  # predicts training runs as if it had not seen them, in closed form
    # What it learns besides the fields, such as a basis, knows of the runs left out: only refits judge it in a comparison.
    optimistic_when_left_out: bool = False
    resumes: bool = False  # leaves checkpoints while it is fitted, and goes on from them
    anywhere: bool = False  # predicts at any coordinates, not at the points of the runs alone
    needs_structured_mesh: bool = False
    needs_wall_layer: bool = False  # on lines normal to a wall of known temperature, in a known gas
    needs_levels: bool = False  # runs on a coarser mesh as well
    moving: bool | None = (
        None  # whether it is compared on meshes that move with the parameters alone, or on shared ones alone
    )


@dataclass(frozen=True)
class EpochReport:
    """Means over one epoch of every loss part, per member and variable."""

    epoch: int
    parts: Mapping[str, Float[np.ndarray, "member variable"]]


@dataclass(frozen=True)
class Checkpoint:
    """Where a model that resumes keeps its state, and the data and settings that this state belongs to."""

    path: Path
    fingerprint: str


@dataclass(frozen=True)
class LeftOut:
    """Training runs as the model of the others predicts them, all else that was learned unchanged.

    Rows are the runs of the groups, one group after the other. What does not fit into memory lies in a file, in float32.
    """

    predictive: Predictive
    novelty: Float[np.ndarray, " row"]  # of every run to the model of the others


Progress = Callable[[EpochReport], None]


def unheard(report: EpochReport) -> None:
    """Progress that nobody follows."""


class FittedModel(ABC):
    """A model that has learned. By default it is a frozen dataclass of arrays, which is all that an artifact keeps of it."""

    left_out_at_once: ClassVar[int] = 1 << 26  # bytes of the predictions that `leave_out` should be asked for together

    @abstractmethod
    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        """Mean and parts (case, variable, point). A model of whole fields answers at the points of the runs alone."""

    def novelty(self, inputs: Inputs, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " case"]:
        """How new conditions are to the model: 0 at its `runs`, and about 1 at one of them that it had not seen.

        Without better knowledge, the distance to the nearest run over the median of that between runs.
        """
        return distances(inputs, runs).min(axis=1) / typical_distance(runs)

    def left_out_novelty(self, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        """The novelty of every run to the model of the others."""
        return _to_nearest_other(runs) / typical_distance(runs)

    def leave_out(self, groups: Groups) -> LeftOut:
        """The runs of every group as predicted without that group."""
        raise SureflowError("this model cannot leave runs out without another fit")

    def leave_out_mean(self, groups: Groups) -> Fields:
        """The mean of `leave_out`; models override it where that alone takes less."""
        return np.asarray(self.leave_out(groups).predictive.mean)

    @property
    def optimism(self) -> float:
        """How much larger errors are than at training runs left out in closed form, which have shaped what else was learned."""
        return 1.0

    def loss(self, view: View) -> float:
        """What it minimizes, on runs that it may not have seen; by default the mean squared error."""
        return float(np.mean((np.asarray(self.predict(view.inputs, view.coordinates).mean) - view.fields) ** 2))

    def slope(
        self,
        inputs: Float[np.ndarray, "1 parameter"],
        coordinates: Coordinates,
        d_inputs: Float[np.ndarray, "1 parameter"],
        d_coordinates: Coordinates,
    ) -> Float[np.ndarray, "variable value"]:
        """Exact derivative of the mean at one condition, along a change of its inputs and of the coordinates of its points."""
        raise SureflowError("this model has no derivatives: choose interpolation, pod-gp, pod-deeponet or a network")

    @property
    def has_samples(self) -> bool:
        """Whether it can draw possible fields."""
        return False

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """Possible fields, each one whole: `count` draws, or at most all members."""
        raise SureflowError("this model has no samples: train an ensemble, or a model that can draw fields")

    def belief(self) -> Belief | None:
        """Its covariances between conditions, where it has them: what proposals of further runs need."""
        return None

    def arrays(self) -> dict[str, np.ndarray]:
        """Row by row in memory, as files hold them: the order of a sum, and so its last bit, must not change on loading."""
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return {name: np.ascontiguousarray(getattr(self, name)) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        require_names({item.name for item in fields(cls)}, arrays)  # type: ignore[arg-type]
        return cls(**arrays)


def require_names(names: Set[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse the arrays of a model that are not those that it has."""
    told = [("lacks", names - {*arrays}), ("does not know", {*arrays} - names)]
    found = " and ".join(f"{verb} {', '.join(sorted(some))}" for verb, some in told if some)
    if found:
        raise SureflowError(
            f"the model is damaged, or was written by another version of sureflow: it {found}; train it again"
        )


def typical_distance(runs: Float[np.ndarray, "run parameter"]) -> float:
    """The median distance between a run and its nearest other."""
    return float(np.median(_to_nearest_other(runs)))


def _to_nearest_other(runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
    return (distances(runs, runs) + np.diag(np.full(len(runs), np.inf))).min(axis=1)


NETWORKS_NAME = "networks"  # of the model that is made of networks for single points


class ModelSettings(ABC):
    """All that fixes a model besides the data: hashable, declared with `@settings`."""

    name: ClassVar[str]
    uq: ClassVar[str]  # where its error bars come from
    capabilities: ClassVar[Capabilities] = Capabilities()
    fitted: ClassVar[type[FittedModel]]

    @abstractmethod
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> FittedModel:
        """The model of these runs, which are at distinct conditions."""

    def restore(self, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> FittedModel:
        """The fitted model that had these arrays."""
        return self.fitted.from_arrays(arrays)

    @property
    def title(self) -> str:
        """The name by which people know the model."""
        return self.name

    @property
    def training(self) -> TrainSettings | None:
        """How it is trained, epoch by epoch; None of a model that is not."""
        return None

    @property
    def networks(self) -> int:
        """How many networks are trained for a field; none of a model without epochs."""
        return 0

    def trained_with(self, common: TrainSettings, own: Mapping[str, Any] | None = None) -> Self:
        """The same model with its `own` training settings, and for the rest those that it shares with others, if they suit it."""
        if own:
            raise SureflowError(f"train is for networks, and the model is {self.name}: leave it out")
        return self

    def alone(self) -> Self:
        """The same model with one network a field."""
        return self


MODELS: SettingsRegistry[ModelSettings] = SettingsRegistry("model", ModelSettings)
# Ours are imported when they are first asked for: most need JAX, and interpolation does not.
MODELS.later("interpolation", "sureflow.models.interpolation")
MODELS.later("pod-gp", "sureflow.models.pod_gp")
MODELS.later("pod-deeponet", "sureflow.models.pod_deeponet")
MODELS.later("aligned", "sureflow.models.aligned_settings")
MODELS.later("shock-aligned", "sureflow.models.aligned_settings")
MODELS.later("body-aligned", "sureflow.models.aligned_settings")
MODELS.later("layer-aligned", "sureflow.models.aligned_settings")
MODELS.later("levels", "sureflow.models.levels")
MODELS.later(NETWORKS_NAME, "sureflow.train.networks")
MODELS.later("nbf", "sureflow.train.nbf")


def require_fitting(kind: type, arrays: Mapping[str, np.ndarray], **sizes: int) -> None:
    """Refuse arrays that do not have the shapes which the annotations of a dataclass say, where a name is one number.

    `sizes` are numbers that are known already.
    """
    for name, wanted in get_type_hints(kind, include_extras=True).items() if is_dataclass(kind) else ():
        array = arrays.get(name)
        if array is None or not hasattr(wanted, "dim_str"):
            continue
        dims = wanted.dim_str.split()
        array = array if dims or array.size != 1 else array.reshape(())  # files hold a number as a row of one
        fits = isinstance(array, wanted) and len(dims) == array.ndim
        if not (fits and all(sizes.setdefault(dim, n) == n for dim, n in zip(dims, array.shape, strict=True))):
            raise SureflowError(
                f"the model is damaged: {name} has the shape {array.shape} and the type {array.dtype}, expected "
                f"({' '.join(dims)}): train or calibrate it again"
            )


def varying(inputs: Inputs) -> np.ndarray:
    """Mask of the parameters that vary over the runs; the others say nothing about the fields."""
    return np.ptp(inputs, axis=0) > 0


def require_enough_runs(inputs: Inputs, model: str) -> None:
    """As many runs as a straight line over all varying parameters takes, and one to spare."""
    n_varying = int(varying(inputs).sum())
    if n_varying == 0:
        raise SureflowError(f"all {len(inputs)} runs are at one condition: {model} needs a parameter that varies")
    fewest = n_varying + 2
    if len(inputs) < fewest:
        raise SureflowError(
            f"{len(inputs)} runs are too few for {model} over {n_varying} parameters: it needs {fewest}"
        )
