"""Where a run leaves the model that computed it: said for every run, in numbers and in words."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize.elementwise import find_root

from sureflow.physics.quantities import FlowField, undisturbed_cells, wall_geometry

# Air begins to dissociate: O2 above some 2500 K at these pressures (Anderson, Hypersonic and High-Temperature Gas Dynamics).
DISSOCIATION_K = 2500.0
# No-slip continuum flow is customary below a Knudsen number of 0.01 on the nose radius.
SLIP_KNUDSEN = 0.01
# Free-stream Reynolds number on the body length above which slender blunted cones have been seen to turn turbulent in flight.
TRANSITION_REYNOLDS = 1e7
# Wall cells of at most this acoustic Reynolds number give a stagnation heat flux within a percent of that of finer ones
# (docs/verification.md).
RESOLVED_WALL_REYNOLDS = 25.0
# A shock that comes closer than this many cells to the outer boundary may be cut by it.
LEAST_UNDISTURBED = 3


class Limit(NamedTuple):
    """Where a number of `Validity` leaves the model."""

    limit: float
    quantity: str  # with its value in braces
    meaning: str
    advice: str = ""
    viscous: bool = False  # matters in viscous flow alone
    lower: bool = False  # values under the limit are outside, in place of those over it

    def outside(self, value: Any) -> Any:
        """Whether a value, or each of an array, lies outside."""
        return value < self.limit if self.lower else value > self.limit


LIMITS = {
    "stagnation_temperature_k": Limit(
        DISSOCIATION_K,
        "stagnation temperature {:,.0f} K of a perfect gas",
        f"real air would dissociate above {DISSOCIATION_K:,.0f} K, with a thinner shock layer and lower temperatures",
    ),
    "knudsen": Limit(SLIP_KNUDSEN, "Knudsen number {:.2g}", "slip at the wall is neglected"),
    "reynolds": Limit(
        TRANSITION_REYNOLDS,
        "Reynolds number {:.2g}",
        "laminar flow is assumed where turbulence is likely",
        viscous=True,
    ),
    "wall_cell_reynolds": Limit(
        RESOLVED_WALL_REYNOLDS,
        f"wall-cell Reynolds number {{:.2g}} (over {RESOLVED_WALL_REYNOLDS:g})",
        "the boundary layer is too coarse for the heat flux",
        "lower the wall spacing",
        viscous=True,
    ),
    "undisturbed_cells": Limit(
        LEAST_UNDISTURBED,
        f"{{:.0f}} undisturbed cells ahead of the shock (under {LEAST_UNDISTURBED})",
        "the outer boundary may touch the shock",
        "use a mesh with larger margins",
        lower=True,
    ),
}


@dataclass(frozen=True)
class Validity:
    """Numbers that tell how far a run is from the limits of its model."""

    stagnation_temperature_k: float
    knudsen: float  # mean free path of the free stream over the nose radius
    reynolds: float  # of the free stream on the length of the body
    wall_cell_reynolds: float  # rho c dn / mu in the wall cell at the stagnation point
    undisturbed_cells: int  # between the outermost pressure rise and the outer boundary
    viscous: bool

    def warnings(self) -> list[str]:
        """A sentence for everything that lies outside the model."""
        found = []
        for name, limit in LIMITS.items():
            value = getattr(self, name)
            if limit.outside(value) and (self.viscous or not limit.viscous):
                sentence = f"{limit.quantity.format(value)}: {limit.meaning}"
                found.append(f"{sentence}; {limit.advice}" if limit.advice else sentence)
        return found


def validity(field: FlowField) -> Validity:
    """Validity of a computed flow."""
    gas, free = field.gas, field.free_stream
    density, viscosity = free.density(gas), float(gas.viscosity(free.temperature, free.pressure))
    free_path = viscosity / free.pressure * math.sqrt(math.pi * free.pressure / (2.0 * density))
    length = float(field.node_x[0, -1] - field.node_x[0, 0])
    _, _, distance = wall_geometry(field)
    rho, temperature = field.fields[2, 0, 0], field.fields[3, 0, 0]
    sound = np.asarray(gas.sound_speed(rho, field.energy[0, 0]))
    wall_viscosity = gas.viscosity(temperature, field.pressure[0, 0])
    return Validity(
        stagnation_temperature_k=stagnation_temperature(field),
        knudsen=free_path / field.nose_radius,
        reynolds=density * free.velocity * length / viscosity,
        wall_cell_reynolds=float(2.0 * distance[0] * rho * sound / wall_viscosity),
        undisturbed_cells=undisturbed_cells(field),
        viscous=field.wall.viscous,
    )


def stagnation_temperature(field: FlowField) -> float:
    """Temperature in K at which the gas, at the stagnation pressure, holds the free stream's total enthalpy.

    NaN where that is not between 10 K and a million.
    """
    gas, pressure = field.gas, field.pressure[0, 0]
    enthalpy = field.free_stream.total_enthalpy(gas)

    def excess(temperature: Any) -> Any:
        rho = gas.density_from_pressure(pressure, temperature)
        return np.asarray(gas.energy_from_temperature(rho, temperature) + pressure / rho - enthalpy)

    return float(find_root(excess, (10.0, 1e6)).x)
