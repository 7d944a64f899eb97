"""`sureflow replay`: stored runs in; what each way of choosing them would have needed out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.cli.inputs import parse_names, parse_number
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sureflow.acquire.replay import Trace


def replay(
    runs: Annotated[Path, typer.Argument(help="A store of runs, or another file of runs (.npz).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for traces, table and figure.")] = Path(
        "replay"
    ),
    ways: Annotated[
        str | None, typer.Option(help="Criteria and designs to compare, separated by commas; by default all of them.")
    ] = None,
    model: Annotated[str, typer.Option(help="Model that learns from the chosen runs.")] = "interpolation",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Setting of the model, as in scales=learned; may be repeated.")
    ] = None,
    scaling: Annotated[str, typer.Option(help="Scaling of fields and inputs, as for `sureflow train`.")] = "auto",
    starts: Annotated[int, typer.Option(help="Number of repetitions, each with other runs held back.")] = 20,
    first: Annotated[int | None, typer.Option(help="Runs to begin with; by default 2 (parameters + 1).")] = None,
    most: Annotated[int | None, typer.Option(help="Runs to end with; by default 20 per parameter.")] = None,
    batch: Annotated[int, typer.Option(help="Runs that are chosen at once.")] = 1,
    test: Annotated[float, typer.Option(help="Share of the runs that is held back to measure errors on.")] = 0.25,
    test_from: Annotated[
        int | None, typer.Option(help="Instead, hold back all runs from this number up, the same in every repetition.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Choose from the training runs of this split, such as parts, and test in its domain."),
    ] = None,
    targets: Annotated[
        str | None, typer.Option(help="Errors to reach; by default those of Halton with 50, 70 and 90 % of the runs.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the starts.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results of other settings.")] = False,
) -> None:
    """Show how many runs each criterion would have needed to reach an error.

    Reveals stored runs one after another (or in batches) as each criterion asks for them, and beside it random choices,
    Halton and Sobol sequences and maximin Latin hypercubes. It can be stopped at any time; the same command continues.
    """
    begin(f"replaying {runs} in {output}")

    from sureflow.acquire.replay import ReplaySettings
    from sureflow.acquire.replay_folder import replay_into
    from sureflow.cli.console import Bar
    from sureflow.importers import open_file
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.experiment import apply_override

    keep_compiled_programs()
    chosen: dict[str, object] = {"name": model}
    for setting in settings or []:
        apply_override(chosen, setting)
    asked = {"first": first, "most": most, "test": test, "test_from": test_from, "split": split, "scaling": scaling}
    asked |= {} if ways is None else {"ways": tuple(parse_names("ways", ways))}
    given = ReplaySettings(model=chosen, starts=starts, batch=batch, seed=seed, **asked)
    with Bar("replay") as bar:

        def watch(done: int, total: int, way: str) -> None:
            bar.begin(total)
            bar.update(done, way)

        try:
            traces = replay_into(output, open_file(runs), given, overwrite=overwrite, watch=watch)
        except KeyboardInterrupt as stop:
            stop.add_note(f"finished traces are kept in {output}; run the same command again to continue")
            raise
    asked_for = None if targets is None else tuple(parse_number("targets", one) for one in targets.split(","))
    if asked_for is not None and min(asked_for) <= 0:
        raise SureflowError(f"targets={targets} must be positive errors, such as 0.002")
    tell(output, traces, given.ways, asked_for)


def tell(folder: Path, traces: "list[Trace]", ways: "Sequence[str]", targets: tuple[float, ...] | None) -> None:
    """The table and the figure into the folder, the table and what it says to the user."""
    import numpy as np

    from sureflow.acquire.replay import DESIGNS
    from sureflow.acquire.replay_findings import replay_rows, targets_of, verdict
    from sureflow.acquire.replay_folder import write_table
    from sureflow.cli.console import out
    from sureflow.report.figures import save
    from sureflow.report.replay_figures import draw_replay

    errors = targets_of(traces) if targets is None else targets
    write_table(folder, traces, errors)
    by_way = {way: np.array([trace.error for trace in traces if trace.way == way]) for way in ways}
    save(draw_replay(np.array(traces[0].runs, float), by_way, plain=DESIGNS), folder / "replay.png")
    out.print(table_text(replay_rows(traces, errors), errors), markup=False)
    for target in errors:
        out.print(f"to {target:g}: {verdict(traces, target)}", markup=False)


def table_text(rows: list[dict], targets: tuple[float, ...]) -> str:
    """Median runs (quartiles) to each target, a line a way."""
    ways = list(dict.fromkeys(row["way"] for row in rows))
    width = max(map(len, ways)) + 2
    lines = ["".ljust(width) + "".join(f"{f'runs to {target:g}':>24}" for target in targets) + "   expected at end"]
    for way in ways:
        cells = [cell(row) for row in rows if row["way"] == way]
        own = next(row["own_error_at_end"] for row in rows if row["way"] == way)
        lines.append(way.ljust(width) + "".join(f"{text:>24}" for text in cells) + f"   {own:.3g}")
    return "\n".join(lines)


def cell(row: dict) -> str:
    """'31 (27..36), -26%'; a number that was never reached is a dash."""
    low, middle, high = (
        "-" if value == float("inf") else f"{value:g}"
        for value in (row["lower_quartile"], row["median"], row["upper_quartile"])
    )
    saved = row["saved_against_halton"]
    return f"{middle} ({low}..{high})" + ("" if saved != saved else f" {-saved:+.0%}")
