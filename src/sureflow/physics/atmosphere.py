"""The US Standard Atmosphere 1976 from sea level to 86 km of geometric altitude.

Source: U.S. Standard Atmosphere, 1976, NOAA-S/T 76-1562, tables 4 and 5 and equations 23, 33a and 33b. The mean
molecular weight is that of sea level throughout; above 80 km the standard lowers it by up to 0.04 %, which is left out.
"""

from types import ModuleType
from typing import Any, NamedTuple

from jaxtyping import Float

GRAVITY = 9.80665  # m/s2
AIR_CONSTANT = 8314.32 / 28.9644  # J/(kg K), with the universal constant that the standard uses
EARTH_RADIUS = 6356.766e3  # m
HIGHEST_KM = 86.0

# Each layer of the standard: geopotential base (m), temperature there (K), lapse rate (K/m), pressure there (Pa).
BASE = (0.0, 11e3, 20e3, 32e3, 47e3, 51e3, 71e3)
TEMPERATURE = (288.15, 216.65, 216.65, 228.65, 270.65, 270.65, 214.65)
LAPSE = (-6.5e-3, 0.0, 1e-3, 2.8e-3, 0.0, -2.8e-3, -2e-3)
PRESSURE = (101325.0, 22632.06397, 5474.888670, 868.0186848, 110.9063056, 66.93887312, 3.956420428)


class Air(NamedTuple):
    """State of the undisturbed air."""

    temperature: Float[Any, "..."]  # K
    pressure: Float[Any, "..."]  # Pa
    density: Float[Any, "..."]  # kg/m3


def standard_atmosphere(altitude_km: Float[Any, "..."] | float, xp: ModuleType | None = None) -> Air:
    """Temperature, pressure and density at a geometric altitude; with JAX (the default of `xp`) differentiable in it."""
    if xp is None:
        import jax.numpy as xp
    geometric = xp.asarray(altitude_km) * 1e3
    height = EARTH_RADIUS * geometric / (EARTH_RADIUS + geometric)
    layer = xp.searchsorted(xp.asarray(BASE[1:]), height, side="right")
    base, t_base, lapse, p_base = (xp.asarray(column)[layer] for column in (BASE, TEMPERATURE, LAPSE, PRESSURE))

    temperature = t_base + lapse * (height - base)
    exponent = GRAVITY / AIR_CONSTANT
    isothermal = lapse == 0.0
    # A gradient layer's exponent divides by the lapse rate: give the unused branch a harmless one.
    gradient = (t_base / temperature) ** (exponent / xp.where(isothermal, 1.0, lapse))
    pressure = p_base * xp.where(isothermal, xp.exp(-exponent * (height - base) / t_base), gradient)
    return Air(temperature, pressure, pressure / (AIR_CONSTANT * temperature))
