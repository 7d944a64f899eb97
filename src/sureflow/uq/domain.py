"""Where a condition lies: inside the hull of the training runs, how far outside of it, or too far to answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls

from sureflow.physics.atmosphere import HIGHEST_KM
from sureflow.physics.free_stream import HIGHEST_MACH, LOWEST_MACH

Conditions = Float[np.ndarray, "case parameter"]

# How far outside an answer is given at most, in widths of the training ranges; calibration may lower it.
DEFAULT_REACH = 0.5
# The distance from a hull of more runs than this costs more than a prediction: their box stands in for it.
MOST_RUNS_OF_A_HULL = 3000
# Distances below this are rounding.
RESOLUTION = 1e-9
# Where the physics of our solver ends, for parameters of these names; runs from beyond have limits of their own.
PHYSICAL_LIMITS: Mapping[str, tuple[float, float]] = {
    "mach": (LOWEST_MACH, HIGHEST_MACH),
    "altitude_km": (0.0, HIGHEST_KM),
}


class Standing(StrEnum):
    """The three answers to whether a prediction can be trusted."""

    INSIDE = "inside"
    EXTRAPOLATED = "extrapolated"
    REFUSED = "refused"


@dataclass(frozen=True)
class Verdict:
    """What is said of one condition: its standing, its distance from the training hull, and the reason."""

    standing: Standing
    distance: float
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.standing}: {self.reason}" if self.reason else str(self.standing)


def _as_they_are(conditions: Conditions) -> Conditions:
    return conditions


@dataclass(frozen=True)
class TrainingDomain:
    """The parameters of the training runs, the box and the convex hull that they span, and how far beyond one may ask.

    Distances are in widths of the box, parameter by parameter. `reach` is the distance beyond which a condition is
    refused; calibration lowers it to twice the farthest distance that leaving runs out could teach about.
    """

    names: tuple[str, ...]
    parameters: Float[np.ndarray, "case parameter"]
    reach: float = DEFAULT_REACH
    limits: Mapping[str, tuple[float, float]] = field(default_factory=lambda: PHYSICAL_LIMITS)
    # What a model sees in place of the parameters, such as logarithms: a step there is what it extrapolates by.
    inputs: Callable[[Conditions], Conditions] = _as_they_are

    @cached_property
    def lower(self) -> Float[np.ndarray, " parameter"]:
        return self.parameters.min(axis=0)

    @cached_property
    def upper(self) -> Float[np.ndarray, " parameter"]:
        return self.parameters.max(axis=0)

    @cached_property
    def width(self) -> Float[np.ndarray, " parameter"]:
        """Ranges of the training runs; 1 for a parameter that is the same in all of them."""
        return np.where(self.upper > self.lower, self.upper - self.lower, 1.0)

    def excess(self, conditions: Float[np.ndarray, "... parameter"]) -> Float[np.ndarray, "... parameter"]:
        """How far each parameter lies outside of the box, in widths of the box; 0 inside."""
        return np.maximum(0, np.maximum(self.lower - conditions, conditions - self.upper)) / self.width

    def displacement(self, conditions: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, "case parameter"]:
        """From the nearest point of the hull to each condition, in widths of the box; 0 inside."""
        if len(self.parameters) > MOST_RUNS_OF_A_HULL:
            return (conditions - np.clip(conditions, self.lower, self.upper)) / self.width
        runs = (self.parameters - self.lower) / self.width
        return np.array([_from_hull(runs, condition) for condition in (conditions - self.lower) / self.width])

    def distance(self, conditions: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, " case"]:
        """Distance of each condition from the hull, in widths of the box; 0 inside."""
        return np.linalg.norm(self.displacement(conditions), axis=1)

    def nearest(self, conditions: Float[np.ndarray, "case parameter"]) -> Float[np.ndarray, "case parameter"]:
        """The point of the hull nearest to each condition: the condition itself inside."""
        return conditions - self.displacement(conditions) * self.width

    def input_position(self, conditions: Conditions) -> Conditions:
        """Where conditions lie in the box of the model's inputs, 0..1 inside, in widths of that box."""
        runs = self.inputs(self.parameters)
        lower, width = runs.min(axis=0), np.ptp(runs, axis=0)
        return (self.inputs(conditions) - lower) / np.where(width > 0, width, 1.0)

    def input_displacement(self, start: Conditions, end: Conditions) -> Conditions:
        """The way from one condition to another as the model sees it, in widths of the box of its inputs."""
        return self.input_position(end) - self.input_position(start)

    def judge(self, condition: Float[np.ndarray, " parameter"]) -> Verdict:
        """Inside, extrapolated or refused, with the distance and the reason."""
        (displacement,) = self.displacement(condition[None])
        distance = float(np.linalg.norm(displacement))
        impossible = self._impossible(condition)
        if impossible:
            return Verdict(Standing.REFUSED, distance, impossible)
        if distance == 0.0:
            return Verdict(Standing.INSIDE, 0.0)
        where = self._where(condition, displacement)
        varied = self._constant_that_varies(condition)
        if varied:
            return Verdict(Standing.REFUSED, distance, varied)
        if distance > self.reach:
            return Verdict(
                Standing.REFUSED,
                distance,
                f"{where}; a distance of {distance:.0%} is beyond the {self.reach:.0%} that the runs can speak for",
            )
        return Verdict(Standing.EXTRAPOLATED, distance, where)

    def verdict(self, condition: Float[np.ndarray, " parameter"]) -> str:
        """`inside`, or what is extrapolated or refused and how far."""
        return str(self.judge(condition))

    def summary(self, conditions: Float[np.ndarray, "case parameter"]) -> str:
        """The verdict of the condition that lies farthest out, and how many are extrapolated."""
        distance = self.distance(conditions)
        farthest = self.verdict(conditions[distance.argmax()])
        if len(conditions) == 1 or not distance.any():
            return farthest
        outside = np.count_nonzero(distance)
        return f"{outside} of {len(conditions)} conditions are extrapolated; the farthest: {farthest}"

    def _where(self, condition: Float[np.ndarray, " parameter"], displacement: Float[np.ndarray, " parameter"]) -> str:
        """Which parameters lie outside of the box by how much; or how far off the hull a condition in the box is."""
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
            f"no training runs surround it, though every parameter is in its range: {np.linalg.norm(displacement):.1%} "
            f"of the ranges from the nearest such point, {at}"
        )

    def _impossible(self, condition: Float[np.ndarray, " parameter"]) -> str:
        for column, (name, value) in enumerate(zip(self.names, condition, strict=True)):
            if not np.isfinite(value):
                return f"{name}={value} is not a finite number"
            low, high = self.limits.get(name, (-np.inf, np.inf))
            other_physics = self.lower[column] < low or self.upper[column] > high
            if not (low <= value <= high or other_physics):
                return f"{name}={value:g} is outside {low:g}..{high:g}, where its physics is known"
        return ""

    def _constant_that_varies(self, condition: Float[np.ndarray, " parameter"]) -> str:
        for name, value, low, high in zip(self.names, condition, self.lower, self.upper, strict=True):
            if low == high and value != low:
                return f"{name}={value:g}, but all training runs have {name}={low:g}: nothing is known of its influence"
        return ""


def _from_hull(runs: Float[np.ndarray, "run parameter"], condition: Float[np.ndarray, " parameter"]) -> np.ndarray:
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
