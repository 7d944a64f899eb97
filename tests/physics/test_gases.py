"""Thermodynamic consistency of the gases, and how files name them."""

import json
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flow.manufactured import SyrupGas
from physics.tabulated import Tabulated
from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gases import GASES, Gas, PerfectGas, describe_gas, gas_from
from sureflow.physics.wall import Wall
from sureflow.runtime import double_precision
from sureflow.validation import plain, settings, validated

PERFECT = [PerfectGas(), PerfectGas(gamma=1.3, gas_constant=300.0, prandtl=0.8)]
densities = st.floats(1e-5, 10.0)
temperatures = st.floats(100.0, 5e4)


@pytest.mark.parametrize("gas", PERFECT)
@given(density=densities, temperature=temperatures)
def test_round_trips(gas, density, temperature):
    energy = gas.energy_from_temperature(density, temperature)
    pressure = gas.pressure(density, energy)
    assert gas.temperature(density, energy) == pytest.approx(temperature)
    assert gas.energy_from_pressure(density, pressure) == pytest.approx(energy)
    assert gas.density_from_pressure(pressure, temperature) == pytest.approx(density)


@pytest.mark.parametrize("gas", PERFECT)
def test_sound_speed_is_the_isentropic_derivative(gas):
    """c^2 = dp/drho at constant entropy = p_rho + p_e p / rho^2."""
    density, energy = 0.02, 3.0e6
    with double_precision():
        by_density, by_energy = jax.grad(gas.pressure, argnums=(0, 1))(density, energy)
    squared = float(by_density) + float(by_energy) * gas.pressure(density, energy) / density**2
    assert gas.sound_speed(density, energy) ** 2 == pytest.approx(squared, rel=1e-12)


def test_sutherland_at_the_reference_of_the_standard_atmosphere():
    assert PerfectGas().viscosity(288.15, 101325.0) == pytest.approx(1.7894e-5, rel=1e-4)


def test_prandtl_number_links_viscosity_and_conductivity():
    gas = PerfectGas(prandtl=0.72)
    assert gas.cp * gas.viscosity(1000.0, 1e4) / gas.conductivity(1000.0, 1e4) == pytest.approx(0.72)


@settings
class Holder:
    gas: Annotated[Gas, GASES] = PerfectGas()


@pytest.mark.parametrize("gas", [*PERFECT, Tabulated(2.0)])
def test_settings_with_a_gas_are_equal_after_a_round_trip_through_json(gas):
    description = json.loads(json.dumps(describe_gas(gas)))
    assert gas_from(description) == gas
    holder = Holder(gas)
    again = validated(Holder, json.loads(json.dumps(plain(holder))))
    assert again == holder
    assert hash(again) == hash(holder)
    assert again != Holder(PerfectGas(gamma=1.2))


def test_a_description_says_no_more_than_the_arguments_of_the_constructor():
    assert describe_gas(PerfectGas()) == {"model": "perfect", "gamma": 1.4, "gas_constant": 287.0529, "prandtl": 0.71}
    assert describe_gas(Tabulated(2.0)) == {"model": "tabulated", "scale": 2.0}


def test_a_gas_that_gives_no_heat_capacity_has_one():
    with double_precision():
        assert Tabulated(1.0).cp == pytest.approx(720.0 + 287.0, rel=1e-6)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        ({"model": "perfekt"}, "gas: model='perfekt' is not one of perfect, tabulated; did you mean perfect?"),
        ({"gamma": 1.4}, "gas: model is missing"),
        ({"model": "perfect", "gama": 1.3}, "gas: gama is not a setting; did you mean gamma?"),
        ({"model": "perfect", "gamma": 2.0}, "gas: gamma=2 of the gas is outside 1.05..5/3; air has 1.4"),
        ({"model": "perfect", "prandtl": 0}, "gas: prandtl=0 of the gas must be a positive number"),
        ({"model": "perfect", "gamma": "high"}, "gas: gamma='high' must be a valid number"),
        ({"model": "tabulated", "table": [1.0]}, "gas: table is not a setting; did you mean scale?"),
    ],
)
def test_a_wrong_description_is_one_sentence(description, said):
    with pytest.raises(SureflowError) as refusal:
        gas_from(description)
    assert str(refusal.value).startswith(said)


def test_an_unregistered_gas_has_no_description():
    with pytest.raises(SureflowError, match="the gas SyrupGas has no name in files: register its class with @GASES"):
        describe_gas(SyrupGas(PerfectGas(), jnp.asarray(1.0)))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FlightCondition(50.0, 30.0), "mach=50 is outside 2..40"),
        (lambda: FlightCondition(np.nan, 30.0), "mach=nan"),
        (lambda: FlightCondition(10.0, -1.0), "altitude=-1 km is outside 0..86"),
        (lambda: FlightCondition(10.0, float("nan")), "altitude=nan"),
        (lambda: FreeStream(velocity=-5.0, pressure=100.0, temperature=200.0), "velocity=-5"),
        (lambda: validated(Wall, {"kind": "cold"}), "kind='cold' must be 'isothermal', 'adiabatic' or 'slip'"),
        (lambda: Wall(temperature=0.0), "wall temperature=0 K"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(SureflowError, match=said.replace("(", r"\(").replace(".", r"\.")):
        make()
