"""Quantities read off the predicted fields, and the same learned as numbers: each is a test of the other."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.surrogate.model import Answer, Conditions, Surrogate

Values = Float[np.ndarray, "case quantity"]
Numbers = dict[str, tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]]


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
    numbers = {} if surrogate.numbers is None else surrogate.numbers(surrogate.number_space, conditions)
    observer = surrogate.observer
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
