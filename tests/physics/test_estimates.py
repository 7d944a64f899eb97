"""Hand calculations: known limits, and how they scale."""

from dataclasses import replace

import numpy as np
import pytest

from sureflow.physics.correlations import fay_riddell, pitot_ratio
from sureflow.physics.estimates import ESTIMATES, BluntFlow
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import PerfectGas
from sureflow.physics.wall import Wall

GAS = PerfectGas()


def flow(mach: float = 20.0, altitude: float = 40.0, radius: float = 0.1, **changes) -> BluntFlow:
    """A hemisphere."""
    angle = np.linspace(0, np.pi / 2, 200)
    stream = FlightCondition(mach, altitude).free_stream()
    nodes = radius * (1 - np.cos(angle)), radius * np.sin(angle)
    return replace(BluntFlow(*nodes, GAS, stream, Wall(), radius), **changes)


def test_pressures_are_those_of_rayleigh_and_newton():
    one = flow()
    assert ESTIMATES["stagnation_pressure"](one) == pytest.approx(one.free_stream.pressure * pitot_ratio(20.0))
    assert one.pressure[0] == pytest.approx(one.pitot_pressure, rel=1e-3)
    assert one.pressure[-1] == pytest.approx(one.free_stream.pressure, rel=0.1)
    # A hemisphere has half of the largest pressure coefficient for its drag.
    sine, area, _ = one.faces
    drag = ((one.pressure - one.free_stream.pressure) * sine * area).sum() / (one.dynamic_pressure * one.base_area)
    assert drag == pytest.approx(0.5 * ESTIMATES["drag_coefficient_pressure"](one), rel=1e-3)


def test_heat_flux_is_that_of_fay_and_riddell_and_changes_its_sign_with_the_wall():
    one = flow()
    assert ESTIMATES["stagnation_heat_flux"](one) == fay_riddell(one.free_stream, GAS, 0.1, 1500.0)
    hot = flow(mach=5.0, wall=Wall("isothermal", 5000.0))
    assert ESTIMATES["stagnation_heat_flux"](hot) < 0


def test_friction_falls_with_the_root_of_the_reynolds_number():
    small, large = (ESTIMATES["drag_coefficient_friction"](flow(radius=radius)) for radius in (0.1, 0.4))
    assert small == pytest.approx(2.0 * large, rel=1e-3)


@pytest.mark.parametrize("name", ESTIMATES)
def test_all_are_finite_from_mach_2_to_40(name):
    for mach in (2.0, 8.0, 40.0):
        for wall in (Wall("isothermal", 300.0), Wall("adiabatic"), Wall("isothermal", 4000.0)):
            found = ESTIMATES[name](flow(mach, wall=wall))
            assert np.isfinite(found)
            assert found != 0
