"""Interpolation of runs whose wall layers, or wall layers and shocks, are brought to one place: for few runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from jaxtyping import Float, Int

from sureflow import scratch
from sureflow.errors import SureflowError
from sureflow.models.belief import Belief, interpolated
from sureflow.models.body_frame import BodyFrame
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
    View,
    require_enough_runs,
    require_fitting,
    unheard,
)
from sureflow.models.contract import varying as varying_parameters
from sureflow.models.input_metric import learned_metric
from sureflow.models.kernels import (
    KERNELS,
    SCALE_BOUNDS,
    drawn_fields,
    inverse_system,
    is_flat,
    left_out_powers,
    nearby,
    power_function,
    prior,
    terms,
    typical_power,
)
from sureflow.models.products import Rows, product, squares
from sureflow.models.shock_frame import ShockFrame
from sureflow.models.warps import COLUMNS, LayerWarp, told_of_lines
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.runtime import one_blas_thread
from sureflow.validation import settings

KERNEL = KERNELS["cubic"]
MOST_RUNS = 64  # that scales are learned from
WARP = "warp."  # before the names of its arrays
OWN = ("nodes", "scales", "mixture", "inverse", "residuals", "regional", "regional_inverse")  # names of the others

Weights = Float[np.ndarray, "_ case run"]  # for all of the fields, then region by region
Field = Float[np.ndarray, "variable point"]
Warp = LayerWarp | ShockFrame | BodyFrame
Powers = Float[np.ndarray, "_ case"]  # alike
Systems = list[tuple[np.ndarray, np.ndarray]]  # nodes, and the inverse of A


@dataclass(frozen=True)
class Aligned(FittedModel):
    """f(x) = sum_k w_k(x) S_k(x) g_k: every run is warped to the condition, and then the runs are interpolated.

    w are the weights of `Interpolation` with the cubic kernel, in learned scales; a warp may have regions in which the inputs
    are mixed in other ways, and weights of each. S_k(x) moves the values of run k along the
    lines from the wall to the wall layer at x (`LayerWarp`), or to wall layer and shock (`ShockFrame`), or along the wall as well
    (`BodyFrame`), and nothing at x_k:
    the model passes through the runs. Bars are those of `Interpolation`, from the errors at runs left out one at a time,
    warped as any condition is.
    """

    nodes: Float[np.ndarray, "run varying"]  # inputs times their scales
    scales: Float[np.ndarray, " parameter"]  # 0 for parameters that are the same in all runs
    mixture: Float[np.ndarray, "varying varying"]  # of the scaled inputs
    inverse: Float[np.ndarray, "row row"]
    residuals: Float[np.ndarray, "run variable point"]  # e_k sqrt((A^-1)_kk), in float32
    regional: Float[np.ndarray, "region varying varying"]  # mixtures of the nodes in the regions of the warp
    regional_inverse: Float[np.ndarray, "region row row"]
    warp: Warp

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {name: getattr(self, name) for name in OWN}
        arrays |= {f"{WARP}{name}": array for name, array in self.warp.arrays().items()}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Models of earlier versions do not mix their inputs, or do so in one way."""
        if "nodes" in arrays and "inverse" in arrays:
            varying, rows = np.eye(arrays["nodes"].shape[1]), arrays["inverse"]
            arrays = {"mixture": varying, "regional": varying[None][:0], "regional_inverse": rows[None][:0], **arrays}
        warp = BodyFrame if f"{WARP}told" in arrays else ShockFrame if f"{WARP}shocks" in arrays else LayerWarp
        names = {*OWN, *(f"{WARP}{item.name}" for item in fields(warp))}
        if names != set(arrays):
            raise SureflowError(f"an {cls.__name__} model has the arrays {sorted(names)}; found: {sorted(arrays)}")
        own = {name: arrays[name] for name in OWN}
        moved = {name.removeprefix(WARP): arrays[name] for name in names - {*OWN}}
        require_fitting(warp, moved, run=len(own["nodes"]), variable=own["residuals"].shape[1])
        made = warp(**moved)
        if not made.is_sound:
            raise SureflowError(f"the model is damaged: the numbers in {WARP}* do not fit its arrays; train it again")
        mixed = [(own["nodes"].shape[1],) * 2, own["inverse"].shape]
        count = len(made.regions) if isinstance(made, BodyFrame) else 0
        if [own[name].shape for name in ("regional", "regional_inverse")] != [(count, *shape) for shape in mixed]:
            raise SureflowError("the model is damaged: its mixtures do not fit the regions of its warp; train it again")
        return cls(**own, warp=made)

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        asked = self._used(inputs)
        spread = self._spread(nearby(asked, self.nodes))
        return Predictive(
            self._mean(inputs), {EPISTEMIC: self.flattery * self._at_points(self._powers(asked)) * spread}
        )

    def novelty(self, inputs: Inputs, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " case"]:
        """The power function, over its median at runs left out one at a time."""
        return self._power(self._used(inputs)) / self._typical_power

    def left_out_novelty(self, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        return left_out_powers(self.inverse[: len(self.nodes), : len(self.nodes)]) / self._typical_power

    @one_blas_thread()
    def leave_out(self, groups: Groups) -> LeftOut:
        """The weights without a group are in closed form; the residuals of the others are those of the model of all runs."""
        n_runs, runs = len(self.nodes), np.concatenate([np.asarray(group) for group in groups])
        close, start = np.zeros((len(runs), n_runs)), 0
        for group in map(np.asarray, groups):
            rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(n_runs), group)
            close[rows, others] = nearby(self.nodes[group], self.nodes[others])
        weights, powers = _left_out(self._systems, groups)
        mean = scratch.room((len(runs), *self.residuals.shape[1:]))
        for row, field in enumerate(_combined(self.warp, weights, self.warp.layers[runs])):
            mean[row] = field
        std = scratch.room(mean.shape)
        np.multiply(self._at_points(powers), self._spread(close), out=std, casting="same_kind")
        return LeftOut(Predictive(mean, {EPISTEMIC: std}), powers[0] / self._typical_power)

    @property
    def has_samples(self) -> bool:
        return True

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """The mean plus what was missed at a run nearby, as `Interpolation` draws it."""
        asked = self._used(inputs)
        close, power = nearby(asked, self.nodes), self.flattery * self._at_points(self._powers(asked))
        return drawn_fields(self._mean(inputs), power, close, self.residuals, count, rng)

    def belief(self) -> Belief:
        """That of `Interpolation`, with the mixture of all fields, not that of every region; wall layers only move the runs."""
        metric = np.diag(self.scales)[:, self.scales > 0] @ self.mixture
        return interpolated(KERNEL, metric, self.nodes, self.inverse, self._residuals_in_one_mixture())

    def _residuals_in_one_mixture(self) -> Iterator[Field]:
        """Residuals, run by run, as if A were that of all fields in every region: a region's own has other units."""
        freedom, *regional = (np.diag(inverse)[: len(self.nodes)] for _, inverse in self._systems)
        if not isinstance(self.warp, BodyFrame):
            yield from self.residuals
            return
        own = np.stack(regional)
        ratio = np.sqrt(np.divide(freedom, own, out=np.zeros_like(own), where=own > np.finfo(float).eps))
        for residual, by_region in zip(self.residuals, ratio.T, strict=True):
            yield residual * by_region[self.warp.region_of_points]

    @cached_property
    def _squares(self) -> Rows:
        return squares(self.residuals.reshape(len(self.nodes), -1))

    def _spread(self, close: Float[np.ndarray, "case run"]) -> Fields:
        """Root mean square of the residuals with these weights."""
        variance = product(close.astype(np.float32), self._squares)
        return np.sqrt(variance).reshape(len(close), *self.residuals.shape[1:])

    @property
    def flattery(self) -> float:
        """How much larger errors are than at runs left out, which the mixtures of the inputs have seen.

        As in a regression, sqrt(n / (n - unknowns)), with half as many unknowns as a mixture has, since a prior holds them; at
        most as if half of the runs were used up.
        """
        n_runs, n_varying = self.nodes.shape
        unknowns = n_varying * (n_varying + 1) / 4 if len(self.regional) else 0.0
        return float(np.sqrt(n_runs / max(n_runs - unknowns, 0.5 * n_runs)))

    @cached_property
    def _typical_power(self) -> float:
        return typical_power(self.inverse[: len(self.nodes), : len(self.nodes)])

    def _used(self, inputs: Inputs) -> Float[np.ndarray, "case varying"]:
        used = self.scales > 0
        return (np.asarray(inputs, float)[:, : len(used)][:, used] * self.scales[used]) @ self.mixture

    def _power(self, asked: Float[np.ndarray, "case varying"]) -> Float[np.ndarray, " case"]:
        return power_function(KERNEL, asked, self.nodes, self.inverse)

    def _powers(self, asked: Float[np.ndarray, "case varying"]) -> Powers:
        """The power function, for all of the fields, then region by region."""
        pairs = zip(self._mixtures, self._systems, strict=True)
        return np.stack([power_function(KERNEL, asked @ mixture, *system) for mixture, system in pairs])

    def _at_points(self, powers: Powers) -> Float[np.ndarray, "case 1 _"]:
        return _at_points(self.warp, powers)

    @property
    def _mixtures(self) -> list[np.ndarray]:
        return [np.eye(self.nodes.shape[1]), *self.regional]

    def _mean(self, inputs: Inputs) -> Fields:
        asked, n_runs = self._used(inputs), len(self.nodes)
        weights = [
            terms(KERNEL, asked @ mixture, nodes) @ inverse[:, :n_runs]
            for mixture, (nodes, inverse) in zip(self._mixtures, self._systems, strict=True)
        ]
        return np.stack([*_combined(self.warp, np.stack(weights), np.asarray(inputs, float)[:, len(self.scales) :])])

    @cached_property
    def _systems(self) -> Systems:
        regional = zip(self.regional, self.regional_inverse, strict=True)
        return [(self.nodes, self.inverse), *((self.nodes @ mixture, inverse) for mixture, inverse in regional)]


@MODELS.add
@settings
class AlignedSettings(ModelSettings):
    """All that it needs follows from mesh and runs."""

    name: ClassVar[str] = "aligned"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = Capabilities(
        refits_quickly=True, leaves_out=True, needs_structured_mesh=True, needs_wall_layer=True
    )
    fitted: ClassVar[type[FittedModel]] = Aligned

    @one_blas_thread()
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        if view.layer is None or view.shape is None:
            raise SureflowError(f"{self.name} needs runs with a wall layer: choose interpolation")
        inputs = _own_inputs(view)
        require_enough_runs(inputs, self.name)
        scales = varying_parameters(inputs).astype(float)
        nodes, warp = inputs[:, scales > 0], LayerWarp.of(view, view.layer, view.shape)
        if not is_flat(nodes):
            scales[scales > 0] = _learned_scales(nodes, warp)
            nodes = nodes * scales[scales > 0]
        inverse = inverse_system(KERNEL, nodes)
        mixture, residuals = np.eye(nodes.shape[1]), _residuals([(nodes, inverse)], warp, view.fields)
        return Aligned(nodes, scales, mixture, inverse, residuals, mixture[None][:0], inverse[None][:0], warp)


@MODELS.add
@settings
class ShockAlignedSettings(ModelSettings):
    """Wall layers and shocks, over inputs that are mixed as leaving runs out teaches."""

    name: ClassVar[str] = "shock-aligned"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = replace(AlignedSettings.capabilities, moving=False)
    fitted: ClassVar[type[FittedModel]] = Aligned

    @one_blas_thread()
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        if view.layer is None or view.shape is None:
            raise SureflowError(f"{self.name} needs runs with a wall layer: choose interpolation")
        inputs = _own_inputs(view)
        require_enough_runs(inputs, self.name)
        used = varying_parameters(inputs)
        frame = ShockFrame.of(view, view.layer, view.shape)
        mixture = learned_metric(KERNEL, inputs[:, used], frame.seen)
        nodes = inputs[:, used] @ mixture
        inverse, scales = inverse_system(KERNEL, nodes), used.astype(float)
        residuals = _residuals([(nodes, inverse)], frame, view.fields)
        return Aligned(nodes, scales, mixture, inverse, residuals, mixture[None][:0], inverse[None][:0], frame)


@MODELS.add
@settings
class BodyAlignedSettings(ModelSettings):
    """Wall layers, shocks and turns of walls, over inputs that are mixed region by region, as leaving runs out teaches: for
    bodies and meshes that vary.
    """

    name: ClassVar[str] = "body-aligned"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = replace(AlignedSettings.capabilities, moving=True)
    fitted: ClassVar[type[FittedModel]] = Aligned

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        return _by_region(view, self.name, still=False)


@MODELS.add
@settings
class LayerAlignedSettings(ModelSettings):
    """As `body-aligned`, with shocks that stay where they are: for meshes in which they hardly move."""

    name: ClassVar[str] = "layer-aligned"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = replace(AlignedSettings.capabilities, moving=False)
    fitted: ClassVar[type[FittedModel]] = Aligned

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        return _by_region(view, self.name, still=True)


@one_blas_thread()
def _by_region(view: View, name: str, *, still: bool) -> Aligned:
    """A model in the frame of bodies, with inputs that are mixed region by region; shocks may be `still`."""
    if view.layer is None or view.shape is None:
        raise SureflowError(f"{name} needs runs with a wall layer: choose interpolation")
    inputs = _own_inputs(view)
    require_enough_runs(inputs, name)
    used = varying_parameters(inputs)
    frame = BodyFrame.of(view, view.layer, view.shape, still=still)
    seen = frame.seen
    mixture = learned_metric(KERNEL, inputs[:, used], np.concatenate(seen, axis=2))
    nodes, scales, plain = inputs[:, used] @ mixture, used.astype(float), np.eye(used.sum())
    regional = [learned_metric(KERNEL, nodes, some, plain) for some in seen]
    systems = [(nodes @ mixed, inverse_system(KERNEL, nodes @ mixed)) for mixed in (plain, *regional)]
    (_, inverse), *others = systems
    residuals = _residuals(systems, frame, view.fields)
    inverses = np.stack([other for _, other in others])
    return Aligned(nodes, scales, mixture, inverse, residuals, np.stack(regional), inverses, frame)


def _combined(warp: Warp, weights: Weights, told: Float[np.ndarray, "case column"]) -> Iterator[Field]:
    """Sums of the runs, warped to conditions of which this is told; one after the other."""
    return (
        warp.combined(weights, told) if isinstance(warp, BodyFrame) else warp.combined(weights[0], told[:, -COLUMNS:])
    )


def _own_inputs(view: View) -> Float[np.ndarray, "run parameter"]:
    """Without what is told of the lines."""
    assert view.shape is not None
    return np.asarray(view.inputs, float)[:, : -told_of_lines(view.shape)]


def _at_points(warp: Warp, powers: Powers) -> Float[np.ndarray, "case 1 _"]:
    """The power function at the points of the fields, by their regions where there are some; else one number."""
    return powers[1 + warp.region_of_points].T[:, None] if isinstance(warp, BodyFrame) else powers[0][:, None, None]


def _left_out(systems: Systems, groups: Groups) -> tuple[Weights, Powers]:
    """Weights of the other runs at runs that are left out in groups, and the power function, in every region."""
    n_runs, runs = len(systems[0][0]), np.concatenate([np.asarray(group) for group in groups])
    weights, powers = np.zeros((len(systems), len(runs), n_runs)), np.empty((len(systems), len(runs)))
    start = 0
    for group in map(np.asarray, groups):
        rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(n_runs), group)
        for number, (nodes, inverse) in enumerate(systems):
            weights[number][rows, others], powers[number, rows] = _weights_without(nodes, inverse, group, others)
    return weights, powers


def _residuals(systems: Systems, warp: Warp, fields: Fields) -> Fields:
    """What is missed at every run left out, over the power function there."""
    residuals, everyone = scratch.empty(fields.shape, np.float32), np.arange(len(fields))
    weights, powers = _left_out(systems, [*everyone[:, None]])
    # A run that the polynomial needs leaves no interpolation behind: it tells nothing.
    useful, at_points = powers[0] < 1.0 / np.sqrt(np.finfo(float).eps), _at_points(warp, powers)
    for run, field in enumerate(_combined(warp, weights, warp.layers)):
        residuals[run] = (field - fields[run]) / at_points[run] if useful[run] else 0.0
    return residuals


def _weights_without(
    nodes: Float[np.ndarray, "run varying"],
    inverse: Float[np.ndarray, "row row"],
    group: Int[np.ndarray, " some"],
    others: Int[np.ndarray, " other"],
) -> tuple[Float[np.ndarray, "some other"], Float[np.ndarray, " some"]]:
    """Weights of the other runs, and the power function, at a group G that is left out.

    With P the block of A^-1 that belongs to the runs: -(P_GG)^-1 P_GK, and the diagonal of (P_GG)^-1.
    """
    if is_flat(nodes[others]):
        own = inverse_system(KERNEL, nodes[others])
        weights = terms(KERNEL, nodes[group], nodes[others]) @ own[:, : len(others)]
        return weights, power_function(KERNEL, nodes[group], nodes[others], own)
    errors = np.linalg.inv(inverse[np.ix_(group, group)])
    return -errors @ inverse[np.ix_(group, others)], np.sqrt(np.maximum(np.diag(errors), 0.0))


def _learned_scales(nodes: Float[np.ndarray, "run varying"], warp: LayerWarp) -> Float[np.ndarray, " varying"]:
    """By what to multiply each input, so that runs left out one at a time are predicted best.

    What is missed at run i is sum_k w_k (S_k(x_i) g_k - g_i): its square needs the products of these differences with each
    other alone, which no scale changes.
    """
    from scipy.optimize import minimize  # not needed for predictions

    used = np.unique(np.linspace(0, len(nodes) - 1, min(len(nodes), MOST_RUNS)).astype(int))
    nodes, grams = nodes[used], warp.differences(used)

    def objective(logarithms: np.ndarray) -> float:
        inner = inverse_system(KERNEL, nodes * np.exp(logarithms))[: len(used), : len(used)]
        weights = -inner / np.maximum(np.diag(inner), np.finfo(float).eps)[:, None]
        np.fill_diagonal(weights, 0.0)
        missed = np.sqrt(np.maximum(np.einsum("ij,ijk,ik->i", weights, grams, weights, optimize=True), 0.0))
        return float(np.log(missed.mean() + np.finfo(float).tiny) + prior(logarithms, len(used)))

    bounds = [SCALE_BOUNDS] * nodes.shape[1]
    found = minimize(objective, np.zeros(nodes.shape[1]), method="L-BFGS-B", bounds=bounds, options={"maxiter": 40})
    return np.exp(found.x)
