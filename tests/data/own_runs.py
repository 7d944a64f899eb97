"""The same small problem on every kind of mesh: a wave whose phase moves with the angle, and its drag."""

import numpy as np

from sureflow.data.meshes import Cells
from sureflow.data.runs import Runs

ANGLES = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
TRIANGLE, HEXAHEDRON = 5, 12  # as VTK numbers them


def wave(points: np.ndarray, angle: float) -> np.ndarray:
    return np.sin(points @ np.arange(1.0, points.shape[-1] + 1) + angle)


def square_nodes(n: int = 4) -> np.ndarray:
    """(n + 1)^2 nodes of the unit square, (node, 2)."""
    return np.stack(np.meshgrid(*[np.linspace(0, 1, n + 1)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)


def structured(angles: np.ndarray = ANGLES, **changes) -> Runs:
    """4 x 4 cells of the unit square."""
    nodes = square_nodes()
    grid = nodes.reshape(5, 5, 2)
    centers = 0.25 * (grid[:-1, :-1] + grid[1:, :-1] + grid[:-1, 1:] + grid[1:, 1:]).reshape(-1, 2)
    return own_runs(centers, angles, shape=(4, 4), nodes=nodes, **changes)


def hexahedra(angles: np.ndarray = ANGLES, **changes) -> Runs:
    """2 x 2 x 2 cells of the unit cube, as an unstructured mesh with the fields on its nodes."""
    axes = np.meshgrid(*[np.linspace(0, 1, 3)] * 3, indexing="ij")
    nodes = np.column_stack([axis.ravel() for axis in axes])
    number = np.arange(27).reshape(3, 3, 3)
    low, high = slice(None, -1), slice(1, None)
    around = [(low, low), (high, low), (high, high), (low, high)]
    corners = np.stack([number[(*sides, up)].ravel() for up in (low, high) for sides in around], axis=1)
    cells = Cells(corners.ravel(), np.arange(0, 65, 8), np.full(8, HEXAHEDRON))
    return own_runs(nodes, angles, location="points", cells=cells, **changes)


def moving(angles: np.ndarray = ANGLES, **changes) -> Runs:
    """The square, stretched by the angle."""
    still = structured(angles)
    assert still.geometry is not None
    stretch = (1 + 0.1 * angles)[:, None, None]
    points, nodes = still.geometry.points * stretch, still.geometry.nodes * stretch
    return own_runs(points, angles, shape=(4, 4), nodes=nodes, **changes)


def cloud(angles: np.ndarray = ANGLES, **changes) -> Runs:
    """Points in one dimension, without a mesh."""
    return own_runs(np.linspace(0, 1, 9)[:, None], angles, **changes)


def own_runs(points: np.ndarray, angles: np.ndarray = ANGLES, **changes) -> Runs:
    each = points if points.ndim == 3 else [points] * len(angles)
    fields = {"p": np.stack([wave(at, angle) for at, angle in zip(each, angles, strict=True)])}
    given = {
        "fields": fields | {"q": fields["p"] ** 2},
        "units": {"p": "Pa", "angle": "deg", "drag": "N"},
        "numbers": {"drag": 2 * angles},
        "logarithmic": ["angle"],
        "ranges": {"angle": (0.1, 10.0)},
    }
    return Runs.from_arrays({"angle": angles}, points, **(given | changes))


KINDS = {"structured": structured, "hexahedra": hexahedra, "moving": moving, "cloud": cloud}
