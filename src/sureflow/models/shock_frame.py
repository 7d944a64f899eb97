"""A frame that flows about bodies share: lines from the wall on which wall layers and shocks lie at the same places."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from sureflow import scratch
from sureflow.models.contract import LayerView, View
from sureflow.models.products import product
from sureflow.models.warps import COLUMNS, fields_of_layer, layer_variables, monotone

FINENESS = 4  # places of the frame a row of the mesh, so that going there and back changes next to nothing
# Shares of the way to the shock up to which what is combined is the wall layer's, and from which on it is the shock's.
LAYER, SHOCK = 0.5, 0.7
# How much larger T_wall / T_0 than in all runs makes a wall much hotter than theirs.
HOTTER = 0.1
# The least distance between places that maps keep, in rows.
LEAST_GAP = 0.05

Lines = Float[np.ndarray, "*case line"]
Fields = Float[np.ndarray, "variable point"]


@dataclass(frozen=True)
class ShockFrame:
    """Runs in the frame, and the way from there to the mesh of any condition.

    On every line a monotone map takes the landmarks of the wall layer, the shock and the ends to their mean places over the
    runs, the same on every line. The landmarks of a condition are known beforehand, and its shock is interpolated from those
    of the runs. Combined in the frame are the fields and, for the layer, the logarithm of density times temperature,
    (T - T_wall) / (T_0 - T_wall), as `LayerWarp` has it, and T - T_wall, which takes its place for walls hotter than those of
    the runs: T_0 - T_wall is nothing where a wall is as hot as the gas. What the way there and back loses of every run is kept
    and combined alike, so that combinations pass through the runs.
    """

    landmarks: Float[np.ndarray, "run landmark"]
    temperatures: Float[np.ndarray, "run 2"]  # of wall and stagnation, normalized
    shocks: Float[np.ndarray, "run line"]  # rows
    values: Float[np.ndarray, "run place value line"]  # fields, then those of the layer, in float32
    lost: Float[np.ndarray, "run variable point"]  # in float32
    columns: Int[np.ndarray, " 2"]  # of density and temperature
    zero: Float[np.ndarray, " variable"]

    @classmethod
    def of(cls, view: View, layer: LayerView, shape: tuple[int, ...]) -> Self:
        layers, n_variables = np.asarray(view.inputs, float)[:, -COLUMNS:], len(view.names)
        columns, zero = np.array([layer.density, layer.temperature]), np.asarray(layer.zero, float)
        blocks = (np.asarray(run, float).reshape(n_variables, *shape) for run in view.fields)
        shocks = np.stack([shock_rows(*(block[columns] - zero[columns, None, None])) for block in blocks])
        n_places = FINENESS * shape[0] + 1
        values = scratch.empty((len(layers), n_places, n_variables + 3, shape[1]), np.float32)
        lost = scratch.empty(view.fields.shape, np.float32)
        frame = cls(layers[:, :-2], layers[:, -2:], shocks, values, lost, columns, zero)
        for run, field in enumerate(view.fields):
            rows = np.asarray(field, float).reshape(n_variables, *shape).swapaxes(0, 1)
            levels = levels_of_run(rows, layer, *layers[run, -2:])
            values[run] = between(levels, wall_and_rows(len(rows)), frame.rows(layers[run, :-2], shocks[run]))
            lost[run] = field - frame._on_mesh(values[run].astype(float), shocks[run], layers[run])
        return frame

    def arrays(self) -> dict[str, np.ndarray]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def layers(self) -> Float[np.ndarray, "run column"]:
        """Those of the runs."""
        return np.column_stack([self.landmarks, self.temperatures])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and lines of the mesh."""
        return (self.values.shape[1] - 1) // FINENESS, self.values.shape[3]

    @property
    def is_sound(self) -> bool:
        """Whether columns are within the arrays, in a file that somebody may have changed."""
        n_variables = len(self.zero)
        return bool(((self.columns >= 0) & (self.columns < n_variables)).all()) and self.values.shape[1] > FINENESS

    @property
    def seen(self) -> Float[np.ndarray, "run variable value"]:
        """What is interpolated in the frame, in units of the fields: the layer's variables up to half of the way to the shock."""
        density, temperature = self.columns
        seen, first = self.values[:, :, : len(self.zero)].copy(), int(LAYER * FINENESS * self.shocks.mean())
        size = seen[:, first, density].mean() - self.zero[density], np.mean(self.temperatures @ (-1.0, 1.0))
        seen[:, :first, density] = size[0] * self.values[:, :first, len(self.zero)]
        seen[:, :first, temperature] = size[1] * self.values[:, :first, len(self.zero) + 1]
        return seen.swapaxes(1, 2).reshape(len(seen), len(self.zero), -1)

    def combined(
        self, weights: Float[np.ndarray, "case run"], asked: Float[np.ndarray, "case column"]
    ) -> Iterator[Fields]:
        """Sums of the runs with these weights, one after the other, on the meshes of conditions with these layers."""
        n_runs, single = len(self.values), weights.astype(np.float32)
        shocks = weights @ self.shocks
        at_once = max(1, scratch.BLOCK // self.values[0].nbytes)
        for start in range(0, len(weights), at_once):
            some = slice(start, start + at_once)
            values = product(single[some], self.values.reshape(n_runs, -1)).reshape(-1, *self.values.shape[1:])
            lost = product(single[some], self.lost.reshape(n_runs, -1)).reshape(-1, *self.lost.shape[1:])
            for one, rest, shock, layer in zip(values, lost, shocks[some], asked[some], strict=True):
                yield self._on_mesh(one, shock, layer) + rest

    def _on_mesh(
        self,
        values: Float[np.ndarray, "place value line"],
        shock: Lines,
        asked: Float[np.ndarray, " column"],
    ) -> Fields:
        """From the frame to the mesh."""
        places = places_of_rows(self.rows(asked[:-2], shock), self.shape[0])
        rows = at_places(values, places)
        return fields_of_frame(rows, shock, asked[-2:], self.columns, self.zero, self.hottest)

    @cached_property
    def hottest(self) -> float:
        """The largest T_wall / T_0 of the runs."""
        wall, hot = (self.temperatures - self.zero[self.columns[1]]).T
        return float(np.max(wall / hot))

    def rows(self, landmarks: Float[np.ndarray, " landmark"], shock: Lines) -> Float[np.ndarray, "place line"]:
        """The rows of a mesh, as fractions, at the places of the frame."""
        return rows_of_places(self.given, landmarks, shock, self.values.shape[1])

    @cached_property
    def given(self) -> Float[np.ndarray, " node"]:
        """Where the nodes of the maps lie in the frame, on every line."""
        return frame_nodes(self.landmarks.mean(axis=0), self.shocks.mean(keepdims=True)[0], self.shape[0])[0]


def levels_of_run(
    rows: Float[np.ndarray, "row variable line"], layer: LayerView, wall: float, hot: float
) -> Float[np.ndarray, "level value line"]:
    """Fields and variables of the layer, at the wall and in the cells."""
    of_layer = layer_variables(rows, layer, wall, hot)
    columns = [layer.density, layer.temperature]
    at_wall = fields_of_layer(of_layer[:1].copy(), np.array(columns), layer.zero, wall, hot)
    above = (hot - wall) * of_layer[:, [layer.temperature]]
    return np.concatenate([np.concatenate([at_wall, rows]), of_layer[:, columns], above], axis=1)


def shock_rows(density: Float[np.ndarray, "row line"], temperature: Float[np.ndarray, "row line"]) -> Lines:
    """Where the pressure of every line has half risen, seen from outside."""
    pressure = density * temperature
    half = 0.5 * (pressure[-1] + pressure.max(axis=0))
    row = np.minimum(len(pressure) - 1 - np.argmax((pressure >= half)[::-1], axis=0), len(pressure) - 2)
    inner, outer = (np.take_along_axis(pressure, (row + step)[None], axis=0)[0] for step in (0, 1))
    fall = inner - outer
    return row + np.clip((inner - half) / np.where(fall > 0, fall, 1.0), 0.0, 1.0)


def frame_nodes(landmarks: Float[np.ndarray, " landmark"], shock: Lines, n_rows: int) -> Float[np.ndarray, "line node"]:
    """Wall, landmarks of the layer, shock and outer boundary on every line, in order, with room between them."""
    shock = np.clip(shock, LEAST_GAP * (len(landmarks) + 1) - 0.5, n_rows - 0.5 - LEAST_GAP)
    room = LEAST_GAP * np.arange(len(landmarks), 0, -1)
    inside = np.minimum(landmarks, shock[:, None] - room)
    inside = np.maximum(inside, -0.5 + LEAST_GAP * np.arange(1, len(landmarks) + 1))
    ends = np.full((2, len(shock)), [[-0.5], [n_rows - 0.5]])
    return np.column_stack([ends[0], inside, shock, ends[1]])


def rows_of_places(
    given: Float[np.ndarray, " node"], landmarks: Float[np.ndarray, " landmark"], shock: Lines, n_places: int
) -> Float[np.ndarray, "place line"]:
    """The rows of a mesh, as fractions, at the places of a frame whose nodes are the `given` ones."""
    n_rows = (n_places - 1) // FINENESS
    places = np.linspace(-0.5, n_rows - 0.5, n_places)
    return monotone(given, frame_nodes(landmarks, shock, n_rows), places).T


def places_of_rows(rows: Float[np.ndarray, "place line"], n_rows: int) -> Float[np.ndarray, "row line"]:
    """The places of the frame, as fractions, at the rows of the mesh."""
    n_places, n_lines = rows.shape
    # Rows are whole numbers: how many places lie up to each of them is counted, for all lines at once.
    reached = np.clip(np.ceil(rows), 0, n_rows).astype(int) * n_lines + np.arange(n_lines)
    up_to = np.bincount(reached.ravel(), minlength=(n_rows + 1) * n_lines)[: n_rows * n_lines]
    up_to = up_to.reshape(n_rows, n_lines).cumsum(axis=0)
    piece = np.clip(up_to - 1, 0, n_places - 2)
    before, after = (np.take_along_axis(rows, piece + step, axis=0) for step in (0, 1))
    at = np.arange(n_rows, dtype=float)[:, None]
    inside = (before <= at) & (at < after)
    share = np.divide(1.0, after - before, out=np.zeros_like(after), where=inside)
    return np.where(inside, share * (at - before) + piece, np.where(at < before, 0.0, n_places - 1.0))


def wall_and_rows(n_rows: int) -> Float[np.ndarray, " level"]:
    """The rows of the wall and of the cells."""
    return np.concatenate([[-0.5], np.arange(n_rows, dtype=float)])


def fields_of_frame(
    rows: Float[np.ndarray, "row value line"],
    shock: Lines,
    temperatures: Float[np.ndarray, " 2"],
    columns: Int[np.ndarray, " 2"],
    zero: Float[np.ndarray, " variable"],
    hottest: float,
) -> Fields:
    """Fields on the mesh from the values of a frame there: what is the layer's near the wall, the fields themselves at the shock.

    Shares of T_0 - T_wall hold for walls as cold as those of the runs, whose largest T_wall / T_0 is `hottest`; for much hotter
    ones, differences do.
    """
    n_variables, (wall, hot) = len(zero), temperatures
    found, layer = rows[:, :n_variables], rows[:, :n_variables].copy(order="K")
    still = zero[columns[1]]
    cold = float(falling((wall - still) / (hot - still), hottest, hottest + HOTTER))
    layer[:, columns[0]] = rows[:, n_variables]
    layer[:, columns[1]] = cold * (hot - wall) * rows[:, -2] + (1.0 - cold) * rows[:, -1]
    layer = fields_of_layer(layer, columns, zero, wall, wall + 1.0)
    share = falling(np.arange(len(rows))[:, None] / np.maximum(shock, 1.0), LAYER, SHOCK)[:, None]
    return (share * layer + (1.0 - share) * found).swapaxes(0, 1).reshape(n_variables, -1)


def falling(values: np.ndarray | float, start: float, end: float) -> np.ndarray:
    """From 1 up to the start to 0 from the end on, smoothly."""
    way = np.asarray(np.clip((values - start) / (end - start), 0.0, 1.0))
    return np.asarray(1.0 - way**2 * (3.0 - 2.0 * way))


def between(
    values: Float[np.ndarray, "level value line"],
    levels: Float[np.ndarray, " level"],
    at: Float[np.ndarray, "place line"],
) -> Float[np.ndarray, "place value line"]:
    """Values between levels, line by line, by Hermite's cubics with central differences as slopes: smooth at the levels."""
    slopes = np.gradient(values, levels, axis=0, edge_order=2)
    piece = np.clip(np.searchsorted(levels, at, side="right") - 1, 0, len(levels) - 2)
    size = levels[piece + 1] - levels[piece]
    way = (at - levels[piece]) / size
    found = np.zeros((len(at), *values.shape[1:]))
    for of_value, of_slope, ahead in (
        ((1.0 + 2.0 * way) * (1.0 - way) ** 2, way * (1.0 - way) ** 2 * size, 0),
        (way**2 * (3.0 - 2.0 * way), way**2 * (way - 1.0) * size, 1),
    ):
        place = (piece + ahead)[:, None]
        found += of_value[:, None] * np.take_along_axis(values, place, axis=0)
        found += of_slope[:, None] * np.take_along_axis(slopes, place, axis=0)
    return found


def at_places(
    values: Float[np.ndarray, "level value line"], at: Float[np.ndarray, "place line"]
) -> Float[np.ndarray, "place value line"]:
    """As `between` at levels 0, 1, ...: from the four values around every place."""
    n_places, n_values, n_lines = values.shape
    first, weights = four_around(at, n_places)
    columns = (first * n_lines + np.arange(n_lines))[..., None] + n_lines * np.arange(4)
    # One sparse product: a row is a place on a line, with all of its values.
    start = 4 * np.arange(at.size + 1, dtype=np.int32)
    taken = csr_array((weights.ravel(), columns.ravel().astype(np.int32), start), (at.size, n_places * n_lines))
    found = taken @ np.ascontiguousarray(values.swapaxes(1, 2), float).reshape(-1, n_values)
    return np.ascontiguousarray(found.T).reshape(n_values, *at.shape).swapaxes(0, 1)


def four_around(
    at: Float[np.ndarray, "*place"], n_levels: int
) -> tuple[Int[np.ndarray, "*place"], Float[np.ndarray, "*place 4"]]:
    """The first of the four levels, of 0, 1, ..., that a value between them is interpolated from, and their weights."""
    piece = np.clip(at.astype(int), 0, n_levels - 2)
    first = np.clip(piece - 1, 0, n_levels - 4)
    return first, np.moveaxis(_taps(at - piece, piece - first), 0, -1)


def _taps(way: np.ndarray, ahead: np.ndarray) -> Float[np.ndarray, "4 *place"]:
    """Weights of four values in a row at a share of the way from one to the next, so many ahead of the first.

    Of Hermite's cubics, whose slopes are central differences, and those of parabolas at the two ends.
    """
    left, right = (1.0 + 2.0 * way) * (1.0 - way) ** 2, way**2 * (3.0 - 2.0 * way)
    rise, fall, none = way * (1.0 - way) ** 2, way**2 * (way - 1.0), np.zeros_like(way)
    found = np.stack([-0.5 * rise, left - 0.5 * fall, right + 0.5 * rise, 0.5 * fall])
    ends = (
        (0, [left - 1.5 * rise - 0.5 * fall, right + 2.0 * rise, 0.5 * (fall - rise), none]),
        (2, [none, 0.5 * (fall - rise), left - 2.0 * fall, right + 0.5 * rise + 1.5 * fall]),
    )
    for which, taps in ends:
        np.copyto(found, taps, where=ahead == which)
    return found
