"""The standard atmosphere against its printed table and an independent implementation."""

import ambiance
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.physics.atmosphere import standard_atmosphere
from sureflow.runtime import double_precision

# Altitude km, T K, p Pa, rho kg/m3, to the digits of the table in the standard.
TABLE = [
    (20.0, 216.650, 5529.3, 8.8910e-2),
    (30.0, 226.509, 1197.0, 1.8410e-2),
    (40.0, 250.350, 287.14, 3.9957e-3),
    (50.0, 270.650, 79.779, 1.0269e-3),
    (60.0, 247.021, 21.959, 3.0968e-4),
]


@pytest.mark.parametrize(("altitude", "temperature", "pressure", "density"), TABLE)
def test_table_of_the_standard(altitude, temperature, pressure, density):
    with double_precision():
        air = standard_atmosphere(altitude)
    np.testing.assert_allclose(air, (temperature, pressure, density), rtol=3e-5)  # the table has five digits


def test_agrees_with_an_independent_implementation():
    altitude = np.linspace(0.0, 80.0, 161)
    oracle = ambiance.Atmosphere(altitude * 1e3)
    with double_precision():
        air = standard_atmosphere(jnp.asarray(altitude))
    # Its pressures at the layers' bases are rounded differently, by up to 8e-6.
    np.testing.assert_allclose(air.temperature, oracle.temperature, rtol=1e-6)
    np.testing.assert_allclose(air.pressure, oracle.pressure, rtol=2e-5)
    np.testing.assert_allclose(air.density, oracle.density, rtol=2e-5)


def test_is_differentiable_and_hydrostatic():
    with double_precision():
        slope = jax.grad(lambda z: standard_atmosphere(z).pressure)(40.0)  # Pa/km
        density = standard_atmosphere(40.0).density
    gravity = 9.80665 * (6356.766 / (6356.766 + 40.0)) ** 2
    np.testing.assert_allclose(float(slope) / 1e3, -float(density) * gravity, rtol=1e-6)
