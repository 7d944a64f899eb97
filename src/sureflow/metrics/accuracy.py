"""How far a prediction is from the truth. Arrays are (..., point); every leading axis is kept."""

import numpy as np
from jaxtyping import Float

Values = Float[np.ndarray, "..."]


def mean_absolute_error(mean: Values, truth: Values, unit: Values | float = 1.0) -> Values | float:
    """Mean of |mean - truth| over the points, in multiples of `unit` (...), such as the standard deviation of each field."""
    return np.abs(np.asarray(mean, float) - truth).mean(axis=-1) / unit


def relative_error(mean: Values, truth: Values) -> Values | float:
    """|mean - truth|_2 / |truth|_2 over the points.

    Where the truth is zero everywhere, the relative error is 0 for an exact prediction and infinite for any other.
    """
    truth = np.asarray(truth, float)
    return ratio_of_norms(((mean - truth) ** 2).sum(axis=-1), (truth**2).sum(axis=-1))


def ratio_of_norms(squared_error: Values | float, squared_truth: Values | float) -> Values | float:
    """The relative error from two sums of squares, which can be gathered run by run."""
    squared_error, squared_truth = np.asarray(squared_error, float), np.asarray(squared_truth, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squared_error == 0, 0.0, np.sqrt(squared_error / squared_truth))
