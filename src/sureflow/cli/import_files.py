"""`sureflow import`: the files of a CFD program in; a store of runs out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError


def import_files(
    source: Annotated[
        list[str] | None, typer.Argument(help="A folder, files, or a pattern such as 'cases/*.vtu'.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The store to create, such as runs.zarr.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="CSV or Excel with a row per run: a column 'file', and one per parameter.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(help="Parameters in file or folder names, as in 'M{mach}_h{altitude_km}'.")
    ] = None,
    entry: Annotated[
        list[str] | None, typer.Option(help="Parameter from a file, as in speed='0/U:internalField[0]'; repeatable.")
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option(help="Field and array, as in p=Pressure or u1='U[0]'; repeatable.")
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(help="Unit of a field or parameter, as in p=Pa; repeatable.")
    ] = None,
    time: Annotated[str, typer.Option(help="Time to read if a file has several: a number, or last.")] = "last",
    block: Annotated[
        list[str] | None, typer.Option(help="Block, zone or patch to take instead of the whole flow; repeatable.")
    ] = None,
    location: Annotated[str, typer.Option(help="Where fields are kept: cells, points, or auto.")] = "auto",
    mesh: Annotated[
        str, typer.Option(help="Mesh of the runs: shared, moving, resampled (onto one mesh), or auto.")
    ] = "auto",
    reference: Annotated[
        Path | None, typer.Option(help="File onto whose mesh all runs are resampled; by default the first run.")
    ] = None,
    interpolation: Annotated[str, typer.Option(help="How to resample: linear or conservative.")] = "linear",
    config: Annotated[
        Path | None, typer.Option(help="TOML with these settings, as an import writes it beside its store.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what the files contain and what would be done.")
    ] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out files that cannot be used.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Add the runs that an existing store lacks.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the store if it exists.")] = False,
) -> None:
    """Import the runs of your own CFD program.

    Reads one run per file or case folder, its parameters from a table, from names or from the files, and writes a store of
    runs that all commands accept, with a TOML file beside it that repeats the import. An interrupted import continues where
    it stopped.
    """
    given: dict[str, Any] = {
        "source": source or None,
        "table": None if table is None else str(table),
        "pattern": pattern,
        "entries": pairs("entry", entry),
        "fields": pairs("field", field),
        "units": pairs("unit", unit),
        "time": None if time == "last" else time,
        "blocks": block or None,
        "location": None if location == "auto" else location,
        "mesh": None if mesh == "auto" else mesh,
        "reference": None if reference is None else str(reference),
        "interpolation": None if interpolation == "linear" else interpolation,
    }
    given = {name: value for name, value in given.items() if value}
    if output is None and not dry_run:
        raise SureflowError("the output is missing: give a store to create with --output, or use --dry-run")
    begin(f"importing {' '.join(source or [str(config)])}")

    from sureflow.cli.console import Bar, out
    from sureflow.importers.import_settings import ImportSettings
    from sureflow.importers.importing import import_runs
    from sureflow.importers.planning import plan_import
    from sureflow.importers.preview import preview
    from sureflow.validation import read_toml, validated

    values = {**({} if config is None else read_toml(config)), **given}
    if "source" not in values:
        raise SureflowError("there is nothing to import: give a folder, files, or a pattern such as 'cases/*.vtu'")
    settings = validated(ImportSettings, values, "" if config is None else str(config))
    if dry_run:
        for title, lines in preview(plan_import(settings, skip_bad=skip_bad)).items():
            out.print(f"{title}:\n  " + "\n  ".join(lines), markup=False)
        return
    assert output is not None
    with Bar(output.name) as bar:

        def show(done: int, total: int, name: str) -> None:
            bar.begin(total)
            bar.update(done, name)

        try:
            imported = import_runs(
                settings, output, overwrite=overwrite, append=append, skip_bad=skip_bad, progress=show
            )
        except KeyboardInterrupt as stop:
            stop.add_note("runs read so far are kept; run the same command again to continue")
            raise
    for sentence in imported.bad:
        out.print(f"left out: {sentence}", markup=False)
    for sentence in imported.remarks:
        out.print(f"look at {sentence}", markup=False)
    print_result(imported, append=append)


def print_result(imported: Any, *, append: bool) -> None:
    from sureflow.cli.console import out
    from sureflow.data.store import open_runs
    from sureflow.importers.importing import recipe_beside

    runs = open_runs(imported.store)
    if append:
        out.print(f"{imported.runs} runs added, {imported.found} were there already", markup=False)
    elif imported.found:
        out.print(f"{imported.found} of the runs were read before", markup=False)
    out.print(f"{imported.store}: {runs}", markup=False)
    if not append:
        out.print(f"{recipe_beside(imported.store)} repeats the import", markup=False)


def pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """name=value, repeated, as values by name."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise SureflowError(f"--{option} {text!r} must read name=value, as in --{option} p=Pressure")
        if name in found:
            raise SureflowError(f"--{option} {name} is given twice: give it once")
        found[name] = value
    return found
