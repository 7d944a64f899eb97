"""Where a condition lies: where held-out runs have shown what predictions are worth, beyond that, or too far away to answer.

A condition is inside if every parameter is in its range, which is the declared one or else that of the runs, and if it is no
more novel to the model than training runs were that it had not seen (the area of applicability of Meyer & Pebesma 2021, with
the model's own measure of novelty). Unlike a convex hull, which in many parameters holds hardly any condition that was drawn
as the runs were, this means the same in any number of parameters.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

Conditions = Float[np.ndarray, "case parameter"]
Condition = Float[np.ndarray, " parameter"]
Sides = Float[np.ndarray, "case side"]
Novelty = Float[np.ndarray, " case"]
Ranges = Mapping[str, tuple[float, float]]

# How far outside an answer is given at most, in widths of the training ranges; calibration may lower it.
DEFAULT_REACH = 0.5
# The share of conditions drawn as the runs were that may be more novel than held-out runs.
MORE_NOVEL = 0.05
# Directions in which runs vary by less than this share of their ranges are those in which they do not vary.
FLAT = 1e-8
# Conditions off such a plane by more than this share of the ranges are not on it.
OFF_PLANE = 1e-6


class Trust(StrEnum):
    """The three answers to whether a prediction can be trusted."""

    INSIDE = "inside"
    EXTRAPOLATED = "extrapolated"
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """Whether the prediction at one condition can be trusted, its distance from the ranges, and the reason."""

    trust: Trust
    distance: float
    reason: str = ""
    final: bool = False  # refused even if an extrapolation is asked for

    def __str__(self) -> str:
        return f"{self.trust}: {self.reason}" if self.reason else str(self.trust)


def most_usual(novelty: Novelty) -> float:
    """The novelty up to which conditions are usual, from that of training runs to models of the others.

    The rank of split conformal prediction, times 1 + 2 / sqrt(n): the quantile of few runs is uncertain itself, and its
    scatter from one set of runs to another must not make more conditions look new than `MORE_NOVEL` says.
    """
    n_runs = len(novelty)
    rank = min(math.ceil((n_runs + 1) * (1.0 - MORE_NOVEL)), n_runs)
    return float(np.sort(novelty)[rank - 1]) * (1.0 + 2.0 / math.sqrt(n_runs))


def _nothing_new(conditions: Conditions) -> Novelty:
    return np.zeros(len(conditions))


def _all_possible(condition: Condition) -> str:
    return ""


@dataclass(frozen=True)
class TrainingDomain:
    """The parameters of the training runs, their ranges, what is new to the model, and how far beyond one may ask.

    Distances are in widths of the ranges of the runs, parameter by parameter; of `logarithmic` parameters, which models see so,
    those of their logarithms. `reach` is the distance beyond which a condition
    is refused; calibration sets it to twice the farthest distance at which runs were left out, if that is less. `declared` are
    the ranges in which a condition may lie inside although no run reaches as far, and so are those that the runs were `drawn`
    from, or those `estimated` where neither is known. `limits` are those of the header of the runs, beyond which nothing is
    answered. Neither limits nor declared ranges count for a parameter whose training runs lie outside of them. `impossible` says
    why the model has no prediction at a condition, such as a mesh that folds; nothing where it has one.
    """

    names: tuple[str, ...]
    parameters: Float[np.ndarray, "case parameter"]
    reach: float = DEFAULT_REACH
    limits: Ranges = field(default_factory=dict)
    declared: Ranges = field(default_factory=dict)
    drawn: Ranges = field(default_factory=dict)
    estimated: Ranges = field(default_factory=dict)
    novelty: Callable[[Conditions], Novelty] = _nothing_new
    impossible: Callable[[Condition], str] = _all_possible
    usual: float = math.inf  # the novelty of held-out runs that hardly any of them exceeded
    logarithmic: frozenset[str] = frozenset()

    def seen(self, conditions: Float[np.ndarray, "*case parameter"]) -> Float[np.ndarray, "*case parameter"]:
        """As distances are measured: -inf for what has no logarithm."""
        found = np.array(conditions, float)
        for column in (column for column, name in enumerate(self.names) if name in self.logarithmic):
            values = found[..., column]
            found[..., column] = np.log(values, out=np.full_like(values, -np.inf), where=values > 0)
        return found

    @cached_property
    def lower(self) -> Condition:
        return self.parameters.min(axis=0)

    @cached_property
    def upper(self) -> Condition:
        return self.parameters.max(axis=0)

    @cached_property
    def width(self) -> Condition:
        """Ranges of the training runs; 1 for a parameter that is the same in all of them."""
        return np.where(self.upper > self.lower, self.seen(self.upper) - self.seen(self.lower), 1.0)

    @cached_property
    def ranges(self) -> tuple[Condition, Condition]:
        """Lower and upper ends of the ranges: where the runs vary, declared ones that they keep to, else those that they were
        drawn from or seem to be drawn from, else their own.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        for column in np.flatnonzero(lower < upper):
            name, own = self.names[column], (lower[column], upper[column])
            low, high = self.drawn.get(name, self.estimated.get(name, own))
            lower[column], upper[column] = min(low, own[0]), max(high, own[1])
            low, high = self.declared.get(name, (-np.inf, np.inf))
            if low <= own[0] and own[1] <= high:
                lower[column] = low if np.isfinite(low) else lower[column]
                upper[column] = high if np.isfinite(high) else upper[column]
        return lower, upper

    def excess(self, conditions: Float[np.ndarray, "... parameter"]) -> Float[np.ndarray, "... parameter"]:
        """How far each parameter lies outside its range, in widths of the ranges of the runs; 0 inside."""
        (lower, upper), seen = map(self.seen, self.ranges), self.seen(conditions)
        return np.maximum(0, np.maximum(lower - seen, seen - upper)) / self.width

    def beyond(self, conditions: Conditions) -> Sides:
        """How far conditions lie below and above the runs in each parameter: (below, above) parameter by parameter."""
        seen = self.seen(conditions)
        outside = np.stack([self.seen(self.lower) - seen, seen - self.seen(self.upper)], axis=2)
        return (np.maximum(outside, 0.0) / self.width[:, None]).reshape(len(conditions), -1)

    def place(self, conditions: Conditions) -> "Place":
        """Where conditions lie, and whether predictions there can be trusted."""
        reasons = [self._unanswerable(condition) for condition in conditions]
        lacking = [reason or self.impossible(one) for reason, one in zip(reasons, conditions, strict=True)]
        known = np.array([not reason for reason in lacking], bool)
        novelty = np.full(len(conditions), np.nan)
        if known.any():
            novelty[known] = self.novelty(conditions[known])
        with np.errstate(over="ignore", invalid="ignore"):
            distance = np.nan_to_num(np.linalg.norm(self.excess(conditions), axis=1), nan=np.inf)
            rows = zip(conditions, map(float, distance), map(float, novelty), reasons, lacking, strict=True)
            return Place(self, conditions, distance, novelty, tuple(self._judge(*row) for row in rows))

    def _judge(self, condition: Condition, distance: float, novelty: float, unanswerable: str, lacking: str) -> Verdict:
        if lacking:
            return Verdict(Trust.REFUSED, distance, lacking, final=not unanswerable)
        if distance == 0.0 and novelty <= self.usual:
            return Verdict(Trust.INSIDE, 0.0, self._by_estimate(condition))
        where = f"{self._where(condition, novelty)}; {self._nearest(condition)}"
        if distance > self.reach:
            too_far = (
                f"{where}; a distance of {distance:.0%} is more than the {self.reach:.0%} up to which bars are known"
            )
            return Verdict(Trust.REFUSED, distance, too_far)
        return Verdict(Trust.EXTRAPOLATED, distance, where)

    def _unanswerable(self, condition: Condition) -> str:
        """Why no model of these runs can answer, or nothing."""
        for column, (name, value) in enumerate(zip(self.names, condition, strict=True)):
            if not np.isfinite(value):
                return f"{name}={value} is not a finite number"
            if name in self.logarithmic and value <= 0:
                return f"{name}={value:g} must be positive: the model sees its logarithm"
            low, high = self.limits.get(name, (-np.inf, np.inf))
            broken_by_runs = self.lower[column] < low or self.upper[column] > high
            if not (low <= value <= high or broken_by_runs):
                return f"{name}={value:g} is {_beyond(value, low, high)} declared for it"
        for name, value, low, high in zip(self.names, condition, self.lower, self.upper, strict=True):
            if low == high and value != low:
                return f"{name}={value:g}, but all training runs have {name}={low:g}, so that its influence is unknown"
        return self._off_plane(condition)

    @cached_property
    def missing(self) -> Float[np.ndarray, "direction parameter"]:
        """Directions in which the runs do not vary though each of their parameters does, in widths of the ranges."""
        varies = self.upper > self.lower
        seen = self.seen(self.parameters)
        runs = (seen - self.middle)[:, varies] / self.width[varies]
        _, singular, directions = np.linalg.svd(runs, full_matrices=True)
        rank = int(np.sum(singular > FLAT * math.sqrt(len(runs))))
        found = np.zeros((directions.shape[0] - rank, len(self.names)))
        found[:, varies] = directions[rank:]
        return found

    @cached_property
    def middle(self) -> Condition:
        """The mean of the runs, as distances are measured."""
        return self.seen(self.parameters).mean(axis=0)

    def _off_plane(self, condition: Condition) -> str:
        off = self.missing @ ((self.seen(condition) - self.middle) / self.width)
        if not len(off) or np.abs(off).max() <= OFF_PLANE:
            return ""
        together = np.abs(self.missing).max(axis=0) > OFF_PLANE
        names = [name for name, chosen in zip(self.names, together, strict=True) if chosen]
        return (
            f"{' and '.join(names)} vary together in all training runs, so that the influence of each of them is unknown, "
            "and this condition combines them in another way"
        )

    def _where(self, condition: Condition, novelty: float) -> str:
        """Which parameters lie outside their ranges and by how much; or how new a condition inside of them is."""
        rows = zip(self.names, condition, *self.ranges, self.excess(condition), strict=True)
        beyond = [self._outside(*row) for row in rows if row[-1] > 0]
        return "; ".join(beyond) or (
            f"every parameter is in its range, but this combination is {novelty / self.usual:.2g} times as new to the model "
            f"as {1 - MORE_NOVEL:.0%} of its training runs were when they were left out"
        )

    def _told(self, name: str) -> str:
        """Of a range that nobody told."""
        return ", the range estimated from the runs," if name in self.estimated else ""

    def _outside(self, name: str, at: float, lower: float, upper: float, share: float) -> str:
        value, low, high = apart(at, lower, upper)
        measured = "its logarithms" if name in self.logarithmic else "the runs"
        return f"{name}={value} is outside {low}..{high}{self._told(name)} by {share:.0%} of the range of {measured}"

    def _by_estimate(self, condition: Condition) -> str:
        """Which parameters lie beyond the runs, in ranges that are estimated from them alone."""
        found = []
        for name, at, first, last, low, high in zip(
            self.names, condition, self.lower, self.upper, *self.ranges, strict=True
        ):
            if name in self.estimated and not first <= at <= last:
                value, *ends = apart(at, first, last, low, high)
                runs, estimated = "..".join(ends[:2]), "..".join(ends[2:])
                found.append(
                    f"{name}={value} is beyond the runs, {runs}, but within {estimated}, the range estimated from them"
                )
        return "; ".join(found)

    def _nearest(self, condition: Condition) -> str:
        """The nearest run, and the parameter in which it differs most."""
        away = (self.seen(self.parameters) - self.seen(condition)) / self.width
        nearest = int(np.linalg.norm(away, axis=1).argmin())
        most = int(np.abs(away[nearest]).argmax())
        at = ", ".join(f"{name}={value:.4g}" for name, value in zip(self.names, self.parameters[nearest], strict=True))
        differs = (
            f", {abs(away[nearest, most]):.0%} of the range of {self.names[most]} away" if len(self.names) > 1 else ""
        )
        return f"the nearest run is at {at}{differs}"


@dataclass(frozen=True)
class Place:
    """Where conditions lie relative to the training runs.

    `distance` from the ranges is in widths of those of the runs. `judged_by` is the novelty of the conditions, NaN where they
    are refused whatever it is.
    """

    domain: TrainingDomain
    conditions: Conditions
    distance: Float[np.ndarray, " case"]
    judged_by: Novelty
    verdicts: tuple[Verdict, ...]

    @cached_property
    def novelty(self) -> Novelty:
        """0 at the runs of the model, and about 1 at one that it had not seen; for all conditions that the model takes."""
        unknown = np.isnan(self.judged_by)
        found = self.judged_by.copy()
        if unknown.any():
            found[unknown] = self.domain.novelty(self.conditions[unknown])
        return found

    @cached_property
    def beyond(self) -> Sides:
        """How far conditions lie beyond every side of the box of the runs."""
        return self.domain.beyond(self.conditions)

    @property
    def outside(self) -> Bool[np.ndarray, " case"]:
        """Which conditions are not inside."""
        return np.array([verdict.trust != Trust.INSIDE for verdict in self.verdicts], bool)

    @property
    def refused(self) -> Verdict | None:
        """The first refusal among the verdicts, if there is one."""
        return next((verdict for verdict in self.verdicts if verdict.trust == Trust.REFUSED), None)

    def summary(self) -> str:
        """The verdict of the condition farthest from the training runs, and how many are extrapolated."""
        farthest = max(range(len(self.verdicts)), key=lambda case: (self.distance[case], self.judged_by[case]))
        outside = np.count_nonzero(self.outside)
        if len(self.verdicts) == 1 or not outside:
            return str(self.verdicts[farthest])
        return f"{outside} of {len(self.verdicts)} conditions are extrapolated; the farthest: {self.verdicts[farthest]}"


def apart(value: float, *ends: float) -> tuple[str, ...]:
    """A value and ends of ranges as texts: ends with four digits, or with as many more as leave the value on its side of all."""
    texts: list[str] = []
    for digits in range(4, 18):
        texts = [f"{value:.{max(digits, 6)}g}", *(f"{end:.{digits}g}" for end in ends)]
        shown, *others = map(float, texts)
        if all(_side(shown, other) == _side(value, end) for other, end in zip(others, ends, strict=True)):
            break
    return tuple(texts)


def _side(value: float, end: float) -> int:
    return int(value > end) - int(value < end)


def _beyond(value: float, low: float, high: float) -> str:
    """'outside 2..40, the limits', or with only one of them 'above 40, the limit'."""
    if np.isfinite(low) and np.isfinite(high):
        return f"outside {low:g}..{high:g}, the limits"
    return f"below {low:g}, the limit" if value < low else f"above {high:g}, the limit"
