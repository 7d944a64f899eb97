"""How near runs must be for what was missed there to tell of the errors at a condition."""

import numpy as np
from jaxtyping import Float

from sureflow.metrics.bar_score import best_level
from sureflow.models.contract import Fields
from sureflow.models.kernels import Nodes, nearby

# Widths of the neighborhood (`kernels.nearby`) that are tried. A narrower one than the first must be better by so much: of fewer
# runs, bars are nearly zero at more points, and errors beyond the runs then many times as large.
WIDTHS, BETTER = (1.0, 0.7, 0.5, 0.35, 0.25), 0.015
# Points that they are tried at, and values of |residual| / spread that one score is made of.
SAMPLED_POINTS, SAMPLED_VALUES = 512, 4096
# Spreads below this share of the largest one are rounding.
ROUNDING = 1e-9


def learned_width(nodes: Nodes, residuals: Fields, seed: int = 0) -> float:
    """The width with which the residuals of other runs tell best how large those of a run left out are.

    How large bars are altogether is left to calibration: of every width, the best level counts. Residuals of zero are those of
    runs that cannot be left out.
    """
    points = np.random.default_rng(seed).permutation(residuals.shape[2])[:SAMPLED_POINTS]
    sizes = np.abs(residuals[:, :, np.sort(points)].astype(float))
    known = np.flatnonzero(sizes.any(axis=(1, 2)))
    if len(known) < 3:
        return WIDTHS[0]
    scores = [_score(nodes[known], sizes[known], width) for width in WIDTHS]
    best = int(np.argmin(scores))
    return WIDTHS[best] if scores[best] < scores[0] - BETTER else WIDTHS[0]


def _score(nodes: Nodes, sizes: Float[np.ndarray, "run variable point"], width: float) -> float:
    """How bad the bars of a width are at runs left out one at a time, averaged over variables."""
    close, everyone = np.zeros((len(nodes), len(nodes))), np.arange(len(nodes))
    for run in everyone:
        close[run, everyone != run] = nearby(nodes[[run]], nodes[everyone != run], width)[0]
    spread = np.sqrt(np.einsum("ck,kvp->vcp", close, sizes**2, optimize=True))
    ratio = sizes.swapaxes(0, 1) / np.maximum(spread, ROUNDING * spread.max(axis=(1, 2), keepdims=True))
    every = max(1, ratio[0].size // SAMPLED_VALUES)
    return float(np.mean([best_level(np.sort(scores.ravel()[::every]))[1] for scores in ratio]))
