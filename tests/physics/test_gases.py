"""Thermodynamic consistency of the gas models."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.physics.wall import Wall
from sureflow.runtime import double_precision

GASES = [PerfectGas(), PerfectGas(gamma=1.3, gas_constant=300.0, prandtl=0.8)]
densities = st.floats(1e-5, 10.0)
temperatures = st.floats(100.0, 5e4)


@pytest.mark.parametrize("gas", GASES)
@given(density=densities, temperature=temperatures)
def test_round_trips(gas, density, temperature):
    energy = gas.energy_from_temperature(density, temperature)
    pressure = gas.pressure(density, energy)
    assert gas.temperature(density, energy) == pytest.approx(temperature)
    assert gas.energy_from_pressure(density, pressure) == pytest.approx(energy)
    assert gas.density_from_pressure(pressure, temperature) == pytest.approx(density)


@pytest.mark.parametrize("gas", GASES)
def test_sound_speed_is_the_isentropic_derivative(gas):
    """c^2 = dp/drho at constant entropy = p_rho + p_e p / rho^2."""
    density, energy = 0.02, 3.0e6
    with double_precision():
        by_density, by_energy = jax.grad(gas.pressure, argnums=(0, 1))(density, energy)
    squared = float(by_density) + float(by_energy) * gas.pressure(density, energy) / density**2
    assert gas.sound_speed(density, energy) ** 2 == pytest.approx(squared, rel=1e-12)


def test_sutherland_at_the_reference_of_the_standard_atmosphere():
    assert PerfectGas().viscosity(288.15) == pytest.approx(1.7894e-5, rel=1e-4)


def test_prandtl_number_links_viscosity_and_conductivity():
    gas = PerfectGas(prandtl=0.72)
    assert gas.cp * gas.viscosity(1000.0) / gas.conductivity(1000.0) == pytest.approx(0.72)


def test_free_stream_has_the_asked_mach_number():
    gas = PerfectGas()
    assert FlightCondition(25.0, 46.0).free_stream(gas).mach(gas) == pytest.approx(25.0, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FlightCondition(50.0, 30.0), "mach=50 is outside 2..40"),
        (lambda: FlightCondition(np.nan, 30.0), "mach=nan"),
        (lambda: FlightCondition(10.0, -1.0), "altitude=-1 km is outside 0..86"),
        (lambda: FlightCondition(10.0, float("nan")), "altitude=nan"),
        (lambda: FreeStream(velocity=-5.0, pressure=100.0, temperature=200.0), "velocity=-5"),
        (lambda: Wall("cold"), "wall='cold' is unknown"),  # type: ignore[arg-type]
        (lambda: Wall(temperature=0.0), "wall temperature=0 K"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(SureflowError, match=said.replace("(", r"\(").replace(".", r"\.")):
        make()
