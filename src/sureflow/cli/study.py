"""`sureflow study`: from the runs to the report, with one command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.cli.remarks import begin

if TYPE_CHECKING:
    from sureflow.study.agenda import StudySettings


def study(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the study.")] = Path("study"),
    preset: Annotated[
        str, typer.Option(help="quick, paper, methods, kinds, nearest, family, or a TOML file of your own.")
    ] = "quick",
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Accept settings that differ from the folder's and redo what they affect, even runs."
        ),
    ] = False,
) -> None:
    """Compare models, from runs to a report.

    Computes the runs, trains the models, evaluates them and writes the report. It can be stopped at any time; the same
    command continues it. Stages whose inputs have not changed are skipped.
    """
    begin(f"study {preset} in {output}")

    from sureflow.study.agenda import load_study

    print(follow_study(output, load_study(preset), overwrite=overwrite))


def follow_study(folder: Path, settings: "StudySettings", *, overwrite: bool) -> Path:
    """Run a study with a progress bar; returns the path of its report."""
    from sureflow.cli.console import Bar, say
    from sureflow.runtime import keep_compiled_programs
    from sureflow.study.conduct import run_study
    from sureflow.study.work import Audience

    keep_compiled_programs()
    # Its stages advance in steps of unequal worth, so that only many of them tell the pace.
    with Bar("study", window=200) as bar:
        audience = Audience(say=say, advance=bar.update, begin=bar.begin, skipped=bar.forget_pace)
        try:
            return run_study(folder, settings, audience, overwrite=overwrite)
        except KeyboardInterrupt as stop:
            stop.add_note(f"what is finished is kept in {folder}; run the same command again to continue")
            raise
