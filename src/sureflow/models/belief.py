"""What a model believes of the fields between its runs: Gaussian processes over its inputs, with their covariances.

The variance that a further run removes does not depend on its result, so that proposals are computed in closed form.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sureflow.distances import distances
from sureflow.models.kernels import KERNELS, Kernel, nearby, terms

Inputs = Float[np.ndarray, "case parameter"]
Rows = Float[np.ndarray, "case row"]


@dataclass(frozen=True)
class Process:
    """A Gaussian process g after the runs: its covariance is k(x, x') - left(x) . turn(left(x')), and `prior` is k(x, x).

    `noise` is the variance with which a run tells g. `size` is the mean square over fields and points, in normalized space, of
    what one unit of g at a condition is worth.
    """

    kernel: Callable[[Inputs, Inputs], Float[np.ndarray, "one other"]]
    prior: Callable[[Inputs], Float[np.ndarray, " case"]]
    left: Callable[[Inputs], Rows]
    noise: float
    size: Callable[[Inputs], Float[np.ndarray, " case"]]
    turn: Callable[[Rows], Rows] = lambda left: left  # from left to right, where they differ
    level: int = 0  # the coarsest level whose runs tell it: 0 is the finest mesh, 1 the next coarser one

    def covariance(
        self, one: Float[np.ndarray, "one parameter"], other: Float[np.ndarray, "other parameter"]
    ) -> Float[np.ndarray, "one other"]:
        return self.kernel(one, other) - self.left(one) @ self.turn(self.left(other)).T

    def variance(self, inputs: Inputs) -> Float[np.ndarray, " case"]:
        return self.remaining(inputs, self.left(inputs))

    def remaining(self, inputs: Inputs, left: Rows) -> Float[np.ndarray, " case"]:
        """The variance at conditions whose `left` is known; never below zero, where rounding would leave it."""
        return np.maximum(self.prior(inputs) - np.einsum("cr,cr->c", left, self.turn(left)), 0.0)


@dataclass(frozen=True)
class Belief:
    """Independent processes, the ones that matter most first, and what the model knows of its runs.

    `errors` is the root mean square over fields and points of what the model of the other runs misses at each run. `metric`
    is the matrix that inputs are multiplied with before distances between conditions are taken.
    """

    processes: tuple[Process, ...]
    errors: Float[np.ndarray, " run"]
    metric: Float[np.ndarray, "parameter mixed"]

    def variance(self, inputs: Inputs) -> Float[np.ndarray, " case"]:
        """Mean square error that the model expects of its fields, in normalized space."""
        return sum((one.size(inputs) * one.variance(inputs) for one in self.processes), np.zeros(len(inputs)))


def interpolated(
    kernel: Kernel,
    metric: Float[np.ndarray, "parameter mixed"],
    nodes: Float[np.ndarray, "run mixed"],
    inverse: Float[np.ndarray, "row row"],
    squares: Float[np.ndarray, " run"],
    width: float = 1.0,
) -> Belief:
    """That of an interpolation by a kernel: one process, which is worth as much as the runs nearby have shown.

    `nodes` are the inputs of the runs times the metric, `squares` the means of e_k^2 (A^-1)_kk at runs left out one at a time,
    with the A of these nodes, `width` that of the neighborhood whose runs tell errors.
    """
    if kernel is KERNELS["cubic"]:
        kernel = kernel._replace(function=_cube)
    freedom = np.diag(inverse)[: len(nodes)]
    process = Process(
        kernel=lambda one, other: kernel.function(distances(one @ metric, other @ metric)),
        prior=lambda inputs: np.full(len(inputs), kernel.at_zero),
        left=lambda inputs: terms(kernel, inputs @ metric, nodes),
        noise=0.0,
        size=lambda inputs: nearby(inputs @ metric, nodes, width) @ squares,
        turn=lambda left: left @ inverse,
    )
    known = freedom > np.finfo(float).eps
    errors = np.sqrt(np.divide(squares, freedom, out=np.zeros(len(nodes)), where=known))
    return Belief((process,), errors, metric)


def mean_squares(fields: Iterable[Float[np.ndarray, "variable point"]]) -> Float[np.ndarray, " run"]:
    """Run by run: there may be more than memory holds."""
    return np.array([np.square(run, dtype=float).mean() for run in fields])


def _cube(distance: np.ndarray) -> np.ndarray:
    """In a twentieth of the time of a power, which is rounded better: bars need that, proposals do not."""
    return distance * distance * distance
