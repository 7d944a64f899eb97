"""One number of a run, such as its drag, over the conditions: a Gaussian process of its own, and several of them together."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.models.contract import Groups, View
from sureflow.models.pod_gp import PodGP, PodGPSettings
from sureflow.models.processes import Processes
from sureflow.surrogate.number_space import InputKind
from sureflow.validation import Section

# Positive numbers that vary by more than this factor are learned as logarithms.
WIDE = 3.0

Told = tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]  # values and standard deviations


class NumberFacts(Section):
    """A number, as far as arrays do not say it. `error` is its relative error on runs left out one at a time."""

    name: str
    unit: str
    logarithmic: bool
    shift: float
    scale: float
    error: float
    inputs: InputKind = "model"
    estimated: bool = False  # learned is what the number is of its estimate


@dataclass(frozen=True)
class NumberProcess:
    """One number over the conditions: a Gaussian process of the number, or of its logarithm."""

    facts: NumberFacts
    process: PodGP

    @classmethod
    def fit(
        cls, name: str, unit: str, inputs: np.ndarray, values: Float[np.ndarray, " run"], kind: InputKind = "model"
    ) -> Self:
        """With the error of every run left out in closed form, all else that was learned unchanged."""
        logarithmic = bool(values.min() > 0 and values.max() > WIDE * values.min())
        learned = np.log(values) if logarithmic else values
        shift, scale = float(learned.mean()), float(learned.std()) or 1.0
        fields = ((learned - shift) / scale)[:, None, None]
        process = PodGPSettings(modes=1).fit(View(inputs, fields, np.zeros((1, 0)), (name,)))
        facts = NumberFacts(
            name=name, unit=unit, logarithmic=logarithmic, shift=shift, scale=scale, error=0.0, inputs=kind
        )
        fitted = cls(facts, process)
        missed = fitted.left_out([np.array([run]) for run in range(len(values))])[0] - values
        size = np.sqrt(np.mean(values**2)) or 1.0
        error = np.sqrt(np.mean((missed / np.where(values != 0, values, size)) ** 2))
        return replace(fitted, facts=facts.model_copy(update={"error": float(error)}))

    def left_out(self, groups: Groups) -> Told:
        """Values and standard deviations at runs, group by group, from the processes of the others, of what is learned."""
        found = self.process.leave_out(groups).predictive
        assert found.std is not None
        return self.told(np.asarray(found.mean)[:, 0, 0], np.asarray(found.std)[:, 0, 0])

    def told(self, mean: Float[np.ndarray, " case"], std: Float[np.ndarray, " case"]) -> Told:
        """In the number's own units."""
        values = self.physical(mean)
        return values, self.facts.scale * (np.abs(values) if self.facts.logarithmic else 1.0) * std

    def physical(self, normalized: Float[np.ndarray, " case"]) -> Float[np.ndarray, " case"]:
        values = self.facts.shift + self.facts.scale * normalized
        return np.exp(values) if self.facts.logarithmic else values

    @cached_property
    def learned(self) -> Float[np.ndarray, " run"]:
        """What was learned, at the runs."""
        process = self.process
        return self.physical(process.mean[0, 0] + process.scale[0] * process.modes[0, 0, 0] * process.coefficients[0])


@dataclass(frozen=True)
class NumberGroup:
    """Numbers over the same inputs of the same runs: told together, in a tenth of the time of one after the other."""

    members: tuple[NumberProcess, ...]

    @classmethod
    def of(cls, numbers: Iterable[NumberProcess]) -> list[Self]:
        """Numbers by what they have in common."""
        found: dict[tuple, list[NumberProcess]] = {}
        for one in numbers:
            key = one.facts.inputs, one.process.varying.tobytes(), one.process.inputs.tobytes()
            found.setdefault(key, []).append(one)
        return [cls(tuple(members)) for members in found.values()]

    @property
    def inputs(self) -> InputKind:
        return self.members[0].facts.inputs

    def __call__(self, inputs: Float[np.ndarray, "case input"]) -> list[Told]:
        """Values and standard deviations at conditions, of what each member has learned."""
        used = self.members[0].process.varying > 0
        location, variance = self._processes(np.asarray(inputs, float)[:, used])
        shift, unit, discrepancy = self._units
        mean, std = shift + unit * location, np.sqrt(unit**2 * variance + discrepancy**2)
        return [one.told(*columns) for one, *columns in zip(self.members, mean.T, std.T, strict=True)]

    @cached_property
    def _processes(self) -> Processes:
        every = [one.process for one in self.members]
        logarithms, coefficients = ([getattr(one, name) for one in every] for name in ("logarithms", "coefficients"))
        return Processes.of(every[0].inputs, np.concatenate(logarithms), np.concatenate(coefficients))

    @cached_property
    def _units(self) -> Float[np.ndarray, "3 member"]:
        """Mean, what one unit of the process is worth, and the part of the bars that is the same everywhere."""
        every = [one.process for one in self.members]
        return np.array([(one.mean[0, 0], one.scale[0] * one.modes[0, 0, 0], one.discrepancy[0, 0]) for one in every]).T
