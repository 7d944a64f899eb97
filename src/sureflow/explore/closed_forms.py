"""Models in closed form: what turns the inputs of a model into its mean and the parts of its bars, in normalized space.

A model that has no form here, or whose scaling has none, is tabulated instead (`sureflow.explore.tabulated`).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sureflow.explore.packing import Kind
from sureflow.explore.program import Value, join, select
from sureflow.models.contract import Coordinates
from sureflow.models.kernels import KERNELS
from sureflow.models.pod_gp import WIDE
from sureflow.models.shock_frame import FINENESS, HOTTER, LAYER, SHOCK
from sureflow.models.trend import degree_of, products_of
from sureflow.models.warps import COLDEST, COLUMNS, TAPS
from sureflow.predictive import DISCREPANCY, EPISTEMIC
from sureflow.registry import Registry

# The arrays of branch networks (`models.branch`, which needs JAX).
BRANCH = ("first", "first_bias", "hidden", "hidden_bias", "last", "last_bias")


class Form(NamedTuple):
    """A prediction in normalized space as values of a program."""

    mean: Value
    parts: Mapping[str, Value]
    novelty: Value | None = None  # where the model measures it in its own way


# By the name of the model: the fitted model, its inputs and the normalized coordinates of the mesh in, the form out.
FORMS: Registry[Callable[[Any, Value, Coordinates], Form]] = Registry("closed form")


def _matern(away: Value) -> Value:
    scaled = away * np.sqrt(5.0)
    return (scaled + scaled**2 * (1 / 3) + 1.0) * (-scaled).exponential()


# The kernels of interpolations (`models.kernels`) by name.
RADIAL: dict[str, Callable[[Value], Value]] = {
    "cubic": lambda away: away**3,
    "thin-plate": lambda away: away**2 * away.at_least(np.finfo(float).tiny).logarithm(),
    "matern": _matern,
}


def interpolation(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Weights of the runs, and a spread of what was missed at the nearest ones (`models.interpolation`)."""
    bars, novelty = _missed_nearby(fitted, inputs, fitted.kernel)
    return Form(weights_of(fitted, inputs, fitted.kernel).rows(fitted.fields, Kind.RUNS), {EPISTEMIC: bars}, novelty)


def aligned(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Runs that are warped to the wall layer of the condition, and then interpolated (`models.aligned`, `models.warps`)."""
    weights, warp = weights_of(fitted, inputs, "cubic"), fitted.warp
    layer, wall, hot = _layer_of(fitted, inputs)
    density, temperature = warp.columns
    outer, n_lines, n_rows = warp.outer.swapaxes(1, 2).astype(float), warp.inner.shape[3], len(warp._share)
    levels = warp.inner.swapaxes(1, 2).astype(float)
    moved = weights.warped(layer, warp.landmarks, warp.rows[1:], levels, n_rows)
    above = wall - warp.zero[temperature]
    warm = (moved.only(temperature) * (hot - wall) + above).at_least(above * COLDEST)
    dense = moved.only(density).exponential() / warm + warp.zero[density]
    which = np.zeros(len(warp.zero), int)
    which[[density, temperature]] = 1, 2
    inside = select(which, moved, dense, warm + warp.zero[temperature])
    outer = np.pad(outer, ((0, 0), (0, 0), (n_rows - outer.shape[2], 0), (0, 0)), "edge")
    outside = weights.rows(outer.reshape(*outer.shape[:2], -1), Kind.RUNS)
    of_layer = inputs.program.constant(np.ones(1)).rows(np.repeat(warp._share, n_lines)[None, None]).only(0)
    bars, novelty = _missed_nearby(fitted, inputs, "cubic")
    return Form(inside * of_layer + outside * (1.0 - of_layer), {EPISTEMIC: bars}, novelty)


def shock_aligned(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Runs that are combined in the frame of wall layers and shocks, and brought to the mesh (`models.shock_frame`)."""
    weights, frame, constant = weights_of(fitted, inputs, "cubic"), fitted.warp, inputs.program.constant
    landmarks, wall, hot = _layer_of(fitted, inputs)
    density, temperature = frame.columns
    n_rows, zero, pressure = (frame.values.shape[1] - 1) // FINENESS, frame.zero, len(frame.zero)
    shock, values, given = weights.times(frame.shocks), _frame_values(frame), frame.given
    moved = weights.framed(landmarks, shock, given, values, n_rows)
    # T - T_wall of the runs, in the frame, is what is kept of them times T_0 - T_wall.
    heated = weights * constant(frame.temperatures @ (-1.0, 1.0))
    above = heated.framed(landmarks, shock, given, values, n_rows).only(temperature)
    warm_outside = above + (weights * constant(frame.temperatures[:, 0])).sum()
    way = (((wall - zero[temperature]) / (hot - zero[temperature]) - frame.hottest) * (1 / HOTTER)).at_least(0.0)
    way = way.at_most(1.0)
    hotter = way**2 * (3.0 - way * 2.0)
    coldest = (wall - zero[temperature]) * COLDEST
    risen = moved.only(temperature) * ((1.0 - hotter) * (hot - wall)) + above * hotter
    warm = (risen + (wall - zero[temperature])).at_least(coldest)
    dense = moved.only(pressure).exponential() / warm + zero[density]
    which = np.zeros(len(zero), int)
    outside = select(np.where(np.arange(len(zero)) == temperature, 1, which), moved, warm_outside)
    which[[density, temperature]] = 1, 2
    inside = select(which, moved, dense, warm + zero[temperature])
    of_layer = shock.below((LAYER, SHOCK), n_rows)
    lost = weights.rows(np.asarray(frame.lost, float), Kind.LOST)
    bars, novelty = _missed_nearby(fitted, inputs, "cubic")
    return Form(inside * of_layer + outside * (1.0 - of_layer) + lost, {EPISTEMIC: bars}, novelty)


def _frame_values(frame: Any) -> np.ndarray:
    """The fields with (T - T_wall) / (T_0 - T_wall) in place of the temperature, then the logarithm of the pressure.

    The latter is that of the wall layer: beyond the shock nobody asks for it, and what does not vary takes no room.
    """
    n_variables = len(frame.zero)
    values = np.asarray(frame.values[:, :, : n_variables + 1], float).swapaxes(1, 2).copy()
    values[:, frame.columns[1]] = frame.values[:, :, n_variables + 1]
    end = int(np.ceil(FINENESS * (frame.given[-2] + 0.5))) + TAPS
    values[:, -1, end:] = values[:, -1, end - 1 : end]
    return values


def _layer_of(fitted: Any, inputs: Value) -> tuple[Value, Value, Value]:
    """Landmarks of the wall layer of a condition, and the temperatures of wall and stagnation."""
    first = len(fitted.scales)
    wall, hot = map(inputs.pick, range(first + COLUMNS - 2, first + COLUMNS))
    return inputs.pick(*range(first, first + COLUMNS - 2)), wall, hot


def _missed_nearby(fitted: Any, inputs: Value, kernel: str) -> tuple[Value, Value]:
    """Root mean square of what was missed at the runs nearby, times the power function; and the novelty."""
    n_runs, n_varying = fitted.nodes.shape
    away, terms = _terms(fitted, inputs, kernel)
    power = (KERNELS[kernel].at_zero - terms.quadratic(fitted.inverse)).root()
    nearest, width = away.smallest(), away.smallest(min(2 * (n_varying + 1), n_runs) - 1)
    shares = ((nearest**2 - away**2) / (width**2) * 0.5).exponential()
    variance = (shares / shares.sum()).rows(np.asarray(fitted.residuals, float) ** 2, Kind.POSITIVE)
    return variance.root() * power, power * (1 / fitted._typical_power)


def weights_of(fitted: Any, inputs: Value, kernel: str) -> Value:
    """What the fields of the runs are multiplied with to interpolate between them."""
    return _terms(fitted, inputs, kernel)[1].times(fitted.inverse[:, : len(fitted.nodes)])


def _terms(fitted: Any, inputs: Value, kernel: str) -> tuple[Value, Value]:
    """Distances from the nodes; and radial basis functions about them, then 1 and the inputs."""
    used = fitted.scales > 0
    x = inputs.pick(*np.flatnonzero(used)) * inputs.program.constant(fitted.scales[used])
    if hasattr(fitted, "mixture"):
        x = x.times(fitted.mixture)
    away = x.distance(fitted.nodes)
    return away, join(RADIAL[kernel](away), x.program.constant(np.ones(1)), x)


def pod_gp(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """A Gaussian process for every coefficient of the modes (`models.pod_gp`)."""
    x = inputs.pick(*np.flatnonzero(fitted.varying > 0))
    location, variance = x.process(fitted.inputs, fitted.coefficients, fitted.logarithms, WIDE)
    one, scale = x.program.constant(np.ones(1)), x.program.constant(fitted.scale)
    rows = np.concatenate([fitted.mean[None], fitted.modes])
    mean = join(one, location * scale).rows(rows)
    epistemic = join(one * 0.0, variance * scale**2).squares(rows).root()
    parts = {EPISTEMIC: epistemic, DISCREPANCY: one.rows(fitted._discrepancy[None], Kind.POSITIVE)}
    return Form(mean, parts, (variance * scale**2).sum().root() * (1 / fitted._typical_deviation))


def pod_deeponet(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """A small network for every member, which gives the coefficients of the modes (`models.pod_deeponet`)."""
    one, members = inputs.program.constant(np.ones(1)), _coefficients(fitted, fitted, inputs)
    average = members[0]
    for other in members[1:]:
        average = average + other
    average = average * (1 / len(members))
    away = join(*(member - average for member in members))
    mean = join(one, average).rows(np.concatenate([fitted.mean[None], fitted.modes]))
    return Form(
        mean, {EPISTEMIC: away.spread(fitted.modes), DISCREPANCY: one.rows(fitted.truncation[None], Kind.POSITIVE)}
    )


def nbf(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Members with a basis and coefficients of their own (`train.nbf`): what each differs by from their mean is a sum as well."""
    one, functions = inputs.program.constant(np.ones(1)), fitted.functions(coordinates).transpose(0, 2, 3, 1)
    rows, count = functions.reshape(-1, *functions.shape[2:]), len(functions)
    weights = [join(one, member) for member in _coefficients(fitted, fitted.branch, inputs)]
    away = [
        join(*(other * ((1.0 if own == k else 0.0) - 1 / count) for k, other in enumerate(weights)))
        for own in range(count)
    ]
    misfit = one.rows(np.broadcast_to(fitted.misfit[:, None], functions.shape[2:])[None], Kind.POSITIVE)
    mean = join(*(weight * (1 / count) for weight in weights)).rows(rows)
    return Form(mean, {EPISTEMIC: join(*away).spread(rows), DISCREPANCY: misfit})


def _coefficients(fitted: Any, branch: Any, inputs: Value) -> list[Value]:
    """A polynomial and a small network for every member (`models.branch`)."""
    one = inputs.program.constant(np.ones(1))
    line, scale = _terms_of_trend(fitted, branch, inputs).times(fitted.line), inputs.program.constant(fitted.scale)

    def layer(x: Value, weights: np.ndarray, bias: np.ndarray) -> Value:
        return join(x, one).times(np.vstack([weights.T, bias]))

    arrays = [np.asarray(getattr(branch, name), float) for name in BRANCH]
    members = []
    for first, first_bias, hidden, hidden_bias, last, last_bias in zip(*arrays, strict=True):
        x = layer(layer(inputs, first, first_bias).tanh(), hidden, hidden_bias).tanh()
        members.append(line + layer(x, last, last_bias) * scale)
    return members


def _terms_of_trend(fitted: Any, branch: Any, inputs: Value) -> Value:
    """The products of the inputs in a polynomial (`models.trend`)."""
    n_inputs = branch.first.shape[2]
    made: dict[tuple[int, ...], Value] = {(): inputs.program.constant(np.ones(1))}
    for factors in products_of(n_inputs, degree_of(len(fitted.line), n_inputs))[1:]:
        made[factors] = made[factors[:-1]] * inputs.pick(factors[-1])
    return join(*made.values())


FORMS.register("interpolation", interpolation)
FORMS.register("aligned", aligned)
FORMS.register("shock-aligned", shock_aligned)
FORMS.register("pod-gp", pod_gp)
FORMS.register("pod-deeponet", pod_deeponet)
FORMS.register("nbf", nbf)
