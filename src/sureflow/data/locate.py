"""Points in a mesh: whether they lie inside, and their body-fitted coordinates."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.tri import Triangulation

from sureflow.data.dataset import PHYSICAL, Mesh
from sureflow.errors import SureflowError

Points = Float[np.ndarray, "point coordinate"]


def points_in(coordinates: str, described: Mapping[str, Points], mesh: Mesh | None, points: Points) -> Points:
    """Physical points in the named coordinates; points outside of the mesh are refused.

    Without the nodes of a structured mesh, the box around the points of the runs decides what is outside.
    """
    known = described[PHYSICAL]
    require_points(points, known.shape[1])
    if mesh is None:
        inside = ((points >= known.min(axis=0)) & (points <= known.max(axis=0))).all(axis=1)
        _require_inside(points, inside)
        if coordinates != PHYSICAL:
            raise SureflowError(f"a model on {coordinates} coordinates predicts at points only on a structured mesh")
        return points
    index = cell_index(mesh, points)
    return points if coordinates == PHYSICAL else interpolate(described[coordinates], mesh.shape, index)


def require_points(points: np.ndarray, coordinates: int) -> None:
    """Refuse what is not a list of points."""
    if points.ndim != 2 or points.shape[1] != coordinates:
        raise SureflowError(f"points must be (point, {coordinates}); their shape is {points.shape}")


def cell_index(mesh: Mesh, points: Points) -> Float[np.ndarray, "point 2"]:
    """Fractional (j, i) of the points, 0 and nj or ni being the outer faces of the mesh.

    Each cell is cut into two triangles, in which j and i are linear.
    """
    nj, ni = mesh.shape
    node = np.arange((nj + 1) * (ni + 1)).reshape(nj + 1, ni + 1)
    a, b, c, d = node[:-1, :-1].ravel(), node[:-1, 1:].ravel(), node[1:, 1:].ravel(), node[1:, :-1].ravel()
    triangles = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    x, r = mesh.node_x.ravel(), mesh.node_r.ravel()
    found = np.asarray(Triangulation(x, r, triangles).get_trifinder()(*points.T))
    _require_inside(points, found >= 0)
    corners = triangles[found]
    weights = _barycentric(np.stack([x[corners], r[corners]], axis=-1), points)
    return np.stack([(weights * along[corners]).sum(axis=1) for along in np.divmod(np.arange(x.size), ni + 1)], axis=1)


def interpolate(
    values: Float[np.ndarray, "point coordinate"], shape: tuple[int, int], index: Float[np.ndarray, "point 2"]
) -> Float[np.ndarray, "point coordinate"]:
    """Cell-centered values at fractional indices: bilinear, and linearly continued over the outermost half cells."""
    grid = values.reshape(*shape, -1)
    centered = index - 0.5
    low = np.clip(np.floor(centered).astype(int), 0, np.array(shape) - 2)
    (tj, ti), (j, i) = (centered - low).T[..., None], low.T
    rows = [(1 - ti) * grid[row, i] + ti * grid[row, i + 1] for row in (j, j + 1)]
    return (1 - tj) * rows[0] + tj * rows[1]


def _barycentric(
    corners: Float[np.ndarray, "point 3 2"], points: Float[np.ndarray, "point 2"]
) -> Float[np.ndarray, "point 3"]:
    edges = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
    inner = np.linalg.solve(edges, (points - corners[:, 0])[..., None])[..., 0]
    return np.column_stack([1 - inner.sum(axis=1), inner])


def _require_inside(points: Points, inside: np.ndarray) -> None:
    if not inside.all():
        first = ", ".join(f"{value:g}" for value in points[~inside][0])
        raise SureflowError(
            f"{(~inside).sum()} of {len(points)} points lie outside the mesh of the runs, the first at ({first}) m: "
            "a surrogate knows nothing there"
        )
