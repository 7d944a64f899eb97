"""Runs on different meshes, brought onto one: the values there, which points lie outside, and how large the error is.

The error is measured there and back: fields go from the mesh of their run to the reference and from there back, and what
is lost on the way is known at every value of the run. Near each point of the reference, its largest size among the nearest
values stands for the error there.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import KDTree

from sureflow.data.locate import Stencil, locate_inside
from sureflow.data.measures import measures, vtk_cells
from sureflow.data.meshes import Geometry, Points, Topology

Fields = Float[np.ndarray, "variable value"]
INSIDE = 0.75  # of the distance between neighbors: farther from every value, a point is outside
NEIGHBORS = 6  # values whose largest error stands for that at a point
PER_DIRECTION = 3  # points within a cell, along every direction, over which a conservative average is taken
GAUSSIAN90 = 1.645  # half width of a 90 % interval, in standard deviations


@dataclass(frozen=True)
class Resampled:
    """Fields on the reference mesh, the points of it that lie inside the run's mesh, and the error as a standard deviation."""

    fields: Float[np.ndarray, "variable point"]
    inside: Bool[np.ndarray, " point"]
    std: Float[np.ndarray, "variable point"]


@dataclass(frozen=True)
class ValuePlaces:
    """A mesh with the place of its values."""

    geometry: Geometry
    topology: Topology
    location: str

    def stencil(self, points: Points) -> tuple[Stencil, Bool[np.ndarray, " target"]]:
        return locate_inside(points, self.geometry, self.topology, self.location, INSIDE)


def resample(fields: Fields, source: ValuePlaces, target: ValuePlaces, method: str) -> Resampled:
    """Fields of one mesh on another. Points outside get the value of the nearest point that has one."""
    points = target.geometry.points
    nearest = np.asarray(KDTree(source.geometry.points).query(points)[1])
    there, inside = carried(fields, source, target, method)
    there = np.where(inside, there, fields[:, nearest])
    back, known = carried(there, target, source, "linear" if method == "conservative" else method)
    lost = np.where(known, np.abs(back - fields), 0.0)
    _, around = KDTree(source.geometry.points).query(points, min(NEIGHBORS, lost.shape[1]))
    around = np.reshape(around, (len(points), -1))
    return Resampled(there, inside, lost[:, around].max(axis=2) / GAUSSIAN90)


def carried(
    fields: Fields, source: ValuePlaces, target: ValuePlaces, method: str
) -> tuple[Float[np.ndarray, "variable target"], Bool[np.ndarray, " target"]]:
    """Values at the points of another mesh: linear between the nearest values and never beyond them, so that shocks stay
    without overshoots; or averages over the cells of the target.
    """
    points = target.geometry.points
    if method != "conservative":
        stencil, inside = source.stencil(points)
        return limited(stencil, fields), inside
    inner, owner = points_in_cells(target)
    stencil, _ = source.stencil(inner)
    counts = np.bincount(owner, minlength=len(points))
    values = np.stack([np.bincount(owner, row, len(points)) for row in limited(stencil, fields)]) / counts
    _, inside = source.stencil(points)
    return values + defect(fields, source, values, target)[:, None], inside


def defect(
    fields: Fields, source: ValuePlaces, values: Float[np.ndarray, "variable target"], target: ValuePlaces
) -> Float[np.ndarray, " variable"]:
    """What every value lacks so that integrals over the mesh, relative to its size, are those of the source."""
    if source.location != "cells" or target.location != "cells":
        return np.zeros(len(fields))
    means = []
    for place, rows in ((source, fields), (target, values)):
        weight = measures(place.geometry.nodes, vtk_cells(place.topology))  # type: ignore[arg-type]
        means.append(rows @ weight / weight.sum())
    return means[0] - means[1]


def limited(stencil: Stencil, fields: Fields) -> Float[np.ndarray, "variable target"]:
    """Interpolated values within the range of those that they come from."""
    used = stencil.weight != 0
    near = fields[:, stencil.index]
    low = np.where(used, near, np.inf).min(axis=2)
    high = np.where(used, near, -np.inf).max(axis=2)
    return np.clip(stencil(fields), low, high)


def points_in_cells(target: ValuePlaces) -> tuple[Points, np.ndarray]:
    """Points spread over every cell, and the cell of each: between its corners and its middle."""
    geometry = target.geometry
    if geometry.nodes is None or target.location != "cells":
        return geometry.points, np.arange(len(geometry.points))
    cells = vtk_cells(target.topology)
    counts = np.diff(cells.offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    corner, middle = geometry.nodes[cells.connectivity], geometry.points[owner]
    shares = (np.arange(PER_DIRECTION) + 0.5) / PER_DIRECTION
    # Along the line from the middle to a corner, a share s of the way stands for the shell there.
    rings = [middle + share ** (1.0 / corner.shape[1]) * (corner - middle) for share in shares]
    return np.concatenate(rings), np.tile(owner, PER_DIRECTION)
