"""The mesh of labelled fields: what the coordinates of a prediction or solution say about where its values are."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray

from sureflow.data.meshes import Cells, Geometry, Topology
from sureflow.errors import SureflowError

BLOCK = {"i", "j", "k"}  # dimensions of a structured block
LISTED = {"cell", "point"}  # dimensions of everything else


@dataclass(frozen=True)
class FieldMesh:
    """A mesh with the names and units of its axes; `names` are the fields on it, bars among them."""

    axes: tuple[str, ...]
    units: tuple[str, ...]
    location: Literal["cells", "points"]
    topology: Topology
    geometry: Geometry
    names: tuple[str, ...] = ()


def mesh_of(dataset: xarray.Dataset) -> FieldMesh:
    """The mesh of a dataset with one condition."""
    if "case" in dataset.dims:
        raise SureflowError(
            f"{dataset.sizes['case']} conditions do not fit one picture or VTK file: give one condition, or write .pvd, "
            ".nc, .zarr or .csv"
        )
    dims = next((v.dims for v in dataset.data_vars.values() if v.dims and set(v.dims) <= BLOCK | LISTED), None)
    if dims is None:
        raise SureflowError(f"no field on a mesh or on points among {', '.join(map(str, dataset.data_vars))}")
    names = tuple(str(name) for name, field in dataset.data_vars.items() if field.dims == dims)
    axes = _axes(dataset, dims)
    units = tuple(dataset[_place(dataset, axis)].attrs.get("units", "") for axis in axes)
    topology, location = _topology(dataset, dims, axes)
    return FieldMesh(axes, units, location, topology, _geometry(dataset, axes, topology), names)


def _axes(dataset: xarray.Dataset, dims: tuple) -> tuple[str, ...]:
    nodes = tuple(str(name)[5:] for name in dataset.coords if str(name).startswith("node_"))
    return nodes or tuple(str(name) for name, values in dataset.coords.items() if values.dims == dims)


def _place(dataset: xarray.Dataset, axis: str) -> str:
    return axis if axis in dataset.coords else f"node_{axis}"


def _topology(
    dataset: xarray.Dataset, dims: tuple, axes: tuple[str, ...]
) -> tuple[Topology, Literal["cells", "points"]]:
    values = tuple(dataset.sizes[dim] for dim in dims)
    if set(dims) <= BLOCK:
        nodes = dataset[f"node_{axes[0]}"].shape if f"node_{axes[0]}" in dataset.coords else values
        return Topology(tuple(n - 1 for n in nodes)), "points" if nodes == values else "cells"
    if "connectivity" in dataset:
        parts = (dataset[name].values for name in ("connectivity", "offsets", "cell_types"))
        return Topology(cells=Cells(*parts)), "cells" if dims == ("cell",) else "points"
    return Topology(), "points"


def _geometry(dataset: xarray.Dataset, axes: tuple[str, ...], topology: Topology) -> Geometry:
    """Values at the nodes of a mesh may have no other nodes than their own points."""
    nodes = [f"node_{axis}" for axis in axes]
    located = _columns(dataset, [_place(dataset, axis) for axis in axes])
    if all(name in dataset.coords for name in nodes):
        return Geometry(located, _columns(dataset, nodes))
    return Geometry(located, None if topology.kind == "points" else located)


def _columns(dataset: xarray.Dataset, names: list[str]) -> np.ndarray:
    return np.stack([np.asarray(dataset[name].values, float).ravel() for name in names], axis=1)
