"""What a line or a polynomial over the parameters says of the fields: networks learn what it leaves."""

from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from sureflow.models.contract import Fields, Inputs, View
from sureflow.models.products import product

# Below this, in units of a field's standard deviation over all runs and points, a remainder is rounding.
NOTHING = 1e-9
HIGHEST_DEGREE = 4  # higher ones sway far outside of the runs
RUNS_PER_TERM = 2
SIDE = 1 / 8  # share of the runs that are a side


def terms(inputs: Inputs, degree: int = 1) -> Float[np.ndarray, "case term"]:
    """A constant, the parameters, and their products of up to `degree` factors."""
    columns = [np.prod(inputs[:, list(factors)], axis=1) for factors in products_of(inputs.shape[1], degree)]
    return np.column_stack(columns)


def products_of(n_parameters: int, degree: int) -> list[tuple[int, ...]]:
    """The parameters that are multiplied in every term, the constant first."""
    every = range(n_parameters)
    return [factors for order in range(degree + 1) for factors in combinations_with_replacement(every, order)]


def degree_of(n_terms: int, n_parameters: int) -> int:
    """The degree of a polynomial with so many terms."""
    return next(degree for degree in range(n_terms + 1) if n_terms <= comb(n_parameters + degree, degree))


def slope_of_terms(inputs: Inputs, along: Inputs, degree: int) -> Float[np.ndarray, "case term"]:
    """Derivative of the terms along a change of the inputs."""

    def of_product(factors: tuple[int, ...]) -> Float[np.ndarray, " case"]:
        others = [(along[:, one], factors[:place] + factors[place + 1 :]) for place, one in enumerate(factors)]
        return sum((change * np.prod(inputs[:, list(rest)], axis=1) for change, rest in others), np.zeros(len(inputs)))

    return np.column_stack([of_product(factors) for factors in products_of(inputs.shape[1], degree)])


def best_degree(inputs: Inputs, gram: Float[np.ndarray, "case case"]) -> int:
    """The degree that errs least where the runs at a side of the parameters are left out, one side after the other.

    What a polynomial is needed for is beyond the runs. `gram` has the scalar products of the runs' fields with each other. By
    the hat matrix H of a least-squares fit, runs G that are left out are missed by (1 - H_GG)^-1 ((1 - H) fields)_G.
    """
    sides = _sides(inputs)
    seen = len(inputs) - max(map(len, sides))
    possible = [d for d in range(1, HIGHEST_DEGREE + 1) if RUNS_PER_TERM * len(products_of(inputs.shape[1], d)) <= seen]
    return min(possible, key=lambda degree: _missed(terms(inputs, degree), gram, sides), default=1)


def _sides(inputs: Inputs) -> list[np.ndarray]:
    """The runs with the lowest and with the highest values of every input."""
    count = max(1, round(SIDE * len(inputs)))
    order = np.argsort(inputs, axis=0, kind="stable").T
    return [side for column in order for side in (column[:count], column[-count:])]


def _missed(
    columns: Float[np.ndarray, "case term"], gram: Float[np.ndarray, "case case"], sides: list[np.ndarray]
) -> float:
    """Sum of the squared errors at all sides."""
    rest = np.eye(len(columns)) - columns @ np.linalg.pinv(columns)
    total = 0.0
    for side in sides:
        found = np.linalg.lstsq(rest[np.ix_(side, side)], rest[side], rcond=None)[0]
        total += float(np.einsum("gi,ij,gj->", found, gram, found, optimize=True))
    return total


class Trend(NamedTuple):
    """fields(x) = line(x) + scale remainder(x), with the line by least squares at every point.

    Outside of the training runs, where networks level off, the line goes on. `scale` is the standard deviation of what the
    line leaves of a field; zero where that is nothing, so that there is nothing to learn. Of what a polynomial of degree 3
    leaves, thin and steep as it is, networks of whole fields were seen to learn nothing.
    """

    line: Float[np.ndarray, "term variable point"]
    scale: Float[np.ndarray, " variable"]

    @classmethod
    def fit(cls, view: View) -> tuple[Self, Fields]:
        """The trend of the runs, and what it leaves of their fields in units of the scale."""
        n_runs, *shape = view.fields.shape
        inverse = np.linalg.pinv(terms(view.inputs))
        line = product(inverse, np.asarray(view.fields, float).reshape(n_runs, -1)).reshape(-1, *shape)
        left = view.fields - cls(line, np.ones(shape[0])).at(view.inputs)
        scale = np.sqrt(np.mean(left**2, axis=(0, 2)))
        scale = np.where(scale > NOTHING, scale, 0.0)
        return cls(line, scale), left / np.where(scale > 0, scale, 1.0)[:, None]

    def at(self, inputs: Inputs) -> Fields:
        """The line at conditions."""
        return product(terms(inputs), self.line.reshape(len(self.line), -1)).reshape(len(inputs), *self.line.shape[1:])
