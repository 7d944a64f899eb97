"""`sureflow report`: the page, figures and tables of a study, from its stored results."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.remarks import begin


def report(
    study: Annotated[Path, typer.Argument(help="Folder of a study, with its results.json.")],
) -> None:
    """Rebuild the report of a study.

    Writes report.html (one self-contained file), figures/ (PNG, PDF) and tables/ (CSV, Markdown, LaTeX).
    """
    begin(f"writing the report of {study}")

    from sureflow.report.page import write_report

    print(write_report(study))
