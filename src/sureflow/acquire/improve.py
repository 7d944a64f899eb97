"""The closed loop: learn, look at the bars, propose, compute; until they are small enough or the budget is spent.

All that decides is in the store and in the log of rounds. A round is written down before its runs are computed, and runs that
are there already are not computed again: whatever interrupts the loop, it goes on from there to the same result.
"""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from sureflow.acquire.criteria import CRITERIA, Criterion
from sureflow.acquire.criteria.largest_bar import MEAN, aggregated_bars
from sureflow.acquire.folders import require_own_folder
from sureflow.acquire.proposals import LEVEL, make_proposal
from sureflow.acquire.records import failed_conditions, level_records, recorded_costs
from sureflow.acquire.region import Region, UseSettings, region_of
from sureflow.campaign.contents import follow_up
from sureflow.campaign.continuation import Computed
from sureflow.campaign.run import Case, Workers, run_levels, solve_case
from sureflow.data.layout import COARSER
from sureflow.data.schema import Status
from sureflow.data.store import open_runs, open_store
from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.surrogate.artifact import save
from sureflow.surrogate.fit import fit
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.workshop import alone_in
from sureflow.validation import plain, settings

LOG, GOAL, MODEL = "rounds.jsonl", "goal.json", "model"
LOOKED_AT = 64  # conditions of the region of use at which bars are looked at


@settings
class Goal:
    """When to stop, and how to choose what is computed until then.

    The loop ends when the mean (or largest) bar over the region of use is at most `target`, in standard deviations of the
    training fields, or relative for a quantity; `of` says which bar, as for the criterion largest-bar. It also ends when
    `most_runs` runs are in the store, failed ones included, or `most_seconds` were spent on computing runs.
    """

    target: PositiveFloat | None = None
    over: Literal["mean", "largest"] = "mean"
    of: str = MEAN
    most_runs: NonNegativeInt | None = None
    most_seconds: Annotated[float, Field(ge=0)] | None = None
    batch: PositiveInt = 1
    levels: bool = False  # whether the mesh of each run is chosen as well
    criterion: Annotated[Criterion, CRITERIA] | None = None  # by default what `propose` takes
    region: UseSettings = UseSettings()
    model: Any = "interpolation"
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        if self.target is None and self.most_runs is None and self.most_seconds is None:
            raise SureflowError("give a target for the bars, a budget of runs or one of seconds: the loop has no end")
        for name in ("most_runs", "most_seconds"):
            if getattr(self, name) == 0:
                raise SureflowError(f"{name}=0 leaves nothing to spend: give a positive number")


@dataclass(frozen=True)
class Round:
    """How things stood, and what was proposed; `ended` says why nothing was."""

    runs: int  # converged
    spent: int  # runs in the store, failed ones too
    seconds: float  # spent on computing so far
    mean_bar: float
    largest_bar: float
    model: str
    criterion: str = ""  # by which was proposed
    proposed: list[list[float]] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)  # of what is proposed, where the mesh is chosen as well
    ended: str = ""


Watch = Callable[[Round], None]


def improve(
    store: Path,
    folder: Path,
    goal: Goal,
    workers: Workers,
    *,
    watch: Watch = lambda found: None,
    solve: Callable[[Case], Computed] = solve_case,
) -> list[Round]:
    """Improve the model of a store until the goal is met; the model of every round is kept in the folder."""
    follow_up(store, open_store(store).parameters()[:1].tolist())  # refuses what our solver cannot continue
    require_own_folder(folder, GOAL, "improve")
    with alone_in(folder):
        rounds = _begun(folder, goal, store)
        for found in rounds:
            watch(found)
        seconds = rounds[-1].seconds if rounds else 0.0
        while not (rounds and rounds[-1].ended):
            if rounds and rounds[-1].proposed:
                began = time.monotonic()
                campaign = follow_up(store, rounds[-1].proposed, rounds[-1].levels)
                run_levels(store, campaign, workers, solve=solve)
                seconds += time.monotonic() - began
            rounds.append(_look(store, folder, goal, round(seconds, 3)))
            _write(folder, rounds)
            watch(rounds[-1])
    return rounds


def _look(store: Path, folder: Path, goal: Goal, seconds: float) -> Round:
    """Learn from all runs, look at the bars, and propose what is to be computed next."""
    runs = open_runs(store)
    surrogate = fit(runs, goal.model)
    save(surrogate, folder / MODEL, overwrite=True)
    region = region_of(surrogate.header, surrogate.domain.parameters.copy(), goal.region)
    bars = aggregated_bars(surrogate, region.draw(LOOKED_AT, goal.seed + 2), goal.of)
    if not np.isfinite(bars).all():
        raise SureflowError(
            f"{goal.of} cannot be told at {int(np.isnan(bars).sum())} of {len(bars)} conditions in the region of use: choose "
            "another number or a smaller region"
        )
    spent = _spent(store)
    found = Round(len(runs), spent, seconds, float(bars.mean()), float(bars.max()), surrogate.model_name)
    return _decided(found, goal, store, surrogate, region)


def _spent(store: Path) -> int:
    """Runs that were paid for, on all levels."""
    own = int((open_store(store).status() != Status.TO_DO).sum())
    return own + (_spent(store / COARSER) if (store / COARSER).exists() else 0)


def _decided(found: Round, goal: Goal, store: Path, surrogate: Surrogate, region: Region) -> Round:
    """The round with its proposals, or with the reason to end."""
    bar = found.mean_bar if goal.over == "mean" else found.largest_bar
    ended = ""
    if goal.target is not None and bar <= goal.target:
        ended = f"the {goal.over} bar {bar:.3g} is at most {goal.target:g}"
    elif goal.most_runs is not None and found.spent >= goal.most_runs:
        ended = f"{found.spent} runs are spent"
    elif goal.most_seconds is not None and found.seconds >= goal.most_seconds:
        ended = f"{found.seconds:.0f} seconds are spent"
    if ended:
        return replace(found, ended=ended)
    count = goal.batch if goal.most_runs is None else min(goal.batch, goal.most_runs - found.spent)
    proposal = make_proposal(
        surrogate,
        count,
        criterion=goal.criterion,
        region=region,
        avoid=failed_conditions(store),
        costs=recorded_costs(store),
        levels=level_records(store) if goal.levels else (),
        seed=goal.seed,
    )
    proposed = proposal.table[list(surrogate.parameter_names)].to_numpy(float).tolist()
    levels = proposal.table[LEVEL].tolist() if goal.levels else []
    return replace(found, criterion=proposal.criterion.name, proposed=proposed, levels=levels)


def read_rounds(folder: Path) -> list[Round]:
    """The rounds so far; a line that was cut off is not there."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    try:
        return [Round(**json.loads(line)) for line in lines]
    except (ValueError, TypeError):
        raise SureflowError(f"{path} is damaged: choose another folder; the runs of the store are kept") from None


def _begun(folder: Path, goal: Goal, store: Path) -> list[Round]:
    """The rounds of an interrupted loop with the same goal and store; what failed before its first round was not begun."""
    place = Path(os.path.relpath(store, folder)).as_posix()  # both may be moved together
    described = json.dumps({"store": place, **plain(goal)}, indent=2) + "\n"
    path = folder / GOAL
    if (folder / LOG).exists() and path.exists() and path.read_text(encoding="utf-8") != described:
        raise SureflowError(f"{folder} has another goal, or other runs: choose another folder")
    write_atomically(path, described.encode())
    return read_rounds(folder)


def _write(folder: Path, rounds: list[Round]) -> None:
    text = "".join(json.dumps(asdict(one)) + "\n" for one in rounds)
    write_atomically(folder / LOG, text.encode())
