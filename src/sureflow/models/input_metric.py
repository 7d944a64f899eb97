"""A metric of the inputs in which runs that were left out are predicted best: scales, and mixtures of inputs."""

import numpy as np
from jaxtyping import Float

from sureflow.models.kernels import SCALE_BOUNDS, WIDTH, Kernel, Nodes, inverse_system, is_flat, roots_of, some_runs

MOST_STEPS = 60


def learned_metric(
    kernel: Kernel,
    nodes: Nodes,
    fields: Float[np.ndarray, "run variable point"],
    start: Float[np.ndarray, "parameter parameter"] | None = None,
) -> Float[np.ndarray, "parameter parameter"]:
    """By what upper triangular matrix to multiply the inputs.

    As `learned_scales`, with what the inputs are mixed by as well: the errors e_k = |(P f)_k| / P_kk, with P the runs' block
    of A^-1, and here their derivatives in closed form, from dP = -P dK P. The search begins at a metric that was learned from
    other fields of the same runs, where there is one.
    """
    from scipy.optimize import minimize  # not needed by who only predicts

    used = some_runs(len(nodes))
    nodes, roots = nodes[used], roots_of(fields, used)
    size = nodes.shape[1]
    if is_flat(nodes) or not roots.any():
        return np.eye(size) if start is None else start
    error = LeftOutError(kernel, nodes, roots)
    begin = np.zeros(size * (size + 1) // 2) if start is None else error.unknowns(start)
    bounds = [SCALE_BOUNDS] * len(begin)
    found = minimize(error, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOST_STEPS})
    return error.metric(found.x)


def learned_scales(
    kernel: Kernel, nodes: Nodes, fields: Float[np.ndarray, "run variable point"]
) -> Float[np.ndarray, " parameter"]:
    """By what to multiply each input, so that runs left out one at a time are predicted best.

    The errors are e_k = c_k / (A^-1)_kk (Rippa 1999). Their root mean squares over the field, which are added up over the
    runs, need no more of the fields than their products with each other: a trial costs the same for fields of any size.
    """
    from scipy.optimize import minimize  # not needed by who only predicts

    used = some_runs(len(nodes))
    nodes, roots = nodes[used], roots_of(fields, used)
    size = nodes.shape[1]
    if is_flat(nodes) or not roots.any():
        return np.ones(size)
    error = LeftOutError(kernel, nodes, roots)
    unmixed = np.zeros(size * (size - 1) // 2)

    def of_scales(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = error(np.concatenate([logarithms, unmixed]))
        return value, gradient[:size]

    bounds = [SCALE_BOUNDS] * size
    found = minimize(of_scales, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 40})
    return np.exp(found.x)


class LeftOutError:
    """Logarithm of the mean error at runs left out one at a time, with a prior on the metric, and its gradient.

    Unknowns are the logarithms of the metric's diagonal and the entries above it.
    """

    def __init__(self, kernel: Kernel, nodes: Nodes, roots: Float[np.ndarray, "run root"]):
        self.kernel, self.nodes, self.roots = kernel, nodes, roots
        self.above = np.triu_indices(nodes.shape[1], 1)

    def metric(self, unknowns: np.ndarray) -> Float[np.ndarray, "parameter parameter"]:
        size = self.nodes.shape[1]
        metric = np.diag(np.exp(unknowns[:size]))
        metric[self.above] = unknowns[size:]
        return metric

    def unknowns(self, metric: Float[np.ndarray, "parameter parameter"]) -> np.ndarray:
        """Those of a metric."""
        return np.concatenate([np.log(np.diag(metric)), metric[self.above]])

    def __call__(self, unknowns: np.ndarray) -> tuple[float, np.ndarray]:
        n_runs, metric = len(self.nodes), self.metric(unknowns)
        nodes = self.nodes @ metric
        inner = inverse_system(self.kernel, nodes)[:n_runs, :n_runs]
        coefficients, freedom = inner @ self.roots, np.maximum(np.diag(inner), np.finfo(float).eps)
        size = np.linalg.norm(coefficients, axis=1) + np.finfo(float).tiny
        total = float((size / freedom).sum())
        value = np.log(total / n_runs) + 0.5 * float(np.sum((unknowns / WIDTH) ** 2)) / n_runs
        # d(total) = sum of slope_ij dK_ij
        slope = inner @ ((size / freedom**2)[:, None] * inner)
        slope -= inner @ ((1.0 / (size * freedom))[:, None] * coefficients) @ coefficients.T
        by_metric = self._by_metric(0.5 * (slope + slope.T), nodes, metric) / total
        gradient = np.concatenate([np.diag(by_metric) * np.diag(metric), by_metric[self.above]])
        return value, gradient + unknowns / WIDTH**2 / n_runs

    def _by_metric(
        self, slope: Float[np.ndarray, "run run"], nodes: Nodes, metric: Float[np.ndarray, "parameter parameter"]
    ) -> Float[np.ndarray, "parameter parameter"]:
        """From that by the kernel's values: dK_ij = (phi'/r) d x_i - x_j, squared and halved."""
        squares = (nodes**2).sum(axis=1)
        distance = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * nodes @ nodes.T, 0.0))
        by_square = slope * self.kernel.slope_over_distance(distance)
        np.fill_diagonal(by_square, 0.0)
        spread = self.nodes.T @ (by_square.sum(axis=1)[:, None] * self.nodes) - self.nodes.T @ by_square @ self.nodes
        return 2.0 * spread @ metric
