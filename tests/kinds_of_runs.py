"""One small problem as runs of three kinds: a shared 2-D block, a shared 3-D unstructured mesh, and nodes that move.

A pulse of pressure and temperature over an angle and a thickness, which depends on the place in the block alone: what a
model of whole fields learns and predicts must be equal in all three, value by value.
"""

from itertools import product

import numpy as np

from sureflow.data.meshes import Cells
from sureflow.data.runs import Runs

SHAPE = (4, 5)
HEXAHEDRON = 12  # VTK's type
ANGLE, THICKNESS = np.linspace(0.0, 2.0, 6), np.linspace(0.3, 0.6, 5)
UNITS = {"p": "Pa", "T": "K", "angle": "deg"}
AXES = {"block": ("x", "y"), "volume": ("x", "y", "z"), "moving": ("x", "y")}
KINDS = tuple(AXES)


def conditions() -> np.ndarray:
    """All pairs of angle and thickness."""
    return np.array(list(product(ANGLE, THICKNESS)))


def fields(at: np.ndarray) -> dict[str, np.ndarray]:
    """p and T (case, value) in the cells of the block."""
    y, x = (values.ravel()[None] for values in np.meshgrid(*((np.arange(n) + 0.5) / n for n in SHAPE), indexing="ij"))
    angle, thickness = at.T[:, :, None]
    pulse = np.exp(-((x - 0.3 * angle) ** 2 + (y - 0.4) ** 2) / thickness**2)
    return {"p": 1e5 * (1 + pulse), "T": 300.0 + 50.0 * np.sin(angle + x) * thickness}


def nodes() -> np.ndarray:
    """Of the block, (node, axis)."""
    y, x = np.meshgrid(*(np.linspace(0.0, 1.0, n + 1) for n in SHAPE), indexing="ij")
    return np.column_stack([x.ravel(), y.ravel()])


def centers(corners: np.ndarray) -> np.ndarray:
    """Centers of the cells of the block, (..., cell, axis)."""
    grid = corners.reshape(*corners.shape[:-2], SHAPE[0] + 1, SHAPE[1] + 1, -1)
    found = (grid[..., 1:, 1:, :] + grid[..., 1:, :-1, :] + grid[..., :-1, 1:, :] + grid[..., :-1, :-1, :]) / 4
    return found.reshape(*corners.shape[:-2], -1, corners.shape[-1])


def hexahedra() -> tuple[np.ndarray, Cells]:
    """The block as a slab of hexahedra: nodes (node, 3) and cells."""
    flat = nodes()
    slab = np.concatenate([np.pad(flat, ((0, 0), (0, 1)), constant_values=z) for z in (0.0, 0.2)])
    number = np.arange(len(flat)).reshape(SHAPE[0] + 1, SHAPE[1] + 1)
    around = [number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]]
    lower = np.stack([corner.ravel() for corner in around], axis=1)
    corners = np.concatenate([lower, lower + len(flat)], axis=1)
    return slab, Cells(corners.ravel(), np.arange(0, corners.size + 1, 8), np.full(len(corners), HEXAHEDRON))


def runs(kind: str, at: np.ndarray | None = None) -> Runs:
    """The runs of one kind."""
    at = conditions() if at is None else at
    given = ({"angle": at[:, 0], "thickness": at[:, 1]},)
    values = fields(at)
    drag = {"drag": at.sum(axis=1)}
    if kind == "volume":
        corners, cells = hexahedra()
        places = corners[cells.connectivity.reshape(-1, 8)].mean(axis=1)
        return Runs.from_arrays(*given, places, values, UNITS, cells=cells, nodes=corners, numbers=drag)
    corners = nodes()
    if kind == "moving":  # a body that grows with the thickness
        corners = corners * np.array([1.0, 1.0]) * (1 + at[:, 1, None, None])
    return Runs.from_arrays(*given, centers(corners), values, UNITS, shape=SHAPE, nodes=corners, numbers=drag)
