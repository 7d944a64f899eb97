"""A trained model as its user meets it: conditions in, fields with error bars out, in physical units."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float
from numpy.typing import ArrayLike

from sureflow.data.dataset import PHYSICAL, Dataset, Mesh
from sureflow.data.locate import points_in
from sureflow.data.normalize import Normalizer
from sureflow.errors import SureflowError
from sureflow.train.loop import Recipe
from sureflow.uq.domain import TrainingDomain
from sureflow.uq.ensemble import predict_normalized
from sureflow.uq.predictive import Predictive

METERS = {"units": "m"}


@dataclass(frozen=True)
class Surrogate:
    """Networks with all that is needed to use them: normalizer, mesh and training domain."""

    recipe: Recipe
    weights: Any
    normalizer: Normalizer
    coordinates: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    mesh_points: dict[str, Float[np.ndarray, "point coordinate"]]
    mesh: Mesh | None
    domain: TrainingDomain
    data_checksum: str

    @classmethod
    def of(cls, training: Dataset, recipe: Recipe, coordinates: str, normalizer: Normalizer, weights: Any):
        """The surrogate of networks that were trained on `training`."""
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
        )

    def predictive(
        self,
        conditions: Float[np.ndarray, "case parameter"],
        points: Float[np.ndarray, "point 2"] | None = None,
    ) -> Predictive:
        """Mean and parts (case, variable, point) in physical units, on the training mesh or at physical points."""
        if points is None:
            points = self.mesh_points[self.coordinates]
        else:
            points = points_in(self.coordinates, self.mesh_points, self.mesh, points)
        normalized = predict_normalized(
            self.weights,
            self.normalizer.network_coordinates(points),
            self.normalizer.network_parameters(conditions),
            recipe=self.recipe,
        )
        return self.normalizer.physical(normalized)

    def predict(self, *, points: ArrayLike | None = None, **parameters: ArrayLike) -> xarray.Dataset:
        """Fields at one condition, as in `predict(mach=25, altitude_km=46)`, or at several given as sequences.

        For every variable u: `u`, its standard deviation `u_std`, and the parts of that as `u_std_<part>`; over the
        cells (j, i) of a structured training mesh, else over (point); with (case) before them for several conditions.
        The attribute `verdict` says whether a condition lies outside the training domain.
        """
        conditions = self._conditions(parameters)
        located = None if points is None else np.asarray(points, float)
        fields = _labelled(self, self.predictive(conditions, located), conditions, located)
        return fields if any(np.ndim(value) for value in parameters.values()) else fields.isel(case=0)

    def _conditions(self, parameters: dict[str, Any]) -> Float[np.ndarray, "case parameter"]:
        if set(parameters) != set(self.domain.names):
            raise SureflowError(
                f"this model takes {', '.join(self.domain.names)}; given: {', '.join(parameters) or 'nothing'}"
            )
        columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(parameters[n], float)) for n in self.domain.names))
        conditions = np.column_stack(columns)
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
    shape = tuple(space.sizes[dim] for dim in space["x"].dims)
    fields = {
        name + suffix: (("case", *space["x"].dims), values[:, variable].reshape(-1, *shape), {"units": unit})
        for variable, (name, unit) in enumerate(zip(surrogate.names, surrogate.units, strict=True))
        for suffix, values in arrays.items()
    }
    explained = {"long_name": "distance outside the training domain, in widths of it"}
    extrapolation = ("case", surrogate.domain.excess(conditions).max(axis=1), explained)
    parameters = {name: ("case", conditions[:, column]) for column, name in enumerate(surrogate.domain.names)}
    attributes = {"verdict": surrogate.domain.summary(conditions)}
    return space.assign(fields).assign(extrapolation=extrapolation).assign_coords(parameters).assign_attrs(attributes)


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
