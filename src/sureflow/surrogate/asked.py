"""What is asked of a model, as users give it: conditions by name and points as arrays, or a sentence about what is wrong."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow.data.locate import require_points
from sureflow.data.meshes import Points
from sureflow.errors import Refused, SureflowError, Unanswerable
from sureflow.uq.domain import Conditions, Verdict
from sureflow.validation import shortened


def asked_conditions(parameters: Mapping[str, Any], names: Sequence[str], logarithmic: Collection[str]) -> Conditions:
    """Conditions (case, parameter) from values by name."""
    if set(parameters) != set(names):
        unknown = [name for name in parameters if name not in names]
        nearest = get_close_matches(unknown[0].lower(), names, 1) if unknown else []
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        raise SureflowError(f"this model takes {', '.join(names)}; given: {', '.join(parameters) or 'nothing'}{hint}")
    columns = {name: _column(name, parameters[name]) for name in names}
    try:
        conditions = np.column_stack(np.broadcast_arrays(*columns.values()))
    except ValueError:
        counts = ", ".join(f"{values.size} of {name}" for name, values in columns.items())
        raise SureflowError(f"all parameters need the same number of values; given: {counts}") from None
    if not np.isfinite(conditions).all():
        raise SureflowError("conditions must be finite numbers")
    _require_logarithms(conditions, names, logarithmic)
    return conditions


def _require_logarithms(conditions: Conditions, names: Sequence[str], logarithmic: Collection[str]) -> None:
    """Refuse what no run can be computed at and no extrapolation reaches."""
    for column, name in enumerate(names):
        least = conditions[:, column].min(initial=np.inf)
        if name in logarithmic and least <= 0:
            raise SureflowError(f"{name}={least:g} has no logarithm: give a positive value")


def _column(name: str, values: Any) -> Float[np.ndarray, " case"]:
    try:
        return np.atleast_1d(np.asarray(values, float))
    except (TypeError, ValueError):
        raise SureflowError(f"{name}={values!r} is not a number, or a sequence of numbers") from None


def table_of_conditions(conditions: Any, names: Sequence[str]) -> Conditions:
    """Conditions as an array (case, parameter), or a sentence about what is wrong with them."""
    try:
        found = np.asarray(conditions, float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape[1:] != (len(names),) or not np.isfinite(found).all():
        raise SureflowError(
            f"conditions must be finite numbers (case, parameter) of {', '.join(names)}; given: {shortened(repr(conditions))}"
        )
    return found


def require_draws(count: Any, seed: Any) -> None:
    """Refuse what no samples can be drawn with."""
    for name, value, least in (("count", count, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or value < least:
            raise SureflowError(f"{name}={value!r} must be a whole number, at least {least}")


def is_single(parameters: Mapping[str, Any]) -> bool:
    """Whether one condition is asked for, not a table of them."""
    return not any(np.ndim(value) for value in parameters.values())


def located(points: Any, n_axes: int) -> Points:
    """Points as an array (point, axis), or a sentence about what is wrong with them."""
    try:
        found = np.asarray(points, float)
    except (TypeError, ValueError):
        raise SureflowError(f"points must be numbers (point, {n_axes}); given: {shortened(repr(points))}") from None
    require_points(found, n_axes)
    return found


def refusal(verdict: Verdict) -> Refused:
    """What says why a condition is refused, and what to do."""
    if verdict.final:
        return Unanswerable(f"refused: {verdict.reason}. Compute runs there")
    return Refused(f"refused: {verdict.reason}. Compute runs there, or ask for an extrapolation")
