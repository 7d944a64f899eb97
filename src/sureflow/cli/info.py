"""`sureflow info`: what is in a store of runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sureflow.errors import SureflowError

PICTURES = (".png", ".pdf", ".svg")


def info(
    store: Annotated[Path, typer.Argument(help="A store of runs, such as runs.zarr.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw how the runs ended over Mach number and altitude (png, pdf, svg).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the figure if it exists.")] = False,
) -> None:
    """Show what is in a store of runs.

    Grid, conditions, convergence, gas, wall, validity, versions and checksum.
    """
    import json

    from sureflow.data.store import RunStore, explain_writing
    from sureflow.report.figures import save
    from sureflow.report.overview import overview, overview_figure
    from sureflow.report.solution import jsonable

    if figure and figure.suffix.lower() not in PICTURES:
        raise SureflowError(f"figure={str(figure)!r} is not a picture; end it in {', '.join(PICTURES)}.")
    if figure and not overwrite and figure.exists():
        raise SureflowError(f"{figure} exists; choose another name, or replace it with --overwrite.")
    runs = RunStore.open(store)
    facts = jsonable(overview(runs))
    if figure:
        with explain_writing(figure):
            figure.parent.mkdir(parents=True, exist_ok=True)
            save(overview_figure(runs), figure)
    if as_json:
        print(json.dumps(facts, indent=2, allow_nan=False))
    else:
        show(facts)


def show(facts: dict[str, Any]) -> None:
    """The same as a page of text."""
    from sureflow.cli.console import out, print_facts

    conditions, status, grid = facts["conditions"], facts["status"], facts["grid"]
    mach, altitude = conditions["mach"], conditions["altitude_km"]
    rows = {
        "conditions": f"{conditions['count']}: Mach {span(mach)}, altitude {span(altitude)} km",
        "runs": ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in status.items() if count),
        "grid": f"{grid['cells'][0]} x {grid['cells'][1]} cells, first cell {grid.get('wall_spacing', 0) * 1e6:.3g} µm",
        "body": words(facts["body"]),
        "gas": words(facts["gas"]),
        "wall": words(facts["wall"]),
        "scheme": words(facts["scheme"]),
        "versions": words(facts["versions"]),
        "checksum": facts["checksum"],
    }
    print_facts(rows)
    for run in facts["not_converged"]:
        out.print(f"[red]{run['status']}:[/] Mach {run['mach']:g} at {run['altitude_km']:g} km")
    for name, limit in facts["validity"].items():
        if limit["outside"]:
            lower = "lowest" in limit
            reach = f"down to {limit['lowest']:.3g}" if lower else f"up to {limit['highest']:.3g}"
            out.print(
                f"[yellow]outside the model:[/] {limit['outside']} runs with {name.replace('_', ' ')} "
                f"{'under' if lower else 'over'} {limit['limit']:g} ({reach}): {limit['meaning']}"
            )


def span(values: dict[str, float]) -> str:
    """'10..30 (21 values)'."""
    if values["values"] == 1:
        return f"{values['lowest']:g}"
    return f"{values['lowest']:g}..{values['highest']:g} ({values['values']} values)"


def words(values: dict[str, Any] | None) -> str:
    """'kind isothermal, temperature 1500'."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in (values or {}).items())
