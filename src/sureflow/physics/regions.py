"""The parts of a flow field around a blunt body that behave differently, as masks of its cells.

A pure function of the fields, so that a prediction can be divided as well as a solution.

    disturbed    p > 1.01 p_inf
    freestream   the others
    shock        the captured bow shock. On every line from the wall outward: the disturbed cells at and outside of the
                 outermost half-rise of the pressure, and inward from there as long as the pressure still rises from cell
                 to cell by at least a tenth of the steepest such rise that was met since the half-rise.
    wall_layer   the cells from the wall outward, without a gap and up to the shock, whose total enthalpy is under
                 0.99 H_inf: what the wall has cooled. Behind the shock of a steady flow without heat conduction the total
                 enthalpy is that of the free stream.
    shock_layer  the other disturbed cells

freestream, shock, shock_layer and wall_layer divide the mesh.
"""

import numpy as np
from jaxtyping import Bool, Float

from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas

Mask = Bool[np.ndarray, "nj ni"]
Masks = dict[str, Bool[np.ndarray, " point"]]

ALL = "all"
DISTURBED = "disturbed"
PARTITION = ("freestream", "shock", "shock_layer", "wall_layer")
REGIONS = (ALL, DISTURBED, *PARTITION)

PRESSURE_RISE = 1.01
SHOCK_TAIL = 0.1
COOLED = 0.99


def flow_regions(fields: Float[np.ndarray, "4 nj ni"], gas: Gas, free_stream: FreeStream) -> Masks:
    """Masks (point) by the names of REGIONS, of u1, u2, rho and T on a mesh whose first row of cells is at the wall."""
    u1, u2, rho, temperature = (np.asarray(field, float) for field in fields)
    energy = np.asarray(gas.energy_from_temperature(rho, temperature))
    pressure = np.asarray(gas.pressure(rho, energy))
    enthalpy = energy + pressure / rho + 0.5 * (u1**2 + u2**2)
    disturbed = pressure > PRESSURE_RISE * free_stream.pressure
    shock = disturbed & _shock_band(pressure, free_stream.pressure)
    cooled = enthalpy < COOLED * free_stream.total_enthalpy(gas)
    wall_layer = np.logical_and.accumulate(cooled & disturbed & ~shock, axis=0)
    masks = {
        ALL: np.ones_like(disturbed),
        DISTURBED: disturbed,
        "freestream": ~disturbed,
        "shock": shock,
        "shock_layer": disturbed & ~shock & ~wall_layer,
        "wall_layer": wall_layer,
    }
    return {name: mask.ravel() for name, mask in masks.items()}


def _shock_band(pressure: Float[np.ndarray, "nj ni"], free_pressure: float) -> Mask:
    """The cells from the innermost of the shock outward, on every line."""
    rows = np.arange(len(pressure))[:, None]
    half = 0.5 * (free_pressure + pressure.max(axis=0))
    middle = len(pressure) - 1 - np.argmax((pressure >= half)[::-1], axis=0)
    rise = np.diff(-pressure, axis=0, append=-free_pressure)  # of a cell over its outer neighbor
    # The steepest rise from the half-rise inward, the rise into the half-rise itself included.
    met = np.where(rows <= middle, rise, -np.inf)
    steepest = np.maximum.accumulate(met[::-1], axis=0)[::-1]
    rises = (rows >= middle) | (rise >= SHOCK_TAIL * steepest)
    return np.logical_and.accumulate(rises[::-1], axis=0)[::-1]
