"""Tests for sureflow.models.kernels"""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from sureflow.models.kernels import KERNELS, System, inverse_system, terms

CUBIC = KERNELS["cubic"]


def system_of(kernel, nodes: np.ndarray) -> System:
    """Of one set of nodes, or of several."""
    one_by_one = [inverse_system(kernel, one) for one in nodes.reshape(-1, *nodes.shape[-2:])]
    return System.of(kernel, nodes, np.reshape(one_by_one, (*nodes.shape[:-2], *one_by_one[0].shape)))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_weights_and_powers_are_those_of_each_system(kernel):
    rng = np.random.default_rng(0)
    nodes, inputs = rng.normal(size=(3, 12, 2)), rng.normal(size=(3, 5, 2))
    weights, powers = system_of(kernel, nodes).weights_and_powers(inputs)
    for own_weights, own_powers, at, runs in zip(weights, powers, inputs, nodes, strict=True):
        rows, inverse = terms(kernel, at, runs), inverse_system(kernel, runs)
        np.testing.assert_allclose(own_weights, (rows @ inverse)[:, : len(runs)], rtol=1e-9, atol=1e-9)
        square = kernel.at_zero - np.einsum("ci,ij,cj->c", rows, inverse, rows)
        np.testing.assert_allclose(own_powers, np.sqrt(square), rtol=1e-7)


def test_at_the_runs_they_are_the_runs():
    nodes = np.random.default_rng(0).normal(size=(2, 15, 2))
    weights, powers = system_of(CUBIC, nodes).weights_and_powers(nodes)
    np.testing.assert_allclose(weights, np.broadcast_to(np.eye(15), weights.shape), atol=1e-12)
    assert powers.max() == 0.0


@pytest.mark.parametrize("away", [1e-1, 1e-3, 1e-5])
def test_the_power_function_keeps_its_digits_near_a_run(away):
    rng = np.random.default_rng(1)
    nodes = rng.uniform(-1.0, 1.0, (40, 2))
    at = nodes[7] + away * np.array([0.6, 0.8])
    found = system_of(CUBIC, nodes).weights_and_powers(at[None])[1][0]
    # What is left are the errors of distances, about 1e-16, beside the distance from the run.
    assert found == pytest.approx(in_fifty_digits(nodes, at), rel=1e-13 / away + 1e-12)


def in_fifty_digits(nodes: np.ndarray, at: np.ndarray) -> float:
    """The power function of the cubic kernel, by Gaussian elimination in decimal numbers."""
    with localcontext() as context:
        context.prec = 50
        runs, place = [[Decimal(float(x)) for x in row] for row in nodes], [Decimal(float(x)) for x in at]

        def cubed(a: list[Decimal], b: list[Decimal]) -> Decimal:
            return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Decimal(0)).sqrt() ** 3

        rows = [[cubed(run, other) for other in runs] + [Decimal(1), *run] for run in runs]
        rows += [[row[len(runs) + k] for row in rows] + [Decimal(0)] * 3 for k in range(3)]
        right = [cubed(place, run) for run in runs] + [Decimal(1), *place]
        solution = solved([[*row, value] for row, value in zip(rows, right, strict=True)])
        return float((-sum(a * b for a, b in zip(solution, right, strict=True))).sqrt())


def solved(rows: list[list[Decimal]]) -> list[Decimal]:
    """Gauss-Jordan elimination; the last column is the right-hand side."""
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                share = rows[i][k]
                rows[i] = [value - share * own for value, own in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
