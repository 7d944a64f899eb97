"""`sureflow improve`: a store of our solver's runs and a goal in; more runs and a better model out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.cli.generate import choose
from sureflow.cli.propose import read_named
from sureflow.cli.remarks import begin

if TYPE_CHECKING:
    from sureflow.acquire.improve import Round


def improve(
    runs: Annotated[Path, typer.Argument(help="A store that `sureflow generate` made; runs are added to it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model, the log and the figure.")],
    target: Annotated[
        float | None,
        typer.Option(help="Stop when the error bar is at most this, in standard deviations of the fields."),
    ] = None,
    largest: Annotated[
        bool, typer.Option("--largest", help="Use the largest error bar in the region of use, not the mean.")
    ] = False,
    of: Annotated[str, typer.Option(help="Which bar: mean, maximum, a region such as shock, or a quantity.")] = "mean",
    most_runs: Annotated[int | None, typer.Option(help="Stop when the store has this many runs.")] = None,
    most_seconds: Annotated[float | None, typer.Option(help="Stop when computing runs has taken this long.")] = None,
    batch: Annotated[int, typer.Option(help="Runs per round.")] = 1,
    criterion: Annotated[str | None, typer.Option(help="As for `sureflow propose`.")] = None,
    levels: Annotated[
        bool, typer.Option("--levels", help="Choose the mesh of each run too; needs --model levels and coarser runs.")
    ] = False,
    region: Annotated[Path | None, typer.Option(help="TOML file of the region of use.")] = None,
    model: Annotated[str, typer.Option(help="Model to learn, as for `sureflow train`.")] = "interpolation",
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; one per core by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the candidates.")] = 0,
) -> None:
    """Compute the runs that a model needs most, until its error bars are small enough.

    Every round learns from all runs, looks at the error bars in the region of use, proposes runs and computes them.
    It can be stopped or killed at any time: the same command continues to the same result. For a solver of your own, use
    `sureflow propose`.
    """
    begin(f"improving {runs} in {output}")

    from sureflow.acquire.improve import Goal, improve
    from sureflow.acquire.region import UseSettings, read_use
    from sureflow.cli.console import out, say
    from sureflow.report.figures import save
    from sureflow.report.improve_figures import draw_rounds
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    goal = Goal(
        target=target,
        over="largest" if largest else "mean",
        of=of,
        most_runs=most_runs,
        most_seconds=most_seconds,
        batch=batch,
        levels=levels,
        criterion=read_named(criterion),
        region=read_use(region) or UseSettings(),
        model=model,
        seed=seed,
    )
    try:
        rounds = improve(runs, output, goal, choose(workers, None), watch=lambda found: say(sentence(found)))
    except KeyboardInterrupt as stop:
        stop.add_note("finished rounds and runs are kept; run the same command again to continue")
        raise
    save(draw_rounds([(one.runs, one.mean_bar, one.largest_bar) for one in rounds], target), output / "bars.png")
    out.print(f"{output}: {len(rounds)} round{'s' if len(rounds) > 1 else ''}; {rounds[-1].ended}", markup=False)


def sentence(found: "Round") -> str:
    """How things stand after a round."""
    words = f"{found.runs} runs: mean bar {found.mean_bar:.3g}, largest {found.largest_bar:.3g} ({found.model})"
    return words + (f"; {found.ended}" if found.ended else f"; next {len(found.proposed)}")
