"""What engineers read off a flow field: stand-off, pitot pressure, heat flux, drag, balances.

Pure functions of the fields on their mesh, so that each can be computed again from stored data, and from a surrogate's
prediction as well as from a solution.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas
from sureflow.physics.wall import Wall

Line = Float[np.ndarray, "ni"]

# The fields that a flow is described by, and those that follow from them, with their units and names in words.
FIELD_UNITS = {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K"}
DERIVED_UNITS = {"pressure": "Pa", "mach_number": "1"}
LONG_NAMES = {
    "u1": "axial velocity",
    "u2": "radial velocity",
    "rho": "density",
    "T": "temperature",
    "pressure": "pressure",
    "mach_number": "Mach number",
}


@dataclass(frozen=True)
class FlowField:
    """u1, u2 (m/s), rho (kg/m3) and T (K) at the cell centers of a body-fitted axisymmetric mesh, indexed [j, i]."""

    node_x: Float[np.ndarray, "node_j node_i"]
    node_r: Float[np.ndarray, "node_j node_i"]
    fields: Float[np.ndarray, "4 nj ni"]
    gas: Gas
    free_stream: FreeStream
    wall: Wall
    nose_radius: float

    @cached_property
    def center(self) -> Float[np.ndarray, "2 nj ni"]:
        """x and r of the cell centers."""
        return cell_centers(self.node_x, self.node_r)

    @cached_property
    def energy(self) -> Float[np.ndarray, "nj ni"]:
        """Specific internal energy in J/kg."""
        return np.asarray(self.gas.energy_from_temperature(self.fields[2], self.fields[3]))

    @cached_property
    def pressure(self) -> Float[np.ndarray, "nj ni"]:
        """Pressure in Pa."""
        return np.asarray(self.gas.pressure(self.fields[2], self.energy))

    @cached_property
    def mach_number(self) -> Float[np.ndarray, "nj ni"]:
        """Local Mach number."""
        return np.hypot(self.fields[0], self.fields[1]) / np.asarray(self.gas.sound_speed(self.fields[2], self.energy))

    @cached_property
    def total_enthalpy(self) -> Float[np.ndarray, "nj ni"]:
        """Specific total enthalpy in J/kg."""
        return self.energy + self.pressure / self.fields[2] + 0.5 * (self.fields[0] ** 2 + self.fields[1] ** 2)

    @cached_property
    def wall_faces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Area vectors, unit normals into the flow and distances from wall to cell center along them."""
        return wall_geometry(self)

    @cached_property
    def surface(self) -> "Surface":
        """Distributions along the body."""
        return surface(self)

    @property
    def dynamic_pressure(self) -> float:
        """rho U^2 / 2 of the free stream in Pa."""
        return 0.5 * self.free_stream.density(self.gas) * self.free_stream.velocity**2

    @property
    def base_area(self) -> float:
        """Reference area: that of the circle around the wall's last node."""
        return float(np.pi * self.node_r[0, -1] ** 2)


@dataclass(frozen=True)
class Surface:
    """Distributions along the body, one value a wall face."""

    x: Line  # m from the nose tip
    arc: Line  # m along the body from the nose tip
    angle_deg: Line  # between the outward normal and the direction against the stream
    pressure: Line  # Pa
    pressure_coefficient: Line
    shear: Line  # Pa, positive downstream
    heat_flux: Line  # W/m2 into the wall


def face_vectors(dx: np.ndarray, dr: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Area vectors over the whole revolution of faces along i, pointing away from the wall."""
    return 2.0 * np.pi * radius * np.stack([-dr, dx])


def cell_centers(
    node_x: Float[np.ndarray, "node_j node_i"], node_r: Float[np.ndarray, "node_j node_i"]
) -> Float[np.ndarray, "2 nj ni"]:
    """x and r of the centers of cells between these nodes."""
    node = np.stack([node_x, node_r])
    return 0.25 * (node[:, 1:, 1:] + node[:, 1:, :-1] + node[:, :-1, 1:] + node[:, :-1, :-1])


def wall_geometry(field: FlowField) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Area vectors, unit normals into the flow and distances from wall to cell center along them."""
    x, r = field.node_x[0], field.node_r[0]
    dx, dr = np.diff(x), np.diff(r)
    normal = np.stack([-dr, dx]) / np.hypot(dx, dr)
    middle = 0.5 * np.stack([x[1:] + x[:-1], r[1:] + r[:-1]])
    first = cell_centers(field.node_x[:2], field.node_r[:2])[:, 0]
    distance = ((first - middle) * normal).sum(axis=0)
    return face_vectors(dx, dr, middle[1]), normal, distance


def surface(field: FlowField) -> Surface:
    """Pressure, shear and heat flux along the body, from the differences between the wall and the first cell."""
    _, normal, distance = field.wall_faces
    u, v, _, temperature = field.fields[:, 0]
    along = u * normal[1] - v * normal[0]  # velocity along the tangent (n_r, -n_x)
    wall_temperature = field.wall.temperature if field.wall.kind == "isothermal" else temperature
    # Properties at the mean of wall and cell, as in the solver: that integrates a varying conductivity to second order.
    between = 0.5 * (wall_temperature + temperature)
    friction = 1.0 if field.wall.viscous else 0.0
    pressure = field.pressure[0]
    mu, k = (np.asarray(f(between, pressure)) for f in (field.gas.viscosity, field.gas.conductivity))
    shear = friction * mu * along / distance
    heat = friction * k * (temperature - wall_temperature) / distance
    x, r = field.node_x[0], field.node_r[0]
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(r)))])
    return Surface(
        x=0.5 * (x[1:] + x[:-1]),
        arc=0.5 * (arc[1:] + arc[:-1]),
        angle_deg=np.degrees(np.arccos(np.clip(-normal[0], -1.0, 1.0))),
        pressure=pressure,
        pressure_coefficient=(pressure - field.free_stream.pressure) / field.dynamic_pressure,
        shear=shear,
        heat_flux=heat,
    )


def on_axis(line: Line) -> float:
    """Value at the axis of an even function given at the middles of the first two faces beside it."""
    return float((9.0 * line[0] - line[1]) / 8.0)


def stagnation_pressure(field: FlowField) -> float:
    """Wall pressure on the axis in Pa."""
    return on_axis(field.pressure[0])


def stagnation_heat_flux(field: FlowField) -> float:
    """Heat flux into the wall on the axis in W/m2."""
    return on_axis(field.surface.heat_flux)


def heat_flux_dip(field: FlowField) -> float:
    """By which share the heat flux of the face on the axis falls short of the body's largest: 0 where nothing dips."""
    heat = field.surface.heat_flux
    largest = heat.max()
    return float(1.0 - heat[0] / largest) if largest > 0 else 0.0


def shock_distance(field: FlowField, lines: int | None = None) -> tuple[Line, Float[np.ndarray, "2 ni"]]:
    """Distance of the shock from the wall and its position (x, r), on every line normal to the wall, or on the first few.

    The shock is the outermost point where the pressure has risen halfway from the free stream's to the largest on the line,
    interpolated linearly between cells. (The steepest rise of density is at a cold wall.)
    """
    p, free = field.pressure[:, :lines], field.free_stream.pressure
    half = 0.5 * (free + p.max(axis=0))
    inner = p.shape[0] - 2 - np.argmax((p[:-1] >= half)[::-1], axis=0)  # outermost cell above, with one below outside
    column = np.arange(p.shape[1])
    p_in, p_out = p[inner, column], p[inner + 1, column]
    share = np.clip((p_in - half) / np.maximum(p_in - p_out, 1e-30), 0.0, 1.0)
    node_x, node_r = field.node_x[:, : len(column) + 1], field.node_r[:, : len(column) + 1]
    center = cell_centers(node_x, node_r)
    position = center[:, inner, column] * (1.0 - share) + center[:, inner + 1, column] * share
    normal = field.wall_faces[1][:, :lines]
    middle = 0.5 * np.stack([node_x[0, 1:] + node_x[0, :-1], node_r[0, 1:] + node_r[0, :-1]])
    return ((position - middle) * normal).sum(axis=0), position


def stand_off(field: FlowField) -> float:
    """Distance of the shock from the nose on the stagnation line, in nose radii."""
    return float(shock_distance(field, lines=1)[0][0] / field.nose_radius)


def shock_radius(field: FlowField, x: float) -> float:
    """r of the shock at a distance x from the nose tip in m; NaN where the mesh does not hold the shock."""
    xs, rs = shock_distance(field)[1]
    return float(np.interp(x, xs, rs, left=np.nan, right=np.nan))


def axis_shock_offset(field: FlowField) -> float:
    """How far the shock on the axis lies from the parabola through its neighbors, in cells: a carbuncle shows here."""
    distance, position = shock_distance(field)
    height = position[1]
    through = np.polynomial.polynomial.polyfit(height[1:6] ** 2, distance[1:6], 1)
    expected = np.polynomial.polynomial.polyval(height[0] ** 2, through)
    centers = field.center[:, :, 0]
    along = np.hypot(*(centers - centers[:, :1]))
    cell = np.diff(along)[min(np.searchsorted(along, distance[0]), along.size - 2)]
    return float(abs(distance[0] - expected) / cell)


def undisturbed_cells(field: FlowField, rise: float = 0.05) -> int:
    """Number of undisturbed cells between the outermost pressure rise and the outer boundary, on the worst line."""
    disturbed = field.pressure > (1.0 + rise) * field.free_stream.pressure
    return int(np.argmax(disturbed[::-1], axis=0).min())


def drag_coefficients(field: FlowField) -> tuple[float, float]:
    """Drag of the forebody by pressure (p - p_inf) and by friction, on the base area."""
    vector, normal, _ = field.wall_faces
    distribution = field.surface
    area = np.hypot(*vector)
    reference = field.dynamic_pressure * field.base_area
    pressure = -((distribution.pressure - field.free_stream.pressure) * vector[0]).sum()
    friction = (distribution.shear * normal[1] * area).sum()
    return float(pressure / reference), float(friction / reference)


def pressure_over_stagnation(field: FlowField, angle_deg: float) -> float:
    """Cp / Cp_max at an angle from the stagnation point, Cp_max from the pitot pressure of this field."""
    distribution = field.surface
    free = field.free_stream.pressure
    angle = np.concatenate([[0.0], distribution.angle_deg])
    pressure = np.concatenate([[stagnation_pressure(field)], distribution.pressure])
    return float((np.interp(angle_deg, angle, pressure) - free) / (pressure[0] - free))


def balance_errors(field: FlowField) -> dict[str, float]:
    """What enters less what leaves, of mass, axial momentum and energy, over the free stream's flux through the base.

    Computed from boundary states alone, not from the fluxes of the scheme, which cancel by construction: the free stream
    through the circle that the outer boundary and the outflow span, the flow extrapolated to the outflow, and the forces and
    heat on the wall.
    """
    rho_inf, u_inf, p_inf = field.free_stream.density(field.gas), field.free_stream.velocity, field.free_stream.pressure
    x, r = field.node_x[:, -1], field.node_r[:, -1]
    face = 2.0 * np.pi * 0.5 * (r[1:] + r[:-1]) * np.stack([np.diff(r), -np.diff(x)])

    def leaving(quantity: np.ndarray) -> np.ndarray:
        return 1.5 * quantity[:, -1] - 0.5 * quantity[:, -2]

    u, v, rho, _ = (leaving(f) for f in field.fields)
    mass_flux = rho * (u * face[0] + v * face[1])
    circle = np.pi * r[-1] ** 2
    vector, _, _ = field.wall_faces
    pressure_drag, friction_drag = drag_coefficients(field)
    drag = (pressure_drag + friction_drag) * field.dynamic_pressure * field.base_area
    heat = (field.surface.heat_flux * np.hypot(*vector)).sum()
    enthalpy_inf = field.free_stream.total_enthalpy(field.gas)

    through_base = rho_inf * u_inf * field.base_area
    mass = rho_inf * u_inf * circle - mass_flux.sum()
    momentum = rho_inf * u_inf**2 * circle - drag - (mass_flux * u + (leaving(field.pressure) - p_inf) * face[0]).sum()
    energy = rho_inf * u_inf * circle * enthalpy_inf - (mass_flux * leaving(field.total_enthalpy)).sum() - heat
    return {
        "mass": float(mass / through_base),
        "momentum": float(momentum / (through_base * u_inf)),
        "energy": float(energy / (through_base * enthalpy_inf)),
    }
