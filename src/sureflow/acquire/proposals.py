"""Conditions for the next runs: those that a criterion expects to gain most, in the region of use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float
from pydantic_core import PydanticCustomError
from scipy.spatial import KDTree

from sureflow.acquire.cost import SECONDS, STEPS, RunCosts
from sureflow.acquire.criteria import CRITERIA, Criterion, IntegratedBar, SpaceFilling, Task
from sureflow.acquire.criteria.largest_bar import aggregated_bars
from sureflow.acquire.mesh_levels import LevelCandidates, MeshLevel, levels_of, require_several
from sureflow.acquire.region import Region, UseSettings, read_use, region_of
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.runtime import one_blas_thread
from sureflow.surrogate.model import Surrogate

if TYPE_CHECKING:
    import pandas

Conditions = Float[np.ndarray, "_ parameter"]

CANDIDATES = 1 << 12
USES = 1 << 8
# Candidates closer to a run than this share of the ranges are that run.
SAME = 1e-6
# And closer to one that failed: its neighbors would fail as well.
TOO_CLOSE_TO_FAILED = 0.05
LEVEL = "level"  # a column of the table


@dataclass(frozen=True)
class Proposal:
    """Proposed conditions as a table, and the candidates (on the finest mesh) with their gains before one was taken.

    `computed` are the conditions that count as runs though the model has not learned from them. The name of the criterion is
    an attribute of the table as well.
    """

    table: "pandas.DataFrame"
    candidates: Conditions
    gains: Float[np.ndarray, " candidate"]
    criterion: Criterion
    region: Region
    computed: Conditions

    def __post_init__(self) -> None:
        self.table.attrs["criterion"] = self.criterion.name


def propose(
    model: Surrogate,
    count: int = 5,
    *,
    criterion: "str | Mapping[str, Any] | Criterion | None" = None,
    region: "UseSettings | Mapping[str, Any] | str | Path | None" = None,
    runs: Runs | None = None,
    candidates: Any = None,
    avoid: Any = None,
    per_cost: bool = False,
    levels: bool = False,
    seed: int = 0,
) -> "pandas.DataFrame":
    """The next `count` runs to compute, in this order: a row a run, with its parameters and what it is expected to gain.

    Candidates fill the region of use: the declared ranges of the parameters, else those of the training runs, or what
    `region` says: `{"ranges": {"mach": [10, 35]}}`, a `polygon`, the `conditions` of a trajectory, or a TOML file with
    these. It may reach beyond the training runs. `candidates` (case, parameter) can be given instead. The `criterion` says
    what is gained: integrated-bar, integrated-variance, space-filling, largest-bar, loo-distance or loo-simplex. By default it
    is integrated-bar where the model knows covariances between conditions, else space-filling. Every run after the first
    counts those before it as computed. Conditions to `avoid` are not proposed, nor is what lies close to them.

    `distance` is that to the nearest run as the model sees it. `mean_std` is the standard deviation that the model expects,
    in standard deviations of the training fields, averaged over points and fields; it is missing where the model has no
    bars. `runs` that the model has not learned from count as computed. If they have a number called steps, `steps` are those
    expected; with `per_cost` gains are divided by them.
    With `levels`, a model of levels and its `runs`, the mesh of each run is chosen as well, by gain over steps times cells:
    `level` is 0 for the finest mesh, and a run on it comes with those on the coarser ones.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 50)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 7.0, 8.0])
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]})
    >>> next_run = sf.propose(sf.fit(runs, "interpolation"), count=1)
    >>> round(float(next_run.angle[0]))
    5
    """
    costs = None if runs is None else RunCosts.of(runs)
    if per_cost and costs is None:
        raise SureflowError("gains per cost need runs with a number called steps: give those runs, or leave cost out")
    return make_proposal(
        model,
        count,
        criterion=None if criterion is None else read_criterion(criterion),
        region=region_of(model.header, model.domain.parameters.copy(), read_use(region)),
        candidates=None if candidates is None else np.asarray(candidates, float),
        avoid=None if avoid is None else np.asarray(avoid, float),
        computed=None if runs is None else runs.parameters,
        costs=costs,
        per_cost=per_cost,
        levels=levels_of(_required(runs)) if levels else (),
        seed=seed,
    ).table


def _required(runs: Runs | None) -> Runs:
    if runs is None:
        raise SureflowError("levels are chosen by their cost: give the runs")
    return runs


@one_blas_thread()
def make_proposal(
    model: Surrogate,
    count: int,
    *,
    region: Region,
    criterion: Criterion | None = None,
    candidates: Conditions | None = None,
    avoid: Conditions | None = None,
    computed: Conditions | None = None,
    costs: RunCosts | None = None,
    per_cost: bool = False,
    levels: Sequence[MeshLevel] = (),
    seed: int = 0,
) -> Proposal:
    """As `propose`, from settled settings, and with all that a picture needs.

    Conditions that were `computed` but not learned from count as runs that were taken before.
    """
    if count < 1:
        raise SureflowError(f"count={count} must be at least 1")
    if seed < 0:
        raise SureflowError(f"seed={seed} must be 0 or more")
    found = region.draw(CANDIDATES, seed) if candidates is None else _given(candidates, region)
    uses = region.draw(USES, seed + 1)
    if levels:
        return _on_levels(model, count, criterion or IntegratedBar(), region, found, uses, levels)
    known = model.domain.parameters
    others = known[:0] if computed is None else computed[_is_open(computed, known, None, region)]
    found = found[_is_open(found, np.concatenate([known, others]), avoid, region)]
    _require_candidates(found)
    task = Task(model, np.concatenate([found, others]), uses)
    criterion = criterion or default_criterion(task)
    weight = None if costs is None or not per_cost else costs.expected_steps(task.candidates)
    chosen, gains, before = greedy(criterion, task, count, weight, taken=len(others))
    return Proposal(_table(task, chosen, gains, costs), found, before[: len(found)], criterion, region, others)


def _on_levels(
    model: Surrogate,
    count: int,
    criterion: Criterion,
    region: Region,
    found: Conditions,
    uses: Conditions,
    levels: Sequence[MeshLevel],
) -> Proposal:
    """The mesh of every run is chosen too, by its gain over its cost."""
    if not criterion.knows_levels:
        raise SureflowError(
            f"the criterion {criterion.name} does not tell meshes apart: choose {IntegratedBar.name} for levels"
        )
    belief = model.predictor.fitted.belief()
    require_several(levels, 0 if belief is None else max(process.level for process in belief.processes))
    is_open = [_is_open(found, one.costs.conditions, one.failed, region) for one in levels]
    candidates = LevelCandidates.of(found, is_open, levels)
    _require_candidates(candidates.conditions)
    task = Task(model, candidates.conditions, uses, candidates.level)
    chosen, gains, before = greedy(criterion, task, count, candidates.cost)
    table = _table(task, chosen, gains, None)
    table.insert(len(region.names), LEVEL, candidates.level[chosen])
    costs = [levels[level].costs for level in candidates.level[chosen]]
    rows = candidates.conditions[chosen]
    table[STEPS] = [float(np.round(one.expected_steps(row[None])[0])) for one, row in zip(costs, rows, strict=True)]
    paces = [one.seconds_per_step for one in costs]
    if None not in paces:
        table[SECONDS] = np.array(paces, float) * table[STEPS]
    finest = candidates.level == 0
    shown = (candidates.conditions[finest], (before / candidates.cost)[finest])
    return Proposal(table, *shown, criterion, region, found[:0])


def default_criterion(task: Task) -> Criterion:
    """What needs the fewest runs in many parameters, if the model can tell it; in two, filling space does as well."""
    return SpaceFilling() if task.belief is None else IntegratedBar()


def _require_candidates(found: Conditions) -> None:
    if not len(found):
        raise SureflowError(
            "no candidates are left: every condition of the region of use has been computed, or has failed nearby; "
            "choose a larger region, or allow conditions that failed"
        )


def greedy(
    criterion: Criterion, task: Task, count: int, cost: Float[np.ndarray, " candidate"] | None = None, taken: int = 0
) -> tuple[list[int], list[float], Float[np.ndarray, " candidate"]]:
    """Candidates in the order in which they are taken, their gains then, and all gains before the first was.

    The last ones, as many as were `taken`, count as computed and are not chosen.
    """
    state = criterion.begin(task)
    left = np.arange(len(task.candidates)) < len(task.candidates) - taken
    for candidate in np.flatnonzero(~left).tolist():
        state.take(candidate)
    chosen: list[int] = []
    gains: list[float] = []
    gain = before = state.values().copy()
    for _ in range(min(count, int(left.sum()))):
        gain = state.values() if chosen else gain
        values = np.where(left, gain if cost is None else gain / cost, -np.inf)
        best = int(values.argmax())
        chosen.append(best)
        gains.append(float(values[best]))
        left[best] = False
        state.take(best)
    return chosen, gains, before


def read_criterion(given: "str | Mapping[str, Any] | Criterion") -> Criterion:
    """A criterion from its name, from a table with its name and settings, or as it is."""
    try:
        return CRITERIA.build(given)
    except PydanticCustomError as error:
        raise SureflowError(f"criterion: {error.context['sentences'][0][1]}") from None  # type: ignore[index]


def _given(candidates: Conditions, region: Region) -> Conditions:
    if candidates.ndim != 2 or candidates.shape[1] != len(region.names):
        raise SureflowError(
            f"candidates have the shape {candidates.shape}: give (case, parameter) of {', '.join(region.names)}"
        )
    _, first = np.unique(candidates, axis=0, return_index=True)
    distinct = candidates[np.sort(first)]
    return distinct[region.holds(distinct)] if region.track is None else distinct


def _is_open(
    candidates: Conditions, runs: Conditions, avoid: Conditions | None, region: Region
) -> Bool[np.ndarray, " candidate"]:
    """Candidates that are not runs, nor close to what is to be avoided."""
    if not len(candidates):
        return np.zeros(0, bool)
    kept = KDTree(runs / region.width).query(candidates / region.width)[0] > SAME
    if avoid is not None and len(avoid):
        kept &= KDTree(avoid / region.width).query(candidates / region.width)[0] > TOO_CLOSE_TO_FAILED
    return kept


def _table(task: Task, chosen: list[int], gains: list[float], costs: RunCosts | None) -> "pandas.DataFrame":
    import pandas

    conditions = task.candidates[chosen]
    distance = task.distance(task.inputs[chosen], task.run_inputs).min(axis=1)
    table = pandas.DataFrame(conditions, columns=list(task.model.parameter_names))
    table = table.assign(gain=gains, distance=distance, mean_std=_mean_std(task.model, conditions))
    if costs is not None:
        table[STEPS] = np.round(costs.expected_steps(conditions))
        if costs.seconds_per_step is not None:
            table[SECONDS] = costs.seconds_per_step * table[STEPS]
    return table


def _mean_std(model: Surrogate, conditions: Conditions) -> Float[np.ndarray, " case"]:
    """The mean bar, or NaN where the model has none."""
    if model.field_scale is None or model.predictive(conditions[:1]).std is None:
        return np.full(len(conditions), np.nan)
    return aggregated_bars(model, conditions)
