"""Predictions on another mesh than that of the runs: every value of it that lies inside theirs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray
from numpy.typing import ArrayLike

from sureflow.data.labels import mesh_labels, value_dims, value_shape
from sureflow.data.locate import locate_inside
from sureflow.data.meshes import Geometry, Topology
from sureflow.errors import SureflowError
from sureflow.importers.mesh_files import read_mesh_file

if TYPE_CHECKING:
    from sureflow.surrogate.model import Surrogate

INSIDE = "inside_mesh"


@dataclass(frozen=True)
class OtherMesh:
    """A mesh of a user's, with values on its cells, or on its points where it has no cells."""

    axes: tuple[str, ...]
    topology: Topology
    geometry: Geometry

    @classmethod
    def read(cls, path: str | Path) -> "OtherMesh":
        return cls(*read_mesh_file(Path(path)))

    @property
    def location(self) -> str:
        return "points" if self.topology.kind == "points" else "cells"


def predict_on(
    surrogate: "Surrogate", mesh: OtherMesh | str | Path, *, extrapolate: bool = False, **parameters: ArrayLike
) -> xarray.Dataset:
    """What `predict` says, on the cells of another mesh; NaN outside that of the runs, which `inside_mesh` tells apart."""
    other = mesh if isinstance(mesh, OtherMesh) else OtherMesh.read(mesh)
    if len(other.axes) != len(surrogate.space.axes):
        raise SureflowError(
            f"the mesh has the axes {', '.join(other.axes)}, and the runs {', '.join(surrogate.space.axes)}: give one with "
            "as many axes"
        )
    conditions = surrogate.conditions(parameters)
    inside = _inside_at(surrogate, other, conditions)
    if not inside.any():
        raise SureflowError("no point of the mesh lies inside that of the runs: check its units and its origin")
    points = other.geometry.points[inside]
    found = surrogate.predict(points=points, extrapolate=extrapolate, **parameters)  # type: ignore[arg-type]
    return _spread(surrogate, other, inside, found)


def _inside_at(surrogate: "Surrogate", other: OtherMesh, conditions: np.ndarray) -> np.ndarray:
    """Which points lie in the mesh of the runs at all conditions."""
    space, points = surrogate.space, other.geometry.points
    inside = np.ones(len(points), bool)
    for condition in conditions if space.geometry is None else conditions[:1]:
        inside &= locate_inside(points, space.at(condition), space.topology, space.location)[1]
    return inside


def _spread(surrogate: "Surrogate", other: OtherMesh, inside: np.ndarray, found: xarray.Dataset) -> xarray.Dataset:
    """Values at the points inside as fields of the whole mesh."""
    dims, shape = value_dims(other.topology, other.location), value_shape(other.topology, other.location)
    fields = {}
    for name, array in found.data_vars.items():
        if "point" not in array.dims:
            fields[name] = array.variable
            continue
        whole = np.full((*array.shape[:-1], len(inside)), np.nan)
        whole[..., inside] = array.values
        fields[name] = ((*array.dims[:-1], *dims), whole.reshape(*array.shape[:-1], *shape), array.attrs)
    explained = {"long_name": "whether the point lies in the mesh of the runs"}
    fields[INSIDE] = (dims, inside.astype(np.int8).reshape(shape), explained)
    kept = {name: values.variable for name, values in found.coords.items() if "point" not in values.dims}
    header = replace(surrogate.header, location=other.location)
    labels = mesh_labels(header, other.topology, [other.geometry], of_cases=False)
    return xarray.Dataset(fields, labels | kept, found.attrs)
