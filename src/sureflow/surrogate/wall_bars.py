"""Bars of what acts along the wall, from the errors of these very distributions on held-out runs and sides.

As with quantities, errors are relative to the predicted value, and the novelty of the condition stands in place of bars of its
own. At every face, a bar is such that its 90 % interval held 90 % of the held-out runs, smoothed over neighboring faces.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from sureflow.data.meshes import Geometry
from sureflow.surrogate.observe import ALONG_BODY, Conditions, Fields, Observer
from sureflow.uq.bars import LEAST_NOVELTY, Calibration
from sureflow.uq.conformal import LEVELS
from sureflow.uq.domain import Novelty
from sureflow.uq.folds import HeldOutRuns

Errors = Float[np.ndarray, "case distribution face"]
Levels = Float[np.ndarray, "distribution face"]

NORMAL_90 = 1.6449  # standard deviations on either side that hold 90 % of a normal distribution
NEIGHBORS = 2  # faces to either side that a level is smoothed over
FEWEST_OF_A_SIDE = 4  # runs that teach a side
# Values that are smaller than this share of the largest along the body count as if they were as large: shear and heat flux may
# change their sign, and an error relative to nothing says nothing.
LEAST_SHARE = 0.02


@dataclass
class WallErrors:
    """Reads quantities and distributions off fields together, and keeps the errors of the latter apart."""

    observer: Observer
    inside: HeldOutRuns | None = None
    sides: dict[int, HeldOutRuns] = field(default_factory=dict)

    def __call__(
        self, fields: Fields, conditions: Conditions, geometries: Sequence[Geometry] | None = None
    ) -> Float[np.ndarray, "case number"]:
        """The quantities, and after them the distributions, face by face."""
        values, walls = self.observer.with_walls(fields, conditions, geometries)
        return np.column_stack([values, walls.reshape(len(fields), -1)])

    def sizes(self, observed: Float[np.ndarray, "case number"]) -> Float[np.ndarray, "case number"]:
        """What errors are relative to."""
        values, walls = np.split(np.abs(observed), [len(self.observer.quantities)], axis=1)
        return np.column_stack(
            [values, sizes_along_wall(walls.reshape(len(walls), len(ALONG_BODY), -1)).reshape(walls.shape)]
        )

    def of_quantities(self, runs: HeldOutRuns) -> HeldOutRuns:
        """The errors of quantities alone."""
        return replace(runs, quantity_error=runs.quantity_error[:, : len(self.observer.quantities)])

    def of_walls(self, runs: HeldOutRuns) -> Errors:
        errors = runs.quantity_error[:, len(self.observer.quantities) :]
        return errors.reshape(len(errors), len(ALONG_BODY), -1)

    def kept(self, runs: HeldOutRuns) -> HeldOutRuns:
        """Keep what held-out runs show; the errors of their quantities go on."""
        self.inside = runs
        return self.of_quantities(runs)

    def kept_sides(self, sides: Iterator[tuple[int, HeldOutRuns]]) -> Iterator[tuple[int, HeldOutRuns]]:
        """The same of the sides, one after the other."""
        for side, runs in sides:
            # Without the fields, of which those of one side are in memory at a time.
            self.sides[side] = replace(runs, error=(), std=())
            yield side, self.of_quantities(runs)
            del runs

    def bars(self, reach: float, near: float) -> Calibration:
        """The bars that these errors make."""
        assert self.inside is not None
        scale = _level(self.of_walls(self.inside), self.inside.novelty)
        taught = sorted(side for side, runs in self.sides.items() if len(np.unique(runs.run)) >= FEWEST_OF_A_SIDE)
        levels = (_level(self.of_walls(self.sides[side]), self.sides[side].novelty) for side in taught)
        sides = [np.maximum(level / scale, 1.0) for level in levels]  # never narrower, as those of quantities
        unknown = {
            level: (np.inf,) * len(scale) for level in LEVELS
        }  # intervals are Gaussian, as those of quantities are
        return Calibration(
            scale=scale.astype(np.float32),
            sides=np.array(sides, np.float32).reshape(len(taught), *scale.shape),
            growth=0.0,
            near=near,
            taught=tuple(taught),
            spread=(0.0,) * len(taught),
            factors=unknown,
            band_factors=unknown,
            runs=len(self.inside),
            exact=False,
            reach=reach,
        )


def _level(errors: Errors, novelty: Novelty) -> Levels:
    """What the novelty of a condition is multiplied by: the 90 % quantile of what runs show, over that of a Gaussian."""
    ratio = np.abs(errors) / np.maximum(novelty, LEAST_NOVELTY)[:, None, None]
    return np.maximum(
        _smoothed(np.quantile(ratio, 0.9, axis=0, method="higher")) / NORMAL_90, np.finfo(np.float32).tiny
    )


def _smoothed(levels: Levels) -> Levels:
    """Root mean squares over neighboring faces."""
    width = min(2 * NEIGHBORS + 1, levels.shape[1])
    padded = np.pad(levels**2, ((0, 0), (width // 2, (width - 1) // 2)), mode="edge")
    return np.sqrt(np.lib.stride_tricks.sliding_window_view(padded, width, axis=1).mean(axis=2))


def wall_std(bars: Calibration, values: Errors, novelty: Novelty, beyond: np.ndarray) -> Errors:
    """Standard deviations of distributions at conditions."""
    own = np.broadcast_to(np.maximum(novelty, LEAST_NOVELTY)[:, None, None], values.shape)
    return bars.std(own, novelty, beyond, lambda fields: fields) * sizes_along_wall(values)


def sizes_along_wall(values: Errors) -> Errors:
    """Of distributions, nowhere less than a share of the largest along the body."""
    return np.maximum(np.abs(values), LEAST_SHARE * np.abs(values).max(axis=2, keepdims=True))
