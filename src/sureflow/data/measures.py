"""Lengths, areas and volumes of cells, and the normals of faces: the weights of integrals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sureflow.data.meshes import Cells, Topology, block_cells

# Faces of VTK's solid cells by the places of their corners.
FACES = {
    10: ((0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)),
    12: ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7)),
    13: ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
    14: ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)),
}
LINES, PIXEL, VOXEL, CONVEX = (3, 4), 8, 11, (41, 42)
# Corners of VTK's cells from those of a block's, whose last index runs fastest; and VTK's type.
CORNERS = {1: ((0, 1), 3), 2: ((0, 1, 3, 2), 9), 3: ((0, 1, 3, 2, 4, 5, 7, 6), 12)}


def vtk_cells(topology: Topology) -> Cells:
    """The cells of a mesh with VTK's types and order of corners, those of a structured block too."""
    if topology.cells is not None:
        return topology.cells
    assert topology.shape is not None
    corners, kind = CORNERS[len(topology.shape)]
    plain = block_cells(topology.shape)
    table = plain.connectivity.reshape(-1, len(corners))[:, list(corners)]
    return Cells(table.ravel(), plain.offsets, np.full(len(table), kind))


def measures(nodes: Any, cells: Cells, xp: Any = np) -> Any:
    """Length, area or volume of every cell, by its type; `xp` is NumPy or JAX."""
    space = xp.concatenate([nodes, xp.zeros((len(nodes), 3 - nodes.shape[1]))], axis=1)
    return _by_kind(cells, lambda kind, index: _measure(kind, space[index], xp), xp)


def face_normals(nodes: Any, faces: Cells, xp: Any = np) -> Any:
    """Area times normal of faces in space, or length times normal of lines in a plane."""
    if nodes.shape[1] == 2:
        begin, end = (nodes[faces.connectivity[faces.offsets[:-1] + place]] for place in (0, 1))
        along = end - begin
        return xp.stack([along[:, 1], -along[:, 0]], axis=1)
    return _by_kind(faces, lambda kind, index: _area_vectors(nodes[index], xp), xp)


def _by_kind(cells: Cells, function: Callable[[int, np.ndarray], Any], xp: Any) -> Any:
    """A function of the corners (cell, corner) of all cells of one type and size, for all cells in their order."""
    counts = np.diff(cells.offsets)
    kinds = np.unique(np.column_stack([cells.types, counts]), axis=0)
    groups = [np.flatnonzero((cells.types == kind) & (counts == count)) for kind, count in kinds]
    found = [
        function(int(kind), cells.connectivity[cells.offsets[group][:, None] + np.arange(count)])
        for (kind, count), group in zip(kinds, groups, strict=True)
    ]
    return xp.concatenate(found)[np.argsort(np.concatenate(groups))]


def _measure(kind: int, corners: Any, xp: Any) -> Any:
    if kind in LINES:
        return xp.sqrt((xp.diff(corners, axis=1) ** 2).sum(axis=2)).sum(axis=1)
    if kind == VOXEL:
        kind, corners = 12, corners[:, np.array([0, 1, 3, 2, 4, 5, 7, 6])]
    if kind in FACES:
        middle = corners.mean(axis=1)
        return sum(_pyramids(corners[:, np.array(face)], middle, xp) for face in FACES[kind])
    if kind in CONVEX:
        from scipy.spatial import ConvexHull

        return np.array([ConvexHull(points).volume for points in np.asarray(corners)])
    if kind == PIXEL:
        corners = corners[:, np.array([0, 1, 3, 2])]
    return xp.sqrt((_area_vectors(corners, xp) ** 2).sum(axis=1))


def _pyramids(face: Any, apex: Any, xp: Any) -> Any:
    """Volumes between a face of every cell and its middle."""
    height = face.mean(axis=1) - apex
    return xp.abs((height * _area_vectors(face, xp)).sum(axis=1)) / 3.0


def _area_vectors(polygon: Any, xp: Any) -> Any:
    """Area times normal of polygons (cell, corner, 3), by triangles around their middle."""
    away = polygon - polygon.mean(axis=1)[:, None]
    return 0.5 * xp.cross(away, xp.roll(away, -1, axis=1)).sum(axis=1)
