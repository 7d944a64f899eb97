"""The most probable hyperparameters of Gaussian processes, by compiled gradients."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.optimize import minimize
from tinygp import GaussianProcess, kernels, transforms
from tinygp.kernels.distance import L2Distance

from sureflow.models.pod import PAD_RUNS
from sureflow.models.pod_gp import WIDE

PADDING_NOISE = 1e6

# Bounds and beginnings of the logarithms: amplitude^2, noise^2, then one length for every parameter.
AMPLITUDE, NOISE, LENGTH = (-8.0, 8.0), (-16.0, 0.0), (-2.0, 4.0)
START = (0.0, -9.0, 1.0)
# Lengths are lognormal about e standard deviations of the parameter, times or by e^2: what the data leave open stays there.
LENGTH_PRIOR = (1.0, 2.0)


def _process(
    logarithms: Float[Array, " hyperparameter"], inputs: Float[Array, "row parameter"], is_run: Bool[Array, " row"]
) -> GaussianProcess:
    matern = transforms.Linear(jnp.exp(-logarithms[2:]), kernels.Matern52(distance=L2Distance()))
    linear = kernels.Constant(WIDE) + WIDE * kernels.DotProduct()
    noise = jnp.where(is_run, jnp.exp(logarithms[1]), PADDING_NOISE)
    return GaussianProcess(jnp.exp(logarithms[0]) * matern + linear, inputs, diag=noise)


@jax.jit
def _objective(logarithms, inputs, target, is_run):
    """Minus the logarithm of the posterior probability of the hyperparameters, and its gradient."""

    def value(logarithms):
        center, width = LENGTH_PRIOR
        prior = -0.5 * jnp.sum(((logarithms[2:] - center) / width) ** 2)
        return -(_process(logarithms, inputs, is_run).log_probability(target) + prior)

    return jax.value_and_grad(value)(logarithms)


def most_probable(
    inputs: Float[np.ndarray, "row parameter"], target: Float[np.ndarray, " row"], is_run: Bool[np.ndarray, " row"]
) -> Float[np.ndarray, " hyperparameter"]:
    n_parameters = inputs.shape[1]

    def objective(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _objective(logarithms, inputs, target, is_run)
        return float(value), np.asarray(gradient)

    amplitude, noise, length = START
    start = np.array([amplitude, noise, *[length] * n_parameters])
    bounds = [AMPLITUDE, NOISE, *[LENGTH] * n_parameters]
    found = minimize(
        objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 60, "ftol": 1e-7}
    )
    return found.x


def is_run(n_runs: int) -> Bool[np.ndarray, " row"]:
    return np.arange(n_runs + -n_runs % PAD_RUNS) < n_runs
