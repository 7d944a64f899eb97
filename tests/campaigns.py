"""Small campaigns, and a solver that takes no time but depends on where it starts from, as the real one does."""

import threading
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from sureflow.campaign.campaign import Campaign
from sureflow.campaign.contents import geometry_of
from sureflow.campaign.continuation import Computed
from sureflow.campaign.run import Case, Options, run_campaign
from sureflow.data.run_store import RunStore
from sureflow.data.schema import Status
from sureflow.flow.solution import RECORD_NAMES

TINY = {
    "conditions": [{"mach": [18.0, 20.0, 22.0], "altitude_km": [40.0, 46.0]}],
    "mesh": {"cells": [16, 16], "wall_spacing": 2e-4, "nose_margin": 2.0, "base_margin": 1.5},
}
TINY_TOML = """
[[conditions]]
mach = [18, 20, 22]
altitude_km = [40, 46]

[mesh]
cells = [16, 16]
wall_spacing = 2e-4
nose_margin = 2.0
base_margin = 1.5
"""


def tiny(**changes) -> Campaign:
    """Six conditions on 16 x 16 cells."""
    return Campaign.from_dict(TINY | changes, "tiny")


def square(side: int) -> Campaign:
    """side x side conditions on 8 x 8 cells."""
    mach, altitude = np.linspace(10.0, 30.0, side).tolist(), np.linspace(20.0, 60.0, side).tolist()
    mesh = {"cells": [8, 8], "wall_spacing": 1e-3}
    return Campaign.from_dict({"conditions": [{"mach": mach, "altitude_km": altitude}], "mesh": mesh}, "square")


class FakeSolver:
    """Fields that carry the whole line of ancestors in their bits; given conditions stall or fail."""

    def __init__(self, names: tuple[str, ...], ends: dict[tuple[float, float], Status] | None = None):
        self.names = names
        self.ends = ends or {}
        self.solved: list[tuple[float, float]] = []
        self.lock = threading.Lock()

    def __call__(self, case: Case) -> Computed:
        key = (case.condition.mach, case.condition.altitude_km)
        with self.lock:
            self.solved.append(key)
        seed = np.random.default_rng([int(1000 * value) for value in key]).random((4, *case.mesh.shape))
        fields = seed if case.start is None else np.sin(9.0 * case.start.fields) + seed
        record = dict.fromkeys(self.names, key[0])
        geometry = geometry_of(case.mesh) if case.is_fitted else None
        return Computed(fields, record, self.ends.get(key, Status.CONVERGED), seconds=0.0, geometry=geometry)


class Inline(Executor):
    """Computes at once, in this thread; may stop as Ctrl-C does after some runs."""

    def __init__(self, stop_after: int | None = None):
        self.left = stop_after

    def submit(self, fn, /, *args, **kwargs):
        if self.left is not None:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
        future: Future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def crew(executor: Executor):
    """Workers for `run_campaign`."""

    @contextmanager
    def workers(runs: int):
        yield executor

    return workers


def fake_solver(campaign: Campaign, ends: dict[tuple[float, float], Status] | None = None) -> FakeSolver:
    return FakeSolver(RECORD_NAMES, ends)


def run(
    path: Path, campaign: Campaign, solver: FakeSolver | None = None, *, executor: Executor | None = None, **options
) -> RunStore:
    """A campaign with the fake solver."""
    solver = solver or fake_solver(campaign)
    run_campaign(path, campaign, crew(executor or Inline()), Options(**options), solve=solver)
    return RunStore.open(path)


def same_files(one: Path, other: Path) -> bool:
    """Whether two stores are equal, file by file and bit for bit."""
    contents = [
        {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        for path in (one, other)
    ]
    return contents[0] == contents[1]
