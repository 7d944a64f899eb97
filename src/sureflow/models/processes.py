"""Gaussian processes with a linear mean and a Matern-5/2 kernel: covariances, and the most probable hyperparameters.

Hyperparameters are logarithms: of amplitude^2, of noise^2, then of one length for every parameter.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve, cholesky, get_lapack_funcs, solve_triangular

from sureflow.distances import distances

Hyperparameters = Float[np.ndarray, " hyperparameter"]

# Targets have unit variance; a prior this wide leaves constant and slopes of the mean to the data.
WIDE = 100.0
# Bounds and beginnings of the logarithms.
AMPLITUDE, NOISE, LENGTH = (-8.0, 8.0), (-16.0, 0.0), (-2.0, 4.0)
START = (0.0, -9.0, 1.0)
# Lengths are lognormal about e standard deviations of the parameter, times or by e^2: what the data leave open stays there.
LENGTH_PRIOR = (1.0, 2.0)
# Covariances of all processes together that are computed at once.
AT_ONCE = 1 << 22


def covariance(
    logarithms: Float[np.ndarray, "*process hyperparameter"],
    one: Float[np.ndarray, "row parameter"],
    other: Float[np.ndarray, "run parameter"],
) -> Float[np.ndarray, "*process row run"]:
    """Of a process without its noise: amplitude^2 times Matern-5/2 of the scaled distance, and the wide linear prior."""
    scale = np.sqrt(5.0) * np.exp(-logarithms[..., None, 2:])
    distance = _squared_distances(one * scale, other * scale)
    # In place: for many rows, most of the time goes into memory.
    np.sqrt(np.maximum(distance, 0.0, out=distance), out=distance)
    found = distance / 3.0
    found += 1.0
    found *= distance
    found += 1.0
    found *= np.exp(np.subtract(logarithms[..., :1, None], distance, out=distance), out=distance)
    found += _linear(one, other)
    return found


def _squared_distances(
    one: Float[np.ndarray, "*process row parameter"], other: Float[np.ndarray, "*process run parameter"]
) -> Float[np.ndarray, "*process row run"]:
    """|a|^2 - 2 a b + |b|^2 as one product: its rounding is far below that of the linear prior."""
    row, run = (np.square(rows).sum(axis=-1, keepdims=True) for rows in (one, other))
    left = np.concatenate([row, -2.0 * one, np.ones_like(row)], axis=-1)
    return left @ np.concatenate([np.ones_like(run), other, run], axis=-1).swapaxes(-1, -2)


@dataclass(frozen=True)
class Processes:
    """Several processes over the same runs, each with its own hyperparameters, after they were told their targets."""

    runs: Float[np.ndarray, "run parameter"]
    logarithms: Float[np.ndarray, "process hyperparameter"]
    weights: Float[np.ndarray, "process run"]  # P y, with P the inverse covariance of the runs
    factors: tuple[Float[np.ndarray, "run run"], ...]  # Cholesky's lower ones of the covariances

    @classmethod
    def of(
        cls,
        runs: Float[np.ndarray, "run parameter"],
        logarithms: Float[np.ndarray, "process hyperparameter"],
        targets: Float[np.ndarray, "process run"],
    ) -> Self:
        factors = tuple(cholesky(covariance_of_runs(one, runs), lower=True, check_finite=False) for one in logarithms)
        pairs = zip(factors, targets, strict=True)
        weights = [cho_solve((factor, True), target, check_finite=False) for factor, target in pairs]
        return cls(runs, logarithms, np.array(weights), factors)

    def __call__(
        self, at: Float[np.ndarray, "case parameter"]
    ) -> tuple[Float[np.ndarray, "case process"], Float[np.ndarray, "case process"]]:
        """Means and variances without noise at conditions (Rasmussen & Williams 2006, eq. 2.23-2.26)."""
        location, variance = np.empty((2, len(at), len(self.weights)))
        (solve,) = get_lapack_funcs(("trtrs",), (self.weights,))
        at_once = max(1, AT_ONCE // self.weights.size)
        for start in range(0, len(at), at_once):
            some = slice(start, start + at_once)
            across = covariance(self.logarithms, at[some], self.runs)
            location[some] = (across @ self.weights[:, :, None])[:, :, 0].T
            variance[some] = prior_variance(self.logarithms, at[some]).T
            for process, factor in enumerate(self.factors):
                explained, _ = solve(factor, across[process].T, lower=1)
                variance[some, process] -= np.square(explained).sum(axis=0)
        return location, np.maximum(variance, 0.0)

    def whitening(self, process: int) -> Float[np.ndarray, "run run"]:
        """W with P = W W^T. For very many conditions a product with it takes a fifth of the time of solving."""
        return solve_triangular(self.factors[process], np.eye(len(self.runs)), lower=True, check_finite=False).T


def covariance_slope(
    logarithms: Hyperparameters,
    one: Float[np.ndarray, "row parameter"],
    along: Float[np.ndarray, "row parameter"],
    other: Float[np.ndarray, "run parameter"],
) -> Float[np.ndarray, "row run"]:
    """The derivative of the covariance as `one` moves along a direction."""
    scale = np.exp(-logarithms[2:])
    distance = np.sqrt(5.0) * distances(one * scale, other * scale)
    away = (along * scale**2 * one).sum(axis=1)[:, None] - (along * scale**2) @ other.T
    matern = -5.0 / 3.0 * (1.0 + distance) * np.exp(-distance) * away
    return np.exp(logarithms[0]) * matern + WIDE * along @ other.T


def prior_variance(
    logarithms: Float[np.ndarray, "*process hyperparameter"], at: Float[np.ndarray, "row parameter"]
) -> Float[np.ndarray, "*process row"]:
    """The diagonal of the covariance of conditions."""
    return np.exp(logarithms[..., :1]) + WIDE * (1.0 + (at**2).sum(axis=1))


def covariance_of_runs(
    logarithms: Hyperparameters, runs: Float[np.ndarray, "run parameter"]
) -> Float[np.ndarray, "run run"]:
    """With the noise."""
    return covariance(logarithms, runs, runs) + np.exp(logarithms[1]) * np.eye(len(runs))


def precision_of_runs(
    logarithms: Hyperparameters, runs: Float[np.ndarray, "run parameter"]
) -> Float[np.ndarray, "run run"]:
    """The inverse of their covariance."""
    lower = _inverse(covariance_of_runs(logarithms, runs))[1]
    return lower + np.tril(lower, -1).T


def most_probable(inputs: Float[np.ndarray, "run parameter"], target: Float[np.ndarray, " run"]) -> Hyperparameters:
    """The hyperparameters that maximize their posterior probability."""
    from scipy.optimize import minimize  # not needed for predictions

    n_parameters = inputs.shape[1]
    amplitude, noise, length = START
    return minimize(
        Evidence(inputs, target),
        np.array([amplitude, noise, *[length] * n_parameters]),
        jac=True,
        bounds=[AMPLITUDE, NOISE, *[LENGTH] * n_parameters],
        method="L-BFGS-B",
        options={"maxiter": 60, "ftol": 1e-7},
    ).x


class Evidence:
    """Minus the logarithm of the posterior probability of hyperparameters, and its gradient.

    Both in closed form (Rasmussen & Williams 2006, eq. 5.8 and 5.9): with P the inverse covariance of the runs and w = P y,
    the derivative is half of the trace of (P - w w^T) dK.
    """

    def __init__(self, inputs: Float[np.ndarray, "run parameter"], target: Float[np.ndarray, " run"]):
        self.target = np.asarray(target, float)
        columns = np.asarray(inputs, float).T
        self.squares = (columns[:, :, None] - columns[:, None, :]) ** 2
        self.linear = _linear(columns.T, columns.T)

    def __call__(self, logarithms: Hyperparameters) -> tuple[float, Hyperparameters]:
        amplitude, noise, inverse_squares = np.exp(logarithms[0]), np.exp(logarithms[1]), np.exp(-2.0 * logarithms[2:])
        distance = np.sqrt(5.0 * np.tensordot(inverse_squares, self.squares, 1))
        decay = amplitude * np.exp(-distance)
        matern = (1.0 + distance + distance**2 / 3.0) * decay
        # The matrix is symmetric: its transpose is in the order of LAPACK, and one triangle of the inverse says it all.
        log_determinant, lower = _inverse((matern + self.linear + noise * np.eye(len(self.target))).T)
        diagonal = np.diag(lower)
        weights = lower @ self.target + self.target @ lower - diagonal * self.target
        center, width = LENGTH_PRIOR
        off = (logarithms[2:] - center) / width
        value = 0.5 * (self.target @ weights + log_determinant + off @ off)
        rest = 2.0 * lower - np.outer(weights, weights)
        by_amplitude = np.vdot(rest, matern) - amplitude * diagonal.sum()
        by_length = np.tensordot(self.squares, rest * (1.0 + distance) * decay, 2) * (5.0 / 3.0) * inverse_squares
        gradient = 0.5 * np.array([by_amplitude, noise * (diagonal.sum() - weights @ weights), *by_length])
        gradient[2:] += off / width
        return float(value), gradient


def _inverse(matrix: Float[np.ndarray, "run run"]) -> tuple[float, Float[np.ndarray, "run run"]]:
    """The logarithm of the determinant and the lower triangle of the inverse of a positive definite matrix.

    By its Cholesky factor. The matrix is overwritten if it lies in memory column by column.
    """
    factorize, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, failed = factorize(matrix, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance of the runs is not positive definite")
    log_determinant = 2.0 * float(np.log(np.diag(factor)).sum())
    lower, _ = invert(factor, lower=1, overwrite_c=1)
    return log_determinant, lower


def _linear(
    one: Float[np.ndarray, "row parameter"], other: Float[np.ndarray, "run parameter"]
) -> Float[np.ndarray, "row run"]:
    return np.hstack([np.full((len(one), 1), WIDE), WIDE * one]) @ np.hstack([np.ones((len(other), 1)), other]).T
