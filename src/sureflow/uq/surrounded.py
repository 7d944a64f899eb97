"""Runs that others surround: left out, they are interpolated, as most conditions within the ranges are."""

import numpy as np
from jaxtyping import Bool, Float

# Conditions within the ranges that are drawn to see how many of them are surrounded by runs.
DRAWN = 128
# In units of the ranges: what is farther from every mixture of the runs is not among them.
CLOSE = 1e-6
# Conditions on the edge of the runs are not surrounded by them: those that are still are when they are moved outward so far.
OUTWARD = 0.05
# Only where most conditions are surrounded, and clearly fewer of the runs, does the difference matter.
MOST, CLEARLY = 0.5, 0.8


def typical_runs(parameters: Float[np.ndarray, "run parameter"], seed: int = 0) -> Bool[np.ndarray, " run"]:
    """Runs among which as large a share is surrounded by the others as of all conditions within the ranges.

    In few parameters many runs lie on the edge, where leaving them out means to extrapolate, and few conditions do: errors
    at these runs say little of those within. In many parameters runs and conditions alike have hardly ever others all around.
    """
    lower, width = parameters.min(axis=0), np.ptp(parameters, axis=0)
    runs = (parameters - lower)[:, width > 0] / width[width > 0]
    rng, everyone = np.random.default_rng(seed), np.arange(len(runs))
    within = np.array([is_surrounded(run, runs[everyone != number]) for number, run in enumerate(runs)])
    share = np.mean([is_surrounded(drawn, runs) for drawn in rng.uniform(size=(DRAWN, runs.shape[1]))])
    if share < MOST or within.mean() >= CLEARLY * share:
        return np.ones(len(runs), bool)
    edge = rng.permutation(np.flatnonzero(~within))
    kept = round(within.sum() * (1.0 - share) / share)
    typical = within.copy()
    typical[edge[:kept]] = True
    return typical


def is_surrounded(condition: Float[np.ndarray, " parameter"], runs: Float[np.ndarray, "run parameter"]) -> bool:
    """Whether a condition is well within the convex hull of the runs: a mixture of them. The hull itself is not computed."""
    from scipy.optimize import nnls  # not needed by who only predicts

    farther = condition + OUTWARD * (condition - 0.5)
    _, away = nnls(np.column_stack([runs, np.ones(len(runs))]).T, np.append(farther, 1.0))
    return bool(away < CLOSE)
