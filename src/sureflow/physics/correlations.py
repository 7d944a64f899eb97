"""Exact relations and published correlations of hypersonic flow, to lay out meshes and to check solutions against."""

import math

from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import PerfectGas

SEIFF = 0.78  # stand-off in nose radii times the density ratio of a normal shock


def normal_shock(mach: float, gamma: float = 1.4) -> tuple[float, float, float]:
    """Ratios of pressure, density and temperature across a normal shock (Rankine-Hugoniot): 1 up to Mach 1."""
    mach = max(mach, 1.0)
    pressure = 1.0 + 2.0 * gamma / (gamma + 1.0) * (mach**2 - 1.0)
    density = (gamma + 1.0) * mach**2 / ((gamma - 1.0) * mach**2 + 2.0)
    return pressure, density, pressure / density


def pitot_ratio(mach: float, gamma: float = 1.4) -> float:
    """Stagnation pressure over the pressure ahead, behind a normal shock (Rayleigh), which there is above Mach 1."""
    if mach < 1.0:
        return (1.0 + 0.5 * (gamma - 1.0) * mach**2) ** (gamma / (gamma - 1.0))
    behind = (1.0 + 0.5 * (gamma - 1.0) * mach**2) / (gamma * mach**2 - 0.5 * (gamma - 1.0))
    return normal_shock(mach, gamma)[0] * (1.0 + 0.5 * (gamma - 1.0) * behind) ** (gamma / (gamma - 1.0))


def billig_stand_off(mach: float) -> float:
    """Stand-off of a sphere's bow shock in nose radii, from experiments in air (Billig 1967)."""
    return 0.143 * math.exp(3.24 / mach**2)


def lobb_stand_off(mach: float, gamma: float = 1.4) -> float:
    """The same by Lobb (1964): 0.82 over the density ratio of a normal shock."""
    return 0.82 / normal_shock(mach, gamma)[1]


def seiff_stand_off(mach: float, gamma: float = 1.4) -> float:
    """The same by Seiff (1962): a constant over the density ratio of a normal shock."""
    return SEIFF / normal_shock(mach, gamma)[1]


def sharp_cone_shock_angle(mach: float, half_angle: float, gamma: float = 1.4) -> float:
    """Shock angle of a sharp cone in radians, hypersonic similarity (Rasmussen 1967); the Mach angle without a cone."""
    sine_squared = (gamma + 1.0) / 2.0 * math.sin(half_angle) ** 2 + 1.0 / mach**2
    if sine_squared >= 1.0:
        raise SureflowError(
            f"the shock of a cone of {math.degrees(half_angle):g} degrees is detached at Mach {mach:g}; choose a higher "
            "Mach number or a smaller half angle"
        )
    return math.asin(math.sqrt(sine_squared))


def fay_riddell(free_stream: FreeStream, gas: PerfectGas, nose_radius: float, wall_temperature: float) -> float:
    """Stagnation heat flux in W/m2 of a sphere in a perfect gas (Fay and Riddell 1958, without dissociation).

    q = 0.763 Pr^-0.6 (rho_w mu_w)^0.1 (rho_e mu_e)^0.4 sqrt(du/dx) (h_e - h_w), with the velocity gradient of Newtonian flow,
    du/dx = sqrt(2 (p_e - p_inf) / rho_e) / R.
    """
    p_edge = free_stream.pressure * pitot_ratio(free_stream.mach(gas), gas.gamma)
    h_edge = gas.cp * free_stream.temperature + 0.5 * free_stream.velocity**2

    def density_times_viscosity(temperature: float) -> float:
        return p_edge / (gas.gas_constant * temperature) * float(gas.viscosity(temperature, p_edge))

    t_edge = h_edge / gas.cp
    rho_edge = p_edge / (gas.gas_constant * t_edge)
    gradient = math.sqrt(2.0 * (p_edge - free_stream.pressure) / rho_edge) / nose_radius
    products = density_times_viscosity(wall_temperature) ** 0.1 * density_times_viscosity(t_edge) ** 0.4
    return 0.763 * gas.prandtl**-0.6 * products * math.sqrt(gradient) * (h_edge - gas.cp * wall_temperature)
