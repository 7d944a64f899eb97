"""What is killed, damaged and asked: small stores, models, campaigns, studies and imports, each in its folder."""

import contextlib
import io
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faults_shim import Work
from sureflow.campaign.campaign import Campaign
from sureflow.campaign.continuation import Computed
from sureflow.campaign.run import Case, run_campaign
from sureflow.data.runs import Runs
from sureflow.data.schema import Status
from sureflow.data.store import add_runs, open_runs, open_store
from sureflow.flow.solution import RECORD_NAMES
from sureflow.importers.import_settings import ImportSettings
from sureflow.importers.importing import import_runs
from sureflow.study.agenda import load_study
from sureflow.study.conduct import run_study
from sureflow.study.work import Audience
from sureflow.surrogate.artifact import load
from sureflow.surrogate.experiment import read_experiment
from sureflow.surrogate.workshop import calibrate_in, train_into
from sureflow.validation import validated

ASKED = np.array([[1.1], [2.3]])
CONDITIONS = {"mach": [18.0, 20.0], "altitude_km": [40.0, 46.0]}
STUDY = 'runs = "{runs}"\n[split]\nkind = "random"\ntest_runs = 3\n[[models]]\nlabel = "i"\nmodel = "interpolation"\n'
NETWORK = ["train.epochs=3", "train.points_per_run=4", "members=1", "model.decoder_width=4", "model.decoder_layers=1"]


@dataclass(frozen=True)
class Job:
    """How it begins, what is done and killed, and what it makes; some may be seen unfinished, and are then continued."""

    begin: Work
    work: Work
    made: Path
    continues: bool = False


def small_runs(start: float = 0.0, count: int = 12, *, numbers: bool = False) -> Runs:
    """A wave whose phase is the angle, on 20 points."""
    x, angle = np.linspace(0, 1, 20)[:, None], start + np.linspace(0, 4, count)
    kept = {"drag": np.cos(angle)} if numbers else None
    return Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"}, numbers=kept)


def few_runs(start: float = 0.0, count: int = 4) -> Runs:
    return small_runs(start, count, numbers=True)


def train(folder: Path, kernel: str = "cubic", to: str = "model") -> Work:
    def work() -> None:
        given = {"runs": folder / "runs.zarr", "output": folder / to, "model": "interpolation"}
        train_into(read_experiment(None, [f"model.kernel={kernel}"], **given), overwrite=True)

    return work


def train_network(folder: Path) -> Work:
    def work() -> None:
        given = {"runs": folder / "runs.zarr", "output": folder / "network", "uq": "deterministic"}
        train_into(read_experiment(None, NETWORK, **given), overwrite=True)

    return work


class Inline(Executor):
    """Computes at once, in this thread."""

    def submit(self, fn, /, *arguments, **options):
        future: Future = Future()
        future.set_result(fn(*arguments, **options))
        return future


@contextlib.contextmanager
def inline(runs: int) -> Iterator[Executor]:
    yield Inline()


def campaign(**lists: list[float]) -> Campaign:
    values = {"conditions": [CONDITIONS | lists], "mesh": {"cells": [8, 8], "wall_spacing": 1e-3}}
    return Campaign.from_dict(values, "campaign")


def formula(case: Case) -> Computed:
    """In place of the solver: fields that depend on the condition, and on where the run started."""
    key = (case.condition.mach, case.condition.altitude_km)
    seed = np.random.default_rng([int(1000 * value) for value in key]).random((4, *case.mesh.shape))
    fields = seed if case.start is None else np.sin(9.0 * case.start.fields) + seed
    return Computed(fields, dict.fromkeys(RECORD_NAMES, key[0]), Status.CONVERGED, seconds=0.0)


def slow_formula(case: Case) -> Computed:
    time.sleep(0.1)
    return formula(case)


def generate(path: Path) -> Work:
    return lambda: run_campaign(path, campaign(), inline, solve=formula)


def write_cases(folder: Path) -> None:
    """Files of another program: a table of points for every angle."""
    folder.mkdir(exist_ok=True)
    for angle in range(3):
        x = np.linspace(0, 1, 10)
        rows = np.column_stack([x, 0 * x, np.sin(angle + x)])
        np.savetxt(folder / f"a{angle}.csv", rows, delimiter=",", header="x,y,p", comments="")
        os.utime(folder / f"a{angle}.csv", (1e9, 1e9))


def import_cases(folder: Path, output: Path) -> Work:
    def work() -> None:
        given = {"source": str(folder / "cases"), "pattern": "a{angle}"}
        if not output.exists():
            import_runs(validated(ImportSettings, given), output)

    return work


def study(folder: Path) -> Work:
    def work() -> None:
        settings = load_study(str(folder / "small.toml"))
        ignored = lambda *_: None  # noqa: E731
        audience = Audience(say=ignored, advance=ignored, begin=ignored, skipped=lambda: None)
        with contextlib.redirect_stderr(io.StringIO()):
            run_study(folder / "study", settings, audience)

    return work


def without(*paths: Path) -> Work:
    def work() -> None:
        for path in paths:
            shutil.rmtree(path, ignore_errors=True)

    return work


def prepare(folder: Path) -> None:
    small_runs().save(folder / "runs.zarr")
    write_cases(folder / "cases")
    (folder / "small.toml").write_text(STUDY.format(runs=folder / "runs.zarr"))


def jobs(folder: Path) -> dict[str, Job]:
    model, store, copy = folder / "model", folder / "runs.zarr", folder / "copy.zarr"
    made, imported = folder / "campaign/made.zarr", folder / "imported/runs.zarr"
    return {
        "train, first": Job(without(model), train(folder), model),
        "train, replacing": Job(train(folder), train(folder, "matern"), model),
        "train, network": Job(without(folder / "network"), train_network(folder), folder / "network", True),
        "calibrate": Job(train(folder), lambda: calibrate_in(model, open_runs(store)), model),
        "generate": Job(without(made.parent), generate(made), made.parent, True),
        "import": Job(without(imported.parent), import_cases(folder, imported), imported.parent, True),
        "study": Job(without(folder / "study"), study(folder), folder / "study", True),
        "runs, first": Job(without(copy), lambda: few_runs().save(copy), copy),
        "runs, replacing": Job(
            lambda: few_runs(9.0).save(copy, overwrite=True), lambda: few_runs().save(copy, overwrite=True), copy
        ),
        "runs, added": Job(
            lambda: few_runs().save(copy, overwrite=True), lambda: add_runs(copy, few_runs(9.0, 2)), copy
        ),
    }


def answer(folder: Path) -> str:
    """What a model, a store, a study or what stands in the folder says, or that there is nothing."""
    if (folder / "model.json").exists():
        found = load(folder).predictive(ASKED)
        return b"".join(np.asarray(array).tobytes() for array in (found.mean, *found.parts.values())).hex()
    if (folder / "results.json").exists() and (folder / "report.html").exists():
        return (folder / "results.json").read_text()
    if (folder / "zarr.json").exists():
        return of_store(folder)
    stores = sorted(folder.glob("*.zarr")) if folder.is_dir() else []
    return of_store(stores[0]) if stores else "nothing"


def of_store(path: Path) -> str:
    store = open_store(path)
    told = store.checksum() + store.numbers().tobytes().hex()
    return told + str(open_runs(path).left_out or "")
