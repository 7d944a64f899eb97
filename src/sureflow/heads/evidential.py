"""Deep evidential regression (Amini et al. 2020): the network gives a normal-inverse-gamma distribution."""

from typing import Annotated, ClassVar, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float
from pydantic import Field, NonNegativeFloat

from sureflow.heads.head import HEADS, Head, positive
from sureflow.predictive import DISCREPANCY, EPISTEMIC, Predictive
from sureflow.validation import settings

RECURRENCE_STEPS = 8


def log_gamma_ratio(alpha: Float[Array, "..."]) -> Float[Array, "..."]:
    """log Gamma(alpha + 1/2) - log Gamma(alpha) for alpha > 0, without cancellation at large alpha.

    Stirling's series 1/2 log z - 1/(8 z) + 1/(192 z^3) - 1/(640 z^5) at z = alpha + 8 (truncation below 1e-9), brought
    back to alpha by Gamma(z + 1) = z Gamma(z). A difference of float32 `lgamma` loses all digits from alpha ~ 1e6 on.
    """
    z = alpha + RECURRENCE_STEPS
    series = 0.5 * jnp.log(z) - 1 / (8 * z) + 1 / (192 * z**3) - 1 / (640 * z**5)
    return series - sum(jnp.log1p(0.5 / (alpha + k)) for k in range(RECURRENCE_STEPS))


def evidential_nll(
    gamma: Float[Array, "..."],
    v: Float[Array, "..."],
    alpha: Float[Array, "..."],
    beta: Float[Array, "..."],
    truth: Float[Array, "..."],
) -> Float[Array, "..."]:
    """Negative log-likelihood of a Student t with 2 alpha degrees of freedom, location gamma and
    scale^2 = beta (1 + v) / (v alpha).

    With Omega = 2 beta (1 + v), Amini et al. 2020 (eq. 8) have
    1/2 log(pi / v) - alpha log Omega + (alpha + 1/2) log((w - gamma)^2 v + Omega)
    + log Gamma(alpha) / Gamma(alpha + 1/2).
    Appendix D.2 of the paper prints (w - gamma^2 v; the square belongs to (w - gamma). The two logarithms of Omega are
    joined, so that nothing cancels at large alpha.
    """
    omega = 2 * beta * (1 + v)
    misfit = jnp.log1p((truth - gamma) ** 2 * v / omega)
    return 0.5 * (jnp.log(jnp.pi) + jnp.log(omega) - jnp.log(v)) + (alpha + 0.5) * misfit - log_gamma_ratio(alpha)


@HEADS.add
@settings
class Evidential(Head):
    """gamma, v, alpha, beta of appendix D.2; loss = NLL + regularization |w - gamma| (2 v + alpha).

    The mean is gamma; E[sigma^2] = beta / (alpha - 1) is the discrepancy, Var[mu] = beta / (v (alpha - 1)) the
    epistemic part (the paper writes Var[w] for it). `explosion` counts the share of points whose standard deviation exceeds
    it (0: do not count, as in the paper).

    Two remedies against standard deviations that explode were published, both off here. `regularizer = "standardized"`
    divides the error by the width of the Student t (Meinert et al. 2023), so that it no longer pays to give up evidence where
    errors are large. `recovery` adds -recovery |w - gamma| log(exp(alpha - 1) - 1) (Ye et al. 2024), whose gradient does not
    vanish as alpha goes to 1; the logarithm is the network's own output, of which softplus makes alpha - 1.

    Wherever there is an error, the regularizer asks for less evidence: v falls to 0, which the likelihood does not see if beta
    falls with it, and alpha to 1, where the variance of the Student t, which has 2 alpha degrees of freedom, is infinite.
    `fewest_degrees` keeps alpha away from 1.
    """

    name: ClassVar[str] = "evidential"
    regularization: NonNegativeFloat = 1e-2
    regularizer: Literal["error", "standardized"] = "error"
    recovery: NonNegativeFloat = 0.0
    fewest_degrees: Annotated[float, Field(ge=2)] = 2.0
    explosion: NonNegativeFloat = 10.0
    n_outputs: ClassVar[int] = 4

    def loss_parts(
        self, output: Float[Array, " output"], truth: Float[Array, ""], progress: Float[Array, ""]
    ) -> dict[str, Float[Array, ""]]:
        gamma, v, excess, beta = self._distribution(output)
        alpha = 1 + excess
        nll = evidential_nll(gamma, v, alpha, beta, truth)
        error = jnp.abs(truth - gamma)
        width = jnp.sqrt(beta * (1 + v) / (v * alpha)) if self.regularizer == "standardized" else 1.0
        regularizer = error / width * (2 * v + alpha)
        total_variance = beta / excess * (1 + 1 / v)
        parts = {
            "loss": nll + self.regularization * regularizer - self.recovery * error * output[2],
            "likelihood": nll,
            "regularizer": regularizer,
            "squared_error": (gamma - truth) ** 2,
            "std": jnp.sqrt(total_variance),
            "degrees": 2 * alpha,
        }
        if self.explosion:
            parts["exploded"] = (total_variance > self.explosion**2).astype(nll.dtype)
        return parts

    def predictive(self, output: Float[Array, " output"]) -> Predictive:
        gamma, v, excess, beta = self._distribution(output)
        discrepancy = jnp.sqrt(beta / excess)
        return Predictive(gamma, {DISCREPANCY: discrepancy, EPISTEMIC: discrepancy / jnp.sqrt(v)})

    def _distribution(self, output: Float[Array, " output"]) -> tuple[Array, Array, Array, Array]:
        """gamma, v, alpha - 1 and beta of the network's four numbers: in float32, alpha would swallow a small alpha - 1."""
        fewest = 0.5 * self.fewest_degrees - 1
        return output[0], positive(output[1]), fewest + positive(output[2]), positive(output[3])
