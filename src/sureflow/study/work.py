"""A study at work: its folder, what its stages cost, who follows it, and how long it took."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sureflow.campaign.run import provenance_path, read_jobs
from sureflow.campaign.versions import difference, versions
from sureflow.files import write_atomically
from sureflow.importers import open_file
from sureflow.models.contract import ModelSettings
from sureflow.report.findings import PROVENANCE
from sureflow.runtime import machine
from sureflow.study.agenda import StudySettings
from sureflow.study.stages import Stage
from sureflow.surrogate.specification import Specification

RUNS = "runs.zarr"

# Rough costs in seconds on two cores, which weigh the stages against each other in the display of progress.
PER_CELL_OF_RUN = 4e-4
PER_SAMPLE = 7.7e-6  # and network, forwards and backwards
PER_PREDICTION = 3e-6  # at a point, by one network
FIELD_MODEL_COST = 8.0
EXPLORER_COST = 4.0
REPORT_COST = 20.0


class Costs:
    """What each stage costs, roughly, and what lies before it; in the order of the stages."""

    def __init__(self, settings: StudySettings):
        cells, n_runs = _size(settings)
        train = settings.train
        per_run = cells if train.points_per_run == "all" else train.points_per_run
        n_train = 0.5 * n_runs  # about what the paper's split trains on
        self.before: dict[str, float] = {}
        self.cost: dict[str, float] = {}
        self.total = 0.0
        self._add("runs", n_runs * cells * PER_CELL_OF_RUN / 2 if settings.campaign else 0.0)
        if settings.selection is not None:
            samples = settings.selection.epochs * n_train * per_run * 4
            for number, _ in enumerate(settings.selection.candidates(train)):
                self._add(f"selection {number}", samples * PER_SAMPLE)
        for entry in settings.models:
            if entry.select and settings.selection is not None:
                for number, (_, spec) in enumerate(entry.choices(train, settings.selection.epochs)):
                    self._add(f"select {entry.label} {number}", self._training(spec, cells, entry.runs or n_train))
            self._add(f"train {entry.label}", self._training(entry.specification(train), cells, entry.runs or n_train))
        for entry in settings.models:
            self._add(f"evaluate {entry.label}", n_train * cells * 4 * max(1, entry.networks) * PER_PREDICTION)
        self._add("explorer", EXPLORER_COST)
        self._add("results", 0.0)
        self._add("report", REPORT_COST)

    def _training(self, spec: Specification, cells: int, n_train: float) -> float:
        model = spec.model
        train = model.training if isinstance(model, ModelSettings) else None
        if train is None:
            return FIELD_MODEL_COST
        assert isinstance(model, ModelSettings)
        per_run = cells if train.points_per_run == "all" else train.points_per_run
        return train.epochs * n_train * per_run * 4 * model.networks * PER_SAMPLE

    def _add(self, name: str, cost: float) -> None:
        self.before[name], self.cost[name] = self.total, cost
        self.total += cost


def _size(settings: StudySettings) -> tuple[int, int]:
    """Points of a run, and runs."""
    if settings.runs is not None:
        runs = open_file(settings.runs)
        return runs.n_points, len(runs)
    campaign = settings.load_campaign()
    return int(np.prod(campaign.mesh.cells)), len(campaign.rows())


@dataclass(frozen=True)
class Audience:
    """Who follows a study: `say` hears what is done and why, `advance` how much of the whole cost is behind.

    `skipped` hears that a stage took no time, so that the pace of the others is not taken from it.
    """

    say: Callable[[str], None]
    advance: Callable[[float, str], None]
    begin: Callable[[float], None]
    skipped: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Study:
    """A study in its folder, with the costs of its stages, how long they took, and the versions that made them."""

    folder: Path
    settings: StudySettings
    watch: Audience
    costs: Costs
    clock: dict[str, float] = field(default_factory=dict)
    begun_with: Mapping[str, str] = field(default_factory=dict)

    def advance(self, stage: str, share: float, note: str) -> None:
        """Tell how much of a stage is behind."""
        self.watch.advance(self.costs.before[stage] + share * self.costs.cost[stage], note)

    def stage(self, stage: Stage) -> None:
        """Run a stage unless what it made is there and made from the same."""
        reason = stage.to_do(self.folder)
        if reason is None:
            self.watch.say(f"{stage.name}: unchanged")
            self.watch.skipped()
            return
        self.watch.say(stage.name + ("" if reason == "to do" else f": done again, since {reason}"))
        self.advance(stage.name, 0.0, stage.name)
        # A stage that was interrupted before it ever ended goes on, and so does its clock.
        before = self.clock.get(stage.name, 0.0) if reason == "to do" else 0.0
        began = time.perf_counter()
        try:
            stage.run(self.folder)
        finally:
            self.clock[stage.name] = round(before + time.perf_counter() - began, 1)
            write_provenance(self)


# Times and machine facts: beside the results, never in them.

THEN = ", then "


def read_provenance(folder: Path) -> tuple[dict[str, float], dict[str, str]]:
    """Seconds by stage, and the versions that worked on the study; nothing if there is nothing to read."""
    try:
        stored = json.loads((folder / PROVENANCE).read_bytes())
        return dict(stored["seconds"]), dict(stored["versions"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}


def remark_on_versions(study: Study) -> str:
    """What is finished stays, whatever made it; the user hears if that was something else than what goes on."""
    latest = {name: version.split(THEN)[-1] for name, version in study.begun_with.items()}
    other = difference(latest) if latest else None
    return f"{study.folder} was begun with other versions ({other}): what is finished is kept" if other else ""


def all_versions(study: Study) -> dict[str, str]:
    """Those installed here, after others that worked on the study before: '0.9.0, then 0.10.2'."""
    found = {}
    for name, ours in versions().items():
        before = study.begun_with.get(name, ours)
        found[name] = before if before.split(THEN)[-1] == ours else f"{before}{THEN}{ours}"
    return found


def write_provenance(study: Study) -> None:
    jobs = read_jobs(provenance_path(study.folder / RUNS)) if study.settings.campaign else []
    clock = study.clock | ({"runs": round(sum(job.get("seconds", 0.0) for job in jobs), 1)} if jobs else {})
    content = {
        "seconds": {stage: clock[stage] for stage in study.costs.cost if stage in clock},
        "machine": machine(),
        "versions": all_versions(study),
        "runs": [{key: job.get(key) for key in ("started", "seconds", "cores")} for job in jobs],
    }
    write_atomically(study.folder / PROVENANCE, (json.dumps(content, indent=1) + "\n").encode())
