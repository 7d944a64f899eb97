"""The `sureflow` command: one small file per command, which parses, calls and prints; heavy imports wait until it runs."""

import functools
import importlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

import typer

from sureflow.cli.calibrate import calibrate
from sureflow.cli.curve import curve
from sureflow.cli.evaluate import evaluate
from sureflow.cli.generate import generate
from sureflow.cli.import_files import import_files
from sureflow.cli.info import info
from sureflow.cli.predict import predict
from sureflow.cli.report import report
from sureflow.cli.runs import add, join, split
from sureflow.cli.solve import solve
from sureflow.cli.study import study
from sureflow.cli.train import train
from sureflow.errors import Exists, Refused, SureflowError

# The option that allows what the library withholds.
ALLOWED_BY = {Exists: " (--overwrite)", Refused: " (--extrapolate)"}


# The variable of the environment that names modules of the user's, which register what they add.
PLUGINS = "SUREFLOW_PLUGINS"


class Terminated(KeyboardInterrupt):
    """SIGTERM from a batch system, which ends a command as Ctrl-C does."""


def stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which ends with one sentence when stopped; it may add a note on what is kept and how to continue."""

    @functools.wraps(command)
    def run(*arguments: object, **options: object) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt as stop:
            kept = getattr(stop, "__notes__", ["run the same command again to start over"])[-1]
            print(f"sureflow: stopped; {kept}", file=sys.stderr)
            raise typer.Exit(143 if isinstance(stop, Terminated) else 130) from None

    return run


# Plain help and one-line errors, in half the time.
PLAIN = {"no_args_is_help": True, "add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}

app = typer.Typer(
    name="sureflow", help="Instant predictions of flow fields from a few CFD runs, with calibrated error bars.", **PLAIN
)
for command in (solve, generate, info, train, calibrate, predict, evaluate, curve, study, report):
    app.command()(stoppable(command))
app.command("import")(stoppable(import_files))
stores = typer.Typer(help="Join, split and extend stores of runs.", **PLAIN)
for command in (join, split, add):
    stores.command()(stoppable(command))
app.add_typer(stores, name="runs")


def main() -> None:
    """Run the command; invalid input gives one sentence and exit code 2, never a traceback."""
    signal.signal(signal.SIGTERM, terminate)
    try:
        import_plugins(os.environ.get(PLUGINS, ""))
        app()
    except SureflowError as error:
        allowed = next((words for kind, words in ALLOWED_BY.items() if isinstance(error, kind)), "")
        end(f"{error}{allowed}")
    except OSError as error:
        end(f"{error.filename or 'a file'} cannot be read or written ({error.strerror or error})")
    except MemoryError:
        end("there is not enough memory: use fewer or smaller runs, or a machine with more of it")


def import_plugins(names: str) -> None:
    """Import the user's modules (names separated by commas), which register models, importers and the like."""
    for name in filter(None, names.split(",")):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise SureflowError(f"{PLUGINS} names {name!r}, which cannot be imported ({error})") from None


def end(sentence: str) -> None:
    print(f"sureflow: {sentence}", file=sys.stderr)
    sys.exit(2)


def terminate(signum: int, frame: FrameType | None) -> None:
    raise Terminated
