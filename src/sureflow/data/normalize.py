"""The one way into normalized space and back: mean and standard deviation of the training runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.data.dataset import Dataset
from sureflow.predictive import Predictive


class TrainingView(eqx.Module):
    """Normalized training runs as they lie on the device, in float32; one block of `fields` per variable."""

    coordinates: Float[Array, "point coordinate"]
    parameters: Float[Array, "case parameter"]
    fields: Float[Array, "variable case point"]


@dataclass(frozen=True)
class Standard:
    """value -> (value - mean) / std, per column."""

    mean: Float[np.ndarray, " column"]
    std: Float[np.ndarray, " column"]

    @classmethod
    def fit(cls, values: Float[np.ndarray, "..."], axis: int | tuple[int, ...]) -> Self:
        """Mean and population standard deviation; a column that does not vary is only shifted."""
        std = values.std(axis=axis)
        return cls(values.mean(axis=axis), np.where(std > 0, std, 1.0))

    def forward(self, values: Float[np.ndarray, "... column"]) -> Float[np.ndarray, "... column"]:
        return (np.asarray(values, float) - self.mean) / self.std


@dataclass(frozen=True)
class Normalizer:
    """Standardization of parameters, coordinates and fields. Nothing else normalizes or un-normalizes."""

    parameters: Standard
    coordinates: Standard
    fields: Standard

    @classmethod
    def fit(cls, training: Dataset, coordinates: str) -> Self:
        """From a dataset that holds the training runs and no others."""
        return cls(
            parameters=Standard.fit(training.parameters, axis=0),
            coordinates=Standard.fit(training.points(coordinates), axis=0),
            fields=Standard.fit(training.fields, axis=(0, 2)),
        )

    def training_view(self, training: Dataset, coordinates: str) -> TrainingView:
        """The runs in normalized space. Variable by variable, so that no second float64 copy is held."""
        n_runs, n_variables, n_points = training.fields.shape
        fields = np.empty((n_variables, n_runs, n_points), np.float32)
        for variable, block in enumerate(fields):
            block[:] = (training.fields[:, variable] - self.fields.mean[variable]) / self.fields.std[variable]
        return TrainingView(
            coordinates=self.network_coordinates(training.points(coordinates)),
            parameters=self.network_parameters(training.parameters),
            fields=jnp.asarray(fields),
        )

    def network_coordinates(self, points: Float[np.ndarray, "point coordinate"]) -> Float[Array, "point coordinate"]:
        return jnp.asarray(self.coordinates.forward(points), jnp.float32)

    def network_parameters(self, parameters: Float[np.ndarray, "case parameter"]) -> Float[Array, "case parameter"]:
        return jnp.asarray(self.parameters.forward(parameters), jnp.float32)

    def physical(self, predictive: Predictive) -> Predictive:
        """A prediction (..., variable, point) in the units of the fields, in float64."""
        shift, scale = self.fields.mean[:, None], self.fields.std[:, None]
        return Predictive(
            mean=np.asarray(predictive.mean, float) * scale + shift,
            parts={name: np.asarray(part, float) * scale for name, part in predictive.parts.items()},
        )

    def to_dict(self) -> dict[str, dict[str, list[float]]]:
        """Plain numbers for an artifact; `from_dict` inverts it exactly."""
        return {
            name: {"mean": standard.mean.tolist(), "std": standard.std.tolist()}
            for name, standard in vars(self).items()
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Mapping[str, Sequence[float]]]) -> Self:
        return cls(
            **{name: Standard(np.array(value["mean"]), np.array(value["std"])) for name, value in values.items()}
        )
