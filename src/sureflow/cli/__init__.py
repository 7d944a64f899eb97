"""The `sureflow` command: one small file a command; nothing heavy is imported before a command runs."""

import sys

import typer

from sureflow.cli.calibrate import calibrate
from sureflow.cli.curve import curve
from sureflow.cli.evaluate import evaluate
from sureflow.cli.generate import generate
from sureflow.cli.info import info
from sureflow.cli.predict import predict
from sureflow.cli.report import report
from sureflow.cli.solve import solve
from sureflow.cli.study import study
from sureflow.cli.train import train
from sureflow.errors import SureflowError

app = typer.Typer(
    name="sureflow",
    help="Hypersonic flow fields from few CFD runs, at once, with error bars that can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help and one-line errors, in half the time
)
for command in (solve, generate, info, train, calibrate, predict, evaluate, curve, study, report):
    app.command()(command)


def main() -> None:
    """Run the command; a user's mistake ends in one sentence and exit code 2, never in a traceback."""
    try:
        app()
    except SureflowError as error:
        print(f"sureflow: {error}", file=sys.stderr)
        sys.exit(2)
    except PermissionError as error:
        print(f"sureflow: {error.filename} may not be read or written by this user.", file=sys.stderr)
        sys.exit(2)
