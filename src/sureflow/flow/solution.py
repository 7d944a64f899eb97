"""The result of a flow computation: fields, how they converged, and what can be read off them."""

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float

from sureflow.flow.mesh import FlowMesh
from sureflow.physics import quantities
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gases import Gas
from sureflow.physics.quantities import DERIVED_UNITS, FIELD_UNITS, FlowField, Surface
from sureflow.physics.validity import Validity, validity
from sureflow.physics.wall import Wall

if TYPE_CHECKING:
    import xarray as xr

Ending = Literal["converged", "stalled", "failed"]
Criterion = Literal["residual", "drift", "frozen", "steps", "unphysical"]
CRITERIA: dict[Criterion, str] = {
    "residual": "the residual reached the tolerance, and stays small when limiter and shock sensor are no longer frozen",
    "drift": "the residual stalled below the loose tolerance, and stand-off, drag and heat flux did not drift",
    "frozen": "the residual reached the tolerance with limiter and sensor frozen only, three times over",
    "steps": "the steps ran out",
    "unphysical": "no physical step could be taken, or the residual grew without bound",
}
SHOCK_STATIONS = (0.1524, 0.6, 1.0)  # m from the nose tip
SURFACE_ANGLES = (20, 40, 60)  # degrees from the stagnation point
# Keys of `FlowSolution.record`, in their order, with their units.
RECORD_UNITS = {
    "steps": "1",
    "criterion": "1",
    "residual_drop": "1",
    "unfrozen_residual_drop": "1",
    "stand_off": "1",
    "pitot_ratio": "1",
    "q_stag_w_m2": "W/m2",
    "heat_flux_dip": "1",
    "drag_coefficient": "1",
    "drag_coefficient_pressure": "1",
    "drag_coefficient_friction": "1",
    "balance_error_mass": "1",
    "balance_error_momentum": "1",
    "balance_error_energy": "1",
    **{f"shock_radius_m_{x:g}": "m" for x in SHOCK_STATIONS},
    **{f"cp_over_cpmax_{angle}": "1" for angle in SURFACE_ANGLES},
    "axis_shock_offset_cells": "1",
    "undisturbed_cells": "1",
    "lowest_temperature_ratio": "1",
    "stagnation_temperature_k": "K",
    "knudsen": "1",
    "reynolds": "1",
    "wall_cell_reynolds": "1",
}
RECORD_NAMES = tuple(RECORD_UNITS)


@dataclass(frozen=True, eq=False)
class Convergence:
    """How a computation ended. `residual_drop` is relative to the residual of uniform free stream on the same mesh."""

    status: Ending
    criterion: Criterion  # which rule ended it
    advice: str  # what to do about it; empty when converged
    steps: int
    first_order_steps: int  # of these, at the start
    residual_drop: float
    unfrozen_residual_drop: float  # with limiter and sensor of the final state, instead of the frozen ones
    history: Float[np.ndarray, "steps"]


@dataclass(frozen=True, eq=False, repr=False)
class FlowSolution:
    """A steady flow: u1, u2 (m/s), rho (kg/m3) and T (K) on the cells of a mesh, indexed [variable, j, i]."""

    condition: FlightCondition | None  # None for a free stream given by its own values
    free_stream: FreeStream
    mesh: FlowMesh
    gas: Gas
    wall: Wall
    fields: Float[np.ndarray, "4 nj ni"]
    convergence: Convergence
    seconds: float

    @property
    def title(self) -> str:
        """'Mach 25 at 46 km', or the free stream's values."""
        if self.condition:
            return f"Mach {self.condition.mach:g} at {self.condition.altitude_km:g} km"
        stream = self.free_stream
        return f"{stream.velocity:g} m/s, {stream.pressure:g} Pa, {stream.temperature:g} K"

    def __repr__(self) -> str:
        (nj, ni), field = self.mesh.shape, self.field
        return (
            f"Flow at {self.title} on {ni}x{nj} cells: {self.convergence.status} in {self.convergence.steps} steps, "
            f"{self.seconds:.1f} s; stand-off {quantities.stand_off(field):.4f} nose radii, drag coefficient "
            f"{sum(quantities.drag_coefficients(field)):.4f}, stagnation heat flux "
            f"{quantities.stagnation_heat_flux(field) / 1e6:.3f} MW/m2"
        )

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.to_xarray()._repr_html_()}"

    @cached_property
    def field(self) -> FlowField:
        """The fields with all that the derived quantities need."""
        return flow_field(self.fields, self.mesh, self.gas, self.free_stream, self.wall)

    @property
    def pressure(self) -> Float[np.ndarray, "nj ni"]:
        """Pressure in Pa."""
        return self.field.pressure

    @property
    def mach_number(self) -> Float[np.ndarray, "nj ni"]:
        """Local Mach number."""
        return self.field.mach_number

    @cached_property
    def validity(self) -> Validity:
        """How far this run is from the limits of its model."""
        return validity(self.field)

    def surface(self) -> Surface:
        """Pressure, shear and heat flux along the body."""
        return quantities.surface(self.field)

    def to_xarray(self) -> "xr.Dataset":
        """The four fields, pressure and Mach number on the cells [j, i] of the mesh, with its nodes."""
        import xarray as xr

        values = [*self.fields, self.pressure, self.mach_number]
        x, r = self.mesh.centers
        nodes, meters = ("node_j", "node_i"), {"units": "m"}
        coordinates = {
            "x": (("j", "i"), x, meters),
            "r": (("j", "i"), r, meters),
            "node_x": (nodes, self.mesh.node_x, meters),
            "node_r": (nodes, self.mesh.node_r, meters),
        }
        fields = {
            name: (("j", "i"), field, {"units": unit, "long_name": quantities.LONG_NAMES[name]})
            for (name, unit), field in zip((FIELD_UNITS | DERIVED_UNITS).items(), values, strict=True)
        }
        return xr.Dataset(fields, coordinates, {"title": self.title, "status": self.convergence.status})

    def record(self) -> dict[str, float]:
        """Derived quantities as plain numbers, always the same keys in the same order, and no timings."""
        field, limits = self.field, self.validity
        pressure_drag, friction_drag = quantities.drag_coefficients(field)
        balance = quantities.balance_errors(field)
        return {
            "steps": float(self.convergence.steps),
            "criterion": float(list(CRITERIA).index(self.convergence.criterion)),
            "residual_drop": self.convergence.residual_drop,
            "unfrozen_residual_drop": self.convergence.unfrozen_residual_drop,
            "stand_off": quantities.stand_off(field),
            "pitot_ratio": quantities.stagnation_pressure(field) / self.free_stream.pressure,
            "q_stag_w_m2": quantities.stagnation_heat_flux(field),
            "heat_flux_dip": quantities.heat_flux_dip(field),
            "drag_coefficient": pressure_drag + friction_drag,
            "drag_coefficient_pressure": pressure_drag,
            "drag_coefficient_friction": friction_drag,
            "balance_error_mass": balance["mass"],
            "balance_error_momentum": balance["momentum"],
            "balance_error_energy": balance["energy"],
            **{f"shock_radius_m_{x:g}": quantities.shock_radius(field, x) for x in SHOCK_STATIONS},
            **{f"cp_over_cpmax_{a}": quantities.pressure_over_stagnation(field, a) for a in SURFACE_ANGLES},
            "axis_shock_offset_cells": quantities.axis_shock_offset(field),
            "undisturbed_cells": float(limits.undisturbed_cells),
            "lowest_temperature_ratio": float(self.fields[3].min() / self.free_stream.temperature),
            "stagnation_temperature_k": limits.stagnation_temperature_k,
            "knudsen": limits.knudsen,
            "reynolds": limits.reynolds,
            "wall_cell_reynolds": limits.wall_cell_reynolds,
        }

    def summary(self) -> dict[str, Any]:
        """The record in nested plain values, with how the computation ended and what lies outside of its model."""
        record = self.record()
        altitude = self.condition.altitude_km if self.condition else None
        return {
            "mach": self.condition.mach if self.condition else self.free_stream.mach(self.gas),
            "altitude_km": altitude,
            "converged": self.convergence.status == "converged",
            "status": self.convergence.status,
            "criterion": CRITERIA[self.convergence.criterion],
            "advice": self.convergence.advice,
            "steps": self.convergence.steps,
            **{key: record[key] for key in ("residual_drop", "unfrozen_residual_drop", "stand_off", "pitot_ratio")},
            **{key: record[key] for key in ("q_stag_w_m2", "heat_flux_dip", "drag_coefficient")},
            **{key: record[key] for key in ("drag_coefficient_pressure", "drag_coefficient_friction")},
            "balance_error": {key: record[f"balance_error_{key}"] for key in ("mass", "momentum", "energy")},
            "shock_radius_m": {str(x): record[f"shock_radius_m_{x:g}"] for x in SHOCK_STATIONS},
            "cp_over_cpmax": {str(a): record[f"cp_over_cpmax_{a}"] for a in SURFACE_ANGLES},
            "validity": {
                **{k: record[k] for k in ("stagnation_temperature_k", "knudsen", "reynolds", "wall_cell_reynolds")},
                "undisturbed_cells": self.validity.undisturbed_cells,
                "warnings": self.validity.warnings(),
            },
            "seconds": self.seconds,
        }


def flow_field(fields: np.ndarray, mesh: FlowMesh, gas: Gas, free_stream: FreeStream, wall: Wall) -> FlowField:
    """Fields on a mesh, ready for the derived quantities."""
    nose_radius = mesh.body.nose_radius if mesh.body else float("nan")
    return FlowField(mesh.node_x, mesh.node_r, fields, gas, free_stream, wall, nose_radius)
