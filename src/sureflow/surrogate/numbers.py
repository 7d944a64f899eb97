"""Numbers of a run, such as drag or heat flux, each with a Gaussian process of its own beside what is read off the fields.

Where gas, free stream, wall and body are known, hand calculations (`sureflow.physics.estimates`) tell most of how a number
varies. What is left, the number over its estimate, hardly varies with the numbers of similarity: few runs tell it, and it may be
carried beyond them. Whether that or the number itself is learned is decided by leaving runs out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.models.contract import require_fitting, varying
from sureflow.models.pod_gp import PodGP
from sureflow.runtime import on_all_cores
from sureflow.surrogate.declared_observer import DeclaredObserver
from sureflow.surrogate.number_process import NumberFacts, NumberGroup, NumberProcess, Told
from sureflow.surrogate.number_space import InputKind, NumberSpace
from sureflow.surrogate.observe import Observer
from sureflow.surrogate.predictor import Conditions
from sureflow.uq.bars import Calibration, alone
from sureflow.uq.domain import TrainingDomain
from sureflow.uq.fit_bars import FEWEST_HELD_OUT, fit_calibration
from sureflow.uq.folds import Fold, HeldOutRuns

TINY = 1e-300
# Ways to learn a number that err up to so much more than the best one on runs left out have a say in its bars.
LITTLE_MORE = 3.0
# What a run of our solver says of its computation and its mesh is nothing about the flow; and what follows from the condition
# alone, or is among the quantities under another name, is nothing to learn.
OF_THE_COMPUTATION = ("steps", "criterion", "residual", "unfrozen", "balance_error", "seconds", "heat_flux_dip")
OF_THE_MESH = ("axis_shock_offset_cells", "undisturbed_cells", "lowest_temperature_ratio", "wall_cell_reynolds")
KNOWN_ANYWAY = ("stagnation_temperature_k", "knudsen", "reynolds", "q_stag_w_m2")
NOTHING_TO_LEARN = (*OF_THE_COMPUTATION, *OF_THE_MESH, *KNOWN_ANYWAY)


@dataclass(frozen=True)
class RunNumbers:
    """The processes of all numbers, by name; and their bars, from what they miss at runs and at sides that are left out.

    `others` are those that learn the same numbers in other ways and err little more. How far they lie off is a part of the
    bars: ways that the runs do not tell apart part beyond them.
    """

    processes: tuple[NumberProcess, ...]
    bars: Calibration | None = None
    others: tuple[NumberProcess, ...] = ()

    @classmethod
    def fit(cls, runs: Runs, space: NumberSpace, observer: Observer | DeclaredObserver | None) -> "RunNumbers | None":
        """Of what the observer reads off the runs' own fields, and of what the store keeps of them; None of nothing."""
        inputs, known = space.all_inputs(runs.parameters), _known(runs, observer)
        if not known or len(runs) < max(int(varying(one).sum()) for one in inputs.values()) + 2:
            return None
        estimates = space.estimates([name for name, _ in known], runs.parameters)
        one_signed = {name: one for name, one in estimates.items() if (one > 0).all() or (one < 0).all()}

        def ways(one: tuple[tuple[str, str], Float[np.ndarray, " run"]]) -> list[NumberProcess]:
            return _good_ways(*one[0], one[1], one_signed.get(one[0][0]), inputs, space.sides)

        found = list(on_all_cores(ways, known.items()))
        processes, others = tuple(one[0] for one in found), tuple(other for one in found for other in one[1:])
        return cls(processes, _fit_bars(processes, others, space, estimates), others)

    def __call__(self, space: NumberSpace, conditions: Conditions) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Values and standard deviations at conditions, by name."""
        every = (*self.processes, *self.others)
        inputs = space.all_inputs(conditions, {one.facts.inputs for one in every})
        _require_inputs(every, inputs)
        estimates = space.estimates({one.facts.name for one in every if one.facts.estimated}, conditions)
        answers = {
            id(one): told
            for group in self._groups
            for one, told in zip(group.members, group(inputs[group.inputs]), strict=True)
        }
        values, std = _told(self.processes, self.others, estimates, lambda one: answers[id(one)])
        if self.bars is not None:
            beyond, size = space.domain.beyond(conditions), np.maximum(np.abs(values), TINY)
            own = (std / size)[:, :, None]
            std = size * self.bars.std(own, np.ones(len(values)), beyond, alone)[:, :, 0]
        names = [one.facts.name for one in self.processes]
        return dict(zip(names, zip(values.T, std.T, strict=True), strict=True))

    @cached_property
    def _groups(self) -> list[NumberGroup]:
        return NumberGroup.of((*self.processes, *self.others))

    def only(self, names: Collection[str]) -> "RunNumbers | None":
        """Those of these names; None where there are none."""
        rows = [row for row, one in enumerate(self.processes) if one.facts.name in names]
        if not rows:
            return None
        bars = self.bars and replace(self.bars, scale=self.bars.scale[rows], sides=self.bars.sides[:, rows])
        others = tuple(one for one in self.others if one.facts.name in names)
        return RunNumbers(tuple(self.processes[row] for row in rows), bars, others)

    def facts(self) -> dict[str, NumberFacts]:
        return {one.facts.name: one.facts for one in self.processes}

    def arrays(self) -> dict[str, np.ndarray]:
        """Of the processes, without bars and other ways."""
        pairs = ((one.facts.name, one.process.arrays()) for one in self.processes)
        return {f"{name}.{key}": array for name, arrays in pairs for key, array in arrays.items()}

    def other_arrays(self) -> dict[str, np.ndarray]:
        """Of the other ways, by their place."""
        pairs = enumerate(one.process.arrays() for one in self.others)
        return {f"{place}.{key}": array for place, arrays in pairs for key, array in arrays.items()}

    @classmethod
    def restore(cls, facts: Sequence[NumberFacts], arrays: Mapping[str, np.ndarray], n_runs: int) -> Self:
        """The processes from what `arrays` gave and a manifest says, without bars and other ways."""
        return cls(tuple(NumberProcess(one, _process(one.name, arrays, n_runs)) for one in facts))

    def with_others(self, facts: Sequence[NumberFacts], arrays: Mapping[str, np.ndarray], n_runs: int) -> Self:
        """With the other ways, from what `other_arrays` gave and a manifest says."""
        others = (NumberProcess(one, _process(str(place), arrays, n_runs)) for place, one in enumerate(facts))
        return replace(self, others=tuple(others))


def _require_inputs(numbers: Sequence[NumberProcess], inputs: Mapping[InputKind, np.ndarray]) -> None:
    """Refuse processes that were learned over other inputs than there are."""
    for one in numbers:
        found, wanted = len(one.process.varying), inputs[one.facts.inputs].shape[1]
        if found != wanted:
            raise SureflowError(
                f"the model is damaged: {one.facts.name} was learned over {found} inputs, expected {wanted}; train it again"
            )


def _process(name: str, arrays: Mapping[str, np.ndarray], n_runs: int) -> PodGP:
    """The process of a number of so many runs: one field of one point, with one mode."""
    own = {key.removeprefix(f"{name}."): values for key, values in arrays.items() if key.startswith(f"{name}.")}
    varies = int(np.count_nonzero(own.get("varying", 0) > 0))
    sizes = {"case": n_runs, "variable": 1, "point": 1, "mode": 1, "varying": varies, "hyperparameter": varies + 2}
    require_fitting(PodGP, own, **sizes)
    return PodGP.from_arrays({key: np.array(values) for key, values in own.items()})


def _told(
    processes: Sequence[NumberProcess],
    others: Sequence[NumberProcess],
    estimates: Mapping[str, Float[np.ndarray, " case"]],
    ask: Callable[[NumberProcess], Told],
) -> tuple[Float[np.ndarray, "case number"], Float[np.ndarray, "case number"]]:
    """Values and standard deviations of all numbers: those of the processes, and how far other ways lie off."""

    def physical(one: NumberProcess) -> tuple[np.ndarray, np.ndarray]:
        values, std = ask(one)
        unit = estimates[one.facts.name] if one.facts.estimated else 1.0
        return unit * values, np.abs(unit) * std

    found = []
    for process in processes:
        values, std = physical(process)
        away = [physical(one)[0] - values for one in others if one.facts.name == process.facts.name]
        found.append((values, np.sqrt(std**2 + np.mean(np.square(away), axis=0)) if away else std))
    values, std = (np.stack(rows, axis=1) for rows in zip(*found, strict=True))
    return values, std


def _good_ways(
    name: str,
    unit: str,
    values: Float[np.ndarray, " run"],
    estimate: Float[np.ndarray, " run"] | None,
    inputs: Mapping[InputKind, np.ndarray],
    sides: Mapping[int, Sequence[Fold]],
) -> list[NumberProcess]:
    """The process of the number over the usual inputs, or one of its share of an estimate over any of them.

    First whichever errs least on runs left out, one at a time and side by side, by the geometric mean of both errors; then
    those that err little more.
    """
    usual = next(iter(inputs))
    tried = [NumberProcess.fit(name, unit, inputs[usual], values, usual)]
    for kind, columns in inputs.items():
        if estimate is not None:
            share = NumberProcess.fit(name, unit, columns, values / estimate, kind)
            tried.append(replace(share, facts=share.facts.model_copy(update={"estimated": True})))
        elif kind != usual:
            tried.append(NumberProcess.fit(name, unit, columns, values, kind))
    groups = [np.flatnonzero(fold.left_out) for folds in sides.values() for fold in folds]

    def score(process: NumberProcess) -> float:
        if not groups:
            return process.facts.error
        missed = process.left_out(groups)[0] - process.learned[np.concatenate(groups)]
        beyond = np.sqrt(np.mean((missed / _size(process.learned)[np.concatenate(groups)]) ** 2))
        return float(np.sqrt(process.facts.error * beyond))

    scores = [score(one) for one in tried]
    order = np.argsort(scores)
    return [tried[place] for place in order if scores[place] <= LITTLE_MORE * scores[order[0]]]


def _size(values: Float[np.ndarray, " run"]) -> Float[np.ndarray, " run"]:
    """What errors are divided by: the values, or their typical size where they are zero."""
    return np.where(values != 0, np.abs(values), np.sqrt(np.mean(values**2)) or 1.0)


def _fit_bars(
    processes: Sequence[NumberProcess],
    others: Sequence[NumberProcess],
    space: NumberSpace,
    estimates: Mapping[str, Float[np.ndarray, " run"]],
) -> Calibration | None:
    """From errors over the processes' own bars, at runs left out one at a time and at sides left out."""
    everyone = [Fold(one) for one in np.eye(len(space.domain.parameters), dtype=bool)]
    if len(everyone) < FEWEST_HELD_OUT:
        return None

    def held_out(folds: Sequence[Fold]) -> HeldOutRuns:
        return _held_out(processes, others, space.domain, estimates, folds)

    sides = ((side, held_out(folds)) for side, folds in space.sides.items())
    fitted = fit_calibration(held_out(everyone), sides, exact=False, steepest=0.0)
    # What is left out in closed form keeps the lengths that it helped to find, which is optimistic: bars never shrink, and few
    # runs leave few degrees of freedom.
    n_runs, n_learned = len(everyone), 1 + 2 * min(one.process.inputs.shape[1] for one in processes)
    few = np.float32(np.sqrt(n_runs / max(n_runs - n_learned, 1)))
    return replace(fitted, scale=few * np.maximum(fitted.scale, 1.0), sides=np.maximum(fitted.sides, 1.0))


def _held_out(
    processes: Sequence[NumberProcess],
    others: Sequence[NumberProcess],
    domain: TrainingDomain,
    estimates: Mapping[str, Float[np.ndarray, " run"]],
    folds: Sequence[Fold],
) -> HeldOutRuns:
    """Relative errors and bars of all numbers at the runs of folds."""
    groups = [np.flatnonzero(fold.left_out) for fold in folds]
    runs = np.concatenate(groups)
    at_runs = {name: one[runs] for name, one in estimates.items()}
    values, std = _told(processes, others, at_runs, lambda one: one.left_out(groups))
    truth = np.stack(
        [one.learned[runs] * (at_runs[one.facts.name] if one.facts.estimated else 1.0) for one in processes], axis=1
    )
    size = np.maximum(np.abs(values), TINY)
    boxes = [replace(domain, parameters=domain.parameters[~fold.left_out]) for fold in folds]
    beyond = [
        box.beyond(domain.parameters[group]) * np.repeat(box.width / domain.width, 2)
        for box, group in zip(boxes, groups, strict=True)
    ]
    return HeldOutRuns(
        error=tuple(((values - truth) / size)[:, :, None]),
        std=tuple((std / size)[:, :, None]),
        run=runs,
        novelty=np.ones(len(runs)),
        beyond=np.concatenate(beyond),
        quantity_error=np.empty((len(runs), 0)),
    )


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
