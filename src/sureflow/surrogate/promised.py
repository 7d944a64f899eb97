"""The intervals that a calibrated model promises: what predictions carry, and what an evaluation counts."""

import numpy as np
from jaxtyping import Float

from sureflow.data.scaling import POSITIVE_UNITS
from sureflow.predictive import INTERVALS, Predictive
from sureflow.surrogate.model import Conditions, Surrogate
from sureflow.uq.bars import FLOOR

WIDEST = 0.999  # of the half widths of intervals, over a value that is positive by nature


def half_width(
    surrogate: Surrogate,
    found: Predictive,
    conditions: Conditions,
    level: float,
    *,
    simultaneous: bool = False,
    unit: Float[np.ndarray, "case variable point"] | None = None,
) -> Float[np.ndarray, "case variable point"] | None:
    """Half of the interval about a calibrated mean, point by point or for the whole field at once.

    None where too few runs were held out for the level. No interval is narrower than rounding, and the lower end stays
    positive where the field is by nature. `unit` is that of the predictor at the mean, where it is known.
    """
    if surrogate.calibration is None:
        return None
    bars = surrogate.calibration.fields
    factors = (bars.band_factors if simultaneous else bars.factors).get(level, (np.inf,))
    if not np.isfinite(factors).all():
        return None
    mean = np.asarray(found.mean)
    width = bars.half_width(np.asarray(found.std), level, simultaneous=simultaneous)
    unit = surrogate.predictor.unit(mean, conditions) if unit is None else unit
    width = np.maximum(width, FLOOR * unit)
    for variable in np.flatnonzero(np.isin(surrogate.units, POSITIVE_UNITS)):
        value, of_value = mean[:, variable], width[:, variable]
        np.copyto(of_value, np.minimum(of_value, WIDEST * value), where=value > 0)
    return width


def promised(surrogate: Surrogate, conditions: Conditions) -> Predictive:
    """A prediction with the ends of its intervals as quantiles, where the model promises intervals."""
    found = surrogate.predictive(conditions)
    mean, quantiles = np.asarray(found.mean), dict(found.quantiles)
    for level, (low, high) in INTERVALS.items():
        width = half_width(surrogate, found, conditions, level)
        if width is not None:
            quantiles |= {low: mean - width, high: mean + width}
    limits = surrogate.predictor.limits
    if limits is not None:
        quantiles = {level: limits.cut(end, conditions) for level, end in quantiles.items()}
    return Predictive(found.mean, found.parts, quantiles)


def counted_intervals(surrogate: Surrogate) -> str:
    """Which intervals an evaluation of this model counts, in a sentence; nothing of a model without bars."""
    if surrogate.calibration is not None:
        if np.isfinite(surrogate.calibration.fields.factors[0.9]).all():
            return "The 90 % intervals are those of its predictions, calibrated for the mean share of points in a run."
        return "The 90 % intervals are 1.64 standard deviations: too few runs were held out to calibrate them."
    return "The 90 % intervals are the model's own: it is not calibrated."
