"""Calibrated bars in closed form, as `sureflow.uq.bars` has them."""

import numpy as np

from sureflow.errors import SureflowError
from sureflow.explore.closed_forms import Form
from sureflow.explore.packing import Kind
from sureflow.explore.program import Value, join
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.space import NEIGHBORS, Space
from sureflow.uq.bars import FLOOR, LEAST_NOVELTY, Calibration, ErrorBars


def calibrated_bars(surrogate: Surrogate, form: Form, novelty: Value, parameters: Value) -> Value | None:
    """Standard deviation in normalized space; the model's own where it is not calibrated."""
    one = novelty.program.constant(np.ones(1))
    own = None
    if form.parts:
        variance, *others = (part**2 for part in form.parts.values())
        for other in others:
            variance = variance + other
        own = variance.root()
    if surrogate.calibration is None:
        return own
    fitted = _known(surrogate.calibration.fields)
    if own is None:
        own = one.rows(np.ones((1, *fitted.scale.shape)), Kind.POSITIVE)
    return bars_of(fitted, surrogate, own, novelty, parameters, surrogate.space)


def quantity_bars_of(surrogate: Surrogate, novelty: Value, parameters: Value) -> Value:
    """Standard deviations of quantities over their values; in place of bars of its own a quantity has the novelty."""
    assert surrogate.calibration is not None
    assert surrogate.calibration.quantities is not None
    fitted = _known(surrogate.calibration.quantities)
    one = novelty.program.constant(np.ones(len(fitted.scale)))
    return bars_of(fitted, surrogate, one * novelty.at_least(LEAST_NOVELTY), novelty, parameters, None)


def _known(bars: ErrorBars) -> Calibration:
    if not isinstance(bars, Calibration):
        raise SureflowError(
            "this model was calibrated by an earlier sureflow, and a page cannot hold such bars: calibrate it again, or serve it"
        )
    return bars


def bars_of(
    fitted: Calibration, surrogate: Surrogate, own: Value, novelty: Value, parameters: Value, space: Space | None
) -> Value:
    """scale sqrt(t^2 + floor^2) times what lies beyond the box of the runs; of fields, or of small values without a space."""

    def rows(array: np.ndarray) -> Value:
        constant = own.program.constant
        return constant(array[:, 0]) if space is None else constant(np.ones(1)).rows(array[None], Kind.POSITIVE)

    grown = own * (novelty.at_least(LEAST_NOVELTY) ** fitted.growth)
    squared = grown**2 + FLOOR**2
    inside = squared.root() * rows(np.asarray(fitted.scale))
    if not fitted.taught:
        return inside
    beyond = _beyond(surrogate, parameters)
    distance = (beyond**2).sum().root()
    shares = (beyond / distance.at_least(np.finfo(float).tiny)) ** 2
    neighbors = grown
    if space is not None and any(fitted.spread) and space.shape is not None:
        neighbors = grown.around(space.shape, NEIGHBORS)
    added = neighbors**2 / squared
    ratio = None
    for side in range(2 * len(surrogate.parameter_names)):
        factor, spread = fitted._side(side)
        term = rows(np.asarray(factor) ** 2) * (added * spread**2 + 1.0) * shares.pick(side)
        ratio = term if ratio is None else ratio + term
    assert ratio is not None
    # Inside of the box all shares are zero, and so is the exponent: 0^0 = 1.
    return inside * ratio.to_the((distance * (1 / fitted.near)).at_most(1.0) * 0.5)


def _beyond(surrogate: Surrogate, parameters: Value) -> Value:
    """How far a condition lies below and above the runs, parameter by parameter."""
    domain, sides = surrogate.domain, []
    rows = zip(domain.names, domain.seen(domain.lower), domain.seen(domain.upper), domain.width, strict=True)
    for column, (name, *edges) in enumerate(rows):
        value, (low, high, width) = parameters.pick(column), map(float, edges)
        value = value.logarithm() if name in domain.logarithmic else value
        sides += [(low - value) * (1 / width), (value - high) * (1 / width)]
    return join(*sides).at_least(0.0)
