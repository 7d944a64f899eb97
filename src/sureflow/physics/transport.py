"""Transport properties of gases, for floats and arrays alike."""


def sutherland_viscosity(temperature, coefficient: float = 1.458e-6, constant: float = 110.4):
    """Dynamic viscosity in Pa s, mu = C T^1.5 / (T + S); the defaults are those of air (US Standard Atmosphere 1976)."""
    return coefficient * temperature * temperature**0.5 / (temperature + constant)
