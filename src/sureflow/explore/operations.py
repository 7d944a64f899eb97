"""The operations of numeric programs, in NumPy: of small values (case, n) and of fields (case, variable, point).

`assets/program.js` has the same ones for a browser.
"""

import itertools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.ndimage import maximum_filter
from scipy.spatial.distance import cdist

from sureflow.data.wall_layer import are_normal, places_along
from sureflow.models.body_frame import body_nodes, stations_of_lines
from sureflow.models.frame_cells import CellPlaces
from sureflow.models.kernels import KERNELS, System
from sureflow.models.shock_frame import at_places, frame_nodes, places_of_rows
from sureflow.models.warps import monotone, taps

Small = Float[np.ndarray, "case _"]


def of_one_kind(op: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Small values that meet fields get an axis of points."""
    if op in (*FIELDS_OF_SMALL, *FIELDS_OF_BOTH) or not any(argument.ndim == 3 for argument in arguments):
        return arguments
    return [argument if argument.ndim == 3 else argument[:, :, None] for argument in arguments]


def _table(x: Small, at: np.ndarray, values: np.ndarray) -> Small:
    low = np.clip(np.searchsorted(at, x[:, 0], side="right") - 1, 0, len(at) - 2)
    share = ((x[:, 0] - at[low]) / (at[low + 1] - at[low]))[:, None]
    return (1 - share) * values[low] + share * values[low + 1]


def _lattice(x: Small, ranges: np.ndarray, values: np.ndarray) -> Small:
    count = round(len(values) ** (1 / len(ranges)))
    columns, shares = [], []
    for value, (low, high) in zip(x.T, ranges, strict=True):
        place = (value - low) / (high - low) * (count - 1)
        first = np.clip(np.floor(place).astype(int) - 1, 0, count - 4)
        t = (place - first)[:, None] - np.arange(4)
        # Lagrange's cubics through four entries one apart.
        shares.append(
            np.stack([np.prod(np.delete(t, k, axis=1), axis=1) / d for k, d in enumerate((-6, 2, -2, 6))], axis=1)
        )
        columns.append(first[:, None] + np.arange(4))
    found = np.zeros((len(x), values.shape[1]))
    for corner in itertools.product(range(4), repeat=len(ranges)):
        entry, weight = np.zeros(len(x), int), np.ones(len(x))
        for axis, k in enumerate(corner):
            entry, weight = entry * count + columns[axis][:, k], weight * shares[axis][:, k]
        found += weight[:, None] * values[entry]
    return found


def _matern(distance: np.ndarray) -> np.ndarray:
    scaled = np.sqrt(5.0) * distance
    return (1 + scaled + scaled**2 / 3) * np.exp(-scaled)


def _process(x: Small, nodes: np.ndarray, targets: np.ndarray, logarithms: np.ndarray, wide: float) -> Small:
    columns = []
    for target, (amplitude, noise, *lengths) in zip(targets, logarithms, strict=True):
        scale = np.exp(-np.asarray(lengths))

        def kernel(a: np.ndarray, b: np.ndarray, scale: np.ndarray = scale, amplitude: float = amplitude) -> np.ndarray:
            return np.exp(amplitude) * _matern(cdist(a * scale, b * scale)) + wide * (1 + a @ b.T)

        factor = cho_factor(kernel(nodes, nodes) + np.exp(noise) * np.eye(len(nodes)), lower=True)
        across = kernel(x, nodes)
        prior = np.exp(amplitude) + wide * (1 + (x**2).sum(axis=1))
        variance = prior - (across * cho_solve(factor, across.T).T).sum(axis=1)
        columns.append((across @ cho_solve(factor, target), np.maximum(variance, 0.0)))
    return np.concatenate([np.stack(kind, axis=1) for kind in zip(*columns, strict=True)], axis=1)


def _interpolant(x: Small, edge: Small | None = None, *, nodes: np.ndarray, inverse: np.ndarray, kernel: str) -> Small:
    return np.column_stack(System.of(KERNELS[kernel], nodes, inverse).weights_and_powers(x, edge))


def _around(
    x: Float[np.ndarray, "case variable point"],
    shape: list[int],
    neighbors: int,
    places: np.ndarray | None = None,
    count: int | None = None,
) -> np.ndarray:
    """Of all points of a block, or of the first few where `places` says which of them there are."""
    window = (1, 1, *(2 * neighbors + 1 for _ in shape))
    if places is None:
        return maximum_filter(x.reshape(*x.shape[:2], *shape), window).reshape(x.shape)
    block = np.full((*x.shape[:2], np.prod(shape)), -np.inf)
    block[:, :, places] = x
    return _around(block, shape, neighbors)[:, :, places[:count]]


def _spread(x: Small, rows: Float[np.ndarray, "row variable point"]) -> Float[np.ndarray, "case variable point"]:
    weights = x.reshape(len(x), -1, len(rows))
    return np.sqrt((np.einsum("cmk,kvp->cmvp", weights, rows) ** 2).mean(axis=1))


def _warp(
    x: Small,
    landmarks: Small,
    rows: Float[np.ndarray, "run variable value"],
    runs: np.ndarray,
    last: float,
    end: float,
    levels: int,
    shape: list[int],
) -> Float[np.ndarray, "case variable point"]:
    n_rows, n_lines = shape
    fixed = np.column_stack([np.full(len(runs), -0.5), runs, np.full(len(runs), end)])
    at = np.arange(np.ceil(last))
    values = rows.reshape(*rows.shape[:2], levels, n_lines)
    found = np.zeros((len(x), rows.shape[1], n_rows, n_lines))
    for case, (weights, asked) in enumerate(zip(x, landmarks, strict=True)):
        first, shares = taps(monotone(np.concatenate([[-0.5], asked, [end]]), fixed, at), levels)
        for tap, share in enumerate(shares):
            moved = np.take_along_axis(values, (first + tap)[:, None, :, None], axis=2)
            found[case, :, : len(at)] += np.einsum("k,kr,kvrl->vrl", weights, share, moved)
    return found.reshape(len(x), rows.shape[1], -1)


def _select(*fields: Float[np.ndarray, "case _ point"], which: list[int]) -> Float[np.ndarray, "case variable point"]:
    return np.stack(
        [fields[one][:, variable if fields[one].shape[1] > 1 else 0] for variable, one in enumerate(which)], axis=1
    )


def _frame(
    *inputs: Small,
    rows: list[Float[np.ndarray, "row value _"]],
    given: Float[np.ndarray, " node"],
    parts: list[list[int]],
    places: int,
    stations: int,
    shape: list[int],
) -> Float[np.ndarray, "case value point"]:
    n_rows = shape[0]
    weights, nodes, lines = inputs[: len(rows)], inputs[len(rows)], inputs[len(rows) + 1 :]
    values = np.empty((len(nodes), places, rows[0].shape[1], stations))
    for own, part, (place, after, station, last) in zip(weights, rows, parts, strict=True):
        there = np.einsum("ck,kvp->cvp", own, part).reshape(len(nodes), -1, after - place, last - station)
        values[:, place:after, :, station:last] = there.swapaxes(1, 2)
    found = []
    for case, one in enumerate(values):
        for at in lines:
            one = at_places(one.swapaxes(0, 2), np.tile(at[case][:, None], places)).swapaxes(0, 2)
        reached = _rows_of_places(nodes[case], given, places, shape)
        found.append(at_places(one, places_of_rows(reached, n_rows)).swapaxes(0, 1).reshape(one.shape[1], -1))
    return np.stack(found)


def _rows_of_places(nodes: np.ndarray, given: np.ndarray, places: int, shape: list[int]) -> np.ndarray:
    n_rows, n_lines = shape
    return monotone(given, nodes.reshape(n_lines, -1), np.linspace(-0.5, n_rows - 0.5, places)).T


def _from_cells(
    x: Float[np.ndarray, "case variable point"],
    nodes: Small,
    at: Small | None = None,
    *,
    given: Float[np.ndarray, " node"],
    fineness: int,
    along: int,
    shape: list[int],
) -> Float[np.ndarray, "case variable point"]:
    found = []
    for case, one in enumerate(x):
        rows = _rows_of_places(nodes[case], given, fineness * shape[0] + 1, shape)
        found.append(
            CellPlaces.in_frame(rows, np.arange(float(shape[1])) if at is None else at[case] / along).between(one)
        )
    return np.stack(found)


def _frame_nodes(landmarks: Small, shock: Small, n_rows: int, **constants: float) -> Small:
    return np.stack([frame_nodes(*pair, n_rows).ravel() for pair in zip(landmarks, shock, strict=True)])


def _body_nodes(told: Small, shock: Small, n_rows: int, held: float, **constants: object) -> Small:
    return np.stack([body_nodes(*pair, n_rows, held).ravel() for pair in zip(told, shock, strict=True)])


def _stations(told: Small, usual: np.ndarray, lines: int, stations: int) -> Small:
    return np.stack([stations_of_lines(usual, one, lines, stations) for one in told])


def _between(x: Small, at: Small) -> Small:
    return np.stack([at_places(one[:, None, None], to[:, None])[:, 0, 0] for one, to in zip(x, at, strict=True)])


def _below(x: Small, shares: list[float], n_rows: int) -> Float[np.ndarray, "case 1 point"]:
    first, last = shares
    way = np.clip((np.arange(n_rows)[:, None] / np.maximum(x, 1.0)[:, None] - first) / (last - first), 0.0, 1.0)
    return (1.0 - way**2 * (3.0 - 2.0 * way)).reshape(len(x), 1, -1)


def _lines(nodes: Float[np.ndarray, "case 2 node"], shape: list[int], **constants: object) -> Small:
    grid = nodes.reshape(*nodes.shape[:2], shape[0] + 1, shape[1] + 1)
    centers = 0.25 * (grid[..., 1:, 1:] + grid[..., 1:, :-1] + grid[..., :-1, 1:] + grid[..., :-1, :-1])
    wall, outer = (0.5 * (grid[:, :, row, 1:] + grid[:, :, row, :-1]) for row in (0, -1))
    length = np.linalg.norm(outer - wall, axis=1)
    share = np.linalg.norm(centers - wall[:, :, None], axis=1) / length[:, None]
    along = [places_along(one.T) for one in grid[:, :, 0]]
    levels = np.pad(share.mean(axis=2), ((0, 0), (1, 1)), constant_values=((0, 0), (0.0, 1.0)))
    folded = [not are_normal(*pair) for pair in zip(np.moveaxis(grid, 1, -1), levels, strict=True)]
    return np.column_stack([1.0 / np.mean(1.0 / length, axis=1), share.mean(axis=2), along, folded])


def _read(x: Small, at: Small, values: np.ndarray) -> Small:
    return np.concatenate([_table(x[[case]], at[case], values[:, None]) for case in range(len(x))])


SMALL_OF_FIELDS = ("lines",)
FIELDS_OF_BOTH = ("from_cells",)
FIELDS_OF_SMALL = ("combine", "squares", "spread", "warp", "frame", "below")
OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "raise": np.power,
    "around": _around,
    "drawn": lambda x, count: x[:, :, :count],
    "power": lambda x, exponent: x**exponent,
    "exp": np.exp,
    "log": np.log,
    "sqrt": lambda x: np.sqrt(np.maximum(x, 0.0)),
    "tanh": np.tanh,
    "sum": lambda x: x.sum(axis=1, keepdims=True),
    "smallest": lambda x, rank: np.sort(x, axis=1)[:, rank : rank + 1],
    "pick": lambda x, columns: x[:, columns],
    "join": lambda *values: np.concatenate(values, axis=1),
    "times": lambda x, matrix: x @ matrix,
    "distance": lambda x, nodes: cdist(x, nodes),
    "table": _table,
    "lattice": _lattice,
    "interpolant": _interpolant,
    "process": _process,
    "combine": lambda x, rows: np.einsum("ck,kvp->cvp", x, rows),
    "squares": lambda x, rows: np.einsum("ck,kvp->cvp", x, rows**2),
    "spread": _spread,
    "warp": _warp,
    "frame": _frame,
    "from_cells": _from_cells,
    "frame_nodes": _frame_nodes,
    "body_nodes": _body_nodes,
    "stations": _stations,
    "between": _between,
    "below": _below,
    "lines": _lines,
    "read": _read,
    "only": lambda x, variable: x[:, [variable]],
    "select": _select,
}
