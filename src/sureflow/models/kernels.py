"""Kernels of interpolation with a linear polynomial, and the scales of the inputs that leave-one-out errors teach."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from sureflow import scratch
from sureflow.distances import distances

Nodes = Float[np.ndarray, "run parameter"]
Rows = Float[np.ndarray, "case row"]

# Scales are learned from at most so many runs: each trial inverts a matrix of that size.
MOST_RUNS_TO_LEARN_FROM = 300
# The logarithms of scales are held near 0 by a Gaussian prior of this width, which counts like one run.
WIDTH = 1.5
SCALE_BOUNDS = (-3.0, 3.0)  # of the logarithms


class Kernel(NamedTuple):
    """A function of the distance, conditionally positive definite of order two or less, its value at zero, its derivative
    over the distance, and the derivative of that over the distance.
    """

    function: Callable[[np.ndarray], np.ndarray]
    at_zero: float
    slope_over_distance: Callable[[np.ndarray], np.ndarray]
    bend_over_distance: Callable[[np.ndarray], np.ndarray]


def _cubic(distance: np.ndarray) -> np.ndarray:
    return distance**3


def _thin_plate(distance: np.ndarray) -> np.ndarray:
    return distance**2 * np.log(np.where(distance > 0, distance, 1.0))


def _matern(distance: np.ndarray) -> np.ndarray:
    """Matern-5/2."""
    scaled = np.sqrt(5.0) * distance
    return (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)


def _matern_slope(distance: np.ndarray) -> np.ndarray:
    scaled = np.sqrt(5.0) * distance
    return -5.0 / 3.0 * (1.0 + scaled) * np.exp(-scaled)


def _matern_bend(distance: np.ndarray) -> np.ndarray:
    return 25.0 / 3.0 * np.exp(-np.sqrt(5.0) * distance)


def _apart(distance: np.ndarray) -> np.ndarray:
    """Distances to divide by; what is divided is nothing where they are."""
    return np.where(distance > 0, distance, 1.0)


KERNELS = {
    "cubic": Kernel(_cubic, 0.0, lambda distance: 3.0 * distance, lambda distance: 3.0 / _apart(distance)),
    "thin-plate": Kernel(
        _thin_plate, 0.0, lambda r: 2.0 * np.log(_apart(r)) + 1.0, lambda distance: 2.0 / _apart(distance) ** 2
    ),
    "matern": Kernel(_matern, 1.0, _matern_slope, _matern_bend),
}


def term_slopes(
    kernel: Kernel,
    inputs: Float[np.ndarray, "*system case parameter"],
    nodes: Float[np.ndarray, "*system run parameter"],
    along: Float[np.ndarray, "*system case parameter"],
) -> Float[np.ndarray, "*system case row"]:
    """Derivatives of `terms` along a change of the inputs."""
    slopes = kernel.slope_over_distance(distances(inputs, nodes)) * _approach(inputs, nodes, along)
    return np.concatenate([slopes, np.zeros_like(along[..., :1]), along], axis=-1)


def term_bends(
    kernel: Kernel,
    inputs: Float[np.ndarray, "case parameter"],
    nodes: Nodes,
    along: Float[np.ndarray, "case parameter"],
    then: Float[np.ndarray, "case parameter"],
) -> Rows:
    """Derivatives of `term_slopes`, along one change of the inputs, along another one."""
    away = distances(inputs, nodes)
    bends = kernel.slope_over_distance(away) * np.einsum("cp,cp->c", along, then)[:, None]
    bends += kernel.bend_over_distance(away) * _approach(inputs, nodes, along) * _approach(inputs, nodes, then)
    return np.concatenate([bends, np.zeros((len(inputs), 1 + inputs.shape[1]))], axis=1)


def _approach(
    inputs: Float[np.ndarray, "*system case parameter"],
    nodes: Float[np.ndarray, "*system run parameter"],
    along: Float[np.ndarray, "*system case parameter"],
) -> Float[np.ndarray, "*system case run"]:
    """The way from the nodes, times a change of the inputs."""
    return np.einsum("...cp,...cp->...c", inputs, along)[..., None] - along @ nodes.swapaxes(-1, -2)


def terms(
    kernel: Kernel,
    inputs: Float[np.ndarray, "*system case parameter"],
    nodes: Float[np.ndarray, "*system run parameter"],
) -> Float[np.ndarray, "*system case row"]:
    """The kernel about the nodes, then 1 and the inputs."""
    return _terms(kernel, distances(inputs, nodes), inputs)


def _terms(
    kernel: Kernel,
    away: Float[np.ndarray, "*system case run"],
    inputs: Float[np.ndarray, "*system case parameter"],
) -> Float[np.ndarray, "*system case row"]:
    return np.concatenate([kernel.function(away), np.ones_like(inputs[..., :1]), inputs], axis=-1)


def system_matrix(
    kernel: Kernel, nodes: Float[np.ndarray, "*system run parameter"]
) -> Float[np.ndarray, "*system row row"]:
    """A, with kernel and polynomial at the nodes; row: run, then the terms of the polynomial."""
    n_runs, size = nodes.shape[-2], sum(nodes.shape[-2:]) + 1
    matrix = np.zeros((*nodes.shape[:-2], size, size))
    matrix[..., :n_runs, :] = terms(kernel, nodes, nodes)
    matrix[..., n_runs:, :n_runs] = matrix[..., :n_runs, n_runs:].swapaxes(-1, -2)
    return matrix


def inverse_system(kernel: Kernel, nodes: Nodes) -> Float[np.ndarray, "row row"]:
    """Inverse of A."""
    matrix = system_matrix(kernel, nodes)
    return np.linalg.pinv(matrix, hermitian=True) if is_flat(nodes) else np.linalg.inv(matrix)


@dataclass(frozen=True)
class System:
    """A and its inverse, of the nodes of one interpolation, or of several with as many nodes."""

    kernel: Kernel
    nodes: Float[np.ndarray, "*system run parameter"]
    matrix: Float[np.ndarray, "*system row row"]
    inverse: Float[np.ndarray, "*system solved solved"]  # of a file, perhaps, where its size may be wrong

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        nodes: Float[np.ndarray, "*system run parameter"],
        inverse: Float[np.ndarray, "*system row row"],
    ) -> Self:
        return cls(kernel, nodes, system_matrix(kernel, nodes), inverse)

    def weights_and_powers(
        self,
        inputs: Float[np.ndarray, "*system case parameter"],
        edge: Float[np.ndarray, "*system case parameter"] | None = None,
    ) -> tuple[Float[np.ndarray, "*system case run"], Float[np.ndarray, "*system case"]]:
        """What the runs count for at conditions, and the power function there.

        From an `edge` that is not the condition itself, a straight line leads there (`models.beyond`).

        With t the kernel and the polynomial at x, the solution s = A^-1 t has the weights w, and the power function
        p^2 = phi(0) - t s (Fasshauer 2007, ch. 14) is, near a run, a small difference of large numbers.
        So only what changes from the nearest run j is solved for, d = t - A_j and u = A^-1 d, which are small near it:

            w = e_j + u,    p^2 = 2 (phi(0) - phi(|x - x_j|)) - u (2 d - A u)

        In place of u d, u (2 d - A u) is stationary at u = A^-1 d: an error of u counts by its square. It also holds for other
        weights that reproduce the polynomial, such as those of a straight line, for which u = A^-1 d with the t of the line.
        """
        away = distances(inputs, self.nodes)
        nearest = away.argmin(axis=-1)[..., None]
        at, there = _terms(self.kernel, away, inputs), np.take_along_axis(self.matrix, nearest, axis=-2)
        change = at - there
        moved = (change if edge is None else self._straight(inputs, edge, at) - there) @ self.inverse
        missing = 2.0 * (self.kernel.at_zero - np.take_along_axis(at, nearest, axis=-1)[..., 0])
        squares = missing - np.einsum("...i,...i->...", moved, 2.0 * change - moved @ self.matrix)
        weights = moved[..., : self.nodes.shape[-2]]
        np.put_along_axis(weights, nearest, np.take_along_axis(weights, nearest, axis=-1) + 1.0, axis=-1)
        # Zero at the runs but for rounding, which may have either sign.
        return weights, np.sqrt(np.maximum(squares, 0.0))

    def _straight(
        self,
        inputs: Float[np.ndarray, "*system case parameter"],
        edge: Float[np.ndarray, "*system case parameter"],
        at: Float[np.ndarray, "*system case row"],
    ) -> Float[np.ndarray, "*system case row"]:
        """The terms `at` conditions, but straight on from their edges where these are others."""
        onward = inputs - edge
        moved = onward.any(axis=-1, keepdims=True)
        if not moved.any():
            return at
        line = terms(self.kernel, edge, self.nodes) + term_slopes(self.kernel, edge, self.nodes, onward)
        return np.where(moved, line, at)


def nearby(
    inputs: Float[np.ndarray, "case parameter"], nodes: Nodes, width: float = 1.0
) -> Float[np.ndarray, "case run"]:
    """q: a Gaussian of the distance, as wide as the distance to the nearest few runs, or a share of it."""
    distance = distances(inputs, nodes)
    few = min(2 * (nodes.shape[1] + 1), len(nodes))
    reach = width * np.sort(distance, axis=1)[:, few - 1 : few]
    weights = np.exp(-0.5 * (distance**2 - distance.min(axis=1, keepdims=True) ** 2) / reach**2)
    return weights / weights.sum(axis=1, keepdims=True)


def drawn_errors(
    power: Float[np.ndarray, "case *point"],
    close: Float[np.ndarray, "case run"],
    residuals: Float[np.ndarray, "run variable point"],
    count: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "sample case variable point"]:
    """What was missed at a run nearby, drawn by its weight, with either sign."""
    share, sign = rng.uniform(size=count), rng.choice([-1.0, 1.0], size=count)
    drawn = np.stack([np.searchsorted(np.cumsum(q)[:-1], share) for q in close], axis=1)
    size = sign[:, None, None, None] * np.reshape(power, (len(close), 1, -1))
    return size * residuals[drawn]


def is_flat(nodes: Nodes) -> bool:
    """Whether the runs lie in a plane of fewer dimensions than they have parameters, as along one line."""
    return bool(np.linalg.matrix_rank(nodes - nodes.mean(axis=0), tol=1e-8 * np.abs(nodes).max()) < nodes.shape[1])


def prior(logarithms: np.ndarray, n_runs: int) -> float:
    """What is added to the logarithm of the error for scales away from 1: few runs hardly tell them."""
    return 0.5 * float(np.sum((logarithms / WIDTH) ** 2)) / n_runs


def inverse_without(inverse: Float[np.ndarray, "row row"], group: np.ndarray) -> Float[np.ndarray, "other other"]:
    """The inverse of A without the rows and columns of a group of runs, from that with them."""
    others = np.setdiff1d(np.arange(len(inverse)), group)
    across = inverse[np.ix_(others, group)]
    return inverse[np.ix_(others, others)] - across @ np.linalg.solve(inverse[np.ix_(group, group)], across.T)


def left_out_powers(inner: Float[np.ndarray, "run run"]) -> Float[np.ndarray, " run"]:
    """The power function of all other runs at every run, from the runs' block of A^-1."""
    return np.sqrt(1.0 / np.maximum(np.diag(inner), np.finfo(float).eps))


def typical_power(inner: Float[np.ndarray, "run run"]) -> float:
    """The median of the power function at runs left out one at a time, from their block of A^-1."""
    return float(np.median(left_out_powers(inner)))


def some_runs(n_runs: int) -> np.ndarray:
    """All runs, or evenly many of them."""
    return np.unique(np.linspace(0, n_runs - 1, min(n_runs, MOST_RUNS_TO_LEARN_FROM)).astype(int))


def roots_of(fields: Float[np.ndarray, "run variable point"], used: np.ndarray) -> Float[np.ndarray, "some root"]:
    """A matrix B with B B^T the products of the fields, about their mean, with each other."""
    rows = fields.reshape(len(fields), -1)
    gram = np.zeros((len(used), len(used)))
    for block in scratch.blocks(rows.shape[1], 2 * len(rows)):
        values = np.asarray(rows[used, block], float)
        values -= values.mean(axis=0)
        gram += values @ values.T
    variance, left = np.linalg.eigh(gram / rows.shape[1])
    return left * np.sqrt(np.maximum(variance, 0.0))
