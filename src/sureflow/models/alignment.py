"""Runs that are warped to conditions and combined there: of all runs, and without those that are left out."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow import scratch
from sureflow.models.beyond import Sides, edge, is_beyond
from sureflow.models.body_frame import BodyFrame
from sureflow.models.contract import Fields, Groups
from sureflow.models.kernels import KERNELS, System, inverse_system, inverse_without, is_flat
from sureflow.models.shock_frame import ShockFrame
from sureflow.models.warps import COLUMNS, LayerWarp

KERNEL = KERNELS["cubic"]

Weights = Float[np.ndarray, "_ case run"]  # for all of the fields, then region by region
Field = Float[np.ndarray, "variable point"]
Warp = LayerWarp | ShockFrame | BodyFrame
Powers = Float[np.ndarray, "_ case"]  # alike


class Mixed(NamedTuple):
    """The nodes of a region, and the inverse of A."""

    mixture: Float[np.ndarray, "varying varying"]  # of the nodes for all of the fields
    nodes: Float[np.ndarray, "run varying"]
    inverse: Float[np.ndarray, "row row"]


@dataclass(frozen=True)
class Systems:
    """How the runs are combined, for all of the fields first and then region by region, and how all go on beyond the runs."""

    mixture: Float[np.ndarray, "varying varying"]  # of the inputs, to the nodes for all of the fields
    mixed: tuple[Mixed, ...]
    straight: Sides

    @classmethod
    def of(
        cls,
        nodes: Float[np.ndarray, "run varying"],
        mixture: Float[np.ndarray, "varying varying"],
        regional: Iterable[Float[np.ndarray, "varying varying"]],
        straight: Sides,
    ) -> Self:
        """Those of nodes, and of their mixtures."""
        mixtures = [np.eye(nodes.shape[1]), *regional]
        return cls(
            mixture, tuple(Mixed(own, nodes @ own, inverse_system(KERNEL, nodes @ own)) for own in mixtures), straight
        )

    @property
    def nodes(self) -> Float[np.ndarray, "run varying"]:
        """For all of the fields."""
        return self.mixed[0].nodes

    @property
    def unmixed(self) -> Float[np.ndarray, "run varying"]:
        """The inputs of the runs, in which sides are those of a box."""
        return self.nodes @ self._back

    def is_beyond(self, asked: Float[np.ndarray, "case varying"]) -> Bool[np.ndarray, " case"]:
        """Whether conditions lie beyond the runs on some side."""
        return is_beyond(asked @ self._back, self.unmixed)

    def is_beyond_others(self, group: Int[np.ndarray, " some"]) -> Bool[np.ndarray, " some"]:
        """Whether runs lie beyond the others of a group that is left out."""
        others = np.setdiff1d(np.arange(len(self.nodes)), group)
        return is_beyond(self.unmixed[group], self.unmixed[others])

    def weights_and_powers(
        self, asked: Float[np.ndarray, "case varying"], *, otherwise: bool = False
    ) -> tuple[Weights, Powers]:
        """At conditions, mixed as the nodes are; `otherwise` straight on where these are not, and bent where they are."""
        mixtures, system = self._stacked
        return system.weights_and_powers(asked @ mixtures, self._edge(asked, self.nodes, otherwise) @ mixtures)

    def power(self, asked: Float[np.ndarray, "case varying"]) -> Float[np.ndarray, " case"]:
        """The power function for all of the fields."""
        return self._first.weights_and_powers(asked, self._edge(asked, self.nodes, otherwise=False))[1]

    def left_out(self, groups: Groups, *, otherwise: bool = False) -> tuple[Weights, Powers]:
        """Weights of the other runs at runs that are left out in groups, and the power function, in every region."""
        n_runs, runs = len(self.nodes), np.concatenate([np.asarray(group) for group in groups])
        weights, powers = np.zeros((len(self.mixed), len(runs), n_runs)), np.empty((len(self.mixed), len(runs)))
        start = 0
        for group in map(np.asarray, groups):
            rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(n_runs), group)
            asked = self.nodes[group]
            near = self._edge(asked, self.nodes[others], otherwise)
            near = None if np.array_equal(near, asked) else near
            for number, system in enumerate(self.mixed):
                weights[number][rows, others], powers[number, rows] = _weights_without(system, group, others, near)
        return weights, powers

    def _edge(
        self, asked: Float[np.ndarray, "case varying"], nodes: Float[np.ndarray, "some varying"], otherwise: bool
    ) -> Float[np.ndarray, "case varying"]:
        """Where straight lines to conditions begin: at the conditions themselves, unless they lie beyond a straight side."""
        unmixed = asked @ self._back
        near = edge(unmixed, nodes @ self._back, ~self.straight if otherwise else self.straight)
        return np.where((near != unmixed).any(axis=1)[:, None], near @ self.mixture, asked)

    @cached_property
    def _back(self) -> Float[np.ndarray, "varying varying"]:
        return np.linalg.inv(self.mixture)

    @cached_property
    def _stacked(self) -> tuple[np.ndarray, System]:
        """All mixtures, and all systems as one."""
        mixtures, nodes, inverses = (np.stack(arrays) for arrays in zip(*self.mixed, strict=True))
        return mixtures, System.of(KERNEL, nodes, inverses)

    @cached_property
    def _first(self) -> System:
        return System.of(KERNEL, self.nodes, self.mixed[0].inverse)


def combined(warp: Warp, weights: Weights, told: Float[np.ndarray, "case column"]) -> Iterator[Field]:
    """Sums of the runs, warped to conditions of which this is told; one after the other."""
    return (
        warp.combined(weights, told) if isinstance(warp, BodyFrame) else warp.combined(weights[0], told[:, -COLUMNS:])
    )


def at_points(warp: Warp, powers: Powers) -> Float[np.ndarray, "case 1 _"]:
    """The power function at the cells that bars are kept on, by their regions where there are some; else one number."""
    return (powers[1:].T @ warp.shares_of_points)[:, None] if isinstance(warp, BodyFrame) else powers[0][:, None, None]


class Missed(NamedTuple):
    """What is missed at every run left out, over the power function there; and how much, where that is kept in a frame."""

    residuals: Fields
    sizes: Float[np.ndarray, " known"]  # root mean square of what is missed at each run; of none where residuals tell


def missed_at_runs(systems: Systems, warp: Warp, fields: Fields) -> Missed:
    """On the mesh or, where there is a frame of bodies, on its cells: bars go where its layers and shocks go."""
    found, everyone = scratch.empty(fields.shape, np.float32), np.arange(len(fields))
    frame = warp if isinstance(warp, BodyFrame) else None
    sizes = np.zeros(len(fields) if frame else 0)
    weights, powers = systems.left_out([*everyone[:, None]])
    # A run that the polynomial needs leaves no interpolation behind: it tells nothing.
    useful, power = powers[0] < 1.0 / np.sqrt(np.finfo(float).eps), at_points(warp, powers)
    found[~useful] = 0.0
    for run, field in enumerate(combined(warp, weights, warp.layers)):
        error = field - fields[run]
        if useful[run]:
            if frame:
                sizes[run] = np.sqrt((error**2).mean())
                error = frame.cells_of_frame(frame.shocks[run], frame.told[run]).between(error)
            found[run] = error / power[run]
    return Missed(found, sizes)


def _weights_without(
    system: Mixed,
    group: Int[np.ndarray, " some"],
    others: Int[np.ndarray, " other"],
    near: Float[np.ndarray, "some varying"] | None,
) -> tuple[Float[np.ndarray, "some other"], Float[np.ndarray, " some"]]:
    """Weights of the other runs, and the power function, at a group G that is left out; straight on from places near it, if any.

    With P the block of A^-1 that belongs to the runs: -(P_GG)^-1 P_GK, and the diagonal of (P_GG)^-1.
    """
    mixture, nodes, inverse = system
    flat = is_flat(nodes[others])
    if flat or near is not None:
        without = inverse_system(KERNEL, nodes[others]) if flat else inverse_without(inverse, group)
        own = System.of(KERNEL, nodes[others], without)
        return own.weights_and_powers(nodes[group], None if near is None else near @ mixture)
    errors = np.linalg.inv(inverse[np.ix_(group, group)])
    return -errors @ inverse[np.ix_(group, others)], np.sqrt(np.maximum(np.diag(errors), 0.0))
