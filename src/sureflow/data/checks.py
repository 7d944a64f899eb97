"""Checks that runs pass wherever they come from."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError

# Shares of the range of every parameter below which two conditions are too close to each other.
TOGETHER = 1e-6


def require_distinct(parameters: Float[np.ndarray, "case parameter"], names: Sequence[str]) -> None:
    """Two runs at one condition leave no model that passes through both."""
    distinct, first = np.unique(parameters, axis=0, return_index=True)
    if len(distinct) < len(parameters):
        again = np.setdiff1d(np.arange(len(parameters)), first)
        at = ", ".join(f"{name}={value:g}" for name, value in zip(names, parameters[again[0]], strict=True))
        raise SureflowError(
            f"{len(again)} of {len(parameters)} runs repeat the condition of another; the first of them is run {again[0]} at "
            f"{at}: leave one of each out"
        )


def require_apart(
    seen: Float[np.ndarray, "case parameter"], parameters: Float[np.ndarray, "case parameter"], names: Sequence[str]
) -> None:
    """Two runs next to each other make a model bend wildly, with bars that do not know. `seen` are parameters or logarithms."""
    from scipy.spatial import KDTree  # not needed by who only predicts

    width = np.ptp(seen, axis=0)
    if not width.any():  # one run, or runs that are told apart otherwise
        return
    pairs = KDTree(seen[:, width > 0] / width[width > 0]).query_pairs(TOGETHER, p=np.inf)
    if pairs:
        one, other = min(pairs)
        at = ", ".join(f"{name}={value:g}" for name, value in zip(names, parameters[one], strict=True))
        raise SureflowError(
            f"runs {one} and {other} at {at} differ by less than {TOGETHER:g} of the range of every parameter, too little to "
            "learn from: leave one of them out"
        )


def left_out_clause(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
    return f" (left out: {counts})" if counts else ""


def require_finite_values(name: str, values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise SureflowError(f"{name} have {np.sum(~np.isfinite(values))} missing or non-finite values: complete them")
