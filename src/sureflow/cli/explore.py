"""`sureflow explore`: a trained model as a page to look at, in one file."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.inputs import parse_values
from sureflow.cli.remarks import begin


def explore(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page: a file that ends in .html.")] = Path(
        "explorer.html"
    ),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    cut: Annotated[
        str | None, typer.Option("--slice", help="A plane through a volume to show instead of its surface, as in z=0.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
) -> None:
    """Write a page that shows what a model predicts, with its error bars, at any condition.

    The page is one file. It needs no server and no network: the model is evaluated in the browser.
    """
    plane = None if cut is None else parse_values([cut])
    begin(f"putting {model} into a page")

    from sureflow.cli.console import Bar, out
    from sureflow.explore.notebook import explore as explored
    from sureflow.surrogate.artifact import load

    trained = load(model)
    with Bar(output.name) as bar:
        explored(trained, output, title=title, cut=plane, overwrite=overwrite, progress=bar.update)
    out.print(f"{output}: {output.stat().st_size / 1e6:.1f} MB; open it in a browser", markup=False)
