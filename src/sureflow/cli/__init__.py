"""The `sureflow` command: one small file per command, which parses, calls and prints; heavy imports wait until it runs."""

import functools
import importlib
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from sureflow.cli.calibrate import calibrate
from sureflow.cli.curve import curve
from sureflow.cli.evaluate import evaluate
from sureflow.cli.explore import explore
from sureflow.cli.generate import generate
from sureflow.cli.import_files import import_files
from sureflow.cli.improve import improve
from sureflow.cli.info import info
from sureflow.cli.limits import watched
from sureflow.cli.predict import predict
from sureflow.cli.propose import propose
from sureflow.cli.replay import replay
from sureflow.cli.report import report
from sureflow.cli.runs import add, export, join, levels, split
from sureflow.cli.serve import serve
from sureflow.cli.solve import solve
from sureflow.cli.stopping import heard
from sureflow.cli.study import study
from sureflow.cli.train import train
from sureflow.errors import Exists, Refused, SureflowError, Unanswerable
from sureflow.failures import one_line, sentence_of

# The option that allows what the library withholds; of kinds within one another, the narrower one first.
ALLOWED_BY = {Exists: " (--overwrite)", Unanswerable: "", Refused: " (--extrapolate)"}
# Variables of the environment: modules of the user's that register what they add; whether tracebacks are shown.
PLUGINS = "SUREFLOW_PLUGINS"
TRACEBACK = "SUREFLOW_TRACEBACK"
DEFECT = 70  # exit code


def stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which ends with one sentence when stopped; it may add a note on what is kept and how to continue."""

    @functools.wraps(command)
    def run(*arguments: object, **options: object) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt as stop:
            kept = getattr(stop, "__notes__", ["nothing was changed; run the same command again to start over"])[-1]
            print(f"sureflow: stopped; {kept}", file=sys.stderr)
            raise typer.Exit(getattr(stop, "code", 130)) from None

    return run


# Plain help and one-line errors, in half the time.
PLAIN = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}

app = typer.Typer(name="sureflow", **PLAIN)
for command in (
    solve,
    generate,
    info,
    train,
    calibrate,
    predict,
    propose,
    improve,
    replay,
    evaluate,
    explore,
    serve,
    curve,
    study,
    report,
):
    app.command()(stoppable(command))
app.command("import")(stoppable(import_files))
stores = typer.Typer(help="Join, split and extend stores of runs.", **PLAIN)
for command in (join, split, add, export, levels):
    stores.command()(stoppable(command))
app.add_typer(stores, name="runs")


def show_version(wanted: bool) -> bool:
    if wanted:
        import importlib.metadata

        print(f"sureflow {importlib.metadata.version('sureflow')}")
        raise typer.Exit
    return wanted


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Instant predictions of flow fields from a few CFD runs, with calibrated error bars."""


def main() -> None:
    """Run the command. What the user or the machine did wrong gives one sentence and exit code 2; a defect of ours, 70."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files that the terminal cannot show
    watched()
    try:
        with heard():
            import_plugins(os.environ.get(PLUGINS, ""))
            app()
    except KeyboardInterrupt as stop:  # before or after the command itself
        end("stopped", getattr(stop, "code", 130))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read has left: what is still to be flushed goes nowhere
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        sentence = sentence_of(error)
        if sentence is None:
            end(
                f"a defect of sureflow ({type(error).__name__}: {error}): please report it, with the command and what "
                f"{TRACEBACK}=1 in the environment shows",
                DEFECT,
            )
        allowed = next((words for kind, words in ALLOWED_BY.items() if isinstance(error, kind)), "")
        end(f"{sentence}{allowed}")


def import_plugins(names: str) -> None:
    """Import the user's modules (names separated by commas), which register models, importers and the like."""
    for name in filter(None, names.split(",")):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise SureflowError(f"{PLUGINS} names {name!r}, which cannot be imported ({error})") from None


def end(sentence: str, code: int = 2) -> NoReturn:
    print(f"sureflow: {one_line(sentence)}", file=sys.stderr)
    sys.exit(code)
