"""Mean-variance estimation (Nix & Weigend 1994): the network gives a mean and the variance it expects about it."""

from typing import Annotated, ClassVar

import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Array, Float
from pydantic import Field

from sureflow.heads.head import HEADS, Head, positive
from sureflow.predictive import DISCREPANCY, Predictive
from sureflow.validation import settings


def gaussian_loss(
    mean: Float[Array, "..."], variance: Float[Array, "..."], truth: Float[Array, "..."]
) -> Float[Array, "..."]:
    """log sigma^2 + (mu - w)^2 / sigma^2: twice the Gaussian negative log-likelihood less log 2 pi (appendix D.1)."""
    return jnp.log(variance) + (mean - truth) ** 2 / variance


@HEADS.add
@settings
class MVE(Head):
    """Mean and variance, trained by the Gaussian likelihood.

    Plain likelihood lets a large variance excuse a poor mean. Two remedies, both off (0) in the paper's configuration:
    `warm_up`, the share of training in which only the mean is fitted; and `beta`, which weights each point's loss by
    its variance^beta, not differentiated (beta-NLL, Seitzer et al. 2022; 1 gives the mean the pull of squared error).
    """

    name: ClassVar[str] = "mve"
    warm_up: Annotated[float, Field(ge=0, lt=1)] = 0.25
    beta: Annotated[float, Field(ge=0, le=1)] = 0.5
    n_outputs: ClassVar[int] = 2

    def loss_parts(
        self, output: Float[Array, " output"], truth: Float[Array, ""], progress: Float[Array, ""]
    ) -> dict[str, Float[Array, ""]]:
        mean, variance = output[0], positive(output[1])
        squared_error = (mean - truth) ** 2
        likelihood = gaussian_loss(mean, variance, truth)
        weighted = stop_gradient(variance) ** self.beta * likelihood
        return {
            "loss": jnp.where(progress < self.warm_up, squared_error, weighted),
            "likelihood": likelihood,
            "squared_error": squared_error,
            "variance": variance,
        }

    def predictive(self, output: Float[Array, " output"]) -> Predictive:
        return Predictive(mean=output[0], parts={DISCREPANCY: jnp.sqrt(positive(output[1]))})
