"""One job of a campaign: make or open the store, lock its part, compute what is to do, say how long it took."""

import contextlib
import datetime
import json
import os
import platform
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sureflow.campaign.ancestry import ancestry
from sureflow.campaign.campaign import Campaign
from sureflow.campaign.contents import geometry_of, make_or_open
from sureflow.campaign.continuation import Ancestor, Computed, Ledger, run_cases
from sureflow.campaign.lock import MAKING, PROVENANCE, StoreLock, lock_store
from sureflow.campaign.predicted import NoStart, PredictedStarts
from sureflow.campaign.versions import difference, versions
from sureflow.data.disk import explain_writing, refuse_nameless
from sureflow.data.drawn import PART
from sureflow.data.layout import beside, level_path
from sureflow.data.run_store import RunStore
from sureflow.data.schema import Status
from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.flow.mesh import FlowMesh
from sureflow.flow.solve import Start, solve_flow
from sureflow.flow.steer import SolverSettings
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import Gas
from sureflow.physics.wall import Wall
from sureflow.runtime import keep_compiled_programs
from sureflow.validation import settings

PROVENANCE_EVERY = 30.0  # seconds

Workers = Callable[[int], contextlib.AbstractContextManager[Executor]]


class Case(NamedTuple):
    """All that a worker needs."""

    condition: FlightCondition
    mesh: FlowMesh
    gas: Gas
    wall: Wall
    settings: SolverSettings
    start: Start | None
    is_fitted: bool = False  # whether the mesh is this run's own


def solve_case(case: Case) -> Computed:
    """One run, in whatever process it lands in."""
    keep_compiled_programs()
    solution = solve_flow(
        case.condition, case.mesh, gas=case.gas, wall=case.wall, start=case.start, settings=case.settings
    )
    status = Status[solution.convergence.status.upper()]
    geometry = geometry_of(case.mesh) if case.is_fitted else None
    record = solution.record()
    return Computed(solution.fields, record, status, solution.seconds, versions(), peak_memory_mb(), geometry)


def peak_memory_mb() -> float:
    """Largest resident memory of this process so far; kilobytes on Linux, bytes on macOS."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / (2**20 if sys.platform == "darwin" else 2**10)


class Standing(NamedTuple):
    """How far a job is; shown while it runs and at its end."""

    total: int
    counts: Counter[Status]
    found: int  # cases that were there when the job began
    remark: str = ""  # what the user should know before the runs begin
    last: FlightCondition | None = None

    @property
    def finished(self) -> int:
        return self.total - self.counts[Status.TO_DO]


@settings
class Options:
    """What a job does beyond computing what is to do."""

    shard: tuple[int, int] = (1, 1)
    overwrite: bool = False
    retry_failed: bool = False

    def __post_init__(self) -> None:
        index, count = self.shard
        if not 1 <= index <= count:
            raise SureflowError(f"shard={index}/{count} must be i/N with 1 <= i <= N, such as 2/8")
        if self.overwrite and count > 1:
            raise SureflowError(
                f"overwriting with shard={index}/{count} would delete what other jobs have stored: make the store with one "
                "job, or delete it first"
            )


@contextlib.contextmanager
def unfollowed(path: Path, level: int) -> Iterator[Callable[[Standing], None]]:
    yield lambda standing: None


def run_campaign(
    path: Path,
    campaign: Campaign,
    workers: Workers,
    options: Options | None = None,
    watch: Callable[[Standing], None] = lambda standing: None,
    solve: Callable[[Case], Computed] = solve_case,
    predicted: PredictedStarts | None = None,
) -> Standing:
    """Compute what is to do of a campaign (or of one shard of it) and leave it in the store at `path`.

    Conditions that a store of the same settings does not have yet are added to it, on its own mesh. Runs start from the nearest
    one that has converged, or from what a model predicts (`predicted`) where that lies inside its domain.
    """
    options = options or Options()
    refuse_nameless(path)
    if predicted is not None:
        campaign = predicted.on_own_mesh(campaign)
    with lock_store(path) as lock:
        with lock.alone(MAKING):  # until the cases are locked, so that no other job can delete the store in between
            is_fresh = options.overwrite or not path.exists()
            store, mesh, cases = make_or_open(lock, path, campaign, overwrite=options.overwrite)
            if is_fresh:
                with explain_writing(path):
                    provenance_path(path).unlink(missing_ok=True)  # of a store that is no more
            if predicted is not None:
                predicted.require_mesh(mesh)  # that of a store which was there
            tree = ancestry(store.parameters())
            own = tree.shard(cases, *options.shard)
            lock.take(own)
        tidy(store, own, retry_failed=options.retry_failed)
        rows = [tuple(row) for row in store.parameters().tolist()]
        setups = [campaign.setup(row) for row in rows]

        ledger = Ledger(store, tree)
        counts = Counter(ledger.status[case] for case in own)
        standing = Standing(len(own), counts, len(own) - counts[Status.TO_DO], remark_on_versions(store))
        watch(standing)
        if standing.finished == standing.total:
            return standing
        gas, fitted = campaign.gas, campaign.meshes == "fitted"

        def work(case: int, ancestor: Ancestor | None):
            start = Start(ancestor.fields, setups[ancestor.case].condition.free_stream(gas)) if ancestor else None
            setup = setups[case]
            if predicted is not None:
                with contextlib.suppress(NoStart):
                    start = predicted.start(setup.condition)
            own_mesh = campaign.mesh_for(setup) if fitted else mesh
            return solve, (Case(setup.condition, own_mesh, gas, setup.wall, campaign.solver, start, fitted),)

        with provenance(lock, path, options) as log, workers(counts[Status.TO_DO]) as executor:

            def finished(case: int, outcome: Computed) -> None:
                counts[Status.TO_DO] -= 1
                counts[outcome.status] += 1
                log(dict(zip(campaign.parameter_names, rows[case], strict=True)), outcome)
                watch(standing._replace(last=setups[case].condition))

            def numbers(case: int) -> dict[str, float]:
                return {PART: campaign.part_of(rows[case])} if campaign.parts else {}

            run_cases(ledger, own, executor, work, finished, numbers)
        return standing


def run_levels(
    path: Path,
    campaign: Campaign,
    workers: Workers,
    options: Options | None = None,
    follow: Callable[[Path, int], contextlib.AbstractContextManager[Callable[[Standing], None]]] = unfollowed,
    solve: Callable[[Case], Computed] = solve_case,
    predicted: PredictedStarts | None = None,
) -> dict[Path, Standing]:
    """Compute what is to do on every level of a campaign, the finest first: its store holds those of the others.

    `follow` is asked at every level for who watches it. How all ended, by the stores of the levels.
    """
    if campaign.levels[0] > 0 and not path.exists():
        raise SureflowError(
            f"{path} does not exist, and the campaign has no conditions on its finest mesh: give some with level 0"
        )
    if predicted is not None:
        campaign = predicted.on_own_mesh(campaign)  # before its cells are merged, so that all levels are nested
    options, ended = options or Options(), {}
    for level in campaign.levels:
        place = level_path(path, level)
        with follow(place, level) as watch:
            ended[place] = run_campaign(place, campaign.at_level(level), workers, options, watch, solve, predicted)
        # A store that is replaced goes with its coarser levels, and a model predicts on the finest mesh.
        options, predicted = replace(options, overwrite=False), None
    return ended


def tidy(store: RunStore, own: list[int], *, retry_failed: bool) -> None:
    """Remove leftovers of interrupted writes; make runs that failed or cannot be read ones to do again if asked."""
    store.sweep(own)
    if retry_failed:
        status = store.status()
        unreadable = set(store.unreadable())
        for case in own:
            if case in unreadable or status[case] in (Status.STALLED, Status.FAILED):
                store.forget(case)


def remark_on_versions(store: RunStore) -> str:
    """Runs of one store should come from one set of versions; it is the user's choice to go on with another."""
    other = difference(store.versions)
    return (
        f"{store.path} was begun with other versions ({other}): runs may differ in their last digits" if other else ""
    )


# Timings and machine facts, which differ from run to run: beside the store, not in it.


@dataclass
class JobLog:
    """What one job adds to the provenance of a store."""

    shard: str
    started: str
    host: str = field(default_factory=platform.node)
    machine: str = field(default_factory=platform.machine)
    cores: int | None = field(default_factory=os.cpu_count)
    python: str = field(default_factory=platform.python_version)
    versions: dict[str, str] = field(default_factory=versions)
    seconds: float = 0.0
    worker_peak_memory_mb: float = 0.0
    cases: list[dict[str, float]] = field(default_factory=list)


def provenance_path(store: Path) -> Path:
    outside = beside(store)
    return outside.with_name(outside.name.removesuffix(".zarr") + ".provenance.json")


@contextlib.contextmanager
def provenance(lock: StoreLock, path: Path, options: Options):
    """Gives a function that notes each finished case; written now and then and at the end, whatever the end is."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    job = JobLog("{}/{}".format(*options.shard), now)
    begin = written = time.monotonic()

    def write() -> None:
        job.seconds = round(time.monotonic() - begin, 3)
        with lock.alone(PROVENANCE), contextlib.suppress(OSError):
            append_job(provenance_path(path), asdict(job))

    def note(condition: dict[str, float], outcome: Computed) -> None:
        nonlocal written
        job.cases.append({**condition, "seconds": round(outcome.seconds, 3)})
        if outcome.peak_memory_mb > job.worker_peak_memory_mb:
            job.worker_peak_memory_mb = round(outcome.peak_memory_mb)
        if time.monotonic() - written > PROVENANCE_EVERY:
            written = time.monotonic()
            write()

    try:
        yield note
    finally:
        write()


def read_jobs(path: Path) -> list[dict[str, Any]]:
    """The jobs in the provenance of a store; none where it is missing or damaged, since nothing depends on it."""
    try:
        return list(json.loads(path.read_bytes())["jobs"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def append_job(path: Path, job: dict) -> None:
    """Add a job, or bring it up to date, and replace the file whole."""
    jobs = read_jobs(path)
    same = [index for index, other in enumerate(jobs) if all(other.get(k) == job[k] for k in ("started", "shard"))]
    jobs = [other for index, other in enumerate(jobs) if index not in same] + [job]
    write_atomically(path, (json.dumps({"jobs": jobs}, indent=1) + "\n").encode())
