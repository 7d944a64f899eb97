"""A solution as files: netCDF, JSON, pictures and, for ParaView, VTK."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sureflow.data.schema import LONG_NAMES, VARIABLES
from sureflow.files import write_netcdf
from sureflow.flow.solution import FlowSolution
from sureflow.flow.steer import SolverSettings
from sureflow.physics.correlations import fay_riddell, pitot_ratio
from sureflow.physics.gas import PerfectGas
from sureflow.report.figures import Curve, draw_fields, draw_residual, draw_surface, flow_panels, save

DERIVED = {"pressure": "Pa", "mach_number": "1"}
FILES = ("fields.nc", "summary.json", "fields.png", "residual.png", "surface.png", "fields.vts")


def write_solution(folder: Path, solution: FlowSolution, *, mirror: bool = False, vtk: bool = False) -> list[Path]:
    """Fields, summary and pictures into an existing folder; returns the files."""
    if vtk:
        from sureflow.report.vtk import write_vtk

        write_vtk(folder / "fields.vts", solution)
    write_netcdf(solution_dataset(solution), folder / "fields.nc")
    text = json.dumps(jsonable(solution.summary()), indent=2, allow_nan=False)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    pictures = {
        "fields.png": fields_figure(solution, mirror=mirror),
        "residual.png": residual_figure(solution),
        "surface.png": surface_figure(solution),
    }
    for name, figure in pictures.items():
        save(figure, folder / name)
    return sorted(folder.iterdir())


def solution_dataset(solution: FlowSolution) -> xr.Dataset:
    """The four fields, pressure and Mach number on the cells [j, i] of the mesh, with its nodes."""
    units = VARIABLES | DERIVED
    values = [*solution.fields, solution.pressure, solution.mach_number]
    x, r = solution.mesh.centers
    meters = {"units": "m"}
    coordinates = {
        "x": (("j", "i"), x, meters),
        "r": (("j", "i"), r, meters),
        "node_x": (("node_j", "node_i"), np.asarray(solution.mesh.node_x), meters),
        "node_r": (("node_j", "node_i"), np.asarray(solution.mesh.node_r), meters),
    }
    fields = {
        name: (("j", "i"), field, {"units": unit, "long_name": LONG_NAMES[name]})
        for (name, unit), field in zip(units.items(), values, strict=True)
    }
    attributes = {"title": title(solution), "status": solution.convergence.status}
    return xr.Dataset(fields, coordinates, attributes)


def jsonable(value: Any) -> Any:
    """The same value with null for numbers that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def title(solution: FlowSolution) -> str:
    """'Mach 25 at 46 km', or the free stream's values."""
    if solution.condition:
        return f"Mach {solution.condition.mach:g} at {solution.condition.altitude_km:g} km"
    stream = solution.free_stream
    return f"{stream.velocity:g} m/s, {stream.pressure:g} Pa, {stream.temperature:g} K"


def fields_figure(solution: FlowSolution, *, mirror: bool = False):
    """The four fields."""
    mesh = solution.mesh
    panels = flow_panels(solution.fields)
    return draw_fields(np.asarray(mesh.node_x), np.asarray(mesh.node_r), panels, title=title(solution), mirror=mirror)


def residual_figure(solution: FlowSolution):
    """How the residual fell."""
    settings = SolverSettings()
    levels = {"converged": settings.tolerance, "converged, if nothing drifts": settings.loose_tolerance}
    record = solution.convergence
    return draw_residual(
        record.history,
        title=f"{title(solution)}: {record.status} in {record.steps} steps",
        levels=levels,
        first_order_steps=record.first_order_steps,
    )


def surface_figure(solution: FlowSolution):
    """Pressure, heat flux and shear along the body beside theory."""
    wall, free, gas = solution.surface(), solution.free_stream, solution.gas
    mach = free.mach(gas)
    reference = None
    largest_cp = wall.pressure_coefficient.max()
    if isinstance(gas, PerfectGas):
        largest_cp = (pitot_ratio(mach, gas.gamma) - 1.0) / (0.5 * gas.gamma * mach**2)
        if solution.wall.kind == "isothermal" and solution.mesh.body:
            reference = fay_riddell(free, gas, solution.mesh.body.nose_radius, solution.wall.temperature)
    body = solution.mesh.body
    joint = body.nose_radius * math.radians(90.0 - body.half_angle_deg) if body else None
    newtonian = largest_cp * np.cos(np.radians(wall.angle_deg)) ** 2
    return draw_surface(
        Curve(wall.arc, wall.pressure_coefficient),
        Curve(wall.arc, newtonian),
        Curve(wall.arc, wall.heat_flux),
        Curve(wall.arc, wall.shear),
        title=title(solution),
        joint=joint,
        reference_heat=reference,
    )
