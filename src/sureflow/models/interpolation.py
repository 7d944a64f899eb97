"""Interpolation over the parameters by radial basis functions: no network, and hard to beat on smooth data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np
from jaxtyping import Float, Int

from sureflow import scratch
from sureflow.models.belief import Belief, interpolated, mean_squares
from sureflow.models.beyond import (
    DOUBTED,
    Group,
    Sides,
    StoredSides,
    counts_doubts,
    edge,
    is_beyond,
    learned_sides,
    nowhere,
    require_sides,
    sides_of_earlier_versions,
)
from sureflow.models.contract import (
    MODELS,
    Capabilities,
    Checkpoint,
    Coordinates,
    Fields,
    FittedModel,
    Groups,
    Inputs,
    LeftOut,
    ModelSettings,
    Progress,
    Samples,
    Sizes,
    View,
    require_enough_runs,
    require_names,
    unheard,
)
from sureflow.models.contract import varying as varying_parameters
from sureflow.models.input_metric import learned_scales
from sureflow.models.kernels import (
    KERNELS,
    Kernel,
    Nodes,
    System,
    drawn_errors,
    inverse_system,
    inverse_without,
    is_flat,
    left_out_powers,
    nearby,
    roots_of,
    some_runs,
    term_bends,
    term_slopes,
    typical_power,
)
from sureflow.models.products import Rows, product, squares
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.runtime import one_blas_thread
from sureflow.validation import settings


@dataclass(frozen=True)
class Interpolation(FittedModel):
    """Fields at a condition as a weighted sum of the fields of the runs, with a leave-one-out spread.

    f(x) = sum_j c_j phi(|x - x_j|) + a linear polynomial, through all runs (Fasshauer 2007, ch. 6-8), with every parameter
    in its own scale; all points share the weights w(x) in f(x) = sum_j w_j(x) f_j. What the interpolation of all other runs
    misses at run k is, in closed form, e_k = c_k / (A^-1)_kk (Rippa 1999, with the polynomial in A). The kernel phi is that
    of a Gaussian process whose variance at x is p(x)^2, the power function, and at a left-out run 1 / (A^-1)_kk. So the
    standard deviation is

        std(x)^2 = p(x)^2 sum_k q_k(x) e_k^2 (A^-1)_kk

    with weights q that favor the nearest runs: zero at the runs, growing with the distance from them, and in every point
    of the field as large as the runs nearby have shown it to be. Beyond the runs, on sides where leaving runs out teaches so,
    fields go on along straight lines; how far these and the kernel's own ways lie apart is a part of the bars (`models.beyond`).
    The e_k, also those of runs on the edge, are always those of the kernel's own way.
    """

    # Every time is a pass over all fields, and what does not fit into memory lies in a file.
    left_out_at_once: ClassVar[int] = 1 << 30

    nodes: Float[np.ndarray, "case varying"]  # inputs of the runs times their scales
    scales: Float[np.ndarray, " parameter"]  # 0 for parameters that are the same in all runs
    inverse: Float[np.ndarray, "row row"]  # of A; row: case, then the terms of the polynomial
    fields: Float[np.ndarray, "case variable point"]
    residuals: Float[np.ndarray, "case variable point"]  # e_k sqrt((A^-1)_kk), in float32
    straight: StoredSides  # where fields go on straight below and above the runs
    kernel: str = "cubic"

    def arrays(self) -> dict[str, np.ndarray]:
        kept = ("nodes", "scales", "inverse", "fields", "residuals", "straight")
        return {name: np.ascontiguousarray(getattr(self, name)) for name in kept}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], kernel: str = "cubic") -> Self:
        """Models of earlier versions have all scales 1, and call them `varying`; later ones have no straight sides."""
        given = {"scales" if name == "varying" else name: array for name, array in arrays.items()}
        names = {"nodes", "scales", "inverse", "fields", "residuals", "straight"}
        if "nodes" in given:
            given = {"straight": sides_of_earlier_versions(given["nodes"].shape[-1]), **given}
        require_names(names, given)
        require_sides(given["straight"], given["nodes"].shape[-1])
        return cls(**given, kernel=kernel)

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        inputs = self._used(inputs)
        spread = np.sqrt(product(self._nearby(inputs).astype(np.float32), self._squares))
        spread = spread.reshape(len(inputs), *self.fields.shape[1:])
        weights, power = self._weights_and_powers(inputs)
        std = power[:, None, None] * spread
        for case, doubt in self._doubts(inputs, weights).items():
            std[case] = np.hypot(std[case], doubt)
        return Predictive(self._sum(weights), {EPISTEMIC: std})

    def mean(self, inputs: Inputs) -> Fields:
        """Of `predict`, in half of its time."""
        return self._sum(self._weights_and_powers(self._used(inputs))[0])

    def slope(
        self, inputs: Inputs, coordinates: Coordinates, d_inputs: Inputs, d_coordinates: Coordinates
    ) -> Float[np.ndarray, "variable value"]:
        """In closed form: the weights of the runs are known functions of the inputs."""
        used, along = self._used(inputs), self._used(d_inputs)
        n_runs, near = len(self.nodes), edge(used, self.nodes, self.straight > 0)
        slopes = term_slopes(self._kernel, near, self.nodes, along)
        # Along a straight side, the slope of the line changes too.
        slopes += term_bends(self._kernel, near, self.nodes, used - near, np.where(used == near, along, 0.0))
        weights = slopes @ self.inverse[:, :n_runs]
        return product(weights, self.fields.reshape(n_runs, -1)).reshape(self.fields.shape[1:])

    def novelty(self, inputs: Inputs, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " case"]:
        """The power function, over its median at runs left out one at a time."""
        return self._power(self._used(inputs)) / self._typical_power

    def left_out_novelty(self, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        return left_out_powers(self.inverse[: len(self.nodes), : len(self.nodes)]) / self._typical_power

    @one_blas_thread()
    def leave_out(self, groups: Groups) -> LeftOut:
        """In one pass over the fields for all groups."""
        rows = self.fields.reshape(len(self.nodes), -1)
        without = [_Without.of(self, np.asarray(group)) for group in groups]
        shape = (sum(len(one.group) for one in without), rows.shape[1])
        mean, std = scratch.room(shape), scratch.room(shape)
        inner = self.inverse[: len(rows), : len(rows)]
        for block in scratch.blocks(rows.shape[1], 4 * len(rows)):
            values = np.asarray(rows[:, block], float)
            coefficients = inner @ values
            for one, place in zip(without, _places(without), strict=True):
                mean[place, block], std[place, block] = one.predict(values, coefficients)
        mean, std = (array.reshape(-1, *self.fields.shape[1:]) for array in (mean, std))
        power = np.concatenate([one.power for one in without])
        return LeftOut(Predictive(mean, {EPISTEMIC: std}), power / self._typical_power)

    @one_blas_thread()
    def leave_out_mean(self, groups: Groups) -> Fields:
        """Without the coefficients of the others, which only bars need."""
        rows = self.fields.reshape(len(self.nodes), -1)
        without = [_Without.of(self, np.asarray(group)) for group in groups]
        weights = np.zeros((sum(len(one.group) for one in without), len(rows)))
        for one, place in zip(without, _places(without), strict=True):
            weights[place, one.others] = one.weights
        return product(weights, rows).reshape(-1, *self.fields.shape[1:])

    @property
    def has_samples(self) -> bool:
        return True

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """The mean plus what was missed at a run nearby, drawn by q, and the doubt beyond the runs, each with either sign: the
        variance is std^2.
        """
        inputs = self._used(inputs)
        weights, power = self._weights_and_powers(inputs)
        mean = self._sum(weights)
        drawn = mean + drawn_errors(power, self._nearby(inputs), self.residuals, count, rng)
        for case, doubt in self._doubts(inputs, weights).items():
            drawn[:, case] += rng.choice([-1.0, 1.0], size=count)[:, None, None] * doubt
        return drawn

    def belief(self) -> Belief:
        metric = np.diag(self.scales)[:, self.scales > 0]
        return interpolated(self._kernel, metric, self.nodes, self.inverse, mean_squares(self.residuals))

    @cached_property
    def _squares(self) -> Rows:
        return squares(self.residuals.reshape(len(self.nodes), -1))

    @cached_property
    def _typical_power(self) -> float:
        return typical_power(self.inverse[: len(self.nodes), : len(self.nodes)])

    def _used(self, inputs: Inputs) -> Float[np.ndarray, "case varying"]:
        used = self.scales > 0
        return np.asarray(inputs, float)[:, used] * self.scales[used]

    @property
    def _kernel(self) -> Kernel:
        return KERNELS[self.kernel]

    @cached_property
    def _system(self) -> System:
        return System.of(self._kernel, self.nodes, self.inverse)

    def _power(self, inputs: Inputs) -> Float[np.ndarray, " case"]:
        return self._weights_and_powers(inputs)[1]

    def _weights_and_powers(
        self, inputs: Float[np.ndarray, "case varying"]
    ) -> tuple[Float[np.ndarray, "case run"], Float[np.ndarray, " case"]]:
        return self._system.weights_and_powers(inputs, edge(inputs, self.nodes, self.straight > 0))

    def _doubts(
        self, inputs: Float[np.ndarray, "case varying"], weights: Float[np.ndarray, "case run"]
    ) -> dict[int, Float[np.ndarray, "variable point"]]:
        """At conditions beyond the runs, half of what the other ways to go on there would change."""
        if not counts_doubts(self.straight):
            return {}
        beyond = np.flatnonzero(is_beyond(inputs, self.nodes))
        near = edge(inputs[beyond], self.nodes, self.straight <= 0)
        others, _ = self._system.weights_and_powers(inputs[beyond], near)
        return dict(zip(beyond.tolist(), self._sum(DOUBTED * (others - weights[beyond])), strict=True))

    def _sum(self, weights: Float[np.ndarray, "case run"]) -> Fields:
        rows = self.fields.reshape(len(self.nodes), -1)
        return product(weights, rows).reshape(len(weights), *self.fields.shape[1:])

    def _nearby(self, inputs: Inputs) -> Float[np.ndarray, "case run"]:
        return nearby(inputs, self.nodes)


@dataclass(frozen=True)
class _Without:
    """The interpolation of all runs but those of a group G, from that of all.

    With P the block of A^-1 that belongs to the runs and c = P f, the errors at the group are e = (P_GG)^-1 c_G, the
    variances there the diagonal of (P_GG)^-1, and the others keep the coefficients c_K - P_KG e (Dubrule 1983; Ginsbourger &
    Schaerer 2021). Where runs of the group lie beyond the others, only the coefficients follow from that, and where the others
    alone leave the polynomial open, nothing does: then the system of the others is solved.
    """

    group: Int[np.ndarray, " run"]
    others: Int[np.ndarray, " other"]
    errors: Float[np.ndarray, "run run"] | None  # (P_GG)^-1; none where it does not exist
    coupling: Float[np.ndarray, "other run"]  # P_KG
    inner: Float[np.ndarray, "other other"]  # P of the others alone
    weights: Float[np.ndarray, "run other"]
    power: Float[np.ndarray, " run"]
    # Half of what the other ways to go on change the weights by, where runs of the group lie beyond the others.
    doubt: Float[np.ndarray, "run other"] | None
    nearby: Float[np.ndarray, "run other"]

    @classmethod
    def of(cls, model: Interpolation, group: Int[np.ndarray, " run"]) -> "_Without":
        others = np.setdiff1d(np.arange(len(model.nodes)), group)
        asked, nodes, coupling = model.nodes[group], model.nodes[others], model.inverse[np.ix_(others, group)]
        if is_flat(nodes):
            errors, inverse = None, inverse_system(model._kernel, nodes)
        else:
            errors, inverse = np.linalg.inv(model.inverse[np.ix_(group, group)]), inverse_without(model.inverse, group)
        inner, doubt = inverse[: len(nodes), : len(nodes)], None
        if errors is not None and not is_beyond(asked, nodes).any():
            weights, power = -errors @ coupling.T, np.sqrt(np.maximum(np.diag(errors), 0.0))
        else:
            system = System.of(model._kernel, nodes, inverse)
            weights, power = system.weights_and_powers(asked, edge(asked, nodes, model.straight > 0))
            if counts_doubts(model.straight):
                otherwise, _ = system.weights_and_powers(asked, edge(asked, nodes, model.straight <= 0))
                doubt = DOUBTED * (otherwise - weights)
        return cls(group, others, errors, coupling, inner, weights, power, doubt, nearby(asked, nodes))

    def predict(
        self, values: Float[np.ndarray, "all value"], coefficients: Float[np.ndarray, "all value"]
    ) -> tuple[Float[np.ndarray, "run value"], Float[np.ndarray, "run value"]]:
        """Mean and standard deviation at the runs of the group, from the fields of all runs and their coefficients."""
        if self.errors is None:
            left = self.inner @ values[self.others]
        else:
            left = coefficients[self.others] - self.coupling @ (self.errors @ coefficients[self.group])
        std = self.power[:, None] * np.sqrt(self.nearby @ (left / _freedom(self.inner)) ** 2)
        if self.doubt is not None:
            std = np.hypot(std, self.doubt @ values[self.others])
        return self.weights @ values[self.others], std


def _places(without: list[_Without]) -> Iterator[slice]:
    """The rows of every group."""
    start = 0
    for one in without:
        yield slice(start, start := start + len(one.group))


@MODELS.add
@settings
class InterpolationSettings(ModelSettings):
    """The kernel, and whether all inputs count by their spread over the runs or in scales that leaving runs out teaches."""

    name: ClassVar[str] = "interpolation"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = Capabilities(refits_quickly=True, leaves_out=True)
    fitted: ClassVar[type[FittedModel]] = Interpolation
    kernel: Literal["cubic", "thin-plate", "matern"] = "cubic"
    scales: Literal["equal", "learned"] = "equal"

    @one_blas_thread()
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Interpolation:
        require_enough_runs(view.inputs, self.name)
        kernel, scales = KERNELS[self.kernel], varying_parameters(view.inputs).astype(float)
        nodes = np.asarray(view.inputs, float)[:, scales > 0]
        if self.scales == "learned":
            scales[scales > 0] = learned_scales(kernel, nodes, view.fields)
            nodes = nodes * scales[scales > 0]
        inverse = inverse_system(kernel, nodes)
        inner = inverse[: len(nodes), : len(nodes)]
        straight = _straight_sides(kernel, nodes, view.fields).astype(float)
        return Interpolation(nodes, scales, inverse, view.fields, _residuals(inner, view.fields), straight, self.kernel)

    def restore(self, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> Interpolation:
        return Interpolation.from_arrays(arrays, self.kernel)

    @property
    def title(self) -> str:
        special = [self.kernel] * (self.kernel != "cubic") + ["learned scales"] * (self.scales == "learned")
        return f"{self.name} ({', '.join(special)})" if special else self.name


def _straight_sides(kernel: Kernel, nodes: Nodes, fields: Fields) -> Sides:
    """On which sides the runs go on straight, by the root mean square over the field, as scales are learned."""
    used = some_runs(len(nodes))
    nodes, roots = nodes[used], roots_of(fields, used)
    if is_flat(nodes):
        return nowhere(nodes.shape[1])
    inverse = inverse_system(kernel, nodes)

    def errors(group: Group, straight: Sides) -> tuple[float, float]:
        others = np.setdiff1d(np.arange(len(nodes)), group)
        asked, kept = nodes[group], nodes[others]
        system = System.of(kernel, kept, inverse_without(inverse, group))
        missed = (
            system.weights_and_powers(asked, edge(asked, kept, sides))[0] @ roots[others] - roots[group]
            for sides in (straight, nowhere(nodes.shape[1]))
        )
        first, second = (float(np.linalg.norm(one, axis=1).mean()) for one in missed)
        return first, second

    return learned_sides(nodes, errors)


def _residuals(inner: Float[np.ndarray, "case case"], fields: Fields) -> Fields:
    """e_k sqrt((A^-1)_kk) of every run."""
    freedom = _freedom(inner)
    rows = fields.reshape(len(fields), -1)
    residuals = scratch.empty(rows.shape, np.float32)
    for block in scratch.blocks(rows.shape[1], 2 * len(rows)):
        residuals[:, block] = (inner @ rows[:, block]) / freedom
    return residuals.reshape(fields.shape)


def _freedom(inner: Float[np.ndarray, "case case"]) -> Float[np.ndarray, "case 1"]:
    """sqrt((A^-1)_kk). A run that the polynomial needs leaves no interpolation behind when it is left out: it tells nothing."""
    return np.sqrt(np.maximum(np.diag(inner), np.finfo(float).eps))[:, None]
