"""Split conformal prediction over runs: factors on a standard deviation whose coverage is a theorem.

The points of a run are correlated, so runs, not points, are what is exchanged. Two guarantees are offered, for a further run
drawn as the n calibration runs were (exchangeable with them), whatever the distribution and however bad the model:

- `mean_factors`: the expected share of its points with |error| <= factor x std is at least the level. This is conformal risk
  control (Angelopoulos et al. 2022) with the share of points outside as the loss: the factor is the smallest one with
  (sum of the n shares outside + 1) / (n + 1) <= 1 - level.
- `simultaneous_factors`: with probability at least the level, all of its points lie inside. The score of a run is its largest
  |error| / std, and the factor is the ceil((n + 1) level)-th smallest score (Vovk et al. 2005).

Too few runs for a level (the mean needs 1 / (1 - level) - 1 of them, nine for 90 %) give an infinite factor.

Scores are read run by run, several times, so that those of all runs need not fit into memory.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float, Int

Points = Float[np.ndarray, " _"]  # of one run, which differ in number from run to run
Scores = Iterable[Points]  # |error| / std of every run, over its points; can be iterated again and again

LEVELS = (0.5, 0.9, 0.95)
# Room for rounding where (n + 1) (1 - level) is a whole number.
ROUNDING = 1e-9
# Scores are sorted into bins by the leading bits of their float64: by factors of two from 2^-16 on, and 512 bins to each.
LOWEST_EXPONENT = -16
MANTISSA_BITS = 9
BINS = 32 << MANTISSA_BITS


def mean_factors(scores: Scores, levels: Sequence[float] = LEVELS) -> tuple[float, ...]:
    """For every level, the factor whose expected share of points inside, over runs, is at least that level.

    One pass finds the bin of each factor, a second one the factor among the scores in these bins.
    """
    shares = np.zeros(BINS)
    n_runs = 0
    for score in scores:
        shares += np.bincount(_bins(score), minlength=BINS) / score.size
        n_runs += 1
    up_to = np.cumsum(shares)
    # How large the sum over runs of the shares of points outside may be.
    allowed = {level: (n_runs + 1) * (1.0 - level) - 1.0 + ROUNDING for level in levels}
    bins = {level: int(np.argmax(n_runs - up_to <= most)) for level, most in allowed.items() if most >= 0.0}
    scores_of, weights_of = _in_bins(scores, set(bins.values()))

    def factor(level: float) -> float:
        if level not in bins:
            return math.inf
        chosen = bins[level]
        outside = n_runs - (up_to[chosen] - shares[chosen]) - weights_of[chosen]
        outside[-1] = -math.inf  # where rounding would leave a little
        return float(scores_of[chosen][np.argmax(outside <= allowed[level])])

    return tuple(map(factor, levels))


def simultaneous_factors(scores: Scores, levels: Sequence[float] = LEVELS) -> tuple[float, ...]:
    """For every level, the factor inside of which a whole run lies with at least that probability."""
    largest = np.sort([score.max() for score in scores])
    ranks = [math.ceil((len(largest) + 1) * level - ROUNDING) for level in levels]
    return tuple(float(largest[rank - 1]) if rank <= len(largest) else math.inf for rank in ranks)


def _bins(score: Points) -> Int[np.ndarray, " _"]:
    leading = np.ascontiguousarray(score, np.float64).view(np.int64) >> (52 - MANTISSA_BITS)
    return np.clip(leading - ((1023 + LOWEST_EXPONENT) << MANTISSA_BITS), 0, BINS - 1)


def _in_bins(scores: Scores, wanted: set[int]) -> tuple[dict[int, Points], dict[int, Points]]:
    """By bin: its scores in order, and the sum of their weights up to each of them. Every run has the weight 1."""
    found: dict[int, list[tuple[Points, Points]]] = {chosen: [] for chosen in wanted}
    for score in scores if wanted else ():
        bins = _bins(score)
        for chosen, parts in found.items():
            values = score[bins == chosen]
            parts.append((values, np.full(values.size, 1.0 / score.size)))
    ordered, weights = {}, {}
    for chosen, parts in found.items():
        values, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.argsort(values)
        ordered[chosen], weights[chosen] = values[order], np.cumsum(weight[order])
    return ordered, weights
