"""Training as pure functions: a state, an epoch that maps it to the next one, and a loop around them."""

from collections.abc import Callable
from dataclasses import dataclass as plain_dataclass
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic.dataclasses import dataclass

from sureflow.data.normalize import TrainingView
from sureflow.errors import SureflowError
from sureflow.heads import AnyHead
from sureflow.models import AnyModel, map_networks
from sureflow.settings import STRICT
from sureflow.train.batching import EpochOrder, gather, steps_per_epoch


@dataclass(frozen=True, config=STRICT)
class TrainSettings:
    """How to train. Epochs and weight decay are the paper's; what it does not give is our choice.

    An epoch visits every training run at `points_per_run` freshly drawn points. Weight decay is
    decoupled from the gradient (AdamW, Loshchilov & Hutter 2019).
    """

    epochs: PositiveInt = 97
    points_per_run: PositiveInt | Literal["all"] = 512
    batch: PositiveInt = 512
    learning_rate: PositiveFloat = 1e-3
    schedule: Literal["constant", "cosine"] = "cosine"
    weight_decay: NonNegativeFloat = 1e-4
    seed: NonNegativeInt = 0


@plain_dataclass(frozen=True)
class Recipe:
    """All that fixes the training of one set of networks, besides the data: hashable, so that it selects a program."""

    model: AnyModel
    head: AnyHead
    members: int
    train: TrainSettings


class TrainState(eqx.Module):
    """Weights and optimizer moments of all networks (leading axis: members x variables, variable fastest)."""

    weights: Any
    moments: optax.OptState
    keys: PRNGKeyArray
    variable: Int[Array, " network"]


@plain_dataclass(frozen=True)
class EpochReport:
    """Means over one epoch of every loss part, per member and variable."""

    epoch: int
    parts: dict[str, Float[np.ndarray, "member variable"]]


@plain_dataclass(frozen=True)
class Training:
    """A training as far as it has come: what a checkpoint holds and what `fit` ends with."""

    state: TrainState
    history: tuple[EpochReport, ...] = ()


def network_key(seed: int, member: Int[Array, ""], variable: Int[Array, ""]) -> PRNGKeyArray:
    """A network's randomness depends on its own place only: more members leave the first ones as they are."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), member), variable)


@partial(jax.jit, static_argnames="recipe")
def initial_state(view: TrainingView, recipe: Recipe) -> TrainState:
    """Independent weights for every member and variable."""
    n_variables = view.fields.shape[0]
    member, variable = jnp.divmod(jnp.arange(recipe.members * n_variables), n_variables)
    keys = jax.vmap(partial(network_key, recipe.train.seed))(member, variable)
    weights = jax.vmap(lambda key: eqx.filter(_build(view, recipe, jax.random.fold_in(key, 0)), eqx.is_array))(keys)
    moments = jax.vmap(_optimizer(view, recipe).init)(weights)
    return TrainState(weights, moments, jax.vmap(partial(jax.random.fold_in, data=1))(keys), variable)


@partial(jax.jit, static_argnames="recipe", donate_argnames="state")
def train_epoch(
    state: TrainState, epoch: Int[Array, ""], view: TrainingView, *, recipe: Recipe
) -> tuple[TrainState, dict[str, Float[Array, " network"]]]:
    """One epoch of every network. Networks are independent, so each takes all its steps before the next one begins:
    its weights stay in cache, which a step-by-step sweep over forty networks would flush every time.
    """
    n_steps = _steps(view, recipe)
    optimizer = _optimizer(view, recipe)
    static = network_skeleton(recipe, view.coordinates.shape[1], view.parameters.shape[1])

    def train_network(weights, moments, key, variable):
        _, n_runs, n_points = view.fields.shape
        order = EpochOrder.draw(jax.random.fold_in(key, epoch), n_runs, n_points)

        def loss(weights, step):
            network = eqx.combine(weights, static)
            x, psi, truth = gather(view, variable, *order.batch(step, recipe.train.batch))
            progress = (epoch * n_steps + step) / (recipe.train.epochs * n_steps)
            parts = jax.vmap(recipe.head.loss_parts, (0, 0, None))(jax.vmap(network)(x, psi), truth, progress)
            means = jax.tree.map(jnp.mean, parts)
            return means["loss"], means

        def step(carry, index):
            weights, moments = carry
            gradient, parts = jax.grad(loss, has_aux=True)(weights, index)
            updates, moments = optimizer.update(gradient, moments, weights)
            return (optax.apply_updates(weights, updates), moments), parts

        (weights, moments), parts = jax.lax.scan(step, (weights, moments), jnp.arange(n_steps))
        return weights, moments, jax.tree.map(jnp.mean, parts)

    weights, moments, parts = map_networks(train_network, state.weights, state.moments, state.keys, state.variable)
    return TrainState(weights, moments, state.keys, state.variable), parts


def network_skeleton(recipe: Recipe, n_coordinates: int, n_parameters: int) -> Any:
    """A network without its weights: all that a program needs to know of it besides them."""
    return eqx.filter(_network_shapes(recipe, n_coordinates, n_parameters), _is_shape, inverse=True)


def weight_shapes(recipe: Recipe, n_coordinates: int, n_parameters: int, n_variables: int) -> Any:
    """The form of the weights of all networks, without drawing them."""
    networks = recipe.members * n_variables
    one = eqx.filter(_network_shapes(recipe, n_coordinates, n_parameters), _is_shape)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((networks, *leaf.shape), leaf.dtype), one)


def _network_shapes(recipe: Recipe, n_coordinates: int, n_parameters: int) -> Any:
    key = jax.random.key(0)
    return eqx.filter_eval_shape(recipe.model.build, n_coordinates, n_parameters, recipe.head.n_outputs, key)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


def _build(view: TrainingView, recipe: Recipe, key: PRNGKeyArray) -> Any:
    return recipe.model.build(view.coordinates.shape[1], view.parameters.shape[1], recipe.head.n_outputs, key)


def _steps(view: TrainingView, recipe: Recipe) -> int:
    _, n_runs, n_points = view.fields.shape
    wanted = recipe.train.points_per_run
    return steps_per_epoch(n_runs, n_points if wanted == "all" else min(wanted, n_points), recipe.train.batch)


def _optimizer(view: TrainingView, recipe: Recipe) -> optax.GradientTransformation:
    train = recipe.train
    schedule = {
        "constant": optax.constant_schedule(train.learning_rate),
        "cosine": optax.cosine_decay_schedule(train.learning_rate, train.epochs * _steps(view, recipe)),
    }[train.schedule]
    return optax.adamw(schedule, weight_decay=train.weight_decay)


def fit(
    view: TrainingView,
    recipe: Recipe,
    *,
    start: Training | None = None,
    on_epoch: Callable[[Training], None] = lambda training: None,
) -> Training:
    """Train to the last epoch, from where `start` has come to or from new weights; `on_epoch` sees the end of each."""
    training = start or Training(initial_state(view, recipe))
    for epoch in range(len(training.history), recipe.train.epochs):
        state, parts = train_epoch(training.state, jnp.asarray(epoch), view, recipe=recipe)
        by_member = {name: np.asarray(values).reshape(recipe.members, -1) for name, values in parts.items()}
        report = EpochReport(epoch, by_member)
        _require_finite(report, recipe)
        training = Training(state, (*training.history, report))
        on_epoch(training)
    return training


def _require_finite(report: EpochReport, recipe: Recipe) -> None:
    lost = np.argwhere(~np.isfinite(report.parts["loss"]))
    if lost.size:
        member, variable = lost[0]
        raise SureflowError(
            f"the loss of member {member}, variable {variable} is not finite in epoch {report.epoch + 1}: lower "
            f"train.learning_rate, which is {recipe.train.learning_rate:g}, and train again"
        )
