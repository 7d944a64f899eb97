"""Models in closed form: what turns the inputs of a model into its mean and the parts of its bars, in normalized space.

A model that has no form here, or whose scaling has none, is tabulated instead (`sureflow.explore.tabulated`).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sureflow.explore.packing import Kind
from sureflow.explore.program import Value, join
from sureflow.models.beyond import DOUBTED, counts_doubts, limits
from sureflow.models.contract import Coordinates
from sureflow.models.pod_gp import WIDE
from sureflow.models.trend import degree_of, products_of
from sureflow.predictive import DISCREPANCY, EPISTEMIC
from sureflow.registry import Registry

# The arrays of branch networks (`models.branch`, which needs JAX).
BRANCH = ("first", "first_bias", "hidden", "hidden_bias", "last", "last_bias")


# What a page adds up in the bars beyond the runs; in a model's prediction, it is a part of EPISTEMIC.
DOUBT = "doubt"


# The mean of a model or, where True, what it would be if it went on beyond the runs in other ways.
Mean = Callable[[bool], Value]


class Form(NamedTuple):
    """A prediction in normalized space as values of a program."""

    mean: Value
    parts: Mapping[str, Value]
    novelty: Value | None = None  # where the model measures it in its own way


# By the name of the model: the fitted model, its inputs and the normalized coordinates of the mesh in, the form out.
FORMS: Registry[Callable[[Any, Value, Coordinates], Form]] = Registry("closed form")


def interpolation(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """Weights of the runs, and a spread of what was missed at the nearest ones (`models.interpolation`)."""
    bars, novelty = missed_nearby(fitted, inputs, fitted.kernel)
    weights = interpolant_of(fitted, inputs, fitted.kernel)[0]
    parts = {EPISTEMIC: bars}
    if counts_doubts(fitted.straight):
        otherwise = interpolant_of(fitted, inputs, fitted.kernel, otherwise=True)[0]
        # Of weights, not of fields, whose difference would lose digits.
        parts[DOUBT] = ((otherwise - weights) * _doubted(fitted, inputs)).rows(fitted.fields, Kind.RUNS)
    return Form(weights.rows(fitted.fields, Kind.RUNS), parts, novelty)


def doubts(fitted: Any, inputs: Value, mean: Mean) -> dict[str, Value]:
    """A part of the bars of aligned runs: half of what other ways to go on beyond the runs would change (`models.beyond`)."""
    if not counts_doubts(fitted.straight):
        return {}
    return {DOUBT: (mean(True) - mean(False)) * _doubted(fitted, inputs)}


def _doubted(fitted: Any, inputs: Value) -> Value:
    """The share of the distance between the two ways that is a part of the bars: none within the box of the runs."""
    scaled = _scaled(fitted, inputs)
    distance = ((scaled - _within(fitted, scaled, np.ones_like(fitted.straight, bool))) ** 2).sum()
    # A field times 0 takes no time.
    return distance / distance.at_least(np.finfo(float).tiny) * DOUBTED


def missed_nearby(fitted: Any, inputs: Value, kernel: str) -> tuple[Value, Value]:
    """Root mean square of what was missed at the runs nearby, times the power function; and the novelty."""
    power = interpolant_of(fitted, inputs, kernel)[1]
    return spread_nearby(fitted, inputs) * power, power * (1 / fitted._typical_power)


def spread_nearby(fitted: Any, inputs: Value) -> Value:
    """Root mean square of what was missed at the runs nearby, over the power function (`models.kernels.nearby`)."""
    n_runs, n_varying = fitted.nodes.shape
    away = metric_inputs(fitted, inputs).distance(fitted.nodes)
    share = float(np.squeeze(getattr(fitted, "width", 1.0)))
    nearest, width = away.smallest(), away.smallest(min(2 * (n_varying + 1), n_runs) - 1) * share
    shares = ((nearest**2 - away**2) / (width**2) * 0.5).exponential()
    return (shares / shares.sum()).rows(np.asarray(fitted.residuals, float) ** 2, Kind.POSITIVE).root()


def interpolant_of(fitted: Any, inputs: Value, kernel: str, *, otherwise: bool = False) -> tuple[Value, Value]:
    """What the fields of the runs are multiplied with to interpolate between them, and the power function."""
    near = edge_inputs(fitted, inputs, otherwise=otherwise)
    return metric_inputs(fitted, inputs).interpolant(fitted.nodes, fitted.inverse, kernel, near)


def metric_inputs(fitted: Any, inputs: Value) -> Value:
    """Inputs that vary in the runs, as distances between conditions are measured."""
    return _mixed(fitted, _scaled(fitted, inputs))


def edge_inputs(fitted: Any, inputs: Value, *, otherwise: bool = False) -> Value | None:
    """Where straight lines to the condition begin (`models.beyond`); nothing where there are none on any side."""
    straight = (fitted.straight > 0) != otherwise
    return _mixed(fitted, _within(fitted, _scaled(fitted, inputs), straight)) if straight.any() else None


def _within(fitted: Any, scaled: Value, straight: np.ndarray) -> Value:
    unmixed = fitted.nodes @ np.linalg.inv(fitted.mixture) if hasattr(fitted, "mixture") else fitted.nodes
    low, high = (scaled.program.constant(np.nan_to_num(limit)) for limit in limits(unmixed, straight))
    return scaled.at_least(low).at_most(high)


def _scaled(fitted: Any, inputs: Value) -> Value:
    used = fitted.scales > 0
    return inputs.pick(*np.flatnonzero(used)) * inputs.program.constant(fitted.scales[used])


def _mixed(fitted: Any, scaled: Value) -> Value:
    return scaled.times(fitted.mixture) if hasattr(fitted, "mixture") else scaled


def pod_gp(fitted: Any, inputs: Value, coordinates: Coordinates) -> Form:
    """A Gaussian process for every coefficient of the modes (`models.pod_gp`)."""
    x = inputs.pick(*np.flatnonzero(fitted.varying > 0))
    location, variance = x.process(fitted.inputs, fitted.coefficients, fitted.logarithms, WIDE)
    one, scale = x.program.constant(np.ones(1)), x.program.constant(fitted.scale)
    rows = np.concatenate([fitted.mean[None], fitted.modes])
    mean = join(one, location * scale).rows(rows)
    epistemic = join(one * 0.0, variance * scale**2).squares(rows).root()
    parts = {EPISTEMIC: epistemic, DISCREPANCY: one.rows(fitted.discrepancy[None], Kind.POSITIVE)}
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
for name in ("aligned", "shock-aligned", "body-aligned", "layer-aligned"):
    FORMS.later(name, "sureflow.explore.aligned_forms")
FORMS.register("pod-gp", pod_gp)
FORMS.register("pod-deeponet", pod_deeponet)
FORMS.register("nbf", nbf)
