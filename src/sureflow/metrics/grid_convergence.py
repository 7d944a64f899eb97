"""The error of a mesh, told by several of them: Richardson extrapolation and the grid convergence index.

Celik et al. 2008 (J. Fluids Eng. 130, 078001), which ASME V&V 20-2009 follows, for a number computed on three meshes.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

# The order of a captured shock, and that of the scheme where flows are smooth: an observed order is held between them.
LOWEST_ORDER, HIGHEST_ORDER = 1.0, 2.0
SAFETY = 1.25  # on the extrapolated error, for three meshes
# V&V 20, 2-5.2: the index is an interval of 95 %, and over this a standard uncertainty; 2 would hold for a Gaussian.
EXPANSION = 1.15


@dataclass(frozen=True)
class GridConvergence:
    """What three meshes say of a number: `index` is relative to the value on the finest of them."""

    order: float  # as observed; NaN where the three values do not tell one
    extrapolated: float
    index: float
    oscillates: bool


def grid_convergence(
    fine: float, medium: float, coarse: float, r21: float = 2.0, r32: float = 2.0, *, held: bool = True
) -> GridConvergence:
    """Observed order, extrapolated value and index; r21 and r32 are how much larger cells are on the next coarser mesh.

    With `held` the order is kept in [1, 2], and is 1 where the values oscillate or do not change.
    """
    e21, e32 = medium - fine, coarse - medium
    oscillates = e21 * e32 < 0
    order = observed_order(e21, e32, r21, r32)
    used = order
    if held:
        used = LOWEST_ORDER if oscillates or math.isnan(order) else min(max(order, LOWEST_ORDER), HIGHEST_ORDER)
    gain = r21**used - 1.0
    index = SAFETY * abs(e21 / fine) / gain if fine else math.inf
    return GridConvergence(order, fine - e21 / gain, index, oscillates)


def observed_order(e21: float, e32: float, r21: float, r32: float) -> float:
    """p = |ln|e32 / e21| + q(p)| / ln r21, q(p) = ln((r21^p - s) / (r32^p - s)), s = sign(e32 / e21), by iteration."""
    if e21 == 0 or e32 == 0:
        return math.nan
    sign = math.copysign(1.0, e32 / e21)
    ratio, order = math.log(abs(e32 / e21)), 1.0
    for _ in range(200):
        above, below = r21**order - sign, r32**order - sign
        if above * below <= 0:
            return math.nan
        following = abs(ratio + math.log(above / below)) / math.log(r21)
        if abs(following - order) < 1e-12:
            break
        order = following
    return order if math.isfinite(order) and order > 0 else math.nan


def remaining_error(order: Float[np.ndarray, "*shape"] | float, ratio: float) -> Float[np.ndarray, "*shape"]:
    """The error of the coarser of two meshes over its difference to the finer: 1 / (1 - ratio^-order)."""
    return np.asarray(1.0 / (1.0 - np.asarray(ratio, float) ** -np.asarray(order, float)))
