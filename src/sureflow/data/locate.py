"""Points in a mesh: whether they lie inside, and how values of the mesh are interpolated to them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.meshes import Cells, Geometry, Points, Topology, block_cells
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from scipy.spatial import KDTree

Neighbors = Int[np.ndarray, "point neighbor"]
Exist = Bool[np.ndarray, "point neighbor"]

# A point this far outside a triangle, in parts of its height, still counts as on its edge: rounding.
EDGE = 1e-6
# A point without a structured mesh in two dimensions is outside if no value is nearer than so many spacings.
REACH = 2.0


@dataclass(frozen=True)
class Stencil:
    """Values at points as weighted sums of the values of a mesh."""

    index: Int[np.ndarray, "point neighbor"]
    weight: Float[np.ndarray, "point neighbor"]

    def __call__(self, values: Float[np.ndarray, "*any value"]) -> Float[np.ndarray, "*any point"]:
        """Values (..., value of the mesh) at the points."""
        return np.einsum("...pn,pn->...p", values[..., self.index], self.weight)


def locate(points: Points, geometry: Geometry, topology: Topology, location: str) -> Stencil:
    """How to interpolate to points, which must lie inside the mesh."""
    stencil, inside = locate_inside(points, geometry, topology, location)
    _require_inside(points, inside)
    return stencil


def locate_inside(
    points: Points, geometry: Geometry, topology: Topology, location: str, reach: float = REACH
) -> tuple[Stencil, Bool[np.ndarray, " point"]]:
    """How to interpolate to points, and which of them lie inside the mesh; what is answered for the others means nothing.

    In a structured block of two dimensions: bilinear between values, and linearly continued over the outermost half cells.
    Elsewhere by moving least squares: the linear function that best fits the nearest values, the nearer the better.
    """
    require_points(points, geometry.points.shape[1])
    shape = topology.values_shape(location)
    if geometry.nodes is None or shape is None or len(shape) != 2 or points.shape[1] != 2 or min(shape) < 2:
        cells = topology.cells if topology.shape is None else block_cells(topology.shape)
        return _least_squares(points, geometry, cells, location, reach)
    index = node_index(geometry, topology, points)
    inside = np.isfinite(index[:, 0])
    index = np.where(inside[:, None], index, 0.0)
    return _bilinear(index - 0.5 if location == "cells" else index, shape), inside


def require_points(points: np.ndarray, n_axes: int) -> None:
    """Refuse what is not a list of points."""
    if points.ndim != 2 or points.shape[1] != n_axes:
        raise SureflowError(f"points must be (point, {n_axes}); their shape is {points.shape}")
    if not np.isfinite(points).all():
        raise SureflowError(
            f"{(~np.isfinite(points)).any(axis=1).sum()} of {len(points)} points are not finite numbers: correct them, "
            "or leave them out"
        )


def node_index(geometry: Geometry, topology: Topology, points: Points) -> Float[np.ndarray, "point 2"]:
    """Fractional (j, i) of the points among the nodes of a structured block; NaN for those outside.

    Each cell is cut into two triangles, in which j and i are linear.
    """
    assert topology.shape is not None
    grid = np.stack([geometry.grid(axis, topology.shape) for axis in (0, 1)], axis=-1)
    which, j, i = _cells_near(grid, points)
    inside, places = [], []
    for corners in (((0, 0), (0, 1), (1, 1)), ((0, 0), (1, 1), (1, 0))):
        weights = _barycentric(np.stack([grid[j + dj, i + di] for dj, di in corners], axis=1), points[which])
        inside.append(weights.min(axis=1))
        places.append(np.column_stack([j, i]) + weights @ np.array(corners, float))
    # Of all triangles near a point, the one that holds it best comes last and stays.
    depth = np.concatenate(inside)
    held = np.argsort(depth)
    held = held[depth[held] >= -EDGE]
    index = np.full((len(points), 2), np.nan)
    index[np.tile(which, 2)[held]] = np.concatenate(places)[held]
    return index


def _cells_near(
    grid: Float[np.ndarray, "node_j node_i 2"], points: Points
) -> tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]:
    """Pairs of a point and a cell (j, i) whose bounding box holds it, by descending through boxes of 2 x 2 boxes."""
    corners = np.stack([grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]])
    slack = 1e-10 * np.ptp(grid, axis=(0, 1)).max()
    levels = [(corners.min(axis=0) - slack, corners.max(axis=0) + slack)]
    while levels[-1][0].shape[:2] != (1, 1):
        low, high = levels[-1]
        for axis in (0, 1):
            pairs = np.arange(0, low.shape[axis], 2)
            low, high = np.minimum.reduceat(low, pairs, axis), np.maximum.reduceat(high, pairs, axis)
        levels.append((low, high))
    which, j, i = np.arange(len(points)), np.zeros(len(points), int), np.zeros(len(points), int)
    for level, (low, high) in enumerate(reversed(levels)):
        if level:
            which = np.repeat(which, 4)
            j, i = (2 * j[:, None] + [0, 0, 1, 1]).ravel(), (2 * i[:, None] + [0, 1, 0, 1]).ravel()
        exists = (j < low.shape[0]) & (i < low.shape[1])
        which, j, i = which[exists], j[exists], i[exists]
        holds = ((points[which] >= low[j, i]) & (points[which] <= high[j, i])).all(axis=1)
        which, j, i = which[holds], j[holds], i[holds]
    return which, j, i


def _barycentric(
    corners: Float[np.ndarray, "pair 3 2"], points: Float[np.ndarray, "pair 2"]
) -> Float[np.ndarray, "pair 3"]:
    """Weights of the corners of triangles at points; triangles without an area hold nothing."""
    (ax, ay), (bx, by) = ((corners[:, n] - corners[:, 0]).T for n in (1, 2))
    px, py = (points - corners[:, 0]).T
    area = ax * by - ay * bx
    flat = area == 0
    second, third = (
        np.where(flat, -np.inf, w / np.where(flat, 1.0, area)) for w in (px * by - py * bx, ax * py - ay * px)
    )
    return np.column_stack([np.where(flat, 0.0, 1 - second - third), second, third])


def _bilinear(index: Float[np.ndarray, "point 2"], shape: tuple[int, ...]) -> Stencil:
    low = np.clip(np.floor(index).astype(int), 0, np.array(shape) - 2)
    (tj, ti), (j, i) = (index - low).T, low.T
    neighbors = [(0, 0), (0, 1), (1, 0), (1, 1)]
    flat = [np.ravel_multi_index((j + dj, i + di), shape) for dj, di in neighbors]
    weight = [(tj if dj else 1 - tj) * (ti if di else 1 - ti) for dj, di in neighbors]
    return Stencil(np.stack(flat, axis=1), np.stack(weight, axis=1))


def _least_squares(
    points: Points, geometry: Geometry, cells: Cells | None, location: str, reach: float
) -> tuple[Stencil, Bool[np.ndarray, " point"]]:
    """The linear function that fits the values around the nearest one, weighted by 1/r^2.

    Distances are in standard deviations of the neighbors, so that cells that are a thousand times longer than high make no
    difference.
    """
    from scipy.spatial import KDTree  # points are rarely asked for

    known = geometry.points
    tree = KDTree(known)
    distance, nearest = map(np.asarray, tree.query(points))
    index, exists = _nearest(tree, nearest) if cells is None else _adjacent(cells, nearest, location, len(known))
    spread = np.where(exists, np.linalg.norm(known[index] - known[nearest][:, None], axis=2), 0.0)
    inside = distance <= reach * spread.max(axis=1)
    offset = _whitened(known[index] - points[:, None], exists)
    near = exists / ((offset**2).sum(axis=2) + 1e-12)  # all but infinite at a value, which is then met
    basis = np.concatenate([np.ones((*index.shape, 1)), offset], axis=2)
    moments = np.einsum("pnb,pn,pnc->pbc", basis, near, basis)
    # Values on a line or in a plane fix no slope across it: the pseudoinverse takes none.
    first = np.linalg.pinv(moments, rcond=1e-10, hermitian=True)[:, 0]
    return Stencil(index, np.einsum("pb,pnb,pn->pn", first, basis, near)), inside


def _nearest(tree: "KDTree", values: Int[np.ndarray, " point"]) -> tuple[Neighbors, Exist]:
    """A value and those nearest to it."""
    count = min(2 * (tree.m + 1), tree.n)
    _, index = tree.query(tree.data[values], count)
    index = np.reshape(index, (len(values), count))
    return index, np.ones(index.shape, bool)


def _adjacent(cells: Cells, values: Int[np.ndarray, " point"], location: str, n_values: int) -> tuple[Neighbors, Exist]:
    """A cell and those that share a node with it, or a node and those that share a cell with it."""
    from scipy.sparse import csr_array

    corners = csr_array((np.ones(len(cells.connectivity), np.int8), cells.connectivity, cells.offsets))
    touches = corners if location == "cells" else csr_array(corners.T)
    rows, inverse = np.unique(values, return_inverse=True)
    near = csr_array(touches[rows] @ touches.T)
    counts = np.diff(near.indptr)
    place = np.arange(counts.max())
    exists = place < counts[:, None]
    index = np.repeat(rows[:, None], len(place), axis=1)
    index[exists] = near.indices
    return index[inverse], exists[inverse]


def _whitened(
    offset: Float[np.ndarray, "point neighbor axis"], exists: Exist
) -> Float[np.ndarray, "point neighbor axis"]:
    """Offsets from points to neighbors in directions and units in which the neighbors have unit variance."""
    share = (exists / exists.sum(axis=1, keepdims=True))[..., None]
    centered = (offset - (share * offset).sum(axis=1, keepdims=True)) * share**0.5
    variance, direction = np.linalg.eigh(np.einsum("pna,pnb->pab", centered, centered))
    flat = variance <= 1e-14 * variance.max(axis=1, keepdims=True)
    scale = np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, variance)))
    return np.einsum("pna,pab->pnb", offset, direction) * scale[:, None]


def _require_inside(points: Points, inside: np.ndarray) -> None:
    if not inside.all():
        first = ", ".join(f"{value:g}" for value in points[~inside][0])
        raise SureflowError(
            f"{(~inside).sum()} of {len(points)} points lie outside the mesh of the runs, the first at ({first}): leave "
            "them out"
        )
