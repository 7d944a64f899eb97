"""Quantities read off the predicted fields, and the same learned as numbers: each is a test of the other."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.surrogate.model import Answer, Conditions, Surrogate
from sureflow.surrogate.observe import ALONG_BODY, Distributions, Observer
from sureflow.surrogate.wall_bars import sizes_along_wall

TINY = 1e-300

Values = Float[np.ndarray, "case quantity"]
Numbers = dict[str, tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]]


# The number that tests what acts along the wall: a distribution whose integral, or largest value, is off is off itself.
TESTED_BY = {
    "wall_pressure": "drag_coefficient_pressure",
    "wall_heat_flux": "stagnation_heat_flux",
    "wall_shear": "drag_coefficient_friction",
}


class BothWays(NamedTuple):
    """What is read off the fields, with bars where there are any; and numbers with their bars, by name."""

    values: Values | None
    std: Values | None
    numbers: Numbers


def both_ways(surrogate: Surrogate, conditions: Conditions, answer: Answer | None = None) -> BothWays:
    """At conditions; from an answer that is there.

    Where two values of one quantity lie farther apart than their bars allow, at least one of the bars is too narrow, and
    nobody knows which: both are widened, each until the other's bar accounts for the rest of the difference. Left-out sides
    of training runs show that this is where bars beyond the runs fail.
    """
    conditions = np.asarray(conditions, float)
    observer, learned = surrogate.observer, surrogate.numbers
    numbers = {} if learned is None else learned(surrogate.number_space, conditions)
    if observer is None:
        return BothWays(None, None, numbers)
    values, std = surrogate.observed(observer, conditions, answer)
    if std is None:
        return BothWays(values, None, numbers)
    std = np.array(std)
    for column, quantity in enumerate(observer.quantities):
        if quantity.name in numbers:
            number, bar = numbers[quantity.name]
            apart, own = np.nan_to_num(values[:, column] - number) ** 2, std[:, column] ** 2
            std[:, column] = np.sqrt(own + np.maximum(apart - bar**2, 0.0))
            numbers[quantity.name] = number, np.sqrt(bar**2 + np.maximum(apart - np.nan_to_num(own), 0.0))
    return BothWays(values, std, numbers)


def better_values(surrogate: Surrogate, found: BothWays) -> tuple[Values, Values]:
    """Of quantities that fields tell, with bars: read off them, or as a number where that errs less on runs left out."""
    assert found.values is not None
    assert found.std is not None
    assert surrogate.observer is not None
    values, std = found.values.copy(), found.std.copy()
    for column, quantity in enumerate(surrogate.observer.quantities):
        if surrogate.better_way(quantity.name) == "gp":
            values[:, column], std[:, column] = found.numbers[quantity.name]
    return values, std


def wall_both_ways(
    surrogate: Surrogate, observer: Observer, answer: Answer
) -> tuple[Distributions, Distributions | None]:
    """What acts along the wall and its bars, which account for what a number that is learned as well differs by.

    By as much of its value as the number read off the field is off from the one learned, beyond the latter's bar, the bars of
    all faces are widened.
    """
    conditions = answer.place.conditions
    values, std = surrogate.along_wall(observer, answer)
    if std is None or surrogate.numbers is None:
        return values, std
    numbers, read = surrogate.numbers(surrogate.number_space, conditions), None
    names = [quantity.name for quantity in observer.quantities]
    std = np.array(std)
    for row, distribution in enumerate(ALONG_BODY):
        name = TESTED_BY[distribution]
        if name in numbers and name in names:
            read = observer(np.asarray(answer.raw.mean), conditions) if read is None else read
            own, (number, bar) = read[:, names.index(name)], numbers[name]
            off = np.sqrt(np.maximum((own - number) ** 2 - bar**2, 0.0)) / np.maximum(np.abs(own), TINY)
            std[:, row] = np.hypot(std[:, row], np.nan_to_num(off)[:, None] * sizes_along_wall(values)[:, row])
    return values, std
