"""An operator network on a POD basis: the trunk is given by the runs, the branch is an ensemble of small networks."""

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

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
    on_one_thread,
    require_enough_runs,
    unheard,
)
from sureflow.models.pod import combine, pad, pod
from sureflow.predictive import DISCREPANCY, EPISTEMIC, Predictive
from sureflow.scratch import blocks
from sureflow.validation import settings


class Branch(NamedTuple):
    """tanh layers for all members at once: parameters -> width -> width -> modes."""

    first: Float[Array, "member width parameter"]
    first_bias: Float[Array, "member width"]
    hidden: Float[Array, "member width width"]
    hidden_bias: Float[Array, "member width"]
    last: Float[Array, "member mode width"]
    last_bias: Float[Array, "member mode"]

    def __call__(self, inputs: Float[Array, "case parameter"]) -> Float[Array, "member case mode"]:
        x = jnp.tanh(jnp.einsum("mwp,cp->mcw", self.first, inputs) + self.first_bias[:, None])
        x = jnp.tanh(jnp.einsum("mvw,mcw->mcv", self.hidden, x) + self.hidden_bias[:, None])
        return jnp.einsum("mkw,mcw->mck", self.last, x) + self.last_bias[:, None]


@dataclass(frozen=True)
class PodDeepONet(FittedModel):
    """fields(x) = mean + sum_k (line_k(x) + scale_k branch_k(x)) mode_k (Lu et al. 2022, POD-DeepONet).

    The straight line through the coefficients is fitted by least squares, and the branch learns what it leaves: outside of
    the training runs, where tanh layers level off, the line goes on. Members differ in their initial weights.
    """

    mean: Float[np.ndarray, "variable point"]
    modes: Float[np.ndarray, "mode variable point"]
    truncation: Float[np.ndarray, "variable point"]
    line: Float[np.ndarray, "term mode"]  # constant, then one slope for every parameter
    scale: Float[np.ndarray, " mode"]
    first: Float[np.ndarray, "member width parameter"]
    first_bias: Float[np.ndarray, "member width"]
    hidden: Float[np.ndarray, "member width width"]
    hidden_bias: Float[np.ndarray, "member width"]
    last: Float[np.ndarray, "member mode width"]
    last_bias: Float[np.ndarray, "member mode"]

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        coefficients, modes = self._coefficients(inputs), self.modes.reshape(len(self.modes), -1)
        mean, spread = np.empty((2, len(inputs), modes.shape[1]))
        for block in blocks(modes.shape[1], coefficients.shape[0] * len(inputs) + len(modes)):
            members = coefficients @ modes[:, block]
            mean[:, block], spread[:, block] = members.mean(axis=0), members.std(axis=0)
        shape = (len(inputs), *self.mean.shape)
        return Predictive(
            mean=self.mean + mean.reshape(shape),
            parts={EPISTEMIC: spread.reshape(shape), DISCREPANCY: np.broadcast_to(self.truncation, shape)},
        )

    @property
    def has_samples(self) -> bool:
        return True

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """The first `count` members."""
        return self.mean + combine(self._coefficients(inputs)[:count], self.modes)

    @cached_property
    def _branch(self) -> Branch:
        return Branch(*(jnp.asarray(getattr(self, name)) for name in Branch._fields))

    def _coefficients(self, inputs: Inputs) -> Float[np.ndarray, "member case mode"]:
        learned = _run(self._branch, jnp.asarray(pad(np.asarray(inputs)), jnp.float32))
        return _terms(inputs) @ self.line + self.scale * np.asarray(learned, float)[:, : len(inputs)]


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
    energy: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    modes: PositiveInt = 32
    steps: PositiveInt = 4000
    learning_rate: PositiveFloat = 3e-3
    weight_decay: NonNegativeFloat = 1e-4
    seed: NonNegativeInt = 0

    @on_one_thread
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> PodDeepONet:
        require_enough_runs(view.inputs, self.name)
        inputs = view.inputs
        basis = pod(view.fields, self.energy, self.modes)
        line = np.linalg.lstsq(_terms(inputs), basis.coefficients, rcond=None)[0]
        left = basis.coefficients - _terms(inputs) @ line
        scale = np.where(left.std(axis=0) > 0, left.std(axis=0), 1.0)
        branch = _train(
            _initial(self, inputs.shape[1], len(scale)),
            jnp.asarray(pad(inputs), jnp.float32),
            jnp.asarray(pad(left / scale), jnp.float32),
            jnp.asarray(pad(np.ones((len(inputs), 1))), jnp.float32),
            jnp.asarray(scale / scale.sum(), jnp.float32),
            self.learning_rate,
            self.weight_decay,
            steps=self.steps,
        )
        arrays = {name: np.asarray(values) for name, values in branch._asdict().items()}
        return PodDeepONet(basis.mean, basis.modes, basis.truncation, line, scale, **arrays)


def _initial(settings: PodDeepONetSettings, n_parameters: int, n_modes: int) -> Branch:
    """Weights uniform in +-1/sqrt(inputs); a member's depend on the seed and its own place only."""

    def draw(member: int) -> list[np.ndarray]:
        rng = np.random.default_rng(np.random.SeedSequence([settings.seed, member]))
        sizes = [n_parameters, settings.width, settings.width, n_modes]
        shapes = [shape for a, b in pairwise(sizes) for shape in ((a, (b, a)), (a, (b,)))]
        return [rng.uniform(-1, 1, shape) / inputs**0.5 for inputs, shape in shapes]

    members = [draw(member) for member in range(settings.members)]
    return Branch(*(jnp.asarray(np.stack(arrays), jnp.float32) for arrays in zip(*members, strict=True)))


@partial(jax.jit, static_argnames="steps")
def _train(branch, inputs, targets, is_run, importance, learning_rate, weight_decay, *, steps):
    """AdamW over all runs at once. A mode's error counts by its share of the amplitude: counted by energy, as the error of
    the field has it, the many weak modes that make up a sharp shock would hardly be learned.
    """
    optimizer = optax.adamw(optax.cosine_decay_schedule(learning_rate, steps), weight_decay=weight_decay)

    def loss(branch: Branch) -> Float[Array, ""]:
        # Members are independent: the gradient of the sum is each one's own.
        return jnp.sum(jnp.mean((branch(inputs) - targets) ** 2 * is_run, axis=1) * importance)

    def step(carry, _):
        branch, state = carry
        update, state = optimizer.update(jax.grad(loss)(branch), state, branch)
        return (optax.apply_updates(branch, update), state), None

    (branch, _), _ = jax.lax.scan(step, (branch, optimizer.init(branch)), length=steps)
    return branch


@jax.jit
def _run(branch: Branch, inputs: Float[Array, "case parameter"]) -> Float[Array, "member case mode"]:
    return branch(inputs)


def _terms(inputs: Inputs) -> Float[np.ndarray, "case term"]:
    return np.column_stack([np.ones(len(inputs)), inputs])
