"""Branch networks: from the parameters to the coefficients of a basis, many members at once."""

from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from pydantic import Field

from sureflow.models.contract import Inputs
from sureflow.models.pod import pad
from sureflow.models.trend import best_degree, degree_of, slope_of_terms, terms

# Of a polynomial of the parameters; auto is the one that foretells the runs at the sides best when they are left out.
Degree = Literal["auto"] | Annotated[int, Field(ge=1, le=4)]


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


class BranchSettings(NamedTuple):
    """Sizes and training; every step sees all runs, and the learning rate falls along a cosine to zero."""

    members: int
    width: int
    steps: int
    learning_rate: float
    weight_decay: float
    seed: int
    degree: Degree = "auto"  # of the polynomial

    @classmethod
    def of(cls, settings: Any) -> Self:
        """Those of a model that has them among its own, under the same names."""
        return cls(**{name: getattr(settings, name) for name in cls._fields})


class Coefficients(NamedTuple):
    """coefficient_k(x) = polynomial_k(x) + scale_k branch_k(x).

    The polynomial through the coefficients is fitted by least squares, with the degree that foretells runs at the sides best
    when they are left out, and the branch learns what it leaves: outside of the training runs, where tanh layers level off,
    the polynomial goes on. Members differ in their initial weights.
    """

    line: Float[np.ndarray, "term mode"]  # of the polynomial, as in `terms`
    scale: Float[np.ndarray, " mode"]
    branch: Branch

    @classmethod
    def fit(cls, settings: BranchSettings, inputs: Inputs, targets: Float[np.ndarray, "case mode"]) -> "Coefficients":
        degree = best_degree(inputs, targets @ targets.T) if settings.degree == "auto" else settings.degree
        columns = terms(inputs, degree)
        line = np.linalg.lstsq(columns, targets, rcond=None)[0]
        left = targets - columns @ line
        scale = np.where(left.std(axis=0) > 0, left.std(axis=0), 1.0)
        branch = _train(
            _initial(settings, inputs.shape[1], len(scale)),
            jnp.asarray(pad(inputs), jnp.float32),
            jnp.asarray(pad(left / scale), jnp.float32),
            jnp.asarray(pad(np.ones((len(inputs), 1))), jnp.float32),
            jnp.asarray(scale / scale.sum(), jnp.float32),
            settings.learning_rate,
            settings.weight_decay,
            steps=settings.steps,
        )
        return cls(line, scale, branch)

    def __call__(self, inputs: Inputs) -> Float[np.ndarray, "member case mode"]:
        learned = _run(self.branch, jnp.asarray(pad(np.asarray(inputs)), jnp.float32))
        columns = terms(np.asarray(inputs), self._degree(inputs))
        return columns @ self.line + self.scale * np.asarray(learned, float)[:, : len(inputs)]

    def slope(self, inputs: Inputs, along: Inputs) -> Float[np.ndarray, "member case mode"]:
        """Derivative along a change of the inputs."""
        rows = tuple(jnp.asarray(one, jnp.float32) for one in (inputs, along))
        learned = jax.jvp(self.branch, rows[:1], rows[1:])[1]
        columns = slope_of_terms(np.asarray(inputs), np.asarray(along), self._degree(inputs))
        return columns @ self.line + self.scale * np.asarray(learned, float)

    def _degree(self, inputs: Inputs) -> int:
        return degree_of(len(self.line), inputs.shape[1])


def _initial(settings: BranchSettings, n_parameters: int, n_modes: int) -> Branch:
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
