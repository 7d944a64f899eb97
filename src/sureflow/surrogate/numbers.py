"""Numbers of a run, such as drag or heat flux, each with a Gaussian process of its own beside what is read off the fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.data.runs import Runs
from sureflow.models.contract import View, varying
from sureflow.models.pod_gp import PodGP, PodGPSettings
from sureflow.runtime import on_all_cores
from sureflow.surrogate.declared_observer import DeclaredObserver
from sureflow.surrogate.observe import Observer
from sureflow.surrogate.predictor import Conditions, Predictor
from sureflow.validation import Section

# Positive numbers that vary by more than this factor are learned as logarithms.
WIDE = 3.0
# What a run of our solver says of its computation and its mesh is nothing about the flow; and what follows from the condition
# alone, or is among the quantities under another name, is nothing to learn.
OF_THE_COMPUTATION = ("steps", "criterion", "residual", "unfrozen", "balance_error", "seconds", "heat_flux_dip")
OF_THE_MESH = ("axis_shock_offset_cells", "undisturbed_cells", "lowest_temperature_ratio", "wall_cell_reynolds")
KNOWN_ANYWAY = ("stagnation_temperature_k", "knudsen", "reynolds", "q_stag_w_m2")
NOTHING_TO_LEARN = (*OF_THE_COMPUTATION, *OF_THE_MESH, *KNOWN_ANYWAY)


class NumberFacts(Section):
    """A number, as far as arrays do not say it. `error` is its relative error on runs left out one at a time."""

    name: str
    unit: str
    logarithmic: bool
    shift: float
    scale: float
    error: float


@dataclass(frozen=True)
class NumberProcess:
    """One number over the model's inputs: a Gaussian process of the number, or of its logarithm."""

    facts: NumberFacts
    process: PodGP

    @classmethod
    def fit(cls, name: str, unit: str, inputs: np.ndarray, values: Float[np.ndarray, " run"]) -> Self:
        """With the error of every run left out in closed form, all else that was learned unchanged."""
        logarithmic = bool(values.min() > 0 and values.max() > WIDE * values.min())
        learned = np.log(values) if logarithmic else values
        shift, scale = float(learned.mean()), float(learned.std()) or 1.0
        fields = ((learned - shift) / scale)[:, None, None]
        process = PodGPSettings(modes=1).fit(View(inputs, fields, np.zeros((1, 0)), (name,)))
        facts = NumberFacts(name=name, unit=unit, logarithmic=logarithmic, shift=shift, scale=scale, error=0.0)
        fitted = cls(facts, process)
        left_out = process.leave_out([np.array([run]) for run in range(len(values))]).predictive
        missed = fitted.physical(np.asarray(left_out.mean)[:, 0, 0]) - values
        size = np.sqrt(np.mean(values**2)) or 1.0
        error = np.sqrt(np.mean((missed / np.where(values != 0, values, size)) ** 2))
        return replace(fitted, facts=facts.model_copy(update={"error": float(error)}))

    def __call__(self, inputs: np.ndarray) -> tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]:
        """Values and standard deviations at conditions."""
        found = self.process.predict(inputs, np.zeros((1, 0)))
        std = found.std
        assert std is not None
        values = self.physical(np.asarray(found.mean)[:, 0, 0])
        slope = self.facts.scale * (np.abs(values) if self.facts.logarithmic else 1.0)
        return values, slope * np.asarray(std)[:, 0, 0]

    def physical(self, normalized: Float[np.ndarray, " case"]) -> Float[np.ndarray, " case"]:
        values = self.facts.shift + self.facts.scale * normalized
        return np.exp(values) if self.facts.logarithmic else values


@dataclass(frozen=True)
class RunNumbers:
    """The processes of all numbers, by name."""

    processes: tuple[NumberProcess, ...]

    @classmethod
    def fit(cls, runs: Runs, predictor: Predictor, observer: Observer | DeclaredObserver | None) -> "RunNumbers | None":
        """Of what the observer reads off the runs' own fields, and of what the store keeps of them; None of nothing."""
        inputs, known = predictor.inputs(runs.parameters), _known(runs, observer)
        if not known or len(runs) < int(varying(inputs).sum()) + 2:
            return None
        return cls(tuple(on_all_cores(lambda one: NumberProcess.fit(*one[0], inputs, one[1]), known.items())))

    def __call__(self, predictor: Predictor, conditions: Conditions) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        inputs = predictor.inputs(conditions)
        return {one.facts.name: one(inputs) for one in self.processes}

    def facts(self) -> dict[str, NumberFacts]:
        return {one.facts.name: one.facts for one in self.processes}

    def arrays(self) -> dict[str, np.ndarray]:
        pairs = ((one.facts.name, one.process.arrays()) for one in self.processes)
        return {f"{name}.{key}": array for name, arrays in pairs for key, array in arrays.items()}

    @classmethod
    def restore(cls, facts: Sequence[NumberFacts], arrays: Mapping[str, np.ndarray]) -> Self:
        def process(name: str) -> PodGP:
            own = {key.removeprefix(f"{name}."): values for key, values in arrays.items() if key.startswith(f"{name}.")}
            return PodGP.from_arrays({key: np.array(values) for key, values in own.items()})

        return cls(tuple(NumberProcess(one, process(one.name)) for one in facts))


def _known(
    runs: Runs, observer: Observer | DeclaredObserver | None
) -> dict[tuple[str, str], Float[np.ndarray, " run"]]:
    """Numbers of all runs by name and unit; those that are missing of a run, or the same of all, are left out."""
    found = {}
    if runs.numbers is not None:
        for item, values in zip(runs.header.numbers, runs.numbers.T, strict=True):
            if not (runs.header.made_by and item.name.startswith(NOTHING_TO_LEARN)):
                found[item.name, item.unit] = np.asarray(values, float)
    if observer is not None:
        rows = [observer(run[None], runs.parameters[case : case + 1])[0] for case, run in enumerate(runs.each())]
        for item, values in zip(observer.quantities, np.array(rows).T, strict=True):
            found = {key: one for key, one in found.items() if key[0] != item.name}
            found[item.name, item.unit] = values
    return {key: values for key, values in found.items() if np.isfinite(values).all() and np.ptp(values) > 0}
