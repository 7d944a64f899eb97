"""The plain network: a mean and nothing else."""

from typing import ClassVar, Literal

from jaxtyping import Array, Float
from pydantic.dataclasses import dataclass

from sureflow.heads.base import Head
from sureflow.predictive import Predictive
from sureflow.validation import STRICT


@dataclass(frozen=True, config=STRICT)
class Deterministic(Head):
    """Squared error |w - w_hat|^2 (section 2.2 of Leon et al. 2023)."""

    name: Literal["deterministic"] = "deterministic"
    n_outputs: ClassVar[int] = 1

    def loss_parts(
        self, output: Float[Array, " output"], truth: Float[Array, ""], progress: Float[Array, ""]
    ) -> dict[str, Float[Array, ""]]:
        return {"loss": (output[0] - truth) ** 2}

    def predictive(self, output: Float[Array, " output"]) -> Predictive:
        return Predictive(mean=output[0], parts={})
