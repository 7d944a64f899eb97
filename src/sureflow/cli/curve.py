"""`sureflow curve`: how many runs a given accuracy needs."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.inputs import parse_counts, parse_names
from sureflow.cli.remarks import begin


def curve(
    runs: Annotated[Path, typer.Argument(help="A store of runs, or another file of runs (.npz).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("curve"),
    models: Annotated[
        str | None,
        typer.Option(
            help="Models to compare, separated by commas; by default interpolation, pod-gp, pod-deeponet and, for runs with "
            "wall layers, the aligned ones."
        ),
    ] = None,
    sizes: Annotated[
        str, typer.Option(help="Numbers of training runs, separated by commas; all training runs are always added.")
    ] = "4,6,9,12,16,25,50,100,205",
    split: Annotated[
        str | None,
        typer.Option(help="How test runs are chosen, such as paper; by default a fifth at random."),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Accept settings that differ from the folder's and redo what they affect."),
    ] = False,
) -> None:
    """Show how accuracy improves with the number of runs.

    Makes a learning curve: error and calibration against the number of training runs, chosen to fill the parameter space.
    It can be stopped at any time; the same command continues it. Writes a report with the figure and prints the table: errors,
    in standard deviations of the training runs, and miscalibration areas over all points of a domain; and how errors fall with
    the number of runs.
    """
    names = None if models is None else parse_names("models", models)
    counts = parse_counts("sizes", sizes)

    begin(f"learning curve of {runs} in {output}")

    from sureflow.cli.console import out
    from sureflow.cli.study import follow_study
    from sureflow.evaluate.results import Results
    from sureflow.evaluate.tables import to_text
    from sureflow.study.curve import curve_rates, curve_settings, curve_table

    report = follow_study(output, curve_settings(runs, names, counts, split), overwrite=overwrite)
    rows = Results.read(output).rows
    out.print(to_text(curve_table(rows)), markup=False)
    for rate in curve_rates(rows):
        out.print(rate, markup=False)
    print(report)
