"""Interpolation of runs whose wall layers, or wall layers and shocks, are brought to one place: for few runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Self

import numpy as np
from jaxtyping import Float, Int

from sureflow import scratch
from sureflow.errors import SureflowError
from sureflow.models.alignment import KERNEL, Field, Missed, Mixed, Powers, Systems, Warp, Weights, at_points, combined
from sureflow.models.belief import Belief, interpolated, mean_squares
from sureflow.models.beyond import (
    DOUBTED,
    StoredSides,
    counts_doubts,
    require_sides,
    sides_of_earlier_versions,
)
from sureflow.models.body_frame import BodyFrame
from sureflow.models.contract import (
    Coordinates,
    Fields,
    FittedModel,
    Groups,
    Inputs,
    LeftOut,
    Samples,
    require_fitting,
    require_names,
)
from sureflow.models.frame_cells import CellPlaces
from sureflow.models.kernels import drawn_errors, left_out_powers, nearby, typical_power
from sureflow.models.products import Rows, product, squares
from sureflow.models.shock_frame import ShockFrame
from sureflow.models.warps import LayerWarp
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.runtime import one_blas_thread

WARP = "warp."  # before the names of its arrays
LEAST_BAR = np.sqrt(np.finfo(np.float32).tiny)  # bars are roots of squares in single precision
MOST_MIXED = 1e12  # condition of a mixture: beyond it, its inverse has no digits
OWN = (
    "nodes",
    "scales",
    "mixture",
    "inverse",
    "residuals",
    "regional",
    "regional_inverse",
    "width",
    "straight",
    "error_sizes",
)  # names of the others


@dataclass(frozen=True)
class Aligned(FittedModel):
    """f(x) = sum_k w_k(x) S_k(x) g_k: every run is warped to the condition, and then the runs are interpolated.

    w are the weights of `Interpolation` with the cubic kernel, in learned scales; a warp may have regions in which the inputs
    are mixed in other ways, and weights of each. S_k(x) moves the values of run k along the lines from the wall to the wall
    layer at x (`LayerWarp`), or to wall layer and shock (`ShockFrame`), or along the wall as well (`BodyFrame`), and nothing
    at x_k: the model passes through the runs. Bars are those of `Interpolation`, from the errors at runs left out one at a
    time, warped as any condition is; in a `BodyFrame`, what was missed is kept in the frame, so that bars go where layer and
    shock go. Beyond the runs, how far straight and bent ways to go on lie apart is a part of them.
    """

    nodes: Float[np.ndarray, "run varying"]  # inputs times their scales
    scales: Float[np.ndarray, " parameter"]  # 0 for parameters that are the same in all runs
    mixture: Float[np.ndarray, "varying varying"]  # of the scaled inputs
    inverse: Float[np.ndarray, "row row"]
    residuals: Float[np.ndarray, "run variable point"]  # e_k sqrt((A^-1)_kk), in float32, on the mesh or in the frame
    regional: Float[np.ndarray, "region varying varying"]  # mixtures of the nodes in the regions of the warp
    regional_inverse: Float[np.ndarray, "region row row"]
    width: Float[np.ndarray, " one"]  # of the neighborhood of a condition, whose runs tell its bars
    straight: StoredSides  # where fields go on straight below and above the runs
    error_sizes: Float[np.ndarray, " known"]  # root mean squares of e_k; of none where residuals are on the mesh
    warp: Warp

    @classmethod
    def of(
        cls,
        scales: Float[np.ndarray, " parameter"],
        systems: Systems,
        missed: Missed,
        width: Float[np.ndarray, " one"],
        warp: Warp,
    ) -> Self:
        first, *regional = systems.mixed
        shape = (len(regional), *first.mixture.shape), (len(regional), *first.inverse.shape)
        mixtures = np.reshape([one.mixture for one in regional], shape[0])
        inverses = np.reshape([one.inverse for one in regional], shape[1])
        residuals, sizes = missed
        straight = systems.straight.astype(float)
        arrays = (first.nodes, scales, systems.mixture, first.inverse, residuals, mixtures, inverses, width, straight)
        return cls(*arrays, sizes, warp)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {name: getattr(self, name) for name in OWN}
        arrays |= {f"{WARP}{name}": array for name, array in self.warp.arrays().items()}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Models of earlier versions do not mix their inputs, or do so in one way, have one width of neighborhoods, go on
        beyond the runs as their kernel does, and keep residuals on the mesh.
        """
        if "nodes" in arrays and "inverse" in arrays:
            varying, rows = np.eye(arrays["nodes"].shape[1]), arrays["inverse"]
            former: dict[str, np.ndarray] = {
                "mixture": varying,
                "width": np.ones(1),
                "straight": sides_of_earlier_versions(len(varying)),
                "error_sizes": np.zeros(0),
            }
            former |= {"regional": varying[None][:0], "regional_inverse": rows[None][:0]}
            former |= {f"{WARP}held": np.zeros(1)} if f"{WARP}told" in arrays else {}
            arrays = {**former, **arrays}
        warp = BodyFrame if f"{WARP}told" in arrays else ShockFrame if f"{WARP}shocks" in arrays else LayerWarp
        names = {*OWN, *(f"{WARP}{item.name}" for item in fields(warp))}
        require_names(names, arrays)
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
        require_sides(own["straight"], own["nodes"].shape[1])
        if not (np.isfinite(own["mixture"]).all() and np.linalg.cond(own["mixture"]) < MOST_MIXED):
            raise SureflowError("the model is damaged: the mixture of its inputs has no inverse; train it again")
        if own["width"].ndim != 1 or own["width"].size != 1 or not own["width"].min() > 0:
            raise SureflowError(f"the model is damaged: width={own['width']} is not a positive number; train it again")
        sizes, framed = own["error_sizes"], (len(own["nodes"]) if count else 0,)
        if sizes.shape not in ((0,), framed) or not (np.isfinite(sizes) & (sizes >= 0)).all():
            raise SureflowError("the model is damaged: the sizes of its errors do not fit its runs; train it again")
        if isinstance(made, BodyFrame) and own["residuals"].shape != made.lost.shape:
            raise SureflowError("the model is damaged: its residuals do not fit its mesh; train it again")
        return cls(**own, warp=made)

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        asked, told = self._used(inputs), self._told(inputs)
        weights, powers = self._systems.weights_and_powers(asked)
        mean = np.stack([*combined(self.warp, weights, told)])
        std = self._bars(powers, asked)
        for case, cells in self._cells(weights, told):
            std[case] = cells.between(std[case])
        for case, doubt in self._doubts(asked, told, mean).items():
            std[case] = np.hypot(std[case], doubt)
        return Predictive(mean, {EPISTEMIC: std})

    def novelty(self, inputs: Inputs, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " case"]:
        """The power function, over its median at runs left out one at a time."""
        return self._systems.power(self._used(inputs)) / self._typical_power

    def left_out_novelty(self, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        return left_out_powers(self.inverse[: len(self.nodes), : len(self.nodes)]) / self._typical_power

    @one_blas_thread()
    def leave_out(self, groups: Groups) -> LeftOut:
        """The weights without a group are in closed form; the residuals of the others are those of the model of all runs."""
        n_runs, runs = len(self.nodes), np.concatenate([np.asarray(group) for group in groups])
        close, start = np.zeros((len(runs), n_runs)), 0
        for group in map(np.asarray, groups):
            rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(n_runs), group)
            close[rows, others] = self._nearby(self.nodes[group], self.nodes[others])
        weights, powers = self._systems.left_out(groups)
        mean = self._left_out_fields(weights, runs)
        std = scratch.room(mean.shape)
        np.multiply(self._at_points(powers), self._spread(close), out=std, casting="same_kind")
        for row, cells in self._cells(weights, self.warp.layers[runs]):
            std[row] = cells.between(std[row])
        if counts_doubts(self.straight):
            self._add_doubts(groups, mean, std)
        return LeftOut(Predictive(mean, {EPISTEMIC: std}), powers[0] / self._typical_power)

    def _add_doubts(self, groups: Groups, mean: Fields, std: Fields) -> None:
        """To the bars at runs that are left out and lie beyond the others."""
        start = 0
        for group in map(np.asarray, groups):
            rows, beyond = np.arange(start, start := start + len(group)), self._systems.is_beyond_others(group)
            if beyond.any():
                weights, _ = self._systems.left_out([group], otherwise=True)
                fields = combined(self.warp, weights[:, beyond], self.warp.layers[group[beyond]])
                for row, field in zip(rows[beyond], fields, strict=True):
                    std[row] = np.hypot(std[row], DOUBTED * (field - mean[row]))

    @one_blas_thread()
    def leave_out_mean(self, groups: Groups) -> Fields:
        runs = np.concatenate([np.asarray(group) for group in groups])
        return self._left_out_fields(self._systems.left_out(groups)[0], runs)

    def _left_out_fields(self, weights: Weights, runs: Int[np.ndarray, " some"]) -> Fields:
        mean = scratch.room((len(runs), *self.residuals.shape[1:]))
        for row, field in enumerate(combined(self.warp, weights, self.warp.layers[runs])):
            mean[row] = field
        return mean

    @property
    def has_samples(self) -> bool:
        return True

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """The mean plus what was missed at a run nearby and the doubt beyond the runs, as `Interpolation` draws them."""
        asked, told = self._used(inputs), self._told(inputs)
        weights, powers = self._systems.weights_and_powers(asked)
        mean, power = np.stack([*combined(self.warp, weights, told)]), self.optimism * self._at_points(powers)
        drawn = drawn_errors(power, self._nearby(asked, self.nodes), self.residuals, count, rng)
        if self.is_framed:
            std = self._bars(powers, asked)
            for case, cells in self._cells(weights, told):
                drawn[:, case] = _drawn_on_mesh(drawn[:, case], std[case], cells, rng)
        drawn += mean
        for case, doubt in self._doubts(asked, told, mean).items():
            drawn[:, case] += rng.choice([-1.0, 1.0], size=count)[:, None, None] * doubt
        return drawn

    def belief(self) -> Belief:
        """That of `Interpolation`, with the mixture of all fields, not that of every region; wall layers only move the runs."""
        metric = np.diag(self.scales)[:, self.scales > 0] @ self.mixture
        squares = self._squares_in_one_mixture()
        return interpolated(KERNEL, metric, self.nodes, self.inverse, squares, float(self.width[0]))

    def _squares_in_one_mixture(self) -> Float[np.ndarray, " run"]:
        """Mean squares of residuals as if A were that of all fields in every region: a region's own has other units."""
        freedom, *regional = (np.diag(inverse)[: len(self.nodes)] for _, _, inverse in self._systems.mixed)
        if self.is_framed:
            return freedom * self.error_sizes**2
        if not isinstance(self.warp, BodyFrame):
            return mean_squares(self.residuals)
        own = np.stack(regional)
        ratio = np.sqrt(np.divide(freedom, own, out=np.zeros_like(own), where=own > np.finfo(float).eps))
        pairs = zip(self.residuals, ratio.T, strict=True)
        return mean_squares(residual * (by_region @ self.warp.shares_of_points) for residual, by_region in pairs)

    @cached_property
    def _squares(self) -> Rows:
        return squares(self.residuals.reshape(len(self.nodes), -1))

    def _nearby(
        self, asked: Float[np.ndarray, "case varying"], nodes: Float[np.ndarray, "some varying"]
    ) -> Float[np.ndarray, "case some"]:
        return nearby(asked, nodes, float(self.width[0]))

    def _spread(self, close: Float[np.ndarray, "case run"]) -> Fields:
        """Root mean square of the residuals with these weights."""
        variance = product(close.astype(np.float32), self._squares)
        return np.sqrt(variance).reshape(len(close), *self.residuals.shape[1:])

    @property
    def optimism(self) -> float:
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

    def _at_points(self, powers: Powers) -> Float[np.ndarray, "case 1 _"]:
        return at_points(self.warp, powers)

    def _bars(self, powers: Powers, asked: Float[np.ndarray, "case varying"]) -> Fields:
        """Bars without doubts; on the cells of the frame, where residuals are kept there."""
        return self.optimism * self._at_points(powers) * self._spread(self._nearby(asked, self.nodes))

    @property
    def is_framed(self) -> bool:
        """Whether residuals are kept in the frame."""
        return len(self.error_sizes) > 0

    def _cells(self, weights: Weights, told: Float[np.ndarray, "case column"]) -> Iterator[tuple[int, CellPlaces]]:
        """Where the cells of every condition's mesh lie in the frame, if bars are kept there."""
        if self.is_framed:
            assert isinstance(self.warp, BodyFrame)
            for case, (shock, asked) in enumerate(zip(weights[0] @ self.warp.shocks, told, strict=True)):
                yield case, self.warp.cells_of_mesh(shock, asked)

    def _told(self, inputs: Inputs) -> Float[np.ndarray, "case column"]:
        """What the warp is told of conditions."""
        return np.asarray(inputs, float)[:, len(self.scales) :]

    def _doubts(
        self, asked: Float[np.ndarray, "case varying"], told: Float[np.ndarray, "case column"], mean: Fields
    ) -> dict[int, Field]:
        """At conditions beyond the runs, half of what the other ways to go on there would change."""
        if not counts_doubts(self.straight) or not self._systems.is_beyond(asked).any():
            return {}
        beyond = np.flatnonzero(self._systems.is_beyond(asked))
        weights, _ = self._systems.weights_and_powers(asked[beyond], otherwise=True)
        fields = combined(self.warp, weights, told[beyond])
        return {case: DOUBTED * (field - mean[case]) for case, field in zip(beyond.tolist(), fields, strict=True)}

    @cached_property
    def _systems(self) -> Systems:
        regional = zip(self.regional, self.regional_inverse, strict=True)
        first = Mixed(np.eye(self.nodes.shape[1]), self.nodes, self.inverse)
        others = (Mixed(mixture, self.nodes @ mixture, inverse) for mixture, inverse in regional)
        return Systems(self.mixture, (first, *others), self.straight > 0)


def _drawn_on_mesh(
    errors: Float[np.ndarray, "sample variable point"], std: Field, cells: CellPlaces, rng: np.random.Generator
) -> Float[np.ndarray, "sample variable point"]:
    """Errors that were drawn in the frame: at every cell those of one around it, in units of bars, which are linear between."""
    on_mesh, units = cells.between(std), errors / np.maximum(std, LEAST_BAR)
    return np.stack([on_mesh * cells.drawn(one, rng) for one in units])
