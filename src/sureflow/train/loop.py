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
from sureflow.models.contract import EpochReport
from sureflow.models.network import NetworkSettings, map_networks, network_shares
from sureflow.train.batching import EpochOrder, TrainingView, gather, steps_per_epoch
from sureflow.train.recipe import Recipe

ADAM = optax.scale_by_adam()

# Share of the learning rate that is left, by how much of the training is done.
SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "constant": optax.constant_schedule(1.0),
    "cosine": optax.cosine_decay_schedule(1.0, decay_steps=1),
}


class TrainState(eqx.Module):
    """Weights and optimizer moments of all networks (leading axis: members x variables, variable fastest)."""

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
    """Independent weights for every member and variable. NumPy makes them, so that there is nothing to compile."""
    n_coordinates, n_parameters, n_variables = _sizes(view)
    weights = [
        recipe.network.build(n_coordinates, n_parameters, recipe.head.n_outputs, np.random.default_rng(seed))
        for seed in network_seeds(recipe.train.seed, recipe.members, n_variables)
    ]
    stacked = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *eqx.filter(weights, eqx.is_array))
    # Adam begins with zeros everywhere.
    form = jax.eval_shape(jax.vmap(ADAM.init), stacked)
    moments = jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), form)
    return TrainState(stacked, moments)


def train_epoch(
    state: TrainState, epoch: int, view: TrainingView, recipe: Recipe
) -> tuple[TrainState, dict[str, Float[Array, " network"]]]:
    """One epoch of every network, and the means of its loss parts. All shares run the same compiled program."""
    n_steps, (_, _, n_variables) = _steps(view, recipe), _sizes(view)
    seeds = network_seeds(recipe.train.seed, recipe.members, n_variables)
    key_data = np.stack([seed.generate_state(2) for seed in seeds])
    variable = np.arange(len(seeds)) % n_variables
    rates = Rates(recipe.train.learning_rate, recipe.train.weight_decay, recipe.train.epochs * n_steps)

    def train_share(share: tuple[TrainState, UInt32[np.ndarray, "network 2"], Int[np.ndarray, " network"]]):
        options = {"schedule": recipe.train.schedule, "batch": recipe.train.batch, "n_steps": n_steps}
        kinds = {"network": recipe.network, "head": recipe.head, "random": recipe.sampler.random}
        trained = _train_epoch(*share, view, epoch, rates, **kinds, **options)
        return jax.block_until_ready(trained)

    return _in_shares(train_share, (state, key_data, variable))


def _in_shares(function: Callable[[Any], Any], tree: Any) -> Any:
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


@partial(
    jax.jit, static_argnames=("network", "head", "random", "schedule", "batch", "n_steps"), donate_argnames="state"
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
    schedule: str,
    batch: int,
    n_steps: int,
) -> tuple[TrainState, dict[str, Float[Array, " network"]]]:
    """Networks are independent, so each takes all its steps before the next one begins: its weights stay in cache,
    which a step-by-step sweep over forty networks would flush every time.
    """
    _, n_runs, n_points = view.fields.shape
    static = network_skeleton(network, head, *_sizes(view)[:2])

    def train_network(weights, moments, key_data, variable):
        key = jax.random.fold_in(jax.random.wrap_key_data(key_data), epoch)
        order = EpochOrder.draw(key, n_runs, n_points)

        def loss(weights, index, progress):
            answer = jax.vmap(eqx.combine(weights, static))
            x, psi, truth = gather(view, variable, *order.batch(index, batch))
            keys = (jax.random.split(jax.random.fold_in(key, index), batch),) if random else ()
            parts = jax.vmap(head.loss_parts, (0, 0, None))(answer(x, psi, *keys), truth, progress)
            means = jax.tree.map(jnp.mean, parts)
            return means["loss"], means

        def step(carry, index):
            weights, moments = carry
            progress = (epoch * n_steps + index) / rates.total_steps
            gradient, parts = jax.grad(loss, has_aux=True)(weights, index, progress)
            direction, moments = ADAM.update(gradient, moments)
            rate = rates.learning_rate * SCHEDULES[schedule](progress)
            # AdamW, with rates that are arguments of the program.
            weights = jax.tree.map(lambda w, d: w - rate * (d + rates.weight_decay * w), weights, direction)
            return (weights, moments), parts

        (weights, moments), parts = jax.lax.scan(step, (weights, moments), jnp.arange(n_steps))
        return weights, moments, jax.tree.map(jnp.mean, parts)

    weights, moments, parts = map_networks(train_network, state.weights, state.moments, key_data, variable)
    return TrainState(weights, moments), parts


def network_skeleton(network: NetworkSettings, head: Head, n_coordinates: int, n_parameters: int) -> Any:
    """A network without its weights: all that a program needs to know of it besides them."""
    return eqx.filter(_any_network(network, head, n_coordinates, n_parameters), eqx.is_array, inverse=True)


def weight_shapes(recipe: Recipe, n_coordinates: int, n_parameters: int, n_variables: int) -> Any:
    """The form of the weights of all networks."""
    networks = recipe.members * n_variables
    one = eqx.filter(_any_network(recipe.network, recipe.head, n_coordinates, n_parameters), eqx.is_array)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((networks, *leaf.shape), leaf.dtype), one)


def _any_network(network: NetworkSettings, head: Head, n_coordinates: int, n_parameters: int) -> Any:
    return network.build(n_coordinates, n_parameters, head.n_outputs, np.random.default_rng(0))


def _sizes(view: TrainingView) -> tuple[int, int, int]:
    """Coordinates, parameters and variables."""
    return view.coordinates.shape[-1], view.parameters.shape[1], view.fields.shape[0]


def _steps(view: TrainingView, recipe: Recipe) -> int:
    _, n_runs, n_points = view.fields.shape
    wanted = recipe.train.points_per_run
    return steps_per_epoch(n_runs, n_points if wanted == "all" else min(wanted, n_points), recipe.train.batch)


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
    for epoch in range(len(training.history), recipe.train.epochs):
        state, parts = train_epoch(training.state, epoch, view, recipe)
        by_member = {name: np.asarray(values).reshape(recipe.members, -1) for name, values in parts.items()}
        report = EpochReport(epoch, by_member)
        _require_finite(report, recipe, names or range(len(view.fields)))
        training = Training(state, (*training.history, report))
        on_epoch(training)
    return training


def _require_finite(report: EpochReport, recipe: Recipe, names: Sequence[str | int]) -> None:
    lost = np.argwhere(~np.isfinite(report.parts["loss"]))
    if lost.size:
        member, variable = lost[0]
        raise Diverged(
            f"the loss of {names[variable]}, member {member + 1} of {recipe.members}, is not finite in epoch "
            f"{report.epoch + 1}: lower train.learning_rate, which is {recipe.train.learning_rate:g}, and train again"
        )
