"""Checks that runs pass wherever they come from."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError


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


def left_out_clause(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
    return f" (left out: {counts})" if counts else ""


def require_finite_values(name: str, values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise SureflowError(f"{name} have {np.sum(~np.isfinite(values))} missing or non-finite values: complete them")
