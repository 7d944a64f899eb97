"""An operator network on a POD basis: the trunk is given by the runs, the branch is an ensemble of small networks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from sureflow.models.branch import Branch, BranchSettings, Coefficients, Degree
from sureflow.models.contract import (
    MODELS,
    Capabilities,
    Checkpoint,
    Coordinates,
    FittedModel,
    Inputs,
    ModelSettings,
    Progress,
    Samples,
    View,
    require_enough_runs,
    unheard,
)
from sureflow.models.pod import combine, pod
from sureflow.predictive import DISCREPANCY, EPISTEMIC, Predictive
from sureflow.runtime import one_blas_thread
from sureflow.scratch import blocks
from sureflow.validation import settings


@dataclass(frozen=True)
class PodDeepONet(FittedModel):
    """fields(x) = mean + sum_k coefficient_k(x) mode_k (Lu et al. 2022, POD-DeepONet); see `Coefficients`."""

    mean: Float[np.ndarray, "variable point"]
    modes: Float[np.ndarray, "mode variable point"]
    truncation: Float[np.ndarray, "variable point"]
    line: Float[np.ndarray, "term mode"]
    scale: Float[np.ndarray, " mode"]
    first: Float[np.ndarray, "member width parameter"]
    first_bias: Float[np.ndarray, "member width"]
    hidden: Float[np.ndarray, "member width width"]
    hidden_bias: Float[np.ndarray, "member width"]
    last: Float[np.ndarray, "member mode width"]
    last_bias: Float[np.ndarray, "member mode"]

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        coefficients, modes = self._coefficients(inputs), self.modes.reshape(len(self.modes), -1)
        center, spread = coefficients.mean(axis=0), np.empty((len(inputs), modes.shape[1]))
        for block in blocks(modes.shape[1], coefficients.shape[0] * len(inputs) + len(modes)):
            apart = (coefficients - center) @ modes[:, block]
            spread[:, block] = np.sqrt(np.einsum("mcp,mcp->cp", apart, apart) / len(apart))
        shape = (len(inputs), *self.mean.shape)
        return Predictive(
            mean=self.mean + combine(center, self.modes),
            parts={EPISTEMIC: spread.reshape(shape), DISCREPANCY: np.broadcast_to(self.truncation, shape)},
        )

    def slope(
        self, inputs: Inputs, coordinates: Coordinates, d_inputs: Inputs, d_coordinates: Coordinates
    ) -> Float[np.ndarray, "variable value"]:
        return combine(self._coefficients.slope(inputs, d_inputs).mean(axis=0), self.modes)[0]

    @property
    def has_samples(self) -> bool:
        return True

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """The first `count` members."""
        return self.mean + combine(self._coefficients(inputs)[:count], self.modes)

    @cached_property
    def _coefficients(self) -> Coefficients:
        branch = Branch(*(jnp.asarray(getattr(self, name)) for name in Branch._fields))
        return Coefficients(self.line, self.scale, branch)


@MODELS.add
@settings
class PodDeepONetSettings(ModelSettings):
    """Ensemble, basis and training. Every step sees all runs; the learning rate falls along a cosine to zero."""

    name: ClassVar[str] = "pod-deeponet"
    uq: ClassVar[str] = "ensemble"
    capabilities: ClassVar[Capabilities] = Capabilities(refits_quickly=True)
    fitted: ClassVar[type[FittedModel]] = PodDeepONet
    members: PositiveInt = 10
    width: PositiveInt = 64
    energy: Annotated[float, Field(gt=0, lt=1)] = 1e-8
    modes: PositiveInt = 48
    steps: PositiveInt = 4000
    learning_rate: PositiveFloat = 3e-3
    weight_decay: NonNegativeFloat = 1e-4
    seed: NonNegativeInt = 0
    degree: Degree = "auto"

    @one_blas_thread()
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> PodDeepONet:
        require_enough_runs(view.inputs, self.name)
        basis = pod(view.fields, self.energy, self.modes)
        line, scale, trained = Coefficients.fit(BranchSettings.of(self), view.inputs, basis.coefficients)
        arrays = {name: np.asarray(values) for name, values in trained._asdict().items()}
        return PodDeepONet(basis.mean, basis.modes, basis.truncation, line, scale, **arrays)
