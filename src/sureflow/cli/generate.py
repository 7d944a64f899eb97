"""`sureflow generate`: a whole campaign into one store."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from sureflow.campaign.run import Standing, Workers


def generate(
    store: Annotated[Path, typer.Argument(help="The store of runs to make or to go on with, such as runs.zarr.")],
    preset: Annotated[str, typer.Option(help="quick, paper, or a TOML file of your own.")] = "quick",
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; one per core by default.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Use this Dask scheduler, such as tcp://host:8786.")] = None,
    shard: Annotated[str, typer.Option(help="Compute part i of N, for job arrays: i/N.")] = "1/1",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Compute runs again that did not converge or cannot be read.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Delete an existing store and start afresh.")] = False,
) -> None:
    """Compute a campaign of runs, resumably.

    Stopped at any moment and started again, it goes on: finished runs are kept.
    """
    from sureflow.campaign.run import Options, run_campaign
    from sureflow.campaign.settings import load_campaign

    options = Options(parse_shard(shard), overwrite, retry_failed)
    campaign = load_campaign(preset)
    crew = choose_workers(workers, scheduler)
    with Watch(f"{store.name}") as watch, stopped_by_signals():
        try:
            standing = run_campaign(store, campaign, crew, options, watch.show)
        except KeyboardInterrupt:
            watch.close()
            say_interrupted(store, watch.latest)
            raise typer.Exit(130) from None
    say_finished(store, standing)


def parse_shard(text: str) -> tuple[int, int]:
    """'2/8' as (2, 8)."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()):
        raise SureflowError(f"shard={text!r} is not i/N; write the part and the number of parts, such as 2/8.")
    return int(index), int(count)


def choose_workers(workers: int | None, scheduler: str | None) -> "Workers":
    """A function from the number of runs to an executor for them."""
    from sureflow.campaign.cluster import local_workers, scheduler_workers
    from sureflow.runtime import usable_cores

    if workers is not None and workers < 1:
        raise SureflowError(f"workers={workers} must be at least 1.")
    if scheduler is not None and workers is not None:
        raise SureflowError("--workers and --scheduler exclude each other: a scheduler has its own workers.")
    if scheduler is not None:
        return lambda runs: scheduler_workers(scheduler)
    return lambda runs: local_workers(min(workers or usable_cores(), runs))


class Watch(contextlib.AbstractContextManager):
    """Follows a campaign with a bar."""

    def __init__(self, label: str):
        self.label = label
        self.latest: Standing | None = None
        self.stack = contextlib.ExitStack()
        self.bar = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stack.close()

    def show(self, standing: "Standing") -> None:
        from sureflow.cli.console import Bar, err

        self.latest = standing
        if self.bar is None:
            if standing.remark and standing.finished < standing.total:
                err.print(standing.remark, style="yellow", markup=False)
            self.bar = self.stack.enter_context(Bar(self.label, standing.total, standing.found))
        self.bar.update(standing.finished, f"{standing.finished} of {standing.total}: {tally(standing)}")


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """A batch system's SIGTERM ends a job as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def tally(standing: "Standing") -> str:
    """'37 converged, 0 stalled, 2 failed'."""
    from sureflow.data.schema import Status

    ends = (Status.CONVERGED, Status.STALLED, Status.FAILED)
    return ", ".join(f"{standing.counts[status]} {status.name.lower()}" for status in ends)


def say_finished(store: Path, standing: "Standing") -> None:
    from sureflow.cli.console import out
    from sureflow.data.schema import Status

    found = f" ({standing.found} were there already)" if standing.found else ""
    out.print(f"{store}: {standing.finished} of {standing.total} runs{found}: {tally(standing)}.", markup=False)
    if standing.counts[Status.CONVERGED] < standing.total:
        out.print(f"Runs that did not converge are kept and marked; `sureflow info {store}` names them.", markup=False)


def say_interrupted(store: Path, standing: "Standing | None") -> None:
    from sureflow.cli.console import err

    kept = f"{standing.finished} of {standing.total} runs are kept in {store}; " if standing else ""
    err.print(f"Stopped: {kept}run the same command again to go on.", markup=False)
