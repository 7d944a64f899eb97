"""How runs are warped to a condition before they are combined: along the lines from the wall, layer upon layer."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from sureflow import scratch
from sureflow.data.wall_layer import ALONG, LANDMARKS
from sureflow.models.contract import LayerView, View
from sureflow.models.products import product

COLUMNS = len(LANDMARKS) + 2  # of the inputs that are the layer's, the last of them
TAPS = 4  # cells that a value between cells is interpolated from
# Runs are left out of a sum as long as their weights are, together, below this.
NEGLIGIBLE = 1e-5
# Values of a run that scales are learned from.
MOST_VALUES = 4096
# The least temperature in the layer, in shares of the wall's: where interpolation fails, it may come out below.
COLDEST = 0.05

Row = Float[np.ndarray, " run"]


def told_of_lines(shape: tuple[int, ...]) -> int:
    """How many of the last inputs of a model are about the lines of a mesh of this shape: see `layer_columns`."""
    return len(ALONG) + shape[0] + 1 + COLUMNS


@dataclass(frozen=True)
class LayerWarp:
    """Runs as they are moved to a wall layer of another thickness, and combined there.

    Landmarks of a run's wall layer come to the rows where those of the asked layer lie; from some row before the innermost
    shock on nothing is moved. The map is monotone (piecewise cubic, Fritsch & Carlson 1980), the same for all lines, and that
    of a run to itself is the identity.

    In the layer, combined are (T - T_wall) / (T_0 - T_wall), which is much alike for all runs, and the logarithm of density
    times temperature, that is of the pressure, in place of temperature and density; at the shock, the fields themselves, since
    a logarithm makes it steeper; in between, both with smooth weights. All is in float32: far below any error of
    interpolation, and half as long to read.
    """

    landmarks: Float[np.ndarray, "run landmark"]
    temperatures: Float[np.ndarray, "run 2"]  # of wall and stagnation, normalized
    inner: Float[np.ndarray, "run level variable line"]  # wall, then cells
    outer: Float[np.ndarray, "run row variable line"]  # the rows from the first of `rows` on
    rows: Float[np.ndarray, " 3"]
    columns: Int[np.ndarray, " 2"]  # of density and temperature
    zero: Float[np.ndarray, " variable"]

    @classmethod
    def of(cls, view: View, layer: LayerView, shape: tuple[int, ...]) -> Self:
        n_runs, n_variables, n_lines = len(view.fields), len(view.names), shape[1]
        layers, first = np.asarray(view.inputs, float)[:, -COLUMNS:], int(layer.rows[0])
        n_inner = min(int(layer.rows[2]) + TAPS, shape[0])
        inner = scratch.empty((n_runs, n_inner + 1, n_variables, n_lines), np.float32)
        outer = scratch.empty((n_runs, shape[0] - first, n_variables, n_lines), np.float32)
        for run, values in enumerate(view.fields):
            rows = np.asarray(values, float).reshape(n_variables, *shape).swapaxes(0, 1)
            inner[run], outer[run] = layer_variables(rows[:n_inner], layer, *layers[run, -2:]), rows[first:]
        columns = np.array([layer.density, layer.temperature])
        zero = np.asarray(layer.zero, float)
        return cls(layers[:, :-2], layers[:, -2:], inner, outer, np.array(layer.rows), columns, zero)

    def arrays(self) -> dict[str, np.ndarray]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @cached_property
    def layers(self) -> Float[np.ndarray, "run column"]:
        """Those of the runs."""
        return np.column_stack([self.landmarks, self.temperatures])

    @property
    def is_sound(self) -> bool:
        """Whether rows and columns are within the arrays, in a file that somebody may have changed."""
        n_rows, n_variables = int(self.rows[0]) + self.outer.shape[1], self.inner.shape[2]
        ordered = 0 <= self.rows[0] <= self.rows[1] <= self.rows[2] <= n_rows
        within = bool(((self.columns >= 0) & (self.columns < n_variables)).all())
        return bool(ordered) and within and self.inner.shape[1] > TAPS

    def combined(
        self, weights: Float[np.ndarray, "case run"], asked: Float[np.ndarray, "case column"]
    ) -> Iterator[Float[np.ndarray, "variable point"]]:
        """Sums of the runs with these weights, one after the other, warped to the layers that are asked for."""
        n_variables, n_lines = self.inner.shape[2:]
        outside = product(weights.astype(self.outer.dtype), self._outer_rows)
        for row, one, outer in zip(weights, asked, outside, strict=True):
            yield self._field(row, one, outer.reshape(-1, n_variables, n_lines))

    def _field(
        self, weights: Row, asked: Float[np.ndarray, " column"], outer: Float[np.ndarray, "row variable line"]
    ) -> Float[np.ndarray, "variable point"]:
        used, (n_levels, n_variables, n_lines) = _heavy(weights), self.inner.shape[1:]
        layer = _warped(self._levels, weights[used], used, self._map(asked[:-2], used), n_levels)
        layer = fields_of_layer(
            layer.reshape(-1, n_variables, n_lines).astype(float), self.columns, self.zero, *asked[-2:]
        )
        first, n_inner = len(self._share) - len(outer), len(layer)
        share = self._share[first:n_inner, None, None]
        both = share * layer[first:] + (1.0 - share) * outer[: n_inner - first]
        return np.concatenate([layer[:first], both, outer[n_inner - first :]]).swapaxes(0, 1).reshape(n_variables, -1)

    def differences(self, used: Int[np.ndarray, " some"]) -> Float[np.ndarray, "some some some"]:
        """Products, over some lines, of S_k(x_i) g_k - g_i with each other, for every run i; (i, k, l)."""
        lines = slice(None, None, max(1, self.inner[0].size // MOST_VALUES))
        inner = (self.inner[used][..., lines] * self._sizes[:, None]).astype(float)
        outer = self.outer[used][..., lines].reshape(len(used), -1).astype(float)
        grams = np.empty((len(used),) * 3)
        for place, run in enumerate(used):
            first, weights = taps(self._map(self.landmarks[run], used), inner.shape[1])
            warped = sum(
                weights[tap][:, :, None, None] * np.take_along_axis(inner, (first + tap)[:, :, None, None], axis=1)
                for tap in range(TAPS)
            )
            values = np.column_stack([np.asarray(warped).reshape(len(used), -1), outer])
            values -= values[place].copy()
            grams[place] = values @ values.T
        return grams

    def _map(
        self, landmarks: Float[np.ndarray, " landmark"], used: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some row"]:
        """The places in each run, in rows, of the rows of a layer with these landmarks, as far as the layer counts."""
        _, last, end = self.rows
        given = np.concatenate([[-0.5], landmarks, [end]])
        runs = np.column_stack([np.full(len(used), -0.5), self.landmarks[used], np.full(len(used), end)])
        return monotone(given, runs, np.arange(np.ceil(last)))

    @property
    def _sizes(self) -> Float[np.ndarray, " variable"]:
        """What a step of each variable of the layer is in units of the fields, about."""
        density, temperature = self.columns
        size = np.ones(len(self.zero))
        size[temperature] = np.mean(self.temperatures[:, 1] - self.temperatures[:, 0])
        size[density] = np.mean(self.outer[:, 0, density]) - self.zero[density]
        return size

    @cached_property
    def _levels(self) -> Float[np.ndarray, "run_level value"]:
        return self.inner.reshape(-1, self.inner.shape[2] * self.inner.shape[3])

    @cached_property
    def _outer_rows(self) -> Float[np.ndarray, "run value"]:
        return self.outer.reshape(len(self.outer), -1)

    @cached_property
    def _share(self) -> Float[np.ndarray, " row"]:
        """Of the layer in every row: 1 at the wall, 0 at the shock."""
        first, last, _ = self.rows
        way = np.clip((np.arange(int(first) + self.outer.shape[1]) - first) / (last - first), 0.0, 1.0)
        return 1.0 - way**2 * (3.0 - 2.0 * way)


def layer_variables(
    rows: Float[np.ndarray, "row variable line"], layer: LayerView, wall: float, hot: float
) -> Float[np.ndarray, "level variable line"]:
    """What is combined in the layer, at the wall and in the cells."""
    density, temperature, zero = layer.density, layer.temperature, layer.zero
    above = np.maximum(rows[:, [density, temperature]] - zero[[density, temperature], None], np.finfo(float).tiny)
    found = np.concatenate([np.broadcast_to(zero[:, None], (1, *rows.shape[1:])), rows])
    found[1:, density] = np.log(above[:, 0]) + np.log(above[:, 1])
    found[0, density] = found[1, density]  # no pressure gradient at a wall
    found[1:, temperature] = (rows[:, temperature] - wall) / (hot - wall)
    found[0, temperature] = 0.0
    return found


def fields_of_layer(
    layer: Float[np.ndarray, "row variable line"],
    columns: Int[np.ndarray, " 2"],
    zero: Float[np.ndarray, " variable"],
    wall: float,
    hot: float,
) -> Float[np.ndarray, "row variable line"]:
    """The fields from what is combined in the layer; density and temperature are positive."""
    density, temperature = columns
    cold = COLDEST * (wall - zero[temperature])
    warm = np.maximum(wall + layer[:, temperature] * (hot - wall) - zero[temperature], cold)
    layer[:, density] = np.exp(layer[:, density]) / warm + zero[density]
    layer[:, temperature] = warm + zero[temperature]
    return layer


def _heavy(weights: Row) -> Int[np.ndarray, " some"]:
    """The runs that count: all but those whose weights are negligible even together."""
    order = np.argsort(np.abs(weights))
    light = np.searchsorted(np.cumsum(np.abs(weights)[order]), NEGLIGIBLE)
    return np.sort(order[light:])


def taps(
    places: Float[np.ndarray, "some row"], n_levels: int
) -> tuple[Int[np.ndarray, "some row"], Float[np.ndarray, "tap some row"]]:
    """The first level that a value between levels is interpolated from, and the weights of that and the next ones.

    Level 0 is the wall, half a cell before level 1; weights are Lagrange's.
    """
    first = np.clip(np.floor(places).astype(int), 0, n_levels - TAPS)
    level, below = _lagrange(n_levels)
    away = [places - level[first + tap] for tap in range(TAPS)]
    weights = np.empty((TAPS, *places.shape))
    for tap in range(TAPS):
        a, b, c = (away[other] for other in range(TAPS) if other != tap)
        weights[tap] = a * b * c / below[tap][first]
    return first, weights


@lru_cache
def _lagrange(n_levels: int) -> tuple[Float[np.ndarray, " level"], Float[np.ndarray, "tap first"]]:
    """The levels, and what the products of distances are divided by."""
    level = np.concatenate([[-0.5], np.arange(n_levels - 1.0)])
    at = np.lib.stride_tricks.sliding_window_view(level, TAPS)
    others = [[other for other in range(TAPS) if other != tap] for tap in range(TAPS)]
    return level, np.stack([np.prod(at[:, [tap]] - at[:, others[tap]], axis=1) for tap in range(TAPS)])


def _warped(
    levels: Float[np.ndarray, "run_level value"],
    weights: Float[np.ndarray, " some"],
    used: Int[np.ndarray, " some"],
    places: Float[np.ndarray, "some row"],
    n_levels: int,
) -> Float[np.ndarray, "row value"]:
    """sum_k w_k S_k g_k as one sparse product: a row has a few entries of every run."""
    first, shares = taps(places, n_levels)
    columns = (used[:, None] * n_levels + first).T[:, :, None] + np.arange(TAPS)
    values = (weights[:, None] * shares).transpose(2, 1, 0).astype(levels.dtype)
    n_rows = places.shape[1]
    start = np.arange(n_rows + 1) * (len(used) * TAPS)
    return csr_array((values.ravel(), columns.ravel(), start), shape=(n_rows, len(levels))) @ levels


def monotone(
    given: Float[np.ndarray, " node"], found: Float[np.ndarray, "some node"], at: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "some row"]:
    """Piecewise cubics through (given, found) at some places, monotone as the nodes are; they end with slope 1."""
    return MonotoneMap.of(given, at)(found)


@dataclass(frozen=True)
class MonotoneMap:
    """The same for nodes and places that are known beforehand: what a value and a slope at each node count at each place."""

    step: Float[np.ndarray, " piece"]
    of_value: Float[np.ndarray, "node row"]
    of_slope: Float[np.ndarray, "node row"]

    @classmethod
    def of(cls, given: Float[np.ndarray, " node"], at: Float[np.ndarray, " row"]) -> Self:
        step = np.diff(given)
        piece, column = np.clip(np.searchsorted(given, at, side="right") - 1, 0, len(step) - 1), np.arange(len(at))
        way, size = (at - given[piece]) / step[piece], step[piece]
        of_value, of_slope = np.zeros((2, len(given), len(at)))
        of_value[piece, column] = (1.0 + 2.0 * way) * (1.0 - way) ** 2
        of_slope[piece, column] = way * (1.0 - way) ** 2 * size
        of_value[piece + 1, column] = way**2 * (3.0 - 2.0 * way)
        of_slope[piece + 1, column] = way**2 * (way - 1.0) * size
        return cls(step, of_value, of_slope)

    def __call__(self, found: Float[np.ndarray, "some node"]) -> Float[np.ndarray, "some row"]:
        step, secant = self.step, np.diff(found, axis=1) / self.step
        before, after = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
        middle = (before + after) / (before / secant[:, :-1] + after / secant[:, 1:])
        edge = ((2.0 * step[0] + step[1]) * secant[:, 0] - step[0] * secant[:, 1]) / (step[0] + step[1])
        slope = np.column_stack([np.clip(edge, 0.0, 3.0 * secant[:, 0]), middle, np.minimum(1.0, 3.0 * secant[:, -1])])
        return found @ self.of_value + slope @ self.of_slope
