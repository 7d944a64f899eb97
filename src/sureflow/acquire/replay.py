"""What each criterion would have needed: stored runs, of which one after another is revealed."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field, NonNegativeInt, PositiveInt
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from sureflow.acquire.criteria import CRITERIA, Task
from sureflow.acquire.proposals import greedy, read_criterion
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.sources import ArrayFields
from sureflow.data.splits import SPLITS
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings
from sureflow.runtime import one_blas_thread
from sureflow.surrogate.learning import fit_predictor
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.specification import Specification, specification
from sureflow.validation import settings

Conditions = Float[np.ndarray, "_ parameter"]
Chosen = Int[np.ndarray, " _"]
Mask = Bool[np.ndarray, " case"]

IN_DOMAIN = "in_domain"  # the test runs of a split that measure errors

RANDOM, HALTON, SOBOL, LATIN = "random", "halton", "sobol", "latin-hypercube"
DESIGNS = (RANDOM, HALTON, SOBOL, LATIN)
USES = 1024  # conditions over which criteria average, at most
MOST_OWN = 256  # conditions at which a model is asked for its own error, about
LATIN_TRIALS = 20


@settings
class ReplaySettings:
    """Which ways of choosing runs are compared, from how many runs on and up to how many, over how many starts.

    Every start holds back a share `test` of the runs, or those from number `test_from` on, to measure errors on, or with a
    `split` by its name, all but its training runs, of which those in the domain measure errors. All ways have the same `first`
    runs. Errors are measured at `points` points of the fields, evenly spaced; at all of them where the model needs its mesh.
    """

    ways: tuple[str, ...] = (
        *DESIGNS,
        "space-filling",
        "integrated-bar",
        "integrated-variance",
        "loo-distance",
        "loo-simplex",
    )
    model: Any = "interpolation"
    scaling: str = "auto"
    starts: PositiveInt = 20
    first: PositiveInt | None = None
    most: PositiveInt | None = None
    batch: PositiveInt = 1
    test: float = Field(default=0.25, gt=0, lt=1)
    test_from: PositiveInt | None = None
    split: str | None = None
    points: PositiveInt = 256
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        for way in self.ways:
            if way not in DESIGNS and way not in CRITERIA:
                known = ", ".join((*DESIGNS, *CRITERIA))
                raise SureflowError(f"ways: {way!r} is not one of {known}")


@dataclass(frozen=True)
class Trace:
    """One way of choosing from one start: errors against the number of runs.

    `error` is the mean absolute error of the runs held back, in standard deviations of the fields of all runs; `own` is the mean
    bar that the model itself expects where runs can be chosen, from the chosen ones left out one at a time: its median.
    """

    way: str
    start: int
    runs: tuple[int, ...]
    error: tuple[float, ...]
    own: tuple[float, ...]

    def needed(self, target: float) -> float:
        """How many runs it took until the error stayed at or below a target; infinite if it never did."""
        above = [size for size, error in zip(self.runs, self.error, strict=True) if error > target]
        later = [size for size in self.runs if not above or size > above[-1]]
        return float(later[0]) if later else np.inf


@dataclass(frozen=True)
class Replay:
    """Stored runs with what a replay of them needs."""

    runs: Runs
    settings: ReplaySettings
    spec: Specification

    @classmethod
    def of(cls, runs: Runs, given: ReplaySettings) -> "Replay":
        spec = specification({"model": given.model, "scaling": given.scaling})
        n_parameters = runs.parameters.shape[1]
        first = given.first or 2 * (n_parameters + 1)
        pool = int(_divided(runs, given, 0)[0].sum())
        most = min(given.most or 20 * n_parameters, pool)
        if first >= most:
            raise SureflowError(
                f"{len(runs)} runs leave {pool} to choose from: too few for a replay that begins with {first} of them and "
                f"ends with {most}"
            )
        spec = replace(spec, scaling=spec.scaling_for(runs))
        if not isinstance(spec.model, ModelSettings):
            raise SureflowError("a replay compares ways of choosing runs for one model: name it, such as interpolation")
        # A model of lines from the wall needs all of their points.
        kept = runs if spec.model.capabilities.needs_structured_mesh else thin(runs, given.points)
        return cls(kept, replace(given, first=first, most=most), spec)

    def jobs(self) -> list[tuple[str, int]]:
        return [(way, start) for start in range(self.settings.starts) for way in self.settings.ways]

    @one_blas_thread()
    def trace(self, way: str, start: int) -> Trace:
        """Reveal runs as one way of choosing asks for them."""
        pool, test = (self.runs.select(mask) for mask in _divided(self.runs, self.settings, start))
        unit = Standard.of_fields(self.runs)
        judge, everywhere = _Judge(test, unit), pool.parameters[:: max(1, len(pool) // MOST_OWN)]
        sizes, errors, own = [], [], []
        for chosen, surrogate in self._steps(way, start, pool):
            sizes.append(len(chosen))
            errors.append(judge(surrogate))
            own.append(expected_error(surrogate, everywhere, unit))
        return Trace(way, start, tuple(sizes), tuple(errors), tuple(own))

    def _steps(self, way: str, start: int, pool: Runs) -> Iterator[tuple[Chosen, Surrogate]]:
        """Chosen runs and the model of them, of growing number."""
        given = self.settings
        assert given.first is not None
        assert given.most is not None
        sizes = [*range(given.first, given.most, given.batch), given.most]
        unit = _unit(pool.parameters)
        rng, halton = (np.random.default_rng([given.seed, start, number]) for number in (2, 3))
        if way in DESIGNS:
            order = None if way == LATIN else _design_order(way, unit, given.most, halton if way == HALTON else rng)
            for size in sizes:
                chosen = order[:size] if order is not None else _latin(unit, size, rng)
                yield chosen, self._model(pool.select(chosen))
            return
        criterion = read_criterion(way)
        uses = pool.parameters[rng.permutation(len(pool))[:USES]]
        chosen = _design_order(HALTON, unit, given.first, halton)
        for size, larger in itertools.pairwise([*sizes, sizes[-1]]):
            assert len(chosen) == size
            model = self._model(pool.select(chosen))
            yield chosen, model
            left = np.setdiff1d(np.arange(len(pool)), chosen)
            if larger > size:
                taken, _, _ = greedy(criterion, Task(model, pool.parameters[left], uses), larger - size)
                chosen = np.concatenate([chosen, left[taken]])

    def _model(self, runs: Runs) -> Surrogate:
        return Surrogate.of(runs, fit_predictor(runs, self.spec))


def expected_error(surrogate: Surrogate, conditions: Conditions, unit: Standard) -> float:
    """The mean bar of a field, in the unit of errors: what leaving runs out tells a model to expect at conditions.

    Not the mean of the left-out errors: where runs lie close together, they predict each other well. And the median over the
    conditions: in a few corners far from all runs, bars are as large as all others together.
    """
    std = surrogate.predictor(conditions).std
    return float("nan") if std is None else float(np.median((np.asarray(std) / unit.std[:, None]).mean(axis=(1, 2))))


def thin(runs: Runs, points: int) -> Runs:
    """The runs at some of their points, evenly spaced in the order in which they are kept, in memory."""
    kept = np.unique(np.linspace(0, runs.n_points - 1, min(points, runs.n_points)).astype(int))
    fields = np.stack([np.asarray(run, float)[:, kept] for run in runs.each()])
    geometry = Geometry(runs.geometry_of(0).points[kept])
    described = {name: places[kept] for name, places in runs.described.items()}
    return replace(
        runs,
        fields=ArrayFields(fields),
        topology=Topology(),
        geometry=geometry,
        geometries=None,
        described=described,
        coarser=None,
    )


class _Judge:
    """Mean absolute error of runs that no choice sees."""

    def __init__(self, test: Runs, unit: Standard):
        self.conditions, self.truth, self.unit = test.parameters, test.array(), unit

    def __call__(self, surrogate: Surrogate) -> float:
        missed = np.abs(np.asarray(surrogate.predictor(self.conditions).mean) - self.truth)
        return float((missed / self.unit.std[:, None]).mean())


def _divided(runs: Runs, given: ReplaySettings, start: int) -> tuple[Mask, Mask]:
    """Runs to choose from, and runs to measure errors on."""
    if given.split is not None:
        division = SPLITS[given.split]()(runs)
        return division.train, division.test[IN_DOMAIN]
    held_back = _held_back(runs, given, start)
    return ~held_back, held_back


def _held_back(runs: Runs, given: ReplaySettings, start: int) -> Mask:
    held_back = np.zeros(len(runs), bool)
    if given.test_from is not None:
        held_back[given.test_from :] = True
    else:
        count = max(1, round(given.test * len(runs)))
        held_back[np.random.default_rng([given.seed, start, 1]).permutation(len(runs))[:count]] = True
    if not held_back.any() or held_back.all():
        raise SureflowError(f"test_from={given.test_from} leaves nothing to test on, or nothing to choose from")
    return held_back


def _unit(parameters: Conditions) -> Conditions:
    low, width = parameters.min(axis=0), np.ptp(parameters, axis=0)
    return (parameters - low) / np.where(width > 0, width, 1.0)


def _design_order(way: str, unit: Conditions, count: int, rng: np.random.Generator) -> Chosen:
    """Stored runs in the order of a design: each point of it takes the nearest run that is left."""
    if way == RANDOM:
        return rng.permutation(len(unit))[:count]
    sequence = {HALTON: qmc.Halton, SOBOL: qmc.Sobol}[way](unit.shape[1], rng=rng)
    return _snapped(sequence.random(1 << (count - 1).bit_length())[:count], unit)


def _latin(unit: Conditions, count: int, rng: np.random.Generator) -> Chosen:
    """The Latin hypercube of several whose points lie farthest apart: made anew for every number of runs."""
    designs = [qmc.LatinHypercube(unit.shape[1], rng=rng).random(count) for _ in range(LATIN_TRIALS)]
    apart = [np.min(cdist(design, design) + 9.0 * np.eye(count)) for design in designs]
    return _snapped(designs[int(np.argmax(apart))], unit)


def _snapped(points: Conditions, unit: Conditions) -> Chosen:
    away = cdist(points, unit)
    chosen = []
    for row in away:
        row[chosen] = np.inf
        chosen.append(int(row.argmin()))
    return np.array(chosen)
