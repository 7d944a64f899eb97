"""Which conditions a campaign computes: grids, lists and samples of ranges, over flight, body and wall."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from pydantic import NonNegativeInt, PositiveInt

from sureflow.data.header import Parameter
from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.wall import WALL_KINDS, WallKind
from sureflow.registry import Registry
from sureflow.validation import settings

# More conditions than any campaign has; a slip in two lists is told at once instead of after minutes.
MOST_CONDITIONS = 100_000
DIGITS = 6  # significant ones of sampled values: a condition can then be typed as it was computed
# No wall in flight is colder; `outside` draws nothing below.
COLDEST_WALL = 200.0

# What may vary from run to run, in the order of a store's columns. Sizes vary by factors, so that models see logarithms.
PARAMETERS = {
    "mach": Parameter("mach", "1"),
    "altitude_km": Parameter("altitude_km", "km"),
    "nose_radius": Parameter("nose_radius", "m", "log"),
    "half_angle_deg": Parameter("half_angle_deg", "deg"),
    "length": Parameter("length", "m", "log"),
    "wall_temperature": Parameter("wall_temperature", "K"),
    # A column is a number: the place of the kind in `WALL_KINDS`.
    "wall_kind": Parameter("wall_kind", ", ".join(f"{place} {kind}" for place, kind in enumerate(WALL_KINDS))),
}
FLIGHT = ("mach", "altitude_km")
BODY = ("nose_radius", "half_angle_deg", "length")

Row = dict[str, float]  # values by parameter


@settings
class Conditions:
    """One part of a campaign: the values, or with a sampling design the ranges, of everything that varies in it.

    `grid` takes every combination of the values, `list` the `cases`: pairs of Mach number and altitude, or tables. The
    others draw `runs` conditions from ranges [low, high]. `name` keeps the part apart from others in the store. `level` is how
    often the cells of the mesh are merged two by two: 0 for the mesh of the campaign.
    """

    design: str = ""  # a name in `DESIGNS`; by default list with cases and grid without
    name: str = ""
    runs: PositiveInt | None = None
    seed: NonNegativeInt = 0
    level: NonNegativeInt = 0
    beyond: tuple[float, float] = (0.05, 0.25)  # of `outside`: how far, in widths of a range
    cases: tuple[tuple[float, float] | dict[str, float | WallKind], ...] = ()
    mach: tuple[float, ...] = ()
    altitude_km: tuple[float, ...] = ()
    nose_radius: tuple[float, ...] = ()
    half_angle_deg: tuple[float, ...] = ()
    length: tuple[float, ...] = ()
    wall_temperature: tuple[float, ...] = ()
    wall_kind: tuple[WallKind, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.cases) == bool(self.given):
            raise SureflowError(
                "conditions need mach and altitude_km for a grid, or cases as a list of pairs, but not both"
            )
        if not self.cases and not (self.mach and self.altitude_km):
            raise SureflowError("conditions: give at least one Mach number and one altitude")
        count = self.runs or math.prod(map(len, self.given.values())) + len(self.cases)
        if count > MOST_CONDITIONS:
            raise SureflowError(
                f"there are {count:,} conditions, and a campaign has at most {MOST_CONDITIONS:,}: give fewer values, or "
                "sample them"
            )
        rule = DESIGNS[self.kind]
        if rule.samples != (self.runs is not None):
            wanted = "needs the number of runs" if rule.samples else "has no use for the number of runs: leave it out"
            raise SureflowError(f"conditions: the design {self.kind} {wanted}")
        if rule.samples:
            for name, values in self.given.items():
                _require_range(name, values)
        for row in self.rows():
            FlightCondition(*(row[name] for name in FLIGHT))  # refuses what is outside the envelope

    @property
    def kind(self) -> str:
        return self.design or ("list" if self.cases else "grid")

    @property
    def given(self) -> dict[str, tuple]:
        """The values or ranges by parameter, of those that are given."""
        return {name: values for name in PARAMETERS if (values := getattr(self, name))}

    @property
    def names(self) -> set[str]:
        """The parameters that are set here."""
        if self.cases:
            return {name for case in self.cases for name in _as_table(case)}
        return set(self.given)

    def rows(self) -> Iterator[Row]:
        """The conditions as values by parameter."""
        for row in DESIGNS[self.kind].rows(self):
            yield {name: _number(name, value) for name, value in row.items()}


def _require_range(name: str, values: tuple) -> None:
    if name == "wall_kind":
        raise SureflowError("conditions: wall_kind cannot be sampled: give a part of the campaign to each kind")
    if len(values) != 2 or not values[0] < values[1]:
        raise SureflowError(f"conditions: {name}={list(values)} must be a range [low, high], from which runs are drawn")
    if PARAMETERS[name].scale == "log" and not values[0] > 0:
        raise SureflowError(f"conditions: {name}={list(values)} must be positive")


def _as_table(case: Any) -> Mapping[str, Any]:
    return case if isinstance(case, Mapping) else dict(zip(FLIGHT, case, strict=True))


def _number(name: str, value: Any) -> float:
    if name not in PARAMETERS:
        raise SureflowError(f"cases: {name} is not one of {', '.join(PARAMETERS)}")
    if name == "wall_kind":
        return float(WALL_KINDS.index(value))
    if not isinstance(value, int | float):
        raise SureflowError(f"cases: {name}={value!r} is not a number")
    return float(value)


class Design(NamedTuple):
    """How the conditions of a part are made; `samples` tells designs that draw runs from ranges, `fills` those that fill them."""

    rows: Callable[[Conditions], Iterator[Mapping[str, Any]]]
    samples: bool = True
    fills: bool = False


DESIGNS: Registry[Design] = Registry("design")


def _grid(part: Conditions) -> Iterator[Mapping[str, Any]]:
    return (dict(zip(part.given, row, strict=True)) for row in itertools.product(*part.given.values()))


def _list(part: Conditions) -> Iterator[Mapping[str, Any]]:
    for case in map(_as_table, part.cases):
        if not set(FLIGHT) <= set(case):
            raise SureflowError(f"cases: {dict(case)} needs a mach and an altitude_km")
        yield case


def _sampled(draw: Callable[[int, int, int], Float[np.ndarray, "run parameter"]]) -> Design:
    """A design from points in the unit cube, which `draw` makes from their number, the dimension and the seed."""

    def rows(part: Conditions) -> Iterator[Mapping[str, Any]]:
        assert part.runs is not None
        for point in draw(part.runs, len(part.given), part.seed):
            yield {
                name: rounded(between(name, values, share))
                for (name, values), share in zip(part.given.items(), point.tolist(), strict=True)
            }

    return Design(rows, fills=True)


def _sobol(runs: int, dimension: int, seed: int) -> np.ndarray:
    """The beginning of a scrambled Sobol sequence: fewer runs of the same seed are its first ones."""
    from scipy.stats import qmc

    return qmc.Sobol(dimension, rng=np.random.default_rng(seed)).random_base2(math.ceil(math.log2(runs)))[:runs]


def _latin_hypercube(runs: int, dimension: int, seed: int) -> np.ndarray:
    from scipy.stats import qmc

    return qmc.LatinHypercube(dimension, rng=np.random.default_rng(seed)).random(runs)


def _random(runs: int, dimension: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((runs, dimension))


def _outside(runs: int, dimension: int, seed: int, beyond: tuple[float, float]) -> np.ndarray:
    """Uniform, but one or two parameters lie `beyond` their ranges, in turn alone and together."""
    rng = np.random.default_rng(seed)
    points = rng.random((runs, dimension))
    for number, point in enumerate(points):
        for column in rng.permutation(dimension)[: 1 + number % 2]:
            away = rng.uniform(*beyond)
            point[column] = rng.choice([-away, 1.0 + away])
    return points


def _outside_rows(part: Conditions) -> Iterator[Mapping[str, Any]]:
    """Conditions out of the ranges; those with a wall colder than any are drawn from the other side."""

    def draw(runs: int, dimension: int, seed: int) -> np.ndarray:
        points = _outside(runs, dimension, seed, part.beyond)
        if "wall_temperature" in part.given:
            low, high = part.given["wall_temperature"]
            column = points[:, list(part.given).index("wall_temperature")]
            cold = low + column * (high - low) < COLDEST_WALL
            column[cold] = 1.0 - column[cold]
        return points

    return _sampled(draw).rows(part)


DESIGNS.register("grid", Design(_grid, samples=False))
DESIGNS.register("list", Design(_list, samples=False))
DESIGNS.register("sobol", _sampled(_sobol))
DESIGNS.register("latin-hypercube", _sampled(_latin_hypercube))
DESIGNS.register("random", _sampled(_random))
DESIGNS.register("outside", Design(_outside_rows))


def between(name: str, ends: tuple[float, float], share: float) -> float:
    """The value at a share of a range; of a logarithmic parameter, of the range of its logarithm."""
    low, high = ends
    if PARAMETERS[name].scale == "log":
        return low * (high / low) ** share
    return low + share * (high - low)


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
