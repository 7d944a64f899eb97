"""What is drawn of a mesh: triangles of a plane, the surface of a volume, or a slice of it."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import Delaunay, QhullError

from sureflow.data.meshes import Cells, Geometry, block_cells
from sureflow.errors import SureflowError
from sureflow.surrogate.space import Space

# The faces of VTK's cells of three dimensions by type, each as corners in order around it.
FACES = {
    10: ((0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)),
    12: ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    13: ((0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)),
    14: ((0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
}
PLANE_TYPES = (5, 7, 9)  # VTK's triangle, polygon and quadrilateral
HEXAHEDRON = 12
# The order of the corners of a cell of a block, as `block_cells` has them, around the cell.
AROUND = {2: (0, 1, 3, 2), 3: (0, 1, 3, 2, 4, 5, 7, 6)}


@dataclass(frozen=True)
class DrawnSurface:
    """Triangles over nodes of the mesh or places between two, with the value that each one shows: that of a cell, or those of
    its corners.
    """

    first: Int[np.ndarray, " corner"]  # the node of the mesh at a corner,
    second: Int[np.ndarray, " corner"]  # or the edge that it lies on,
    share: Float[np.ndarray, " corner"]  # and where on it
    triangles: Int[np.ndarray, "triangle 3"]  # numbers of corners
    owners: Int[np.ndarray, " triangle"]  # the cell of each triangle

    def at(self, nodes: Float[np.ndarray, "node axis"]) -> Float[np.ndarray, "corner axis"]:
        """Where the corners are."""
        return (1 - self.share[:, None]) * nodes[self.first] + self.share[:, None] * nodes[self.second]


@dataclass(frozen=True)
class Cut:
    """A plane through a volume, such as z=0."""

    axis: str
    value: float


def drawn(space: Space, middle: Geometry, cut: Cut | None = None) -> DrawnSurface:
    """All triangles of a plane mesh, the surface of a volume, or where a plane cuts it; `middle` is one of its geometries."""
    n_axes = len(space.axes)
    if n_axes not in (2, 3):
        raise SureflowError(
            f"the explorer draws planes and volumes, and these fields have the axes {', '.join(space.axes)}: draw curves of "
            "predictions instead"
        )
    cells = _cells(space)
    if cut is not None:
        return _sliced(space, cells, middle, cut)
    if cells is None:
        return _delaunay(space, middle)
    if n_axes == 2:
        return _fans([(cells.connectivity[a:b], c) for c, (a, b) in enumerate(pairwise(cells.offsets))])
    return _fans(_outside(cells))


def restricted(surface: DrawnSurface, location: str) -> tuple[Int[np.ndarray, " value"], DrawnSurface]:
    """The values of a mesh that a surface shows, and the surface with their numbers."""
    if location == "cells":
        used, owners = np.unique(surface.owners, return_inverse=True)
        return used, replace(surface, owners=owners)
    used, numbers = np.unique(np.stack([surface.first, surface.second]), return_inverse=True)
    first, second = numbers.reshape(2, -1)
    return used, replace(surface, first=first, second=second)


def _cells(space: Space) -> Cells | None:
    shape = space.topology.shape
    if shape is None:
        return space.topology.cells
    block = block_cells(shape)
    corners = block.connectivity.reshape(-1, 2 ** len(shape))[:, AROUND[len(shape)]]
    return Cells(corners.ravel(), block.offsets, np.full(len(corners), HEXAHEDRON if len(shape) == 3 else 9))


def _delaunay(space: Space, geometry: Geometry) -> DrawnSurface:
    """Bare points of a plane: their Delaunay triangles."""
    if len(space.axes) != 2:
        raise SureflowError("points in space without cells have no surface that the explorer could draw: give the mesh")
    try:
        found = Delaunay(geometry.points).simplices
    except QhullError:
        raise SureflowError(
            f"the {len(geometry.points)} points lie on a line, and have no surface that the explorer could draw: give the "
            "mesh, or serve the model"
        ) from None
    numbers = np.arange(len(geometry.points))
    return DrawnSurface(numbers, numbers, np.zeros(len(numbers)), found, np.zeros(len(found), int))


def _outside(cells: Cells) -> list[tuple[np.ndarray, int]]:
    """Faces that belong to one cell alone."""
    faces: dict[tuple[int, ...], tuple[np.ndarray, int] | None] = {}
    for cell, kind in enumerate(cells.types):
        corners = cells.connectivity[cells.offsets[cell] : cells.offsets[cell + 1]]
        if int(kind) in PLANE_TYPES:
            faces[tuple(sorted(corners))] = (corners, cell)
        for face in FACES.get(int(kind), ()):
            nodes = corners[list(face)]
            key = tuple(sorted(nodes))
            faces[key] = None if key in faces else (nodes, cell)
    return [face for face in faces.values() if face is not None]


def _fans(polygons: list[tuple[np.ndarray, int]]) -> DrawnSurface:
    """Fans of triangles, over the nodes that they use."""
    corners = [(polygon[[0, k, k + 1]], owner) for polygon, owner in polygons for k in range(1, len(polygon) - 1)]
    if not corners:
        raise SureflowError("the mesh has no cells that the explorer can draw")
    nodes, numbers = np.unique(np.concatenate([triangle for triangle, _ in corners]), return_inverse=True)
    owners = np.array([owner for _, owner in corners])
    return DrawnSurface(nodes, nodes, np.zeros(len(nodes)), numbers.reshape(-1, 3), owners)


def _sliced(space: Space, cells: Cells | None, geometry: Geometry, cut: Cut) -> DrawnSurface:
    """The polygons in which a plane cuts the cells of a volume; their corners lie on edges of the mesh."""
    if cut.axis not in space.axes or len(space.axes) != 3 or cells is None or geometry.nodes is None:
        raise SureflowError(f"{cut.axis}={cut.value:g} cuts no volume with cells: the axes are {', '.join(space.axes)}")
    if space.moving is not None:
        raise SureflowError(
            f"{cut.axis}={cut.value:g} cuts other cells at every condition, because the mesh moves with the parameters: show the "
            "surface of the volume instead"
        )
    axis = space.axes.index(cut.axis)
    height = geometry.nodes[:, axis] - cut.value
    others = [k for k in range(3) if k != axis]
    numbers: dict[tuple[int, int], int] = {}
    triangles, owners = [], []
    for cell, kind in enumerate(cells.types):
        corners = cells.connectivity[cells.offsets[cell] : cells.offsets[cell + 1]]
        above = height[corners] >= 0
        if above.all() or not above.any():
            continue
        edges = {
            tuple(sorted((int(corners[a]), int(corners[b]))))
            for face in FACES.get(int(kind), ())
            for a, b in zip(face, (*face[1:], face[0]), strict=True)
            if above[a] != above[b]
        }
        ends = np.array(sorted(edges))
        share = height[ends[:, 0]] / (height[ends[:, 0]] - height[ends[:, 1]])
        places = geometry.nodes[ends[:, 0]] + share[:, None] * (geometry.nodes[ends[:, 1]] - geometry.nodes[ends[:, 0]])
        away = (places - places.mean(axis=0))[:, others]
        order = np.argsort(np.arctan2(away[:, 1], away[:, 0]))
        ring = [numbers.setdefault((int(a), int(b)), len(numbers)) for a, b in ends[order]]
        triangles += [(ring[0], ring[k], ring[k + 1]) for k in range(1, len(ring) - 1)]
        owners += [cell] * (len(ring) - 2)
    if not triangles:
        low, high = geometry.nodes[:, axis].min(), geometry.nodes[:, axis].max()
        raise SureflowError(f"{cut.axis}={cut.value:g} does not meet the mesh, which reaches from {low:g} to {high:g}")
    ends = np.array(list(numbers))
    share = height[ends[:, 0]] / (height[ends[:, 0]] - height[ends[:, 1]])
    return DrawnSurface(ends[:, 0], ends[:, 1], share, np.array(triangles), np.array(owners))
