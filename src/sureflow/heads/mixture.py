"""Mixture density (Bishop 1994): the network gives a mixture of normal distributions."""

from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp, ndtr
from jaxtyping import Array, Float
from pydantic import AfterValidator, Field

from sureflow.heads.head import HEADS, Head, positive
from sureflow.predictive import DISCREPANCY, Predictive
from sureflow.validation import settings

MOST_COMPONENTS = 20


def _several(components: int) -> int:
    if not 2 <= components <= MOST_COMPONENTS:
        raise ValueError(f"choose from 2 to {MOST_COMPONENTS}; the head mve is one normal distribution")
    return components


@HEADS.add
@settings
class Mixture(Head):
    """sum_k pi_k N(mu_k, sigma_k^2) of `components` normal distributions, trained by its likelihood.

    The network gives the mean m of the mixture, displacements d, variances and logits of the weights: mu_k = m + d_k -
    sum_j pi_j d_j. So the mean can be fitted alone, by squared error, over the first share `warm_up` of training, as MVE does.
    """

    name: ClassVar[str] = "mixture"
    normal: ClassVar[bool] = False
    components: Annotated[int, AfterValidator(_several)] = 3
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.25

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return 1 + 3 * self.components

    def loss_parts(
        self, output: Float[Array, " output"], truth: Float[Array, ""], progress: Float[Array, ""]
    ) -> dict[str, Float[Array, ""]]:
        log_weights, means, variances = self._components(output)
        exponents = log_weights - 0.5 * (jnp.log(2 * jnp.pi * variances) + (truth - means) ** 2 / variances)
        likelihood = -logsumexp(exponents)
        squared_error = (output[0] - truth) ** 2
        return {
            "loss": jnp.where(progress < self.warm_up, squared_error, likelihood),
            "likelihood": likelihood,
            "squared_error": squared_error,
        }

    def predictive(self, output: Float[Array, " output"]) -> Predictive:
        """variance = sum_k pi_k (sigma_k^2 + (mu_k - m)^2)."""
        log_weights, means, variances = self._components(output)
        variance = jnp.sum(jnp.exp(log_weights) * (variances + (means - output[0]) ** 2))
        return Predictive(output[0], {DISCREPANCY: jnp.sqrt(variance)})

    def below(self, output: Float[Array, " output"], value: Float[Array, ""]) -> Float[Array, ""]:
        log_weights, means, variances = self._components(output)
        return jnp.sum(jnp.exp(log_weights) * ndtr((value - means) / jnp.sqrt(variances)))

    def _components(self, output: Float[Array, " output"]) -> tuple[Array, Array, Array]:
        """Logarithms of the weights, means and variances."""
        displacement, raw, logits = jnp.split(output[1:], 3)
        log_weights = jax.nn.log_softmax(logits)
        means = output[0] + displacement - jnp.sum(jnp.exp(log_weights) * displacement)
        return log_weights, means, positive(raw)
