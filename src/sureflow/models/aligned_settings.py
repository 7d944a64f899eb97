"""Models of aligned runs: what is brought to one place, and how the inputs are scaled and mixed for it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.models.aligned import Aligned
from sureflow.models.alignment import KERNEL, Systems, Warp, combined, missed_at_runs
from sureflow.models.beyond import Group, Sides, learned_sides, nowhere
from sureflow.models.body_frame import BodyFrame
from sureflow.models.contract import (
    MODELS,
    Capabilities,
    Checkpoint,
    Fields,
    FittedModel,
    LayerView,
    ModelSettings,
    Progress,
    View,
    require_enough_runs,
    unheard,
    varying,
)
from sureflow.models.input_metric import learned_metric
from sureflow.models.kernels import SCALE_BOUNDS, Nodes, inverse_system, is_flat, prior
from sureflow.models.neighborhood import learned_width
from sureflow.models.shock_frame import ShockFrame
from sureflow.models.warps import LayerWarp, told_of_lines
from sureflow.runtime import on_all_cores, one_blas_thread
from sureflow.validation import settings

MOST_RUNS = 64  # that scales are learned from

W = TypeVar("W", LayerWarp, ShockFrame, BodyFrame)


class Metric(NamedTuple):
    """By what the inputs that vary are multiplied, how they are then mixed, and how once more in the regions of a warp."""

    scales: Float[np.ndarray, " varying"]
    mixture: Float[np.ndarray, "varying varying"]
    regional: Float[np.ndarray, "region varying varying"]


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

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        return _fit(view, self.name, LayerWarp.of, _scaled)


@MODELS.add
@settings
class ShockAlignedSettings(ModelSettings):
    """Wall layers and shocks, over inputs that are mixed as leaving runs out teaches."""

    name: ClassVar[str] = "shock-aligned"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = replace(AlignedSettings.capabilities, moving=False)
    fitted: ClassVar[type[FittedModel]] = Aligned

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        return _fit(view, self.name, ShockFrame.of, _mixed)


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
        return _fit(view, self.name, BodyFrame.of, _mixed_by_region)


@MODELS.add
@settings
class LayerAlignedSettings(ModelSettings):
    """As `body-aligned`, with shocks that stay where they are: for meshes in which they hardly move."""

    name: ClassVar[str] = "layer-aligned"
    uq: ClassVar[str] = "loo"
    capabilities: ClassVar[Capabilities] = replace(AlignedSettings.capabilities, moving=False)
    fitted: ClassVar[type[FittedModel]] = Aligned

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> Aligned:
        return _fit(view, self.name, partial(BodyFrame.of, still=True), _mixed_by_region)


@one_blas_thread()
def _fit(
    view: View,
    name: str,
    warp_of: Callable[[View, LayerView, tuple[int, ...]], W],
    learned: Callable[[Nodes, W], Metric],
) -> Aligned:
    if view.layer is None or view.shape is None:
        raise SureflowError(f"{name} needs runs with a wall layer: choose interpolation")
    inputs = np.asarray(view.inputs, float)[:, : -told_of_lines(view.shape)]
    require_enough_runs(inputs, name)
    used = varying(inputs)
    warp = warp_of(view, view.layer, view.shape)
    metric = learned(inputs[:, used], warp)
    scales = used.astype(float)
    scales[used] = metric.scales
    nodes = (inputs[:, used] * metric.scales) @ metric.mixture
    systems = Systems.of(nodes, metric.mixture, metric.regional, nowhere(nodes.shape[1]))
    systems = replace(systems, straight=_straight_sides(systems, warp, view.fields))
    missed = missed_at_runs(systems, warp, view.fields)
    width = np.array([learned_width(nodes, missed.residuals)])
    return Aligned.of(scales, systems, missed, width, warp)


def _straight_sides(systems: Systems, warp: Warp, fields: Fields) -> Sides:
    """On which sides the runs go on straight, by the errors that models are compared by."""

    def error(group: Group, straight: Sides) -> float:
        weights, _ = replace(systems, straight=straight).left_out([group])
        found = combined(warp, weights, warp.layers[group])
        return float(np.mean([np.abs(field - fields[run]).mean() for run, field in zip(group, found, strict=True)]))

    def errors(group: Group, straight: Sides) -> tuple[float, float]:
        return error(group, straight), error(group, nowhere(straight.shape[1]))

    return learned_sides(systems.unmixed, errors)


def _scaled(nodes: Nodes, warp: LayerWarp) -> Metric:
    """Scales alone."""
    plain = np.eye(nodes.shape[1])
    return Metric(np.ones(len(plain)) if is_flat(nodes) else _learned_scales(nodes, warp), plain, plain[None][:0])


def _mixed(nodes: Nodes, frame: ShockFrame) -> Metric:
    """One mixture for all of the fields."""
    mixture = learned_metric(KERNEL, nodes, frame.seen)
    return Metric(np.ones(len(mixture)), mixture, mixture[None][:0])


def _mixed_by_region(nodes: Nodes, frame: BodyFrame) -> Metric:
    """A mixture for all of the fields, and of its result another one in every region."""
    seen, plain = frame.seen, np.eye(nodes.shape[1])
    mixture = learned_metric(KERNEL, nodes, np.concatenate(seen, axis=2))
    regional = on_all_cores(lambda some: learned_metric(KERNEL, nodes @ mixture, some, plain), seen)
    return Metric(np.ones(len(plain)), mixture, np.stack(regional))


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
