"""Transport properties of gases."""

from jaxtyping import Array, Float


def sutherland_viscosity(
    temperature: Float[Array, "..."], coefficient: float = 1.458e-6, constant: float = 110.4
) -> Float[Array, "..."]:
    """Dynamic viscosity in Pa s, mu = C T^1.5 / (T + S); the defaults are those of air (US Standard Atmosphere 1976)."""
    return coefficient * temperature * temperature**0.5 / (temperature + constant)
