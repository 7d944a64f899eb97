"""The largest error bar: the point-wise uncertainty of a prediction, aggregated over its field."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from sureflow.acquire.criteria.criterion import CRITERIA, Conditions, Criterion, Gains, Task, Values
from sureflow.errors import SureflowError
from sureflow.physics.regions import REGIONS, flow_regions
from sureflow.surrogate.both_ways import both_ways
from sureflow.surrogate.model import Surrogate
from sureflow.validation import settings

MEAN, MAXIMUM = "mean", "maximum"
# Fields of this many candidates are predicted at most, and of so many at once.
MOST_FIELDS, AT_ONCE = 512, 16


@CRITERIA.add
@settings
class LargestBar(Criterion):
    """Standard deviations of the prediction at a candidate, aggregated (Leon et al. 2023): `of` says over what.

    `mean` or `maximum` over all fields and points, the mean over a region of the flow (shock, shock_layer, wall_layer,
    disturbed, freestream), or a quantity of interest by its name, such as stand_off: its bar relative to its value. Bars of
    fields are in standard deviations of the training fields. At most 512 candidates are predicted, the first ones; the others
    have the bar of the nearest of them.
    """

    name: ClassVar[str] = "largest-bar"
    meaning: ClassVar[str] = "standard deviation of the prediction there, aggregated and normalized"
    of: str = MEAN

    def begin(self, task: Task) -> "BarGains":
        bars = aggregated_bars(task.model, task.candidates[:MOST_FIELDS], self.of)
        return BarGains(task, np.nan_to_num(bars))


class BarGains(Gains):
    """Bars, which shrink about the candidates that were taken as the model's variance does, or else with the distance."""

    def __init__(self, task: Task, bars: Values):
        self.inputs = task.inputs[: len(bars)]
        self.bars, self.task = bars, task
        self.nearest = KDTree(self.inputs).query(task.inputs)[1]
        self.taken: list[int] = []
        self.scale = float(np.median(task.distance(task.run_inputs, task.run_inputs).max(axis=1)))

    def values(self) -> Values:
        found = (self.bars * self._left())[self.nearest]
        found[self.taken] = 0.0
        return found

    def take(self, candidate: int) -> None:
        self.taken.append(candidate)

    def _left(self) -> Values:
        """The share of each bar that the candidates taken so far leave."""
        if not self.taken:
            return np.ones(len(self.bars))
        there = self.task.inputs[self.taken]
        belief = self.task.belief
        if belief is None:
            return np.minimum(1.0, self.task.distance(self.inputs, there).min(axis=1) / self.scale)
        before, after = np.zeros(len(self.bars)), np.zeros(len(self.bars))
        for process in belief.processes[:4]:
            size, variance = process.size(self.inputs), process.variance(self.inputs)
            across = process.covariance(self.inputs, there)
            between = process.covariance(there, there) + (process.noise + 1e-12) * np.eye(len(there))
            removed = np.einsum("ct,ts,cs->c", across, np.linalg.pinv(between, hermitian=True), across)
            before += size * variance
            after += size * np.maximum(variance - removed, 0.0)
        return np.sqrt(np.divide(after, before, out=np.zeros_like(after), where=before > 0))


def aggregated_bars(model: Surrogate, conditions: Conditions, of: str = MEAN) -> Float[np.ndarray, " case"]:
    """One number a condition, from the standard deviations of the prediction there; NaN where a quantity is not told."""
    observer = model.observer
    read_off = [] if observer is None else [quantity.name for quantity in observer.quantities]
    learned = [] if model.numbers is None else [name for name in model.numbers.facts() if name not in read_off]
    known = [MEAN, MAXIMUM, *(REGIONS if observer is not None else ()), *read_off, *learned]
    if of not in known:
        raise SureflowError(f"of={of!r} is not one of {', '.join(known)}")
    blocks = [conditions[start : start + AT_ONCE] for start in range(0, len(conditions), AT_ONCE)]
    if of in read_off or of in learned:
        return np.concatenate([_of_quantity(model, block, of) for block in blocks])
    return np.concatenate([_of_fields(model, block, of) for block in blocks])


def _of_quantity(model: Surrogate, conditions: Conditions, name: str) -> Float[np.ndarray, " case"]:
    """Bars relative to their values: of what is read off the fields, else of the number that is learned by itself."""
    values, bars, numbers = both_ways(model, conditions)
    read_off = [] if model.observer is None else [quantity.name for quantity in model.observer.quantities]
    if name not in read_off:
        value, std = numbers[name]
    elif values is not None and bars is not None:
        column = read_off.index(name)
        value, std = values[:, column], bars[:, column]
    else:
        raise SureflowError(_without_bars(model))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = std / np.abs(value)
    return np.where(np.isfinite(relative), relative, np.nan)


def _of_fields(model: Surrogate, conditions: Conditions, of: str) -> Float[np.ndarray, " case"]:
    found = model.predictive(conditions)
    if found.std is None or model.field_scale is None:
        raise SureflowError(_without_bars(model))
    normalized = np.asarray(found.std) / model.field_scale.std[:, None]
    if of == MEAN:
        return normalized.mean(axis=(1, 2))
    if of == MAXIMUM:
        return normalized.max(axis=(1, 2))
    gas, streams = model.header.gas, model.header.free_streams(conditions)
    shape = model.space.topology.shape
    assert gas is not None
    assert streams is not None
    assert shape is not None
    means = []
    for fields, bars, stream in zip(np.asarray(found.mean), normalized, streams, strict=True):
        mask = flow_regions(fields.reshape(-1, *shape), gas, stream)[of]
        means.append(bars[:, mask].mean() if mask.any() else 0.0)
    return np.array(means)


def _without_bars(model: Surrogate) -> str:
    return (
        f"this {model.model_name} has no error bars: calibrate it, train one that has them, or choose the criterion "
        "space-filling"
    )
