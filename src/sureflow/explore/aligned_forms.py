"""Models of runs that are brought to one wall layer, shock and body, in closed form (`models.aligned`)."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sureflow.data.wall_layer import ALONG
from sureflow.explore.closed_forms import (
    FORMS,
    Form,
    doubts,
    edge_inputs,
    interpolant_of,
    metric_inputs,
    missed_nearby,
    spread_nearby,
)
from sureflow.explore.packing import Kind
from sureflow.explore.program import FramePart, Value, framed, join, select
from sureflow.models.contract import Coordinates
from sureflow.models.shock_frame import FINENESS, HOTTER, LAYER, SHOCK, places_of_rows
from sureflow.models.warps import COLDEST, TAPS, told_of_lines
from sureflow.predictive import EPISTEMIC

FEW = 0.1  # the share of the runs whose fields reach less far than what digits are shares of


class Told(NamedTuple):
    """What a model is told of the lines and the wall layer of a condition (`data.wall_layer.layer_columns`)."""

    lines: Value  # places along the wall, where cells lie on the lines, and the thickness of the layer
    landmarks: Value
    wall: Value
    hot: Value


def _told(fitted: Any, inputs: Value, n_rows: int) -> Told:
    first = len(fitted.scales)
    landmarks, end = first + len(ALONG) + n_rows + 1, first + told_of_lines((n_rows,))
    ends = ((first, landmarks), (landmarks, end - 2), (end - 2, end - 1), (end - 1, end))
    return Told(*(inputs.pick(*range(*pair)) for pair in ends))


def aligned(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Runs that are warped to the wall layer of the condition, and then interpolated (`models.warps`)."""
    mean = partial(_warped, fitted, inputs)
    bars, novelty = missed_nearby(fitted, inputs, "cubic")
    return Form(mean(False), {EPISTEMIC: bars, **doubts(fitted, inputs, mean)}, novelty)


def _warped(fitted: Any, inputs: Value, otherwise: bool) -> Value:
    weights, warp = interpolant_of(fitted, inputs, "cubic", otherwise=otherwise)[0], fitted.warp
    outer, n_lines, n_rows = warp.outer.swapaxes(1, 2).astype(float), warp.inner.shape[3], len(warp._share)
    _, landmarks, wall, hot = _told(fitted, inputs, n_rows)
    density, temperature = warp.columns
    levels = warp.inner.swapaxes(1, 2).astype(float)
    moved = weights.warped(landmarks, warp.landmarks, warp.rows[1:], levels, n_rows)
    above = wall - warp.zero[temperature]
    warm = (moved.only(temperature) * (hot - wall) + above).at_least(above * COLDEST)
    dense = moved.only(density).exponential() / warm + warp.zero[density]
    which = np.zeros(len(warp.zero), int)
    which[[density, temperature]] = 1, 2
    inside = select(which, moved, dense, warm + warp.zero[temperature])
    outer = np.pad(outer, ((0, 0), (0, 0), (n_rows - outer.shape[2], 0), (0, 0)), "edge")
    outside = weights.rows(outer.reshape(*outer.shape[:2], -1), Kind.RUNS)
    of_layer = inputs.program.constant(np.ones(1)).rows(np.repeat(warp._share, n_lines)[None, None]).only(0)
    return inside * of_layer + outside * (1.0 - of_layer)


def shock_aligned(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Runs that are combined in the frame of wall layers and shocks, and brought to the mesh (`models.shock_frame`)."""
    mean = partial(_in_shock_frame, fitted, inputs)
    bars, novelty = missed_nearby(fitted, inputs, "cubic")
    return Form(mean(False), {EPISTEMIC: bars, **doubts(fitted, inputs, mean)}, novelty)


def _in_shock_frame(fitted: Any, inputs: Value, otherwise: bool) -> Value:
    weights = interpolant_of(fitted, inputs, "cubic", otherwise=otherwise)[0]
    frame, constant = fitted.warp, inputs.program.constant
    n_variables, (density, temperature) = len(frame.zero), frame.columns
    shape, told, shock = frame.shape, _told(fitted, inputs, frame.shape[0]), weights.times(frame.shocks)
    # The fields with the share of T_0 - T_wall in place of the temperature, then the logarithm of the pressure.
    order = [*range(n_variables), n_variables]
    order[temperature] = n_variables + 1
    values = _where_needed(frame.values[:, :, order], frame, frame.landmarks, [int(density)], [n_variables])
    nodes = told.landmarks.frame_nodes(shock, shape[0])
    moved, above = (
        framed([FramePart(own, values)], nodes, frame.given, shape)
        # T - T_wall of the runs, in the frame, is what is kept of them times T_0 - T_wall.
        for own in (weights, weights * constant(frame.temperatures @ (-1.0, 1.0)))
    )
    above = above.only(temperature)
    warm = above + (weights * constant(frame.temperatures[:, 0])).sum()
    outside = select([int(one == temperature) for one in range(n_variables)], moved, warm)
    mean = _fields_of_frame(
        frame, told, shock, moved, outside, (moved.only(n_variables), moved.only(temperature), above)
    )
    return mean + weights.rows(np.asarray(frame.lost, float), Kind.LOST)


def body_aligned(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """As `shock_aligned` with the turns of walls, and weights of every region of the frame (`models.body_frame`)."""
    mean, (_, powers) = partial(_in_body_frame, fitted, inputs), _regional(fitted, inputs, False)
    power = join(*powers).rows(fitted.warp.shares_of_points[:, None], Kind.FINE).only(0) * fitted.optimism
    bars, novelty = spread_nearby(fitted, inputs) * power, missed_nearby(fitted, inputs, "cubic")[1]
    if fitted.is_framed:
        shock = interpolant_of(fitted, inputs, "cubic")[0].times(fitted.warp.shocks)
        nodes, at, _ = _maps(fitted, inputs, shock)
        bars = bars.from_cells(nodes, fitted.warp.given, fitted.warp.shape, at)
    return Form(mean(False), {EPISTEMIC: bars, **doubts(fitted, inputs, mean)}, novelty)


def _in_body_frame(fitted: Any, inputs: Value, otherwise: bool) -> Value:
    weights = interpolant_of(fitted, inputs, "cubic", otherwise=otherwise)[0]
    frame, n_variables = fitted.warp, len(fitted.warp.zero)
    shape, told = frame.shape, _told(fitted, inputs, frame.shape[0])
    nodes, at, shock = _maps(fitted, inputs, weights.times(frame.shocks))
    own, _ = _regional(fitted, inputs, otherwise)
    pressure, share = n_variables, n_variables + 1
    values = _where_needed(
        frame.modes[:, :, : share + 1], frame, frame.told, [int(frame.columns[0])], [pressure, share]
    )
    parts = [
        FramePart(one, values[:, :, places, some], places.start, some.start, reach)
        for one, (places, some), reach in zip(own, frame.regions, _reaches(values, frame), strict=True)
    ]
    # T_wall of the runs, as their modes have it: what T is above it need not be kept.
    walls = [
        FramePart(part.weights.times(shares.T @ frame.told[:, [-2]]), np.ones_like(part.rows[:1, :1]), *part[2:4])
        for part, shares in zip(parts, frame.shares, strict=True)
    ]
    moved, wall = (framed(some, nodes, frame.given, shape, at=at) for some in (parts, walls))
    above = moved.only(frame.columns[1]) - wall.only(0)
    fields = select([0] * n_variables, moved)
    mean = _fields_of_frame(frame, told, shock, fields, fields, (moved.only(pressure), moved.only(share), above))
    return mean + weights.rows(np.asarray(frame.lost, float), Kind.LOST)


def _maps(fitted: Any, inputs: Value, shock: Value) -> tuple[Value, Value | None, Value]:
    """Nodes of the maps from the frame to the mesh, stations of its lines where these are not the same, and its shock."""
    frame, told, at = fitted.warp, _told(fitted, inputs, fitted.warp.shape[0]), None
    stations, (n_rows, n_lines) = frame.shocks.shape[1], frame.shape
    if stations > n_lines:
        at = told.lines.pick(*range(len(ALONG))).stations(frame.usual[: len(ALONG)], n_lines, stations)
        shock = shock.between(at)
    return told.lines.body_nodes(shock, n_rows, float(frame.held[0])), at, shock


def _regional(fitted: Any, inputs: Value, otherwise: bool) -> tuple[list[Value], list[Value]]:
    """In every region the weights of its modes, and the power function."""
    x, edge, modes, powers = metric_inputs(fitted, inputs), edge_inputs(fitted, inputs, otherwise=otherwise), [], []
    for mixture, inverse, shares in zip(fitted.regional, fitted.regional_inverse, fitted.warp.shares, strict=True):
        near = None if edge is None else edge.times(mixture)
        weights, power = x.times(mixture).interpolant(fitted.nodes @ mixture, inverse, "cubic", near)
        # In double precision: far outside, weights of the runs are large, and their sums small.
        modes.append(weights.times(np.asarray(shares, float)))
        powers.append(power)
    return modes, powers


def _fields_of_frame(
    frame: Any, told: Told, shock: Value, moved: Value, outside: Value, layer: tuple[Value, Value, Value]
) -> Value:
    """As `models.shock_frame.fields_of_frame`; of the layer come the logarithm of the pressure, and both temperatures."""
    pressure, share, above = layer
    (density, temperature), zero, (wall, hot) = frame.columns, frame.zero, (told.wall, told.hot)
    way = ((wall - zero[temperature]) / (hot - zero[temperature]) - frame.hottest) * (1 / HOTTER)
    way = way.at_least(0.0).at_most(1.0)
    hotter = way**2 * (3.0 - way * 2.0)
    risen = share * ((1.0 - hotter) * (hot - wall)) + above * hotter
    warm = (risen + (wall - zero[temperature])).at_least((wall - zero[temperature]) * COLDEST)
    which = np.zeros(len(zero), int)
    which[[density, temperature]] = 1, 2
    inside = select(which, moved, pressure.exponential() / warm + zero[density], warm + zero[temperature])
    of_layer = shock.below((LAYER, SHOCK), frame.shape[0])
    return inside * of_layer + outside * (1.0 - of_layer)


def _where_needed(values: np.ndarray, frame: Any, told: np.ndarray, outside: list[int], layer: list[int]) -> np.ndarray:
    """Rows of a frame, value by value; those that only the layer needs, or only what lies outside, vary no farther.

    What does not vary takes no room. Where each is needed follows from the runs, with room for other conditions.
    """
    kept, n_rows = np.asarray(values, float).swapaxes(1, 2).copy(), frame.shape[0]
    ends = []
    for one, shocks in zip(told, frame.shocks, strict=True):
        places = places_of_rows(frame.rows(one, shocks), n_rows)
        ends += [
            np.interp([LAYER * shock, SHOCK * shock], np.arange(n_rows), line)
            for shock, line in zip(shocks, places.T, strict=True)
        ]
    first = int(0.5 * np.min(ends, axis=0)[0])
    last = int(0.5 * (np.max(ends, axis=0)[1] + FINENESS * (frame.given[-2] + 0.5))) + TAPS
    kept[:, outside, :first] = kept[:, outside, first : first + 1]
    kept[:, layer, last:] = kept[:, layer, last - 1 : last]
    return kept


def _reaches(values: np.ndarray, frame: Any) -> list[np.ndarray]:
    """In every region, what digits of the values are shares of: how far those of a run reach that reach less than most.

    A step of the logarithm of the pressure is a share of the density; one of the temperature in the layer counts as a share of
    the least one in the region, by which the pressure is divided. T itself is that of walls hotter than those of the runs.
    """
    n_variables, (_, temperature) = len(frame.zero), frame.columns
    wall, hot = (frame.told[:, -2:] - frame.zero[temperature]).T
    ends, coldest = [], []
    for shares, (places, some) in zip(frame.shares, frame.regions, strict=True):
        runs = np.einsum("rm,mvps->rvps", shares, values[:, :n_variables, places, some], optimize=True)
        ends.append([runs.min(axis=(2, 3)), runs.max(axis=(2, 3))])
        coldest.append(np.maximum(runs[:, temperature].min(axis=(1, 2)) - frame.zero[temperature], wall))
    least, most = np.array(ends).swapaxes(0, 1)
    reach = np.quantile(most.max(axis=0) - least.min(axis=0), FEW, axis=0)
    reach[temperature] = min(reach[temperature], frame.hottest * np.median(hot))
    return [np.concatenate([reach, [1.0, 2.0 * np.median(cold / (hot - wall))]]) for cold in coldest]


FORMS.register("aligned", aligned)
FORMS.register("shock-aligned", shock_aligned)
FORMS.register("body-aligned", body_aligned)
FORMS.register("layer-aligned", body_aligned)  # in the same frame, with shocks that stay where they are
