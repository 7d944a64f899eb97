"""How far a prediction is from the truth. Arrays are (..., point); every leading axis is kept."""

import numpy as np
from jaxtyping import Float

Values = Float[np.ndarray, "..."]


def mean_absolute_error(mean: Values, truth: Values) -> Values:
    """Mean of |mean - truth| over the points."""
    return np.abs(np.asarray(mean, float) - truth).mean(axis=-1)


def relative_error(mean: Values, truth: Values) -> Values:
    """|mean - truth|_2 / |truth|_2 over the points, the paper's error of a run.

    A truth of zero everywhere has a relative error of 0 when it is met, and of infinity when not.
    """
    truth = np.asarray(truth, float)
    return ratio_of_norms(((mean - truth) ** 2).sum(axis=-1), (truth**2).sum(axis=-1))


def ratio_of_norms(squared_error: Values, squared_truth: Values) -> Values:
    """The relative error from two sums of squares, which can be gathered run by run."""
    squared_error, squared_truth = np.asarray(squared_error, float), np.asarray(squared_truth, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squared_error == 0, 0.0, np.sqrt(squared_error / squared_truth))
