"""Training as pure functions: a state, an epoch that maps it to the next one, and a loop around them."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, UInt32

from sureflow.errors import SureflowError
from sureflow.heads import Head
from sureflow.models.contract import EpochReport, Sizes
from sureflow.models.network import NetworkSettings, Noise, map_networks, network_shares
from sureflow.models.train_settings import TrainSettings
from sureflow.train.batching import EpochOrder, TrainingView, runs_at_once, steps_per_epoch
from sureflow.train.losses import field_losses, point_losses
from sureflow.train.optimizers import ADAM, OPTIMIZERS
from sureflow.train.recipe import Recipe

# Share of the learning rate that is left, by how much of the training is done.
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "constant": optax.constant_schedule(1.0),
    "cosine": optax.cosine_decay_schedule(1.0, decay_steps=1),
}


class TrainState(eqx.Module):
    """Weights and optimizer moments of all networks (leading axis: members x variables, variable fastest).

    Networks of whole fields are one for all variables: the leading axis is that of the members.
    """

    weights: Any
    moments: optax.OptState


class Diverged(SureflowError):
    """Training that came to numbers that are not finite."""


@dataclass(frozen=True)
class Training:
    """A training as far as it has come: what a checkpoint holds and what `fit` ends with."""

    state: TrainState
    history: tuple[EpochReport, ...] = ()


def network_seeds(seed: int, members: int, n_variables: int) -> list[np.random.SeedSequence]:
    """A network's randomness depends on its own place only: more members leave the first ones as they are."""
    return [np.random.SeedSequence([seed, m, variable]) for m in range(members) for variable in range(n_variables)]


def initial_state(view: TrainingView, recipe: Recipe) -> TrainState:
    """Independent weights for every network. NumPy makes them, so that there is nothing to compile."""
    sizes = view.sizes
    weights = [
        recipe.network.build(sizes, n_outputs(recipe.network, recipe.head, sizes), np.random.default_rng(seed))
        for seed in network_seeds(recipe.train.seed, recipe.members, n_networks(recipe.network, sizes))
    ]
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *eqx.filter(weights, eqx.is_array))
    # Adam begins with zeros everywhere.
    form = jax.eval_shape(jax.vmap(ADAM.init), stacked)
    moments = jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), form)
    return TrainState(stacked, moments)


def n_networks(network: NetworkSettings, sizes: Sizes) -> int:
    """Networks of one member: one a variable, or one for all of them."""
    return 1 if network.whole_fields else sizes.fields


def n_outputs(network: NetworkSettings, head: Head, sizes: Sizes) -> int:
    """Numbers that a network gives at one point."""
    return head.n_outputs * (sizes.fields if network.whole_fields else 1)


def train_epoch(
    state: TrainState, epoch: int, view: TrainingView, recipe: Recipe
) -> tuple[TrainState, dict[str, Float[Array, "network ..."]]]:
    """One epoch of every network, and the means of its loss parts. All shares run the same compiled program."""
    n_steps, per_member = _steps(view, recipe), n_networks(recipe.network, view.sizes)
    seeds = network_seeds(recipe.train.seed, recipe.members, per_member)
    key_data = np.stack([seed.generate_state(2) for seed in seeds])
    variable = np.arange(len(seeds)) % per_member
    train, sampler = recipe.train, recipe.sampler
    rates = Rates(train.learning_rate, train.weight_decay, train.epochs * n_steps, sampler.rate)

    def train_share(share: tuple[TrainState, UInt32[np.ndarray, "network 2"], Int[np.ndarray, " network"]]):
        options = {"optimizer": train.optimizer, "schedule": train.schedule, "batch": train.batch, "n_steps": n_steps}
        kinds = {"network": recipe.network, "head": recipe.head, "random": sampler.random}
        options["n_points"] = _points_per_run(view, recipe) if recipe.network.whole_fields else 1
        trained = _train_epoch(*share, view, epoch, rates, **kinds, **options)
        return jax.block_until_ready(trained)

    return in_shares(train_share, (state, key_data, variable))


def in_shares(function: Callable[[Any], Any], tree: Any) -> Any:
    """`function` of equal shares of the networks (the leading axis of every array), side by side, joined again."""
    shares = network_shares(len(jax.tree.leaves(tree)[0]))
    if shares == 1:
        return function(tree)
    # Through NumPy, which has nothing to compile, and on a CPU sees the same memory.
    leaves, structure = jax.tree.flatten(tree)
    parts = zip(*(np.split(np.asarray(leaf), shares) for leaf in leaves), strict=True)
    with ThreadPoolExecutor(shares) as pool:
        results = list(pool.map(function, [structure.unflatten(part) for part in parts]))
    return jax.tree.map(lambda *parts: jnp.asarray(np.concatenate(parts)), *results)


class Rates(eqx.Module):
    """Numbers that a compiled program takes as arguments, so that another choice of them needs no other program."""

    learning_rate: float
    weight_decay: float
    total_steps: int
    dropout: float


def take_step(optimizer: str, weights: Any, moments: Any, gradient: Any, rates: Rates, left: Any) -> tuple[Any, Any]:
    """With decoupled weight decay, and rates that are arguments of the program; `left` is the share of them that is left."""
    direction, moments = OPTIMIZERS[optimizer](gradient, moments)
    rate = rates.learning_rate * left
    return jax.tree.map(lambda w, d: w - rate * (d + rates.weight_decay * w), weights, direction), moments


@partial(
    jax.jit,
    static_argnames=("network", "head", "random", "optimizer", "schedule", "batch", "n_steps", "n_points"),
    donate_argnames="state",
)
def _train_epoch(
    state: TrainState,
    key_data: UInt32[Array, "network 2"],
    variable: Int[Array, " network"],
    view: TrainingView,
    epoch: Int[Array, ""],
    rates: Rates,
    *,
    network: NetworkSettings,
    head: Head,
    random: bool,
    optimizer: str,
    schedule: str,
    batch: int,
    n_steps: int,
    n_points: int,
) -> tuple[TrainState, dict[str, Float[Array, "network ..."]]]:
    """Networks are independent, so each takes all its steps before the next one begins: its weights stay in cache,
    which a step-by-step sweep over forty networks would flush every time.
    """
    _, n_runs, all_points = view.fields.shape
    static = network_skeleton(network, head, view.sizes)
    losses = partial(field_losses, n_points=n_points) if network.whole_fields else point_losses

    def train_network(weights, moments, key_data, variable):
        key = jax.random.fold_in(jax.random.wrap_key_data(key_data), epoch)
        order = EpochOrder.draw(key, n_runs, all_points)

        def loss(weights, index, progress):
            noise = Noise(jax.random.fold_in(key, index), rates.dropout) if random else None
            answer = eqx.combine(weights, static)
            parts = losses(answer, head, view, order, index, batch, variable, progress, noise)
            return jnp.mean(parts["loss"]), parts

        def step(carry, index):
            weights, moments = carry
            progress = (epoch * n_steps + index) / rates.total_steps
            gradient, parts = jax.grad(loss, has_aux=True)(weights, index, progress)
            return take_step(optimizer, weights, moments, gradient, rates, SCHEDULES[schedule](progress)), parts

        (weights, moments), parts = jax.lax.scan(step, (weights, moments), jnp.arange(n_steps))
        return weights, moments, jax.tree.map(lambda values: jnp.mean(values, axis=0), parts)

    weights, moments, parts = map_networks(train_network, state.weights, state.moments, key_data, variable)
    return TrainState(weights, moments), parts


def network_skeleton(network: NetworkSettings, head: Head, sizes: Sizes) -> Any:
    """A network without its weights: all that a program needs to know of it besides them."""
    return eqx.filter(_any_network(network, head, sizes), eqx.is_array, inverse=True)


def weight_shapes(recipe: Recipe, sizes: Sizes) -> Any:
    """The form of the weights of all networks."""
    networks = recipe.members * n_networks(recipe.network, sizes)
    one = eqx.filter(_any_network(recipe.network, recipe.head, sizes), eqx.is_array)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((networks, *leaf.shape), leaf.dtype), one)


def _any_network(network: NetworkSettings, head: Head, sizes: Sizes) -> Any:
    return network.build(sizes, n_outputs(network, head, sizes), np.random.default_rng(0))


def _steps(view: TrainingView, recipe: Recipe) -> int:
    n_runs, batch = view.fields.shape[1], recipe.train.batch
    if recipe.network.whole_fields:
        return steps_per_epoch(n_runs, 1, runs_at_once(n_runs, batch))
    return steps_per_epoch(n_runs, _points_per_run(view, recipe), batch)


def _points_per_run(view: TrainingView, recipe: Recipe) -> int:
    n_points, wanted = view.fields.shape[2], recipe.train.points_per_run
    if wanted == "all" or recipe.network.capabilities.needs_structured_mesh:
        return n_points
    return min(wanted, n_points)


def train(
    view: TrainingView,
    recipe: Recipe,
    *,
    names: Sequence[str] | None = None,
    start: Training | None = None,
    on_epoch: Callable[[Training], None] = lambda training: None,
) -> Training:
    """Train to the last epoch, from where `start` has come to or from new weights; `on_epoch` sees the end of each.

    `names` of the variables are for a message about one whose training diverged.
    """
    training = start or Training(initial_state(view, recipe))
    return train_epochs(
        training,
        lambda state, epoch: train_epoch(state, epoch, view, recipe),
        recipe.train,
        recipe.members,
        names or [str(variable) for variable in range(len(view.fields))],
        on_epoch,
    )


def train_epochs(
    training: Training,
    one_epoch: Callable[[TrainState, int], tuple[TrainState, dict[str, Float[Array, "network ..."]]]],
    train: TrainSettings,
    members: int,
    names: Sequence[str],
    on_epoch: Callable[[Training], None],
) -> Training:
    """The epochs that are left of a training, whatever one of them does; numbers that are not finite end it."""
    for epoch in range(len(training.history), train.epochs):
        state, parts = one_epoch(training.state, epoch)
        report = EpochReport(epoch, {name: np.asarray(values).reshape(members, -1) for name, values in parts.items()})
        _require_finite(report, train, names)
        training = Training(state, (*training.history, report))
        on_epoch(training)
    return training


def _require_finite(report: EpochReport, train: TrainSettings, names: Sequence[str]) -> None:
    loss = report.parts["loss"]
    lost = np.argwhere(~np.isfinite(loss))
    if lost.size:
        member, variable = lost[0]
        raise Diverged(
            f"the loss of {names[variable]}, member {member + 1} of {len(loss)}, is not finite in epoch "
            f"{report.epoch + 1}: lower train.learning_rate, which is {train.learning_rate:g}, and train again"
        )
