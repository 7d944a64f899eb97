"""The grid convergence index, against pyGCS and against what is known exactly."""

import math

import pytest
from pyGCS import GCI

from sureflow.metrics.grid_convergence import grid_convergence, observed_order, remaining_error


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ((6.063, 5.972, 5.863), (18000, 8000, 4500)),  # Celik et al. 2008, table 1: order 1.53, index 2.2 %
        ((0.98, 0.975, 0.955), (65536, 16384, 5000)),
    ],
)
def test_order_and_index_agree_with_pygcs(values, cells):
    sizes = [math.sqrt(1.0 / count) for count in cells]
    oracle = GCI(dimension=2, simulation_order=2, volume=1.0, cells=list(cells), solution=list(values))
    found = grid_convergence(*values, sizes[1] / sizes[0], sizes[2] / sizes[1], held=False)
    assert found.order == pytest.approx(oracle.get("apparent_order"), rel=1e-6)
    assert found.extrapolated == pytest.approx(oracle.get("extrapolated_value"), rel=1e-6)
    assert found.index == pytest.approx(oracle.get("gci")[0], rel=1e-6)


def test_an_oscillating_case_of_celik_et_al():
    """Table 1, third column; pyGCS iterates without the sign there."""
    found = grid_convergence(6.0042, 5.9624, 6.0909, 2.0, (4500 / 980) ** 0.5, held=False)
    assert found.oscillates
    assert found.order == pytest.approx(1.51, abs=0.01)
    assert found.extrapolated == pytest.approx(6.0269, abs=1e-4)


@pytest.mark.parametrize("order", [1.0, 1.4, 2.0])
def test_an_exact_power_is_extrapolated_exactly(order):
    values = [3.0 + 0.2 * size**order for size in (1.0, 2.0, 4.0)]
    found = grid_convergence(*values)
    assert found.order == pytest.approx(order)
    assert found.extrapolated == pytest.approx(3.0)
    # The error of the middle mesh over its difference to the finest.
    assert remaining_error(order, 2.0) == pytest.approx((values[1] - 3.0) / (values[1] - values[0]))


def test_orders_are_held_between_one_and_two():
    assert grid_convergence(1.0, 1.1, 9.0).index == pytest.approx(1.25 * 0.1 / 3.0)
    assert grid_convergence(1.0, 1.1, 1.15).index == pytest.approx(1.25 * 0.1)
    swinging = grid_convergence(1.0, 1.1, 0.9)
    assert swinging.oscillates
    assert swinging.index == pytest.approx(1.25 * 0.1)
    assert grid_convergence(1.0, 1.0, 1.0).index == 0.0
    assert math.isnan(observed_order(0.0, 0.1, 2.0, 2.0))
