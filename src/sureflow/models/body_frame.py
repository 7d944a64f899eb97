"""A frame that flows about bodies share: wall layers, shocks and the turns of walls lie at the same places, on any mesh."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from jaxtyping import Float, Int

from sureflow import scratch
from sureflow.data.wall_layer import ALONG, LANDMARKS
from sureflow.models.contract import LayerView, View
from sureflow.models.frame_cells import CellPlaces
from sureflow.models.products import product
from sureflow.models.shock_frame import (
    FINENESS,
    LAYER,
    LEAST_GAP,
    SHOCK,
    at_places,
    between,
    falling,
    fields_of_frame,
    four_around,
    levels_of_run,
    places_of_rows,
    shock_rows,
    wall_and_rows,
)
from sureflow.models.warps import MonotoneMap, monotone, told_of_lines

FINENESS_ALONG = 2  # stations of the frame a line, where the wall turns on other lines from run to run; else 1
# From which share of the way to the shock on runs are combined as they are alike there.
NEAR_SHOCK = 0.85
# Places between the layer and the shock that maps keep, in shares of the way.
BETWEEN = (0.2, 0.45, 0.7)
# They stay where they are at a layer of usual thickness, but not nearer to a thick one than this share of what lies beyond it.
LEAST_SHARE = 0.3
# Landmarks of the layer beyond the first share of the way to the shock come closer and closer to the second.
FREE, END = 0.5, 0.8
# The share of what runs differ by that modes may leave; it is kept with what else is lost.
NEGLIGIBLE = 1e-3
TURNED = ALONG.index(1.0)  # the place where a wall has turned

Lines = Float[np.ndarray, "*case line"]
Fields = Float[np.ndarray, "variable point"]
Told = Float[np.ndarray, " column"]  # of a condition, see `layer_columns`
Region = tuple[slice, slice]  # places and stations


@dataclass(frozen=True)
class BodyFrame:
    """Runs in the frame, and the way from there to the mesh of any condition.

    On every line a monotone map takes the wall, landmarks of the wall layer, places between it and the shock, which stay where
    they are unless the layer reaches them, the shock and the outer boundary to their mean places over the runs; another one
    takes the lines to stations, so that walls have turned at the same ones. Both follow from the mesh of a condition but for
    its shock, which is interpolated from those of the runs.
    Combined in the frame are the fields and, for the layer, the logarithm of density times temperature,
    (T - T_wall) / (T_0 - T_wall), as `LayerWarp` has it, and T - T_wall, which takes its place for walls hotter than those of
    the runs: T_0 - T_wall is nothing where a wall is as hot as the gas. In every region of the frame the runs are sums of as many
    modes as tell them apart. What the modes and the way there and back lose of every run is kept and combined alike, so that
    combinations pass through the runs.
    """

    told: Float[np.ndarray, "run column"]  # of the lines and layers of the runs
    shocks: Float[np.ndarray, "run station"]  # rows
    modes: Float[np.ndarray, "mode place value station"]  # of fields, then of what is the layer's, in float32
    shares: Float[np.ndarray, "region run mode"]  # of the modes in the runs
    lost: Float[np.ndarray, "run variable point"]  # in float32
    columns: Int[np.ndarray, " 2"]  # of density and temperature
    zero: Float[np.ndarray, " variable"]
    held: Float[np.ndarray, " one"]  # usual thickness of layers, for places beyond them; 0 in files of earlier versions

    @classmethod
    def of(cls, view: View, layer: LayerView, shape: tuple[int, ...], *, still: bool = False) -> Self:
        """Shocks that are `still` stay where they are: those of all runs count as if they lay at their mean place."""
        told, n_variables = np.asarray(view.inputs, float)[:, -told_of_lines(shape) :], len(view.names)
        columns, zero = np.array([layer.density, layer.temperature]), np.asarray(layer.zero, float)
        fineness = FINENESS_ALONG if np.ptp(told[:, : len(ALONG)], axis=0).any() else 1
        stations = fineness * (shape[1] - 1) + 1
        shocks = np.empty((len(told), stations))
        values = scratch.empty((len(told), FINENESS * shape[0] + 1, n_variables + 3, stations), np.float32)
        lost = scratch.empty(view.fields.shape, np.float32)
        held = told[:, len(ALONG) + shape[0]].mean(keepdims=True)
        frame = cls(told, shocks, values, np.empty((0, len(told), len(told))), lost, columns, zero, held)

        def block(run: int) -> Float[np.ndarray, "variable row line"]:
            return np.asarray(view.fields[run], float).reshape(n_variables, *shape)

        on_lines = [shock_rows(*(block(run)[columns] - zero[columns, None, None])) for run in range(len(told))]
        on_lines = [np.mean(on_lines, axis=0)] * len(told) if still else on_lines
        to_stations = [_taken(frame._lines(one), shape[1]) for one in told]
        shocks[:] = [taken @ shock for taken, shock in zip(to_stations, on_lines, strict=True)]
        for run, taken in enumerate(to_stations):
            levels = levels_of_run(block(run).swapaxes(0, 1), layer, *told[run, -2:])
            values[run] = between(levels, wall_and_rows(shape[0]), frame.rows(told[run], on_lines[run])) @ taken.T
        modes, shares = _modes(values, frame.regions)
        frame = replace(frame, modes=modes, shares=shares)
        lost[:] = 0.0
        for run, field in enumerate(frame.combined(np.eye(len(told))[None], told)):
            lost[run] = view.fields[run] - field
        return frame

    def arrays(self) -> dict[str, np.ndarray]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @property
    def layers(self) -> Float[np.ndarray, "run column"]:
        """What is told of the runs."""
        return self.told

    @property
    def is_sound(self) -> bool:
        """Whether columns are within the arrays, in a file that somebody may have changed."""
        n_variables, n_rows = len(self.zero), self._n_rows
        within = bool(((self.columns >= 0) & (self.columns < n_variables)).all()) and n_rows > 0
        if not within or self.modes.shape[2] != n_variables + 3 or self.told.shape[1] != told_of_lines((n_rows,)):
            return False
        if self.held.shape != (1,) or not 0 <= self.held[0] < np.inf:
            return False
        if not (np.isfinite(self.shocks).all() and np.isfinite(self.told).all()) or self.lost.shape[2] < n_rows:
            return False
        if len(self.shares) != len(self.regions) or self.shocks.shape[1] != self.modes.shape[3]:
            return False
        stations = {fineness * (self._n_lines - 1) + 1 for fineness in (1, FINENESS_ALONG)}
        return self.modes.shape[3] in stations and not self.lost.shape[2] % n_rows

    @cached_property
    def regions(self) -> list[Region]:
        """Parts of the frame in which different inputs may count: nose, shoulder and rest of layer, gas above, and shock."""
        ends = [int(share * FINENESS * self.shocks.mean()) for share in (LAYER, NEAR_SHOCK)]
        turned, last = float(self.told[:, TURNED].mean()), self._n_lines - 1.0
        along = [round(line * self._fineness_along) for line in (turned, 0.5 * (turned + last))]
        return [
            (place, station)
            for place in _parts(ends, self.modes.shape[1])
            for station in _parts(along, len(self.shocks[0]))
        ]

    @cached_property
    def shares_of_points(self) -> Float[np.ndarray, "region point"]:
        """How much of every region the bars at each cell are made of, by and large; the shares of a cell add up to 1.

        From LAYER to SHOCK, combined fields pass from the layer's variables to those above it, and so do their errors. The seam
        before the shock is as wide; along the wall, regions meet without a transition.
        """
        places, stations = ({part.start for part in parts} - {0} for parts in zip(*self.regions, strict=True))
        wide = (SHOCK - LAYER) * FINENESS * self.shocks.mean()
        rows = _shares(FINENESS * np.arange(float(self._n_rows)), [(place, place + wide) for place in sorted(places)])
        along = self._fineness_along * np.arange(float(self._n_lines))
        lines = _shares(along, [(station - 1.0, station) for station in sorted(stations)])
        return np.einsum("ar,bl->abrl", rows, lines).reshape(len(self.regions), -1)

    @property
    def seen(self) -> list[Float[np.ndarray, "run 1 mode"]]:
        """What is interpolated in every region, in units of the fields: the layer's variables up to half of the way to the shock.

        As few numbers as the modes, whose products with each other, run by run, are those of the fields.
        """
        density, temperature = self.columns
        seen, first = self.modes[:, :, : len(self.zero)].astype(float), int(LAYER * FINENESS * self.shocks.mean())
        usual = self._summed(np.full((1, 1, len(self.told)), 1.0 / len(self.told)))[0]
        dense = usual[first, density].mean() - self.zero[density]
        sizes = {density: dense, temperature: np.mean(self.told[:, -2:] @ (-1.0, 1.0))}
        for number, (variable, size) in enumerate(sizes.items()):
            seen[:, :first, variable] = size * self.modes[:, :first, len(self.zero) + number]
        found = []
        for shares, (place, station) in zip(self.shares, self.regions, strict=True):
            rows = seen[:, place, :, station].reshape(len(seen), -1)
            variance, across = np.linalg.eigh(rows @ rows.T)
            roots = across * np.sqrt(np.maximum(variance, 0.0))
            found.append((shares @ roots)[:, None])
        return found

    def combined(
        self, weights: Float[np.ndarray, "_ case run"], asked: Float[np.ndarray, "case column"]
    ) -> Iterator[Fields]:
        """Sums of the runs with these weights, one after the other, on the meshes of conditions of which this is told.

        The first weights are for shocks and what is lost, and for all regions where there are no others; those of each region
        follow.
        """
        shocks, lost = weights[0] @ self.shocks, self.lost.reshape(len(self.lost), -1)
        at_once = max(1, scratch.BLOCK // (2 * self.modes[0].nbytes))
        for start in range(0, len(shocks), at_once):
            some = slice(start, start + at_once)
            values = self._summed(weights[:, some])
            rest = product(weights[0, some].astype(np.float32), lost).reshape(-1, *self.lost.shape[1:])
            for one, left, shock, layer in zip(values, rest, shocks[some], asked[some], strict=True):
                yield self._on_mesh(one, shock, layer) + left

    def _summed(self, weights: Float[np.ndarray, "_ some run"]) -> Float[np.ndarray, "some place value station"]:
        """What is combined in the frame, region by region."""
        # In memory all values of a station lie side by side, as they are needed on the way to the mesh.
        _, n_places, n_values, n_stations = self.modes.shape
        found = np.empty((weights.shape[1], n_places, n_stations, n_values))
        regional = (
            weights[1:] if len(weights) > 1 else np.broadcast_to(weights, (len(self.regions), *weights.shape[1:]))
        )
        for own, shares, (place, station), rows in zip(
            regional, self.shares, self.regions, self._rows_of_modes, strict=True
        ):
            part = found[:, place, station]
            part[:] = product((own @ shares).astype(np.float32), rows).reshape(part.shape)
        return found.swapaxes(2, 3)

    @cached_property
    def _rows_of_modes(self) -> list[Float[np.ndarray, "mode value"]]:
        """The modes in every region, each in one piece, in the order of `_summed`."""
        modes = self.modes.swapaxes(2, 3)
        return [_in_one_piece(modes[:, place, station]) for place, station in self.regions]

    def _on_mesh(
        self,
        values: Float[np.ndarray, "place value station"],
        shock: Float[np.ndarray, " station"],
        asked: Told,
    ) -> Fields:
        """From the frame to the mesh."""
        stations = self._stations(asked)
        if stations is not None:
            values, shock = values @ _taken(stations, len(shock)).T, _on_lines(shock, stations)
        rows = at_places(values, places_of_rows(self.rows(asked, shock), self._n_rows))
        return fields_of_frame(rows, shock, asked[-2:], self.columns, self.zero, self.hottest)

    def cells_of_mesh(self, shock: Float[np.ndarray, " station"], asked: Told) -> CellPlaces:
        """Where the cells of a mesh lie among those of the frame, which has as many."""
        stations = self._stations(asked)
        lines = np.arange(float(self._n_lines)) if stations is None else stations / self._fineness_along
        return CellPlaces.in_frame(self.rows(asked, _on_lines(shock, stations)), lines)

    def cells_of_frame(self, shock: Float[np.ndarray, " station"], asked: Told) -> CellPlaces:
        """The way back: where the cells of the frame lie among those of the mesh."""
        stations = self._stations(asked)
        rows = self.rows(asked, _on_lines(shock, stations))[FINENESS // 2 :: FINENESS]
        if stations is None:
            return CellPlaces(rows, np.arange(float(self._n_lines)))
        lines = self._lines(asked)[:: self._fineness_along]
        return CellPlaces(np.stack([np.interp(lines, np.arange(self._n_lines), row) for row in rows]), lines)

    def _stations(self, asked: Told) -> Lines | None:
        """Where the lines of a mesh lie among the stations of the frame, if these are not the same."""
        if self._fineness_along == 1:
            return None
        return stations_of_lines(self.usual, asked, self._n_lines, self.shocks.shape[1])

    @cached_property
    def hottest(self) -> float:
        """The largest T_wall / T_0 of the runs."""
        wall, hot = (self.told[:, -2:] - self.zero[self.columns[1]]).T
        return float(np.max(wall / hot))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and lines of the mesh."""
        return self._n_rows, self._n_lines

    @property
    def _n_rows(self) -> int:
        return (self.modes.shape[1] - 1) // FINENESS

    @property
    def _n_lines(self) -> int:
        return self.lost.shape[2] // self._n_rows

    @property
    def _fineness_along(self) -> int:
        return 1 if self.modes.shape[3] == self._n_lines else FINENESS_ALONG

    def _lines(self, told: Told) -> Float[np.ndarray, " station"]:
        """The lines of a mesh, as fractions, at the stations of the frame."""
        return lines_of_stations(self.usual, told, self._n_lines, self.modes.shape[3])

    def rows(self, told: Told, shock: Lines) -> Float[np.ndarray, "place line"]:
        """The rows of a mesh, as fractions, at the places of the frame."""
        return self._map(body_nodes(told, shock, self._n_rows, self.held[0])).T

    @cached_property
    def _map(self) -> MonotoneMap:
        return MonotoneMap.of(self.given, np.linspace(-0.5, self._n_rows - 0.5, self.modes.shape[1]))

    @cached_property
    def usual(self) -> Told:
        """The mean of what is told of the runs."""
        return self.told.mean(axis=0)

    @cached_property
    def given(self) -> Float[np.ndarray, " node"]:
        """Where the nodes of the maps lie in the frame, on every line."""
        return body_nodes(self.usual, self.shocks.mean(keepdims=True)[0], self._n_rows, self.held[0])[0]


def _shares(
    values: Float[np.ndarray, " value"], seams: Sequence[tuple[float, float]]
) -> Float[np.ndarray, "part value"]:
    """The share of each part in values; parts pass into each other over the seams between them."""
    beyond = [1.0 - falling(values, *seam) for seam in seams]
    return -np.diff([np.ones(len(values)), *beyond, np.zeros(len(values))], axis=0)


def _modes(
    values: Float[np.ndarray, "run place value station"], regions: Sequence[Region]
) -> tuple[Float[np.ndarray, "mode place value station"], Float[np.ndarray, "region run mode"]]:
    """As few modes as leave next to nothing of the runs in any region, and their shares in the runs."""
    found = []
    for place, station in regions:
        rows = _in_one_piece(values[:, place, :, station])
        gram = np.zeros((len(rows), len(rows)))
        for block in scratch.blocks(rows.shape[1], 2 * len(rows)):
            some = rows[:, block].astype(float)
            gram += some @ some.T
        variance, across = np.linalg.eigh(gram)
        variance, across = np.maximum(variance[::-1], 0.0), across[:, ::-1]
        rest = np.sqrt(np.maximum(variance.sum() - np.cumsum(variance), 0.0))
        found.append((rows, across, 1 + int(np.argmax(rest <= NEGLIGIBLE * rest[0] + np.finfo(float).tiny))))
    most = max(count for _, _, count in found)
    modes, shares = scratch.empty((most, *values.shape[1:]), np.float32), np.empty((len(regions), len(values), most))
    for number, ((rows, across, _), (place, station)) in enumerate(zip(found, regions, strict=True)):
        shares[number], part = across[:, :most], modes[:, place, :, station]
        part[:] = product(across[:, :most].T.astype(np.float32), rows).reshape(part.shape)
    return modes, shares


def _in_one_piece(part: Float[np.ndarray, "row _ _ _"]) -> Float[np.ndarray, "row _"]:
    rows = scratch.empty((len(part), part[0].size), part.dtype)
    rows.reshape(part.shape)[:] = part
    return rows


def _parts(ends: Sequence[int], size: int) -> list[slice]:
    """What lies between the ends; none of them is empty."""
    edges = np.unique(np.clip([0, *ends, size], 0, size)).tolist()
    return [slice(*pair) for pair in pairwise(edges)]


def body_nodes(told: Told, shock: Lines, n_rows: int, held: float = 0.0) -> Float[np.ndarray, "line node"]:
    """Wall, landmarks of the layer, places between it and the shock, the shock and the outer boundary, in order, with room
    between them, on every line. The places between are those of a layer of the thickness `held`, or else of its own.
    """
    share, thickness = told[len(ALONG) : len(ALONG) + n_rows], told[len(ALONG) + n_rows]
    rows, levels = np.concatenate([wall_and_rows(n_rows), [n_rows - 0.5]]), np.concatenate([[0.0], share, [1.0]])
    count = len(LANDMARKS) + len(BETWEEN)
    shock = np.clip(shock, LEAST_GAP * (count + 1) - 0.5, n_rows - 0.5 - LEAST_GAP)
    way = np.interp(shock, rows, levels)[:, None]
    layer = way * _held_back(np.array(LANDMARKS) * thickness / way)
    end, usual = layer[:, -1:], way * _held_back(LANDMARKS[-1] * (held or thickness) / way)
    between = np.array(BETWEEN)
    between = np.maximum(usual + between * (way - usual), end + LEAST_SHARE * between * (way - end))
    inside = np.interp(np.column_stack([layer, between]), levels, rows)
    inside = np.minimum(inside, shock[:, None] - LEAST_GAP * np.arange(count, 0, -1))
    inside = np.maximum(inside, -0.5 + LEAST_GAP * np.arange(1, count + 1))
    ends = np.full((2, len(shock)), [[-0.5], [n_rows - 0.5]])
    return np.column_stack([ends[0], inside, shock, ends[1]])


def lines_of_stations(usual: Told, told: Told, n_lines: int, n_stations: int) -> Float[np.ndarray, " station"]:
    """The lines of a mesh, as fractions, at the stations of a frame where walls have turned as `usual`."""
    last = n_lines - 1.0
    given, found = (np.concatenate([[0.0], one[: len(ALONG)], [last]]) for one in (usual, told))
    return np.clip(monotone(given, found[None], np.linspace(0.0, last, n_stations))[0], 0.0, last)


def stations_of_lines(usual: Told, told: Told, n_lines: int, n_stations: int) -> Float[np.ndarray, " line"]:
    """The stations of the frame, as fractions, at the lines of the mesh."""
    return places_of_rows(lines_of_stations(usual, told, n_lines, n_stations)[:, None], n_lines)[:, 0]


def _held_back(share: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Shares up to FREE as they are, the others squeezed into what is left before END, in order."""
    room = END - FREE
    return np.where(share < FREE, share, FREE + room * (1.0 - np.exp(-(np.maximum(share, FREE) - FREE) / room)))


def _on_lines(shock: Float[np.ndarray, " station"], stations: Lines | None) -> Lines:
    """From the stations of a frame to the lines of a mesh."""
    return shock if stations is None else _taken(stations, len(shock)) @ shock


def _taken(at: Float[np.ndarray, " place"], count: int) -> Float[np.ndarray, "place line"]:
    """What takes values on so many lines to places between them."""
    if count < 4:
        return between(np.eye(count)[:, None], np.arange(count, dtype=float), np.tile(at[:, None], count))[:, 0]
    (first, weights), taken = four_around(at, count), np.zeros((len(at), count))
    np.put_along_axis(taken, first[:, None] + np.arange(4), weights, axis=1)
    return taken
