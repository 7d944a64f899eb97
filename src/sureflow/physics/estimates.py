"""What hand calculations say of a flow around a blunt body, from its wall and its free stream alone.

Quantities of runs divided by these hardly vary with the condition, so that few runs tell the rest. None of them needs to be
accurate: a constant factor, and slow trends, are what runs teach.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sureflow.physics.correlations import fay_riddell, pitot_ratio, seiff_stand_off
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.physics.wall import Wall

Line = Float[np.ndarray, " face"]

RECOVERY = 0.845  # of the temperature at an insulated wall in laminar flow: the root of the Prandtl number
BLASIUS, CONE = 0.332, math.sqrt(3.0)  # friction of a flat plate, and how much larger it is on a cone
# Newtonian pressures do not fall below this share of the pitot pressure, so that the flow outside of the layer has a density.
LEAST_PRESSURE = 1e-3


@dataclass(frozen=True)
class BluntFlow:
    """A body of revolution by the nodes of its wall from the nose on, in the stream of a perfect gas."""

    node_x: Float[np.ndarray, " node"]
    node_r: Float[np.ndarray, " node"]
    gas: PerfectGas
    free_stream: FreeStream
    wall: Wall
    nose_radius: float

    @cached_property
    def mach(self) -> float:
        return self.free_stream.mach(self.gas)

    @cached_property
    def pitot_pressure(self) -> float:
        """Rayleigh's."""
        return self.free_stream.pressure * pitot_ratio(self.mach, self.gas.gamma)

    @cached_property
    def stagnation_temperature(self) -> float:
        return self.free_stream.temperature + self.free_stream.velocity**2 / (2.0 * self.gas.cp)

    @cached_property
    def dynamic_pressure(self) -> float:
        return 0.5 * self.free_stream.density(self.gas) * self.free_stream.velocity**2

    @cached_property
    def faces(self) -> tuple[Line, Line, Line]:
        """Sine of the angle between face and stream, area of the face, and how far along the body its middle lies."""
        dx, dr = np.diff(self.node_x), np.diff(self.node_r)
        length = np.hypot(dx, dr)
        area = 2.0 * np.pi * 0.5 * (self.node_r[1:] + self.node_r[:-1]) * length
        return dr / length, area, np.cumsum(length) - 0.5 * length

    @cached_property
    def base_area(self) -> float:
        return float(np.pi * self.node_r[-1] ** 2)

    @cached_property
    def pressure(self) -> Line:
        """On the faces, by Lees' modification of Newton's law; the free stream's where they look away from the stream."""
        sine = np.maximum(self.faces[0], 0.0)
        return self.free_stream.pressure + (self.pitot_pressure - self.free_stream.pressure) * sine**2

    @cached_property
    def shear(self) -> Line:
        """On the faces: that of a laminar layer on a cone, at Eckert's reference temperature.

        Outside of the layer the gas has expanded from the stagnation point to the pressure of the face.
        """
        gas, share = self.gas, np.clip(self.pressure / self.pitot_pressure, LEAST_PRESSURE, 1.0)
        edge = self.stagnation_temperature * share ** ((gas.gamma - 1.0) / gas.gamma)
        squared = 2.0 * gas.cp * (self.stagnation_temperature - edge)
        recovered = edge + RECOVERY * squared / (2.0 * gas.cp)
        wall = self.wall.temperature if self.wall.kind == "isothermal" else recovered
        reference = 0.5 * (wall + edge) + 0.22 * (recovered - edge)
        density = self.pressure / (gas.gas_constant * reference)
        viscosity = np.asarray(gas.viscosity(reference, self.pressure), float)
        reynolds = np.maximum(density * np.sqrt(squared) * self.faces[2] / viscosity, 1e-12)
        return BLASIUS * CONE * density * squared / np.sqrt(reynolds)


def _pressure_drag(flow: BluntFlow) -> float:
    """The largest pressure coefficient: what the shape makes of it is left to the runs, whose bodies are known exactly."""
    return (flow.pitot_pressure - flow.free_stream.pressure) / flow.dynamic_pressure


def _friction_drag(flow: BluntFlow) -> float:
    sine, area, _ = flow.faces
    force = (flow.shear * np.sqrt(1.0 - np.minimum(sine**2, 1.0)) * area).sum()
    return float(force / (flow.dynamic_pressure * flow.base_area))


def _heat_flux(flow: BluntFlow) -> float:
    return fay_riddell(flow.free_stream, flow.gas, flow.nose_radius, flow.wall.temperature)


# By the name of the quantity, in its unit.
ESTIMATES: dict[str, Callable[[BluntFlow], float]] = {
    "stand_off": lambda flow: seiff_stand_off(flow.mach, flow.gas.gamma),
    "stagnation_pressure": lambda flow: flow.pitot_pressure,
    "drag_coefficient_pressure": _pressure_drag,
    "drag_coefficient_friction": _friction_drag,
    "drag_coefficient": _pressure_drag,
    "pitot_ratio": lambda flow: pitot_ratio(flow.mach, flow.gas.gamma),
    "stagnation_heat_flux": _heat_flux,
}
