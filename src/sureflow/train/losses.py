"""The losses of one step: of networks for single points, and of networks for whole fields."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from sureflow.heads import Head
from sureflow.models.network import Context, FieldNetwork, Network, Noise
from sureflow.train.batching import EpochOrder, TrainingView, gather, runs_at_once

# A network that looks at runs is trained to do with few of them, and with many: this share at least.
FEWEST_SHOWN = 0.2


def point_losses(
    network: Network,
    head: Head,
    view: TrainingView,
    order: EpochOrder,
    step: Int[Array, ""],
    batch: int,
    variable: Int[Array, ""],
    progress: Float[Array, ""],
    noise: Noise | None,
) -> dict[str, Float[Array, ""]]:
    """Means over the samples of one variable; every sample draws by itself."""
    x, psi, truth = gather(view, variable, *order.batch(step, batch))
    if noise is None:
        outputs = jax.vmap(network)(x, psi)
    else:
        keys = jax.random.split(noise.key, batch)
        outputs = jax.vmap(lambda x, psi, key: network(x, psi, Noise(key, noise.rate)))(x, psi, keys)
    return jax.tree.map(jnp.mean, jax.vmap(head.loss_parts, (0, 0, None))(outputs, truth, progress))


def field_losses(
    network: FieldNetwork,
    head: Head,
    view: TrainingView,
    order: EpochOrder,
    step: Int[Array, ""],
    batch: int,
    variable: Int[Array, ""],
    progress: Float[Array, ""],
    noise: Noise | None,
    *,
    n_points: int,
) -> dict[str, Float[Array, " field"]]:
    """Means over whole runs, or over points that they share, field by field."""
    runs = order.whole_runs(step, runs_at_once(order.runs.size, batch))
    x, fields = view.coordinates, view.fields
    if n_points < fields.shape[2]:
        points = order.points_of(step, n_points)
        x, fields = jnp.take(x, points, axis=-2), jnp.take(fields, points, axis=2)
    context = Context(view.parameters, fields, _shown(order, step, runs))

    def of_run(run: Int[Array, ""], own_noise: Noise | None) -> dict[str, Float[Array, "field point"]]:
        places = x if x.ndim == 2 else x[run]
        outputs = network(places, view.parameters[run], context, own_noise)
        by_point = jax.vmap(head.loss_parts, (1, 0, None))
        by_field = jax.vmap(by_point, (0, 0, None))
        return by_field(outputs.reshape(len(fields), -1, outputs.shape[-1]), fields[:, run], progress)

    if noise is None:
        parts = jax.vmap(lambda run: of_run(run, None))(runs)
    else:
        keys = jax.random.split(noise.key, len(runs))
        parts = jax.vmap(lambda run, key: of_run(run, Noise(key, noise.rate)))(runs, keys)
    return jax.tree.map(lambda values: jnp.mean(values, axis=(0, 2)), parts)


def _shown(order: EpochOrder, step: Int[Array, ""], targets: Int[Array, " sample"]) -> Float[Array, " run"]:
    """Which runs a network is shown while it is trained on others: a random part of them, as large as chance has it."""
    shuffled = jnp.roll(order.start, step)  # numbers that were drawn for the runs anyway
    rank = jnp.argsort(jnp.argsort(shuffled)) / order.runs.size
    share = FEWEST_SHOWN + (1 - FEWEST_SHOWN) * (shuffled[0] % 97) / 96
    others = jnp.ones(order.runs.size).at[targets].set(0.0)
    shown = others * (rank < share)
    return jnp.where(shown.any(), shown, others)
