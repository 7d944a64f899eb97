"""Small predictions on every kind of mesh, with the labels that predictions have."""

import numpy as np
import xarray

from sureflow.data.header import Header
from sureflow.data.labels import mesh_labels, value_dims, value_shape
from sureflow.data.meshes import Cells, Geometry, Topology

KINDS = ("block", "block-points", "block-3d", "triangles", "triangles-points", "tetrahedra", "points", "line")


def prediction(kind: str, *, bars: bool = True, axes: str | None = None) -> xarray.Dataset:
    """A temperature, with a standard deviation unless `bars` says otherwise, at one condition."""
    topology, geometry = mesh(kind)
    names = axes or "xyz"[: geometry.points.shape[1]]
    location = "points" if kind.endswith("points") else "cells"
    header = Header(
        parameters=({"name": "angle", "unit": "deg"},),
        fields=({"name": "T", "unit": "K"},),
        axes=tuple(names),
        location=location,
        made_by={"gas": {"model": "perfect"}},
    )
    dims, shape = value_dims(topology, location), value_shape(topology, location)
    values = (300.0 + 50.0 * np.sin(geometry.points[:, 0])).reshape(shape)
    fields = {"T": (dims, values, {"units": "K", "long_name": "temperature"})}
    if bars:
        fields["T_std"] = (dims, 0.01 * values, {"units": "K", "long_name": "standard deviation of the temperature"})
        fields["T_interval90"] = (dims, 0.02 * values, {"units": "K"})
    coordinates = mesh_labels(header, topology, [geometry], of_cases=False) | {"angle": ((), 4.0, {"units": "deg"})}
    return xarray.Dataset(fields, coordinates, {"verdict": "inside", "bars": "calibrated"})


def mesh(kind: str) -> tuple[Topology, Geometry]:
    """A quarter of a ring of 4 x 6 cells, the same as triangles, a box, or nothing but points."""
    if kind == "line":
        return Topology(), Geometry(np.linspace(0.0, 3.0, 20)[::-1, None])
    if kind in ("block-3d", "tetrahedra"):
        grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0), np.arange(2.0), indexing="ij"), axis=-1)
        if kind == "block-3d":
            return Topology((3, 2, 1)), Geometry(_centers(grid), grid.reshape(-1, 3))
        corners = np.array([[0, 1, 2, 6], [6, 7, 8, 12]])
        cells = Cells(corners.ravel(), np.array([0, 4, 8]), np.array([10, 10]))
        nodes = grid.reshape(-1, 3)
        return Topology(cells=cells), Geometry(nodes[corners].mean(axis=1), nodes)
    radius, angle = np.meshgrid(np.linspace(1, 2, 5), np.linspace(0, np.pi / 2, 7), indexing="ij")
    grid = np.stack([1 - radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    nodes = grid.reshape(-1, 2)
    if kind == "points":
        return Topology(), Geometry(nodes)
    if kind.startswith("block"):
        return Topology((4, 6)), Geometry(nodes if kind == "block-points" else _centers(grid), nodes)
    corner = (np.arange(4)[:, None] * 7 + np.arange(6)).ravel()
    triangles = np.concatenate(
        [np.stack([corner, corner + 1, corner + 8], 1), np.stack([corner, corner + 8, corner + 7], 1)]
    )
    cells = Cells(triangles.ravel(), np.arange(0, triangles.size + 1, 3), np.full(len(triangles), 5))
    return Topology(cells=cells), Geometry(nodes if kind.endswith("points") else nodes[triangles].mean(axis=1), nodes)


def _centers(grid: np.ndarray) -> np.ndarray:
    for axis in range(grid.ndim - 1):
        low, high = (np.delete(grid, end, axis) for end in (-1, 0))
        grid = 0.5 * (low + high)
    return grid.reshape(-1, grid.shape[-1])
