"""The error of the mesh, learned as a field over conditions from runs on nested meshes.

At a captured shock Richardson extrapolation fails point by point: the position of a shock is first order whatever the scheme,
and differences change sign from cell to cell. So the two are kept apart, both in the normalized space of the model:

    smooth   the differences between two meshes, over 1 - r^-p to the limit of fine cells. Their squares are averaged over
             neighboring cells. The order p is told by a third mesh, by the same averages over all conditions, and held in
             [1, 2]; without one it is 1.
    shock    how far it moves from one mesh to the next, over 1 - 1/r, times the gradient of the predicted field across it.

At another condition the squares of the pairs nearby are averaged. A factor for each field makes 90 % of the points of a pair
that is left out lie within 1.645 standard deviations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.ndimage import maximum_filter, uniform_filter

from sureflow.metrics.grid_convergence import HIGHEST_ORDER, LOWEST_ORDER, remaining_error
from sureflow.validation import settings

Blocks = Float[np.ndarray, "pair variable nj ni"]
Block = Float[np.ndarray, "variable nj ni"]
Mask = Bool[np.ndarray, "nj ni"]

WITHIN = 1.6449  # standard deviations that hold 90 % of a normal distribution
SMOOTHED = 3  # cells in either direction
FOR_ORDER = 5
NEAREST = 3  # pairs whose distance is the width of the weights
FACTORS = (0.5, 5.0)  # between which the calibration may change the bars
ARRAYS = ("inputs", "squares", "displacement", "quantities")


@settings
class MeshErrorFacts:
    """What arrays do not say."""

    refinement: int
    factors: tuple[float, ...]  # by field
    quantity_names: tuple[str, ...] = ()
    orders_known: bool = False


@dataclass(frozen=True)
class Seen:
    """What bars at a condition depend on besides the condition: the predicted fields, and where their shock is."""

    fields: Block  # in normalized units
    shock: Mask


@dataclass(frozen=True)
class MeshError:
    """Squares and displacements of pairs of runs, by what the model sees of their conditions."""

    inputs: Float[np.ndarray, "pair parameter"]
    squares: Blocks  # of the error away from shocks
    displacement: Float[np.ndarray, "pair ni"]  # of the shock, in cells, to the limit of fine ones
    quantities: Float[np.ndarray, "pair quantity"]  # relative standard deviations
    facts: MeshErrorFacts

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.ascontiguousarray(getattr(self, name)) for name in ARRAYS}

    def std(self, inputs: Float[np.ndarray, " parameter"], seen: Seen) -> Block:
        """Standard deviations of the error of the mesh at one condition, in normalized units."""
        return np.array(self.facts.factors)[:, None, None] * self._std(inputs, seen, np.ones(len(self.inputs), bool))

    def quantity_std(self, inputs: Float[np.ndarray, " parameter"]) -> dict[str, float]:
        """Relative standard deviations by the name of the quantity."""
        weight = self._weights(inputs, np.ones(len(self.inputs), bool))
        found = np.sqrt(weight @ self.quantities**2)
        return dict(zip(self.facts.quantity_names, found.tolist(), strict=True))

    def scores(self, pair: int, error: Block, seen: Seen) -> Block:
        """|error| / std of a pair, by the bars of the others before calibration."""
        others = np.arange(len(self.inputs)) != pair
        std = self._std(self.inputs[pair], seen, others)
        return np.abs(error) / np.maximum(std, np.finfo(float).tiny)

    def _std(self, inputs: np.ndarray, seen: Seen, used: Bool[np.ndarray, " pair"]) -> Block:
        weight = self._weights(inputs, used)
        smooth = np.einsum("p,pvji->vji", weight, self.squares)
        moved = np.sqrt(weight @ self.displacement**2)
        across = maximum_filter(np.abs(np.gradient(seen.fields, axis=1)), (1, 3, 1))
        return np.sqrt(smooth + np.where(seen.shock, (moved * across) ** 2, 0.0))

    def _weights(self, inputs: np.ndarray, used: Bool[np.ndarray, " pair"]) -> Float[np.ndarray, " pair"]:
        """A Gaussian of the distance, as wide as the distance to the nearest few pairs."""
        distance = np.where(used, np.linalg.norm(self.inputs - inputs, axis=1), np.inf)
        width = max(np.sort(distance)[min(NEAREST, int(used.sum())) - 1], 1e-9)
        weight = np.exp(-0.5 * (distance**2 - distance.min() ** 2) / width**2)
        return weight / weight.sum()


def fit_mesh_error(
    inputs: Float[np.ndarray, "pair parameter"],
    differences: Blocks,
    seen: Sequence[Seen],
    displacement: Float[np.ndarray, "pair ni"],
    counted: Sequence[Mask],
    *,
    refinement: int,
    order: Block | None = None,
    quantities: Float[np.ndarray, "pair quantity"] | None = None,
    quantity_names: tuple[str, ...] = (),
) -> MeshError:
    """From the differences fine - coarse of some pairs; `displacement` is that between their shocks, in coarse cells.

    `counted` are the points that calibration looks at.
    """
    whole = remaining_error(np.full(differences.shape[1:], LOWEST_ORDER) if order is None else order, refinement)
    errors = differences * whole
    shocks = np.stack([one.shock for one in seen])
    facts = MeshErrorFacts(refinement, (1.0,) * differences.shape[1], quantity_names, orders_known=order is not None)
    made = MeshError(
        inputs,
        np.stack([_smoothed(error**2, ~shock) for error, shock in zip(errors, shocks, strict=True)]),
        np.sqrt(
            uniform_filter(
                (displacement * float(remaining_error(LOWEST_ORDER, float(refinement)))) ** 2, FOR_ORDER, axes=(1,)
            )
        ),
        np.zeros((len(inputs), 0)) if quantities is None else quantities,
        facts,
    )
    scores = [made.scores(pair, errors[pair], seen[pair])[:, counted[pair]] for pair in range(len(inputs))]
    factors = np.quantile(np.concatenate(scores, axis=1), 0.9, axis=1) / WITHIN
    held = tuple(np.clip(factors, *FACTORS).tolist())
    return MeshError(
        made.inputs,
        made.squares,
        made.displacement,
        made.quantities,
        MeshErrorFacts(refinement, held, quantity_names, orders_known=order is not None),
    )


def local_order(coarser: Blocks, finer: Blocks, refinement: int) -> Block:
    """Observed orders from differences between three meshes, both on one mesh: averages over neighbors and conditions."""
    sizes = [uniform_filter((one**2).mean(axis=0), FOR_ORDER, axes=(1, 2)) for one in (coarser, finer)]
    tiny = 1e-12 * max(float(size.max()) for size in sizes) + np.finfo(float).tiny
    ratio = np.maximum(sizes[0], tiny) / np.maximum(sizes[1], tiny)
    return np.clip(0.5 * np.log(ratio) / np.log(refinement), LOWEST_ORDER, HIGHEST_ORDER)


def _smoothed(squares: Block, mask: Mask) -> Block:
    """Averages over neighbors of what the mask counts."""
    total = uniform_filter(np.where(mask, squares, 0.0), SMOOTHED, axes=(1, 2))
    share = uniform_filter(mask.astype(float), SMOOTHED)
    return np.maximum(total, 0.0) / np.maximum(share, 1.0 / SMOOTHED**2)
