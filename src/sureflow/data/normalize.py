"""The one way into normalized space and back: mean and standard deviation of the training runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sureflow import scratch
from sureflow.data.meshes import PHYSICAL
from sureflow.data.runs import Runs
from sureflow.data.scaling import Scaling
from sureflow.data.sources import Run
from sureflow.errors import SureflowError
from sureflow.predictive import Predictive

ROUNDING = 1e-13  # of the mean: a column that varies by less is constant
LARGEST = 1e150  # whose square is still a number

Blocks = Callable[[], Iterable[Float[np.ndarray, "column value"]]]


@dataclass(frozen=True)
class Standard:
    """value -> (value - mean) / std, per column."""

    mean: Float[np.ndarray, " column"]
    std: Float[np.ndarray, " column"]

    @classmethod
    def fit(cls, values: Float[np.ndarray, "..."], axis: int | tuple[int, ...]) -> "Standard":
        """Mean and population standard deviation; a column that does not vary, but for rounding, is only shifted."""
        mean, std = values.mean(axis=axis), values.std(axis=axis)
        return cls(mean, np.where(std > ROUNDING * np.abs(mean), std, 1.0))

    @classmethod
    def of_fields(cls, runs: Runs, scaling: Scaling | None = None) -> "Standard":
        """Of the fields of all runs, or of their scaled fields; those that are too large for squares are refused."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = cls._of_fields(runs, scaling)
        if not (np.abs(found.mean) + found.std < LARGEST).all():
            largest = np.max([np.abs(run).max(axis=1) for run in runs.each()], axis=0)
            _require_moderate(runs.names, largest)
        return found

    @classmethod
    def _of_fields(cls, runs: Runs, scaling: Scaling | None) -> "Standard":
        if runs.fits_in_memory:
            fields = runs.array()
            return cls.fit(fields if scaling is None else scaling.forward(fields, runs.parameters), axis=(0, 2))
        return cls._in_passes(lambda: runs.each() if scaling is None else scaled_runs(runs, scaling))

    @classmethod
    def of_points(cls, runs: Runs, coordinates: str) -> "Standard":
        """Of the points in the named coordinates; of the points of all runs where they move."""
        if not runs.is_moving or coordinates != PHYSICAL:
            return cls.fit(runs.coordinates(coordinates), axis=0)
        return cls._in_passes(lambda: (runs.coordinates(coordinates, case).T for case in range(len(runs))))

    @classmethod
    def _in_passes(cls, blocks: Blocks) -> "Standard":
        """Of more values than fit into memory: a pass for the mean, and one for the deviations from it."""
        sums = [(block.shape[1], block.sum(axis=1)) for block in blocks()]
        count = sum(number for number, _ in sums)
        mean = np.sum([total for _, total in sums], axis=0) / count
        std = np.sqrt(np.sum([((block - mean[:, None]) ** 2).sum(axis=1) for block in blocks()], axis=0) / count)
        return cls(mean, np.where(std > 0, std, 1.0))

    def forward(self, values: Float[np.ndarray, "... column"]) -> Float[np.ndarray, "... column"]:
        return (np.asarray(values, float) - self.mean) / self.std


@dataclass(frozen=True)
class Normalizer:
    """Standardization of inputs, coordinates and scaled fields. Nothing else normalizes or un-normalizes."""

    inputs: Standard
    coordinates: Standard
    fields: Standard

    @classmethod
    def fit(cls, runs: Runs, scaling: Scaling, coordinates: str) -> "Normalizer":
        """From runs that are the training set and nothing else."""
        is_logarithmic = [item.scale == "log" for item in runs.header.parameters]
        largest = np.abs(runs.parameters).max(axis=0, initial=0.0)
        _require_moderate(runs.parameter_names, np.where(is_logarithmic, 0.0, largest))
        return cls(
            inputs=Standard.fit(scaling.inputs(runs.parameters), axis=0),
            coordinates=Standard.of_points(runs, coordinates),
            fields=Standard.of_fields(runs, scaling),
        )

    def physical(self, predictive: Predictive) -> Predictive:
        """A prediction (..., variable, point) in the units of the scaled fields, in float64."""
        shift, scale = self.fields.mean[:, None], self.fields.std[:, None]
        return Predictive(
            mean=np.asarray(predictive.mean, float) * scale + shift,
            parts={name: np.asarray(part, float) * scale for name, part in predictive.parts.items()},
            quantiles={level: np.asarray(one, float) * scale + shift for level, one in predictive.quantiles.items()},
        )

    def to_dict(self) -> dict[str, dict[str, list[float]]]:
        """Plain numbers for an artifact; `from_dict` inverts it exactly."""
        return {
            name: {"mean": standard.mean.tolist(), "std": standard.std.tolist()}
            for name, standard in vars(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Mapping[str, Sequence[float]]]) -> "Normalizer":
        """From plain numbers; artifacts of version 1 call the inputs parameters."""
        found = {name: Standard(np.array(value["mean"]), np.array(value["std"])) for name, value in values.items()}
        return cls(found.get("inputs") or found["parameters"], found["coordinates"], found["fields"])


def _require_moderate(names: Sequence[str], largest: Float[np.ndarray, " column"]) -> None:
    for name, size in zip(names, largest, strict=True):
        if not size < LARGEST:
            raise SureflowError(
                f"{name} reaches {size:.3g} in the runs, and models take numbers below {LARGEST:g}, which they can square: "
                "give it in a larger unit"
            )


def scaled_runs(runs: Runs, scaling: Scaling) -> Iterator[Run]:
    """The scaled fields of one run after the other, in float64."""
    for case, run in enumerate(runs.each()):
        yield scaling.forward(run[None], runs.parameters[case : case + 1])[0]


def normalized_fields(runs: Runs, scaling: Scaling, normalizer: Normalizer) -> Float[np.ndarray, "case variable point"]:
    """The runs as a model sees them.

    In float64 where they fit into memory, else run by run into a scratch file, in the precision in which they are kept.
    """
    mean, std = normalizer.fields.mean[:, None], normalizer.fields.std[:, None]
    if runs.fits_in_memory:
        return (scaling.forward(runs.array(), runs.parameters) - mean) / std
    normalized = scratch.empty(runs.fields.shape, runs.fields.dtype)
    for block, run in zip(normalized, scaled_runs(runs, scaling), strict=True):
        block[:] = (run - mean) / std
    return normalized
