"""`sureflow generate`: a whole campaign into one store."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.cli.inputs import parse_shard
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sureflow.campaign.run import Standing, Workers
    from sureflow.cli.console import Bar


def generate(
    store: Annotated[Path, typer.Argument(help="The store of runs to create or continue, such as runs.zarr.")],
    preset: Annotated[str, typer.Option(help="quick, paper, adiabatic, family, or a TOML file of your own.")] = "quick",
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; one per core by default.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Use this Dask scheduler, such as tcp://host:8786.")] = None,
    shard: Annotated[str, typer.Option(help="Compute part i of N, for job arrays: i/N.")] = "1/1",
    start_from: Annotated[
        Path | None,
        typer.Option(help="Start runs inside this model's domain from its predictions."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Recompute runs that did not converge or cannot be read.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(help="Also write the converged runs to this file for ParaView or other programs: .pvd, .nc, ..."),
    ] = None,
    refine: Annotated[
        float | None,
        typer.Option(help="Multiply the cells in each direction by this, on a mesh nested with the preset's."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Delete an existing store and start afresh.")] = False,
) -> None:
    """Compute a campaign of runs; it can be resumed.

    It can be stopped at any time: finished runs are kept, and the same command continues with the others.
    """
    part = parse_shard(shard)

    begin(f"computing runs into {store}")

    from sureflow.campaign.campaign import load_campaign
    from sureflow.campaign.predicted import load_starts
    from sureflow.campaign.run import Options, run_levels
    from sureflow.cli.console import out
    from sureflow.data.schema import Status

    predicted = load_starts(start_from) if start_from else None
    options, campaign, crew = Options(part, overwrite, retry_failed), load_campaign(preset), choose(workers, scheduler)
    campaign = campaign if refine is None else campaign.refined(refine)
    ended = run_levels(store, campaign, crew, options, shown, predicted=predicted)
    for path, standing in ended.items():
        found = f" ({standing.found} were there already)" if standing.found else ""
        out.print(f"{path}: {standing.finished} of {standing.total} runs{found}: {tally(standing)}", markup=False)
    if export is not None:
        from sureflow.data.store import open_runs
        from sureflow.export.exporters import write_runs_to

        write_runs_to(open_runs(store), export, overwrite=overwrite)
        out.print(f"{export}: the converged runs", markup=False)
    if any(standing.counts[Status.CONVERGED] < standing.total for standing in ended.values()):
        out.print(f"Runs that did not converge are kept and marked; `sureflow info {store}` names them", markup=False)


def choose(workers: int | None, scheduler: str | None) -> "Workers":
    """A function from the number of runs to an executor for them."""
    from sureflow.campaign.cluster import local_workers, scheduler_workers
    from sureflow.runtime import usable_cores

    if workers is not None and workers < 1:
        raise SureflowError(f"workers={workers} must be at least 1")
    if scheduler is not None and workers is not None:
        raise SureflowError("--workers and --scheduler exclude each other: a scheduler has its own workers")
    if scheduler is not None:
        return lambda runs: scheduler_workers(scheduler)
    return lambda runs: local_workers(min(workers or usable_cores(), runs))


@contextlib.contextmanager
def shown(path: Path, level: int) -> "Iterator[Callable[[Standing], None]]":
    """A bar for the runs of one level."""
    from sureflow.cli.console import Bar

    with Bar("/".join(path.parts[-1 - level :])) as bar:
        watch = Watch(bar)
        try:
            yield watch.show
        except KeyboardInterrupt as stop:
            stop.add_note(f"{watch.finished} runs are kept in {path}; run the same command again to continue")
            raise


class Watch:
    """Shows the progress of a campaign in a bar."""

    def __init__(self, bar: "Bar"):
        self.bar = bar
        self.finished = "finished"
        self.begun = False

    def show(self, standing: "Standing") -> None:
        from sureflow.cli.console import err

        if not self.begun:
            self.begun = True
            if standing.remark and standing.finished < standing.total:
                err.print(standing.remark, style="yellow", markup=False)
            self.bar.begin(standing.total, standing.found)
        self.finished = f"{standing.finished} of {standing.total}"
        self.bar.update(standing.finished, f"{self.finished}: {tally(standing)}")


def tally(standing: "Standing") -> str:
    """'37 converged, 0 stalled, 2 failed'."""
    from sureflow.data.schema import Status

    ends = (Status.CONVERGED, Status.STALLED, Status.FAILED)
    return ", ".join(f"{standing.counts[status]} {status.words}" for status in ends)
