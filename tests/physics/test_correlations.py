"""Shock relations and stagnation heating against printed values."""

import pytest

from sureflow.physics.correlations import (
    billig_stand_off,
    fay_riddell,
    lobb_stand_off,
    normal_shock,
    pitot_ratio,
    seiff_stand_off,
    sharp_cone_shock_angle,
)
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import PerfectGas

# Mach, p2/p1, rho2/rho1, T2/T1, p02/p1 for gamma 1.4 (NACA report 1135 and its formulas).
SHOCKS = [
    (10, 116.500, 5.71429, 20.3875, 129.217),
    (15, 262.333, 5.86957, 44.6938, 290.161),
    (20, 466.500, 5.92593, 78.7219, 515.484),
    (25, 729.000, 5.95238, 122.472, 805.185),
    (30, 1049.833, 5.96685, 175.944, 1159.264),
]


@pytest.mark.parametrize(("mach", "pressure", "density", "temperature", "pitot"), SHOCKS)
def test_normal_shock(mach, pressure, density, temperature, pitot):
    assert normal_shock(mach) == pytest.approx((pressure, density, temperature), rel=5e-6)
    assert pitot_ratio(mach) == pytest.approx(pitot, rel=5e-6)


def test_below_mach_1_there_is_no_shock():
    """The stagnation pressure is that of isentropic flow (NACA report 1135: p / p0 = 0.8430 at Mach 0.5), without a jump."""
    assert normal_shock(0.5) == (1.0, 1.0, 1.0)
    assert pitot_ratio(0.5) == pytest.approx(1 / 0.8430, rel=1e-4)
    assert pitot_ratio(1.0 - 1e-9) == pytest.approx(pitot_ratio(1.0), rel=1e-8)
    assert [pitot_ratio(mach) for mach in (1e-3, 1e-30, 1e-200)] == pytest.approx([1.0, 1.0, 1.0], rel=1e-5)


# W/m2 for a nose of 0.1524 m at 1500 K, Pr 0.71.
@pytest.mark.parametrize(("mach", "altitude", "flux"), [(10, 30, 1.122e6), (25, 46, 1.019e7), (30, 60, 6.82e6)])
def test_fay_riddell(mach, altitude, flux):
    gas = PerfectGas()
    computed = fay_riddell(FlightCondition(mach, altitude).free_stream(gas), gas, 0.1524, 1500.0)
    assert computed == pytest.approx(flux, rel=2e-3)  # three printed digits


def test_stand_off_correlations_at_mach_30():
    stand_off = billig_stand_off(30), lobb_stand_off(30), seiff_stand_off(30)
    assert stand_off == pytest.approx((0.1435, 0.1374, 0.1307), abs=1e-4)


# Taylor-Maccoll angles of a 9 degree cone; the similarity rule is good to some 1 %.
@pytest.mark.parametrize(("mach", "degrees"), [(10, 11.32), (20, 10.24), (30, 10.02)])
def test_sharp_cone_shock_angle(mach, degrees):
    radians = 0.017453292519943295
    assert sharp_cone_shock_angle(mach, 9.0 * radians) / radians == pytest.approx(degrees, rel=0.012)
