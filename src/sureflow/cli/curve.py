"""`sureflow curve`: how many runs a given accuracy takes."""

from pathlib import Path
from typing import Annotated

import typer


def curve(
    runs: Annotated[Path, typer.Argument(help="A store of runs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the curve.")] = Path("curve"),
    models: Annotated[
        str, typer.Option(help="Which models, separated by commas.")
    ] = "interpolation,pod-gp,pod-deeponet",
    sizes: Annotated[
        str, typer.Option(help="Numbers of runs, separated by commas; all training runs are added.")
    ] = "4,6,9,12,16,25,50,100,205",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Accept other settings than the folder's; do again what they change.")
    ] = False,
) -> None:
    """Learning curve: error and calibration against the number of runs, chosen space-filling.

    Stopped at any moment and started again, it goes on. Writes a report with the figure and prints the table.
    """
    from sureflow.cli.console import out
    from sureflow.cli.study import follow_study
    from sureflow.errors import SureflowError
    from sureflow.evaluate.results import Results
    from sureflow.evaluate.tables import to_text
    from sureflow.study.curve import MODELS, curve_settings, curve_table

    names = [name.strip() for name in models.split(",")]
    if len(set(names)) < len(names):
        raise SureflowError(f"--models {models!r} names a model twice")
    unknown = next((name for name in names if name not in MODELS), None)
    if unknown is not None:
        raise SureflowError(f"--models {unknown!r} is none of {', '.join(MODELS)}")
    try:
        counts = [int(size) for size in sizes.split(",")]
    except ValueError:
        raise SureflowError(f"--sizes {sizes!r} must be whole numbers separated by commas, such as 4,9,16") from None
    if min(counts) < 1:
        raise SureflowError(f"--sizes {sizes!r} must be positive numbers of runs")
    report = follow_study(output, curve_settings(runs, names, counts), overwrite=overwrite)
    out.print(to_text(curve_table(Results.read(output).rows)), markup=False)
    print(report)
