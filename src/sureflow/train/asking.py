"""What trained networks answer: every network, as often as its sampler asks it, and all answers as one prediction."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.heads import Head
from sureflow.models.contract import Coordinates, Inputs, Samples, Sizes, View
from sureflow.models.network import Context, Noise, map_networks
from sureflow.predictive import INTERVALS, Predictive
from sureflow.train.loop import network_skeleton
from sureflow.train.recipe import Recipe

# The randomness of samplers that ask a network several times: predictions repeat bit for bit.
SAMPLER_SEED = 0
BISECTIONS = 24  # of the interval that holds a quantile: as many as float32 has digits

Places = Float[Array, "point coordinate"] | Float[Array, "case point coordinate"]
Raw = Float[Array, "answer variable output point"]


def ask(
    recipe: Recipe, weights: Any, context: Context | None, sizes: Sizes, inputs: Inputs, coordinates: Coordinates
) -> Predictive:
    """Mean and parts (case, variable, point) of all networks."""
    places = coordinates if coordinates.ndim == 2 else _filled(coordinates)
    found = _predict(weights, context, _float32(places), _float32(_filled(inputs)), recipe=recipe, sizes=sizes)
    return jax.tree.map(lambda values: values[: len(inputs)], found)


def ask_each(
    recipe: Recipe, weights: Any, context: Context | None, sizes: Sizes, inputs: Inputs, coordinates: Coordinates
) -> Samples:
    """What every answer is by itself (answer, case, variable, point)."""
    places = coordinates if coordinates.ndim == 2 else _filled(coordinates)
    means = _means(weights, context, _float32(places), _float32(_filled(inputs)), recipe=recipe, sizes=sizes)
    return np.swapaxes(np.asarray(means)[: len(inputs)], 0, 1)


def ask_slope(
    recipe: Recipe, weights: Any, sizes: Sizes, at: tuple[Inputs, Coordinates], along: tuple[Inputs, Coordinates]
) -> Float[np.ndarray, "variable point"]:
    """Derivative of the mean at one condition, along a change of its inputs and coordinates."""

    def mean(inputs: Array, coordinates: Array) -> Array:
        return _predict(weights, None, coordinates, inputs, recipe=recipe, sizes=sizes).mean

    primal, tangent = (tuple(map(_float32, pair)) for pair in (at, along))
    return np.asarray(jax.jvp(mean, primal, tangent)[1], float)[0]


def ask_loss(recipe: Recipe, weights: Any, context: Context | None, sizes: Sizes, view: View) -> float:
    """What the head minimizes at the end of training, over all points and fields of runs: its likelihood, where it has one."""
    losses = []
    for case, truth in enumerate(view.fields):
        places = view.coordinates if view.coordinates.ndim == 2 else view.coordinates[case]
        given = (_float32(places), _float32(view.inputs[case]), _float32(np.asarray(truth)))
        losses.append(float(_loss(weights, context, *given, recipe=recipe, sizes=sizes)))
    return float(np.mean(losses))


@partial(jax.jit, static_argnames=("recipe", "sizes"))
def _loss(
    weights: Any, context: Context | None, x: Array, psi: Array, truth: Array, *, recipe: Recipe, sizes: Sizes
) -> Float[Array, ""]:
    raw = _raw(weights, context, x, psi, recipe, sizes)
    at_points = jax.vmap(lambda output, truth: recipe.head.loss_parts(output, truth, jnp.ones(())), (1, 0))
    parts = jax.vmap(jax.vmap(at_points), (0, None))(raw, truth)
    return jnp.mean(parts.get("likelihood", parts["loss"]))


def _filled(rows: np.ndarray) -> np.ndarray:
    """The rows with the last one repeated, up to a power of two: few compiled programs serve all numbers of conditions."""
    count = 1 << max(len(rows) - 1, 0).bit_length()
    return np.concatenate([rows, np.repeat(rows[-1:], count - len(rows), axis=0)])


def _float32(values: np.ndarray) -> Array:
    return jnp.asarray(values, jnp.float32)


@partial(jax.jit, static_argnames=("recipe", "sizes"))
def _predict(
    weights: Any,
    context: Context | None,
    coordinates: Places,
    parameters: Float[Array, "case parameter"],
    *,
    recipe: Recipe,
    sizes: Sizes,
) -> Predictive:
    def at_condition(x: Array, psi: Array) -> Predictive:
        raw = _raw(weights, context, x, psi, recipe, sizes)
        combined = recipe.sampler.combine(_predictive(raw, recipe))
        return Predictive(combined.mean, combined.parts, _quantiles(raw, recipe.head, combined))

    return _each_condition(at_condition, coordinates, parameters, recipe.network.conditions_at_once)


@partial(jax.jit, static_argnames=("recipe", "sizes"))
def _means(
    weights: Any,
    context: Context | None,
    coordinates: Places,
    parameters: Float[Array, "case parameter"],
    *,
    recipe: Recipe,
    sizes: Sizes,
) -> Float[Array, "case answer variable point"]:
    def at_condition(x: Array, psi: Array) -> Float[Array, "answer variable point"]:
        return jnp.asarray(_predictive(_raw(weights, context, x, psi, recipe, sizes), recipe).mean)

    return _each_condition(at_condition, coordinates, parameters, recipe.network.conditions_at_once)


def _each_condition(function: Any, coordinates: Array, parameters: Array, at_once: int) -> Any:
    """`function` of coordinates and parameters at every condition, in batches where all share the coordinates."""
    if coordinates.ndim == 2:
        size = min(at_once, len(parameters)) if at_once > 1 else None
        return jax.lax.map(lambda psi: function(coordinates, psi), parameters, batch_size=size)
    return jax.lax.map(lambda both: function(*both), (coordinates, parameters))


def _predictive(raw: Raw, recipe: Recipe) -> Predictive:
    """What a head makes of every answer (answer, variable, point)."""
    at_points = jax.vmap(recipe.head.predictive, 1)
    return jax.vmap(jax.vmap(at_points))(raw)


def _quantiles(raw: Raw, head: Head, combined: Predictive) -> dict[float, Float[Array, "variable point"]]:
    """Of the equal mixture of all answers, by bisection; none of heads whose distributions are normal.

    By Cantelli's inequality a quantile lies within std sqrt((1 - p) / p) of the mean.
    """
    std = combined.std
    if std is None or head.normal:
        return {}
    at_points = jax.vmap(head.below, (1, 0))
    each_answer = jax.vmap(jax.vmap(at_points), (0, None))

    def quantile(level: float) -> Float[Array, "variable point"]:
        reach = std * max(level / (1 - level), (1 - level) / level) ** 0.5

        def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = 0.5 * (low + high)
            is_low = jnp.mean(each_answer(raw, middle), axis=0) < level
            return jnp.where(is_low, middle, low), jnp.where(is_low, high, middle)

        low, high = jax.lax.fori_loop(0, BISECTIONS, halve, (combined.mean - reach, combined.mean + reach))
        return 0.5 * (low + high)

    return {level: quantile(level) for ends in INTERVALS.values() for level in ends}


def _raw(weights: Any, context: Context | None, x: Array, psi: Array, recipe: Recipe, sizes: Sizes) -> Raw:
    """The numbers that all networks give at one condition. All points of one pass share its key."""
    network, sampler = recipe.network, recipe.sampler
    static = network_skeleton(network, recipe.head, sizes)

    def outputs(answer: Any, *noise: Noise) -> Float[Array, "variable output point"]:
        """Of one variable, or of all that a network gives."""
        if network.whole_fields:
            return answer(x, psi, context, *noise).reshape(sizes.fields, -1, len(x))
        return jax.vmap(answer, (0, None, *(None for _ in noise)), out_axes=1)(x, psi, *noise)[None]

    def passes(weights: Any) -> Float[Array, "pass variable output point"]:
        answer = eqx.combine(weights, static)
        if not sampler.random:
            return outputs(answer)[None]
        keys = jax.random.split(jax.random.key(SAMPLER_SEED), sampler.passes)
        return jax.lax.map(lambda key: outputs(answer, Noise(key, sampler.rate)), keys)

    # (member x network of a member, pass, variable, output, point)
    found = map_networks(passes, weights)
    by_member = found.reshape(sampler.members, -1, *found.shape[1:])
    return jnp.swapaxes(by_member, 1, 2).reshape(-1, sizes.fields, *found.shape[3:])
