"""The score by which forms of error bars are chosen, from |error| / bar."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from sureflow.metrics.intervals import EXPECTED, HALF_WIDTHS, area_between

Scores = Float[np.ndarray, " value"]

# The weights of the 90 % interval and of heavy tails, beside the miscalibration area.
OF_THE_INTERVAL, OF_THE_TAILS = 0.5, 0.02
# Factors on the typical level among which the best one is chosen.
CANDIDATES = np.geomspace(0.25, 4.0, 41)
GAUSSIAN_90, GAUSSIAN_50 = ndtri(0.95), ndtri(0.75)
TINY = 1e-30


def bar_scores(scores: Scores, levels: Float[np.ndarray, " level"]) -> Float[np.ndarray, " level"]:
    """How bad bars are that are multiplied by each of the levels, from sorted |error| / bar.

    The miscalibration area, what the 90 % interval misses its share by, and how heavy the tails are.
    """
    held = np.searchsorted(scores, np.outer(levels, HALF_WIDTHS).ravel(), side="right").reshape(len(levels), -1)
    share = np.searchsorted(scores, levels * GAUSSIAN_90, side="right") / scores.size
    tails = np.log(np.maximum(np.sqrt((scores**2).mean()) / levels, 1.0))
    area = np.asarray(area_between(EXPECTED, held / scores.size))
    return area + OF_THE_INTERVAL * np.abs(share - 0.9) + OF_THE_TAILS * tails


def best_level(scores: Scores) -> tuple[float, float]:
    """The level with which bars are best, and how bad they are then."""
    levels = max(float(np.median(scores)) / GAUSSIAN_50, TINY) * CANDIDATES
    found = bar_scores(scores, levels)
    best = int(np.argmin(found))
    return float(levels[best]), float(found[best])
