"""Polynomials of the parameters: their degree by runs left out, their slope, and what they were in earlier models."""

import numpy as np
import pytest

from sureflow.models.trend import (
    HIGHEST_DEGREE,
    SIDE,
    best_degree,
    degree_of,
    products_of,
    slope_of_terms,
    terms,
)

RNG = np.random.default_rng(0)
INPUTS = RNG.uniform(-1.5, 1.5, (60, 2))


def polynomial(degree: int, noise: float = 1e-3) -> np.ndarray:
    columns = terms(INPUTS, degree)
    return columns @ RNG.normal(size=(columns.shape[1], 5)) + noise * RNG.normal(size=(len(INPUTS), 5))


def test_terms_are_a_constant_the_parameters_and_their_products():
    x = np.array([[2.0, 3.0]])
    assert terms(x).tolist() == [[1, 2, 3]]
    assert terms(x, 2).tolist() == [[1, 2, 3, 4, 6, 9]]


@pytest.mark.parametrize("n_parameters", [1, 2, 5])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_the_number_of_terms_tells_the_degree(n_parameters, degree):
    assert degree_of(len(products_of(n_parameters, degree)), n_parameters) == degree


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_degree_of_a_polynomial_is_found(degree):
    fields = polynomial(degree)
    assert best_degree(INPUTS, fields @ fields.T) == degree


def test_leaving_sides_out_is_fitting_without_them():
    """The closed form chooses what fits to the other runs choose, where neither choice is a polynomial."""
    fields = np.exp(INPUTS @ RNG.normal(size=(2, 5)))
    count = round(SIDE * len(INPUTS))
    errors = {}
    for degree in range(1, HIGHEST_DEGREE + 1):
        columns, missed = terms(INPUTS, degree), []
        for order in np.argsort(INPUTS, axis=0).T:
            for side in (order[:count], order[-count:]):
                others = np.setdiff1d(order, side)
                fit = np.linalg.lstsq(columns[others], fields[others], rcond=None)[0]
                missed.append(np.sum((columns[side] @ fit - fields[side]) ** 2))
        errors[degree] = sum(missed)
    assert best_degree(INPUTS, fields @ fields.T) == min(errors, key=errors.__getitem__)


def test_few_runs_give_a_straight_line():
    fields = INPUTS[:6] ** 2
    assert best_degree(INPUTS[:6], fields @ fields.T) == 1


def test_the_slope_is_that_of_the_terms():
    x, along, step = INPUTS[:4], RNG.normal(size=(4, 2)), 1e-6
    expected = (terms(x + step * along, 3) - terms(x - step * along, 3)) / (2 * step)
    np.testing.assert_allclose(slope_of_terms(x, along, 3), expected, rtol=1e-7, atol=1e-7)
