"""What is drawn of a mesh: triangles of a plane, the surface of a volume, or a slice of it."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

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
    """Triangles over nodes of the mesh, with the value that each one shows: that of a cell, or those of its corners."""

    nodes: Int[np.ndarray, " node"]  # which nodes of the mesh are used
    triangles: Int[np.ndarray, "triangle 3"]  # numbers among them
    owners: Int[np.ndarray, " triangle"]  # the cell of each triangle


def drawn(space: Space) -> DrawnSurface:
    """All triangles of a plane mesh, or the surface of a volume."""
    geometry = space.geometry
    n_axes = len(space.axes)
    if n_axes not in (2, 3):
        raise SureflowError(
            f"the explorer draws planes and volumes, and these fields have the axes {', '.join(space.axes)}"
        )
    cells = _cells(space)
    if cells is None:
        return _points(space, geometry)
    if n_axes == 2:
        polygons = [(cells.connectivity[a:b], c) for c, (a, b) in enumerate(pairwise(cells.offsets))]
        return _triangles(polygons)
    return _triangles(_outside(cells))


def _cells(space: Space) -> Cells | None:
    shape = space.topology.shape
    if shape is None:
        return space.topology.cells
    block = block_cells(shape)
    corners = block.connectivity.reshape(-1, 2 ** len(shape))[:, AROUND[len(shape)]]
    return Cells(corners.ravel(), block.offsets, np.full(len(corners), HEXAHEDRON if len(shape) == 3 else 9))


def _points(space: Space, geometry: Geometry | None) -> DrawnSurface:
    """Bare points of a plane: their Delaunay triangles."""
    from scipy.spatial import Delaunay

    if geometry is None or len(space.axes) != 2:
        raise SureflowError("the explorer cannot draw these points: they have no cells")
    found = Delaunay(geometry.points).simplices
    return DrawnSurface(np.arange(len(geometry.points)), found, np.zeros(len(found), int))


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


def _triangles(polygons: list[tuple[np.ndarray, int]]) -> DrawnSurface:
    """Fans of triangles, over the nodes that they use."""
    corners = [(polygon[[0, k, k + 1]], owner) for polygon, owner in polygons for k in range(1, len(polygon) - 1)]
    if not corners:
        raise SureflowError("the mesh has no cells that the explorer can draw")
    nodes, numbers = np.unique(np.concatenate([triangle for triangle, _ in corners]), return_inverse=True)
    return DrawnSurface(nodes, numbers.reshape(-1, 3), np.array([owner for _, owner in corners]))


def corner_places(space: Space) -> Float[np.ndarray, "node axis"] | None:
    """The nodes of the mesh; None where they move with the parameters."""
    geometry = space.geometry
    if geometry is None:
        return None
    return geometry.points if geometry.nodes is None else geometry.nodes
