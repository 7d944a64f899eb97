"""A solution as a folder of files: netCDF, JSON, pictures and, for ParaView, VTK."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sureflow.export.exporters import write_dataset
from sureflow.export.field_mesh import mesh_of
from sureflow.flow.solution import FlowSolution
from sureflow.flow.steer import SolverSettings
from sureflow.physics.correlations import fay_riddell, pitot_ratio
from sureflow.physics.gases import PerfectGas
from sureflow.report.canvas import Plane, draw_fields
from sureflow.report.figures import Curve, draw_residual, draw_surface, save
from sureflow.report.overview import jsonable
from sureflow.report.plot import flow_panel

FIELDS = ("u1", "u2", "rho", "T")
FILES = ("fields.nc", "summary.json", "fields.png", "residual.png", "surface.png", "fields.vts")


def write_solution(
    folder: Path,
    solution: FlowSolution,
    mesh_error: Mapping[str, Any] | None = None,
    *,
    mirror: bool = False,
    vtk: bool = False,
) -> list[Path]:
    """Fields, summary and pictures into an existing folder; returns the files."""
    dataset = solution.to_xarray()
    for name in ("fields.vts", "fields.nc") if vtk else ("fields.nc",):
        write_dataset(dataset, folder / name)
    (folder / "summary.json").write_text(summary_text(solution, mesh_error) + "\n", encoding="utf-8")
    pictures = {
        "fields.png": fields_figure(solution, mirror=mirror),
        "residual.png": residual_figure(solution),
        "surface.png": surface_figure(solution),
    }
    for name, figure in pictures.items():
        save(figure, folder / name)
    return sorted(folder.iterdir())


def summary_text(solution: FlowSolution, mesh_error: Mapping[str, Any] | None = None) -> str:
    """The summary of a solution as JSON, with the error of its mesh where that was looked at."""
    further = {} if mesh_error is None else {"mesh_error": dict(mesh_error)}
    return json.dumps(jsonable(solution.summary() | further), indent=2, allow_nan=False)


def fields_figure(solution: FlowSolution, *, mirror: bool = False) -> Figure:
    """The four fields."""
    dataset = solution.to_xarray()
    panels = [flow_panel(name, dataset[name].attrs["units"], dataset[name].values) for name in FIELDS]
    return draw_fields(Plane(mesh_of(dataset)), panels, title=solution.title, mirror=mirror)


def residual_figure(solution: FlowSolution) -> Figure:
    """How the residual fell."""
    settings = SolverSettings()
    levels = {"converged": settings.tolerance, "converged, if nothing drifts": settings.loose_tolerance}
    record = solution.convergence
    return draw_residual(
        record.history,
        title=f"{solution.title}: {record.status} in {record.steps} steps",
        levels=levels,
        first_order_steps=record.first_order_steps,
    )


def surface_figure(solution: FlowSolution) -> Figure:
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
        title=solution.title,
        joint=joint,
        reference_heat=reference,
    )
