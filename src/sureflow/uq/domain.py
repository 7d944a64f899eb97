"""Where a condition lies: inside the hull of the training runs, how far outside of it, or too far away to answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import nnls

Conditions = Float[np.ndarray, "case parameter"]
Condition = Float[np.ndarray, " parameter"]

# How far outside an answer is given at most, in widths of the training ranges; calibration may lower it.
DEFAULT_REACH = 0.5
# The distance from a hull of more runs than this costs more than a prediction: their box stands in for it.
MOST_RUNS_OF_A_HULL = 3000
# Distances below this are rounding.
RESOLUTION = 1e-9


class Trust(StrEnum):
    """The three answers to whether a prediction can be trusted."""

    INSIDE = "inside"
    EXTRAPOLATED = "extrapolated"
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """Whether the prediction at one condition can be trusted, its distance from the training hull, and the reason."""

    trust: Trust
    distance: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.trust}: {self.reason}" if self.reason else str(self.trust)


def _unchanged(conditions: Conditions) -> Conditions:
    return conditions


@dataclass(frozen=True)
class TrainingDomain:
    """The parameters of the training runs, the box and the convex hull that they span, and how far beyond one may ask.

    Distances are in widths of the box, parameter by parameter. `reach` is the distance beyond which a condition is refused;
    calibration sets it to twice the farthest distance at which runs were left out, if that is less. `limits` are those of
    the header of the runs. They do not count for a parameter whose training runs lie outside of them.
    """

    names: tuple[str, ...]
    parameters: Float[np.ndarray, "case parameter"]
    reach: float = DEFAULT_REACH
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    # What a model sees in place of the parameters, such as logarithms: a step there is what it extrapolates by.
    inputs: Callable[[Conditions], Conditions] = _unchanged

    @cached_property
    def lower(self) -> Condition:
        return self.parameters.min(axis=0)

    @cached_property
    def upper(self) -> Condition:
        return self.parameters.max(axis=0)

    @cached_property
    def width(self) -> Condition:
        """Ranges of the training runs; 1 for a parameter that is the same in all of them."""
        return np.where(self.upper > self.lower, self.upper - self.lower, 1.0)

    @cached_property
    def _input_box(self) -> tuple[Condition, Condition]:
        """Lower corner and widths of the box of the training inputs."""
        runs = self.inputs(self.parameters)
        width = np.ptp(runs, axis=0)
        return runs.min(axis=0), np.where(width > 0, width, 1.0)

    def excess(self, conditions: Float[np.ndarray, "... parameter"]) -> Float[np.ndarray, "... parameter"]:
        """How far each parameter lies outside the box, in widths of the box; 0 inside."""
        return np.maximum(0, np.maximum(self.lower - conditions, conditions - self.upper)) / self.width

    def displacement(self, conditions: Conditions) -> Conditions:
        """From the nearest point of the hull to each condition, in widths of the box; 0 inside."""
        if len(self.parameters) > MOST_RUNS_OF_A_HULL:
            return (conditions - np.clip(conditions, self.lower, self.upper)) / self.width
        runs = (self.parameters - self.lower) / self.width
        found = [_from_hull(runs, condition) for condition in (conditions - self.lower) / self.width]
        return np.array(found).reshape(conditions.shape)

    def nearest(self, conditions: Conditions) -> Conditions:
        """The point of the hull nearest to each condition: the condition itself inside."""
        return conditions - self.displacement(conditions) * self.width

    def input_position(self, conditions: Conditions) -> Conditions:
        """Where conditions lie in the box of the training inputs, 0..1 inside, in widths of that box."""
        lower, width = self._input_box
        return (self.inputs(conditions) - lower) / width

    def place(self, conditions: Conditions) -> "Place":
        """Where conditions lie, and whether predictions there can be trusted; the distances are computed once."""
        displacement = self.displacement(conditions)
        distance = np.linalg.norm(displacement, axis=1)
        nearest = np.where(distance[:, None] > 0, conditions - displacement * self.width, conditions)
        verdicts = [self._judge(*row) for row in zip(conditions, displacement, map(float, distance), strict=True)]
        return Place(self, conditions, nearest, distance, tuple(verdicts))

    def _judge(self, condition: Condition, displacement: Condition, distance: float) -> Verdict:
        impossible = self._impossible(condition)
        if impossible:
            return Verdict(Trust.REFUSED, distance, impossible)
        if distance == 0.0:
            return Verdict(Trust.INSIDE, 0.0)
        unknown = self._unknown_influence(condition)
        if unknown:
            return Verdict(Trust.REFUSED, distance, unknown)
        where = self._where(condition, displacement)
        if distance > self.reach:
            too_far = (
                f"{where}; a distance of {distance:.0%} is more than the {self.reach:.0%} up to which bars are known"
            )
            return Verdict(Trust.REFUSED, distance, too_far)
        return Verdict(Trust.EXTRAPOLATED, distance, where)

    def _impossible(self, condition: Condition) -> str:
        for column, (name, value) in enumerate(zip(self.names, condition, strict=True)):
            if not np.isfinite(value):
                return f"{name}={value} is not a finite number"
            low, high = self.limits.get(name, (-np.inf, np.inf))
            broken_by_runs = self.lower[column] < low or self.upper[column] > high
            if not (low <= value <= high or broken_by_runs):
                return f"{name}={value:g} is {_beyond(value, low, high)} declared for it"
        return ""

    def _unknown_influence(self, condition: Condition) -> str:
        for name, value, low, high in zip(self.names, condition, self.lower, self.upper, strict=True):
            if low == high and value != low:
                return f"{name}={value:g}, but all training runs have {name}={low:g}, so that its influence is unknown"
        return ""

    def _where(self, condition: Condition, displacement: Condition) -> str:
        """Which parameters lie outside the box and by how much; or how far from the hull a condition in the box is."""
        beyond = [
            f"{name}={value:g} is outside {low:g}..{high:g} by {share:.0%} of that range"
            for name, value, low, high, share in zip(
                self.names, condition, self.lower, self.upper, self.excess(condition), strict=True
            )
            if share > 0
        ]
        if beyond:
            return "; ".join(beyond)
        nearest = condition - displacement * self.width
        at = ", ".join(f"{name}={value:.4g}" for name, value in zip(self.names, nearest, strict=True))
        return (
            "every parameter is in its range, but no training runs surround this combination: it lies "
            f"{np.linalg.norm(displacement):.1%} of the ranges from {at}, the nearest one that they do surround"
        )


@dataclass(frozen=True)
class Place:
    """Where conditions lie relative to the training runs.

    `nearest` is the point of the training hull nearest to each condition: the condition itself inside. `distance` from the
    hull is in widths of the ranges of the parameters.
    """

    domain: TrainingDomain
    conditions: Conditions
    nearest: Conditions
    distance: Float[np.ndarray, " case"]
    verdicts: tuple[Verdict, ...]

    @cached_property
    def displacement(self) -> Conditions:
        """From `nearest` to the condition as the model sees them (in its inputs), in widths of the box of its inputs."""
        way = np.zeros_like(self.conditions)
        outside = self.outside
        if outside.any():
            position = self.domain.input_position
            way[outside] = position(self.conditions[outside]) - position(self.nearest[outside])
        return way

    @property
    def outside(self) -> Bool[np.ndarray, " case"]:
        """Which conditions lie outside the hull."""
        return self.distance > 0

    @property
    def refused(self) -> Verdict | None:
        """The first refusal among the verdicts, if there is one."""
        return next((verdict for verdict in self.verdicts if verdict.trust == Trust.REFUSED), None)

    def summary(self) -> str:
        """The verdict of the condition farthest from the training runs, and how many are extrapolated."""
        farthest = str(self.verdicts[int(self.distance.argmax())])
        outside = np.count_nonzero(self.outside)
        if len(self.verdicts) == 1 or not outside:
            return farthest
        return f"{outside} of {len(self.verdicts)} conditions are extrapolated; the farthest: {farthest}"


def _beyond(value: float, low: float, high: float) -> str:
    """'outside 2..40, the limits', or with only one of them 'above 40, the limit'."""
    if np.isfinite(low) and np.isfinite(high):
        return f"outside {low:g}..{high:g}, the limits"
    return f"below {low:g}, the limit" if value < low else f"above {high:g}, the limit"


def _from_hull(runs: Float[np.ndarray, "run parameter"], condition: Condition) -> Condition:
    """The vector from the nearest point of the convex hull of the runs to the condition.

    The point of least norm in the hull of the columns of V is V w / sum w, with w >= 0 the least-squares solution of
    [V; 1] w = [0; 1] (Lawson & Hanson 1974, chapter 23): exact in any number of parameters, also for runs on a line.
    """
    if not np.isfinite(condition).all():
        return np.full(len(condition), np.inf)
    relative = runs - condition
    weights, _ = nnls(np.vstack([relative.T, np.ones(len(runs))]), np.append(np.zeros(len(condition)), 1.0))
    offset = -(weights @ relative) / weights.sum()
    return offset if np.linalg.norm(offset) > RESOLUTION else np.zeros_like(offset)
