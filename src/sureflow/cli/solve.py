"""`sureflow solve`: computes one flight condition and writes fields, a summary and pictures."""

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureflow.cli.inputs import parse_cells
from sureflow.cli.remarks import begin
from sureflow.errors import Exists, SureflowError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sureflow.campaign.predicted import PredictedStarts
    from sureflow.flow.solution import FlowSolution

CELLS = "64x64"


def solve(
    mach: Annotated[float, typer.Option(help="Mach number, 2..40.")],
    altitude: Annotated[float, typer.Option(help="Geometric altitude in km, 0..86.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the results; by default named like solution-M25-46km."),
    ] = None,
    wall: Annotated[
        str | None, typer.Option(help="Wall: isothermal, adiabatic or slip (inviscid).", show_default="isothermal")
    ] = None,
    wall_temperature: Annotated[
        float | None, typer.Option(help="Temperature of an isothermal wall, in K.", show_default="1500")
    ] = None,
    cells: Annotated[
        str | None, typer.Option(help="Number of cells along the body x normal to it.", show_default=CELLS)
    ] = None,
    wall_spacing: Annotated[
        float | None, typer.Option(help="Height of the first cell at the nose, in m.", show_default="3e-5")
    ] = None,
    start_from: Annotated[
        Path | None,
        typer.Option(
            help="Start from what this model predicts, with the mesh, wall and scheme of the runs it learned from."
        ),
    ] = None,
    with_mesh_error: Annotated[
        bool,
        typer.Option("--with-mesh-error", help="Also solve on two coarser meshes, to estimate the error of this one."),
    ] = False,
    mirror: Annotated[bool, typer.Option("--mirror", help="Draw both sides of the axis.")] = False,
    vtk: Annotated[bool, typer.Option("--vtk", help="Also write fields.vts for ParaView (needs pyvista).")] = False,
    export: Annotated[
        Path | None,
        typer.Option(help="Also write the fields to this file: .vtu, .vts, .vtkhdf, .nc, .zarr, .csv or .png."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON; files are written only with --output.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results in the output folder.")] = False,
) -> None:
    """Compute the flow at one flight condition.

    Solves for the steady laminar flow of a perfect gas over the RAM-C II, on a mesh fitted to its bow shock. The exit code
    is 1 if the solution did not converge.
    """
    wanted = {"cells": cells, "wall": wall, "wall_temperature": wall_temperature, "wall_spacing": wall_spacing}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if start_from is not None:
        refuse_options_of_the_mesh(given)
    given["cells"] = parse_cells(cells or CELLS)
    if with_mesh_error and start_from is None:
        from sureflow.evaluate.mesh_study import require_mergeable

        require_mergeable(given["cells"])
    folder = None if as_json and output is None else output or Path(f"solution-M{mach:g}-{altitude:g}km")

    begin(f"solving for Mach {mach:g} at {altitude:g} km")

    from sureflow.export.exporters import writer
    from sureflow.export.vtk import require_pyvista
    from sureflow.report.solution_files import summary_text

    if vtk:
        require_pyvista()
    write_export = None if export is None else writer(export, overwrite=overwrite)
    if folder:
        refuse_to_overwrite(folder, overwrite=overwrite)
    starts = None if start_from is None else load_model(start_from, with_mesh_error=with_mesh_error)
    solution = follow(mach, altitude, given, starts, quiet=as_json)
    told = mesh_error(solution, starts) if with_mesh_error else None
    if as_json:
        print(summary_text(solution, told))
    if folder:
        write(folder, solution, told, overwrite=overwrite, mirror=mirror, vtk=vtk)
    if write_export:
        write_export(solution.to_xarray())
    if not as_json:
        print_summary(solution, folder)
        print_mesh_error(told)
    if solution.convergence.status != "converged":
        raise typer.Exit(1)


def refuse_options_of_the_mesh(given: "Iterable[str]") -> None:
    """A run that starts from a model has the mesh and the wall of the model's runs."""
    for name in given:
        raise SureflowError(
            f"--{name.replace('_', '-')} and --start-from exclude each other: the run has the mesh and the wall of the "
            "model's runs"
        )


def load_model(folder: Path, *, with_mesh_error: bool) -> "PredictedStarts":
    """The model whose predictions the solver starts from, and whose mesh it takes."""
    from sureflow.campaign.predicted import load_starts
    from sureflow.evaluate.mesh_study import require_mergeable

    starts = load_starts(folder)
    if with_mesh_error:
        nj, ni = starts.mesh.shape
        require_mergeable((ni, nj))
    return starts


def follow(
    mach: float, altitude_km: float, given: dict[str, Any], starts: "PredictedStarts | None", *, quiet: bool
) -> "FlowSolution":
    """Compute the run, with a progress bar that follows the residual."""
    from sureflow.cli.console import Bar
    from sureflow.flow.solve import solve
    from sureflow.flow.steer import Progress, Report

    def run(progress: Report | None) -> "FlowSolution":
        if starts is None:
            return solve(mach, altitude_km, **given, progress=progress)
        from sureflow.physics.free_stream import FlightCondition

        return starts.solve(FlightCondition(mach, altitude_km), progress)

    if quiet:
        return run(None)
    with Bar(f"Mach {mach:g} at {altitude_km:g} km") as bar:

        def show(progress: Progress) -> None:
            bar.update(progress.fraction, f"{progress.phase}, step {progress.step}, {progress.residual_drop:.1e}")

        return run(show)


def mesh_error(solution: "FlowSolution", starts: "PredictedStarts | None") -> dict[str, Any] | None:
    """What two coarser meshes tell of the error of this one; where they cannot, the solution stands without it."""
    from sureflow.cli.console import say
    from sureflow.evaluate.mesh_study import study_mesh

    if solution.convergence.status != "converged":
        return None
    begin("solving on two coarser meshes")
    try:
        return study_mesh(solution, None if starts is None else starts.settings).summary()
    except SureflowError as error:
        say(f"the error of the mesh is not known: {error}")
        return None


def print_mesh_error(told: dict[str, Any] | None) -> None:
    """Numbers with the standard uncertainty that the mesh leaves them."""
    from sureflow.cli.console import out, print_facts

    if told is None:
        return
    order = "" if len(told["meshes"]) > 2 else ", at order 1, since the run on coarser cells did not converge"
    out.print(
        f"error of the mesh, from {', '.join(told['meshes'])} cells{order} (one standard uncertainty, ASME V&V 20):"
    )
    rows = {}
    for name, one in told["quantities"].items():
        order = "" if one["order"] is None else f", observed order {one['order']:.2g}"
        rows[name] = f"{one['value']:.5g} +- {one['std_mesh']:.2g} ({one['std_mesh'] / abs(one['value']):.2%}{order})"
    print_facts(rows)


def refuse_to_overwrite(folder: Path, *, overwrite: bool) -> None:
    """Replace results only if allowed, and never delete anything but results."""
    from sureflow.data.disk import explain_writing, refuse_nameless
    from sureflow.report.solution_files import FILES

    with explain_writing(folder):
        refuse_nameless(folder)
        if not folder.exists():
            nearest = next(parent for parent in folder.resolve().parents if parent.exists())
            if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
                raise SureflowError(f"{folder} cannot be made in {nearest}: choose another folder")
            return
        found = {path.name for path in folder.iterdir()}
    if not found:
        return
    others = sorted(found - set(FILES))
    if others or "summary.json" not in found:
        such = f"holds {others[0]}, and" if others else "exists and"
        raise SureflowError(f"{folder} {such} is not a folder of sureflow results: choose another folder")
    if not overwrite:
        raise Exists(f"{folder} exists: choose another folder, or allow it to be replaced")


def write(
    folder: Path,
    solution: "FlowSolution",
    told: dict[str, Any] | None,
    *,
    overwrite: bool,
    mirror: bool,
    vtk: bool,
) -> None:
    """Write all files at once: they are made in a temporary folder, which then takes the place of the old one."""
    from sureflow.data.disk import explain_writing
    from sureflow.files import put_in_place
    from sureflow.report.solution_files import write_solution

    place = folder.resolve()  # what a link leads to, not the link, is replaced
    making = place.with_name(f".{place.name}.{uuid.uuid4().hex}.making")
    try:
        with explain_writing(folder):
            making.mkdir(parents=True)
            write_solution(making, solution, told, mirror=mirror, vtk=vtk)
            refuse_to_overwrite(folder, overwrite=overwrite)  # another process may have written there meanwhile
            put_in_place(making, place, overwrite=overwrite)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def print_summary(solution: "FlowSolution", folder: Path | None) -> None:
    """Print a table of what an engineer looks at first, in the units and digits of predictions."""
    from sureflow.cli.console import out, print_facts

    summary = solution.summary()
    nose = solution.mesh.body.nose_radius if solution.mesh.body else float("nan")
    balance, pitot, heat = summary["balance_error"], summary["pitot_ratio"], summary["q_stag_w_m2"]
    rows = {
        "stand-off": f"{summary['stand_off']:.5g} nose radii ({1e3 * nose * summary['stand_off']:.1f} mm)",
        "stagnation pressure": f"{pitot * solution.free_stream.pressure:.5g} Pa (pitot ratio {pitot:.5g} p_inf)",
        "stagnation heat flux": f"{heat:.5g} W/m2 ({heat / 1e6:.3f} MW/m2)",
        "drag coefficient": f"{summary['drag_coefficient']:.5g} (pressure {summary['drag_coefficient_pressure']:.5g}, "
        f"friction {summary['drag_coefficient_friction']:.5g})",
        "balance errors": ", ".join(f"{name} {100 * error:.3f} %" for name, error in balance.items()),
        "residual": f"{summary['residual_drop']:.1e} of uniform free stream, {summary['criterion']}",
    }
    color = "green" if summary["converged"] else "red"
    out.print(
        f"{solution.title}: [{color}]{summary['status']}[/] in {summary['steps']} steps, {summary['seconds']:.1f} s. "
        f"{summary['advice']}".rstrip()
    )
    print_facts(rows)
    for warning in summary["validity"]["warnings"]:
        out.print(f"[yellow]outside the model:[/] {warning}")
    if folder:
        out.print(f"Written to {folder}/: {', '.join(sorted(path.name for path in folder.iterdir()))}", markup=False)
