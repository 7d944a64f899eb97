"""Split conformal prediction over runs: factors on a standard deviation whose coverage is a theorem.

The points of a run are correlated, so runs, not points, are what is exchanged. Two guarantees are offered, for a further run
drawn as the n calibration runs were (exchangeable with them), whatever the distribution and however bad the model:

- `mean_factor`: the expected share of its points with |error| <= factor x std is at least `level`. This is conformal risk
  control (Angelopoulos et al. 2022) with the share of points outside as the loss: the factor is the smallest one with
  (sum of the n shares outside + 1) / (n + 1) <= 1 - level.
- `simultaneous_factor`: with probability at least `level`, all of its points lie inside. The score of a run is its largest
  |error| / std, and the factor is the ceil((n + 1) level)-th smallest score (Vovk et al. 2005).

Too few runs for a level (the mean needs 1 / (1 - level) - 1 of them, nine for 90 %) give an infinite factor.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

Scores = Sequence[Float[np.ndarray, " point"]]  # |error| / std of every run, over its points

LEVELS = (0.5, 0.9, 0.95)
# Room for rounding where (n + 1) (1 - level) is a whole number.
ROUNDING = 1e-9


def mean_factor(scores: Scores, level: float) -> float:
    """The factor whose expected share of points inside, over runs, is at least `level`."""
    allowed = (len(scores) + 1) * (1.0 - level) - 1.0 + ROUNDING
    if allowed < 0.0:
        return math.inf
    values = np.concatenate(scores)
    weights = np.concatenate([np.full(len(score), 1.0 / len(score)) for score in scores])
    order = np.argsort(values)
    # Sum over runs of the share of points strictly above each score, were that score the factor.
    outside = len(scores) - np.cumsum(weights[order])
    outside[-1] = 0.0  # where rounding would leave a little
    return float(values[order][np.argmax(outside <= allowed)])


def simultaneous_factor(scores: Iterable[Float[np.ndarray, " point"]], level: float) -> float:
    """The factor inside of which a whole run lies with probability at least `level`."""
    largest = np.sort([score.max() for score in scores])
    rank = math.ceil((len(largest) + 1) * level - ROUNDING)
    return float(largest[rank - 1]) if rank <= len(largest) else math.inf
