"""The plain network: a mean and nothing else."""

from typing import ClassVar

from jaxtyping import Array, Float

from sureflow.heads.head import HEADS, Head
from sureflow.predictive import Predictive
from sureflow.validation import settings


@HEADS.add
@settings
class Deterministic(Head):
    """Squared error |w - w_hat|^2 (section 2.2 of Leon et al. 2023)."""

    name: ClassVar[str] = "deterministic"
    n_outputs: ClassVar[int] = 1

    def loss_parts(
        self, output: Float[Array, " output"], truth: Float[Array, ""], progress: Float[Array, ""]
    ) -> dict[str, Float[Array, ""]]:
        return {"loss": (output[0] - truth) ** 2}

    def predictive(self, output: Float[Array, " output"]) -> Predictive:
        return Predictive(mean=output[0], parts={})
