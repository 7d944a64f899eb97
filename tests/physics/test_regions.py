"""Regions of a flow that is laid out by hand: a shock of given cells, a cooled layer of given cells."""

import numpy as np
import pytest

from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.physics.regions import PARTITION, REGIONS, flow_regions

GAS = PerfectGas()
FREE = FreeStream(velocity=3000.0, pressure=100.0, temperature=250.0)
H_INF = FREE.total_enthalpy(GAS)


def fields(pressure, enthalpy):
    """u1, u2, rho, T with this p / p_inf and H / H_inf, at half the speed of the free stream where it is disturbed."""
    pressure, enthalpy = np.asarray(pressure, float) * FREE.pressure, np.asarray(enthalpy, float) * H_INF
    speed = np.where(pressure > FREE.pressure, 0.1, 1.0) * FREE.velocity
    temperature = (enthalpy - 0.5 * speed**2) / GAS.cp
    return np.stack([speed, 0 * speed, pressure / (GAS.gas_constant * temperature), temperature])


def letters(pressure, enthalpy):
    """The regions of lines given from the wall outward, a letter a cell, wall first."""
    both = np.atleast_2d(pressure).T, np.atleast_2d(enthalpy).T
    masks = flow_regions(fields(*both), GAS, FREE)
    index = np.argmax([masks[name] for name in PARTITION], axis=0).reshape(both[0].shape)
    return ["".join(".slw"[k] for k in line) for line in index.T]


def test_a_line_through_wall_layer_shock_layer_and_shock():
    p = [50, 50, 50, 49.9, 49.5, 47, 45, 20, 1.5, 1.005, 1]
    h = [0.3, 0.8, 0.985, 0.995, 1, 1, 1, 0.95, 1, 1, 1]
    assert letters(p, h) == ["wwwlllsss.."]


def test_the_tail_of_the_shock_ends_where_the_rise_does():
    """Behind the shock the pressure may go on rising toward the wall, or fall: neither belongs to the shock."""
    rising = [60, 58, 56, 54, 52, 50, 25, 1.2, 1]
    falling = [20, 24, 28, 33, 38, 50, 25, 1.2, 1]
    h = np.ones(9)
    assert letters([rising, falling], [h, h]) == ["lllllsss."] * 2


def test_a_cold_spot_in_the_shock_layer_is_no_wall_layer():
    assert letters([50, 50, 50, 50, 50, 1], [0.5, 1, 0.5, 1, 1, 1]) == ["wllls."]


def test_a_wall_layer_ends_at_the_shock():
    assert letters([50, 50, 25, 1.5, 1], [0.3, 0.5, 0.6, 0.9, 1]) == ["wsss."]


def test_undisturbed_flow_is_free_stream():
    assert letters(np.ones(5), np.ones(5)) == ["....."]


def test_names_and_partition():
    rng = np.random.default_rng(0)
    masks = flow_regions(fields(rng.uniform(1, 50, (9, 7)), rng.uniform(0.2, 1.1, (9, 7)) + 0.9), GAS, FREE)
    assert tuple(masks) == REGIONS
    assert all(mask.shape == (63,) for mask in masks.values())
    np.testing.assert_array_equal(sum(masks[name].astype(int) for name in PARTITION), 1)
    np.testing.assert_array_equal(masks["disturbed"], ~masks["freestream"])
    assert masks["all"].all()


@pytest.mark.filterwarnings("error")
def test_a_field_of_nan_has_no_disturbed_cells():
    masks = flow_regions(np.full((4, 5, 3), np.nan), GAS, FREE)
    assert masks["freestream"].all()
