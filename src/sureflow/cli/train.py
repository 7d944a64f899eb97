"""`sureflow train`: runs or an experiment in; a model folder out."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureflow.cli.inputs import parse_share
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from sureflow.cli.console import Bar
    from sureflow.models.contract import EpochReport
    from sureflow.surrogate.experiment import Experiment
    from sureflow.surrogate.fit import Rows


def train(
    source: Annotated[Path, typer.Argument(help="A store of runs, another file of runs (.npz), or a TOML experiment.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder for the model.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="interpolation, aligned, layer-aligned, body-aligned, shock-aligned, levels, pod-gp, pod-deeponet, nbf, "
            "deeponet, fno, neural-process or your own; by default the best in cross-validation."
        ),
    ] = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            help="none, freestream, similarity, nondimensional, log-density or your own; by default the best in "
            "cross-validation or, with --model, freestream if the runs allow it."
        ),
    ] = None,
    uq: Annotated[
        str | None,
        typer.Option(help="Error bars of networks: deterministic, mve, evidential, mixture, ensemble or dropout."),
    ] = None,
    hold_out: Annotated[
        str | None,
        typer.Option(help="Hold this fraction of the runs, or this many, out of training, for evaluate to test on."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, as in train.epochs=20; may be repeated.")
    ] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Also write TensorBoard scalars to this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the output folder.")] = False,
) -> None:
    """Train a surrogate.

    Training of networks can be stopped at any time; the same command continues after the last complete epoch.
    """
    held_out = None if hold_out is None else {"kind": "random", "test_runs": parse_held_out(hold_out)}

    begin(f"training from {source}")

    from sureflow.cli.console import out, say
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.experiment import read_experiment
    from sureflow.surrogate.fit import Listener
    from sureflow.surrogate.workshop import train_into

    keep_compiled_programs()
    is_experiment = source.suffix == ".toml"
    given: dict[str, Any] = {"runs": None if is_experiment else source, "output": output, "split": held_out}
    given |= {"uq": uq, "model": model, "scaling": scaling}
    experiment = read_experiment(source if is_experiment else None, settings or [], **given)
    with Bars(experiment) as bars:
        listener = Listener(comparing=bars.comparing, compared=bars.compared, epoch=bars.epoch)
        try:
            trained = train_into(experiment, listener, say=say, overwrite=overwrite, tensorboard=tensorboard)
        except KeyboardInterrupt as stop:
            if bars.epochs_done:
                stop.add_note(f"{bars.epochs_done} epochs are kept; run the same command again to continue")
            raise
    for warning in trained.warnings:
        say(f"warning: {warning}")
    out.print(repr(trained.surrogate), markup=False)
    names = ", ".join(sorted(path.name for path in trained.folder.iterdir() if path.name[0] != "."))
    out.print(f"Written to {trained.folder}/: {names}", markup=False)


def parse_held_out(text: str) -> float | int:
    value = parse_share("--hold-out", text)
    if not (0 < value < 1 or (value >= 1 and value == int(value))):
        raise SureflowError(
            f"--hold-out={text!r} is neither a fraction of the runs, between 0 and 1, nor a number of runs, from 1 on"
        )
    return value


class Bars(contextlib.ExitStack):
    """Progress bars for the comparison of models and for the epochs of networks, each shown when it begins."""

    def __init__(self, experiment: "Experiment"):
        super().__init__()
        train = getattr(experiment.spec.model, "train", None)
        self.epochs: int | None = getattr(train, "epochs", None)
        self.epochs_done = 0
        self.bar: Bar | None = None

    def comparing(self, done: int, total: int, model: str) -> None:
        bar = self.bar or self.follow("comparing")
        bar.begin(total)
        bar.update(done, model)

    def epoch(self, report: "EpochReport") -> None:
        from sureflow.cli.console import say

        if not self.epochs_done:
            if report.epoch:
                say(f"continuing after epoch {report.epoch}")
            self.follow("training").begin(self.epochs, report.epoch)
        self.epochs_done = report.epoch + 1
        of_all = f" of {self.epochs}" if self.epochs else ""
        loss = f", loss {report.parts['loss'].mean():.4g}" if "loss" in report.parts else ""
        assert self.bar is not None
        self.bar.update(self.epochs_done, f"epoch {self.epochs_done}{of_all}{loss}")

    def follow(self, label: str) -> "Bar":
        from sureflow.cli.console import Bar

        self.close()
        self.bar = self.enter_context(Bar(label))
        return self.bar

    def compared(self, rows: "Rows") -> None:
        """Show the results of the cross-validation, and what the choice went by."""
        from sureflow.cli.console import out
        from sureflow.wording import bars_words

        self.close()
        out.print(
            "mean absolute error, in standard deviations of the training runs, of runs left out at random and of runs at the "
            "sides of the ranges"
        )
        bars = [bars_words(row["uq"]) for row in rows]
        width = max(len(row["model"]) for row in rows) + 2
        wide = max(map(len, ("error bars", *bars))) + 2
        out.print(
            f"  {'model':<{width}}{'error bars':<{wide}}{'scaling':<16}{'error':<10}{'sides':<10}{'folds':<7}time"
        )
        for row, own in zip(rows, bars, strict=True):
            kept, sides = "  <- kept" if row["chosen"] else "", row["mae_beyond"]
            out.print(
                f"  {row['model']:<{width}}{own:<{wide}}{row['scaling']:<16}{row['mae']:<10.2g}"
                f"{'' if sides is None else f'{sides:.2g}':<10}{row['folds']:<7}{row['seconds']:.1f} s{kept}",
                markup=False,
            )
        has_sides = any(row["mae_beyond"] is not None for row in rows)
        least = "geometric mean of error and sides" if has_sides else "error"
        out.print(f"kept: the least {least}, of those that went through all folds")
