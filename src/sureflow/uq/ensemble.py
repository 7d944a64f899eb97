"""Members that become one prediction: mean over members, and the law of total variance."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from sureflow.models import map_networks
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.train.loop import Recipe, network_skeleton
from sureflow.validation import STRICT


@dataclass(frozen=True, config=STRICT)
class Ensemble:
    """`members` networks from independent initializations (Lakshminarayanan et al. 2017), over any model and head."""

    members: PositiveInt = 10

    def combine(self, predictive: Predictive) -> Predictive:
        """One prediction from a leading axis of members, as the moments of their equal mixture.

        mean = mean_b mu_b and std^2 = mean_b sigma_b^2 + var_b mu_b: the variances of the members' parts are averaged,
        and the spread of their means joins the epistemic part. One member is itself.
        """
        averaged = {name: jnp.sqrt(jnp.mean(part**2, axis=0)) for name, part in predictive.parts.items()}
        if self.members > 1:
            averaged[EPISTEMIC] = jnp.hypot(averaged.get(EPISTEMIC, 0.0), jnp.std(predictive.mean, axis=0))
        return Predictive(jnp.mean(predictive.mean, axis=0), averaged)


@partial(jax.jit, static_argnames="recipe")
def predict_normalized(
    weights: Any,
    coordinates: Float[Array, "point coordinate"],
    parameters: Float[Array, "case parameter"],
    *,
    recipe: Recipe,
) -> Predictive:
    """Mean and parts (case, variable, point) of all networks, one condition at a time."""

    def condition(psi: Float[Array, " parameter"]) -> Predictive:
        return Ensemble(recipe.members).combine(_by_member(weights, coordinates, psi, recipe))

    return jax.lax.map(condition, parameters)


@partial(jax.jit, static_argnames="recipe")
def member_means(
    weights: Any,
    coordinates: Float[Array, "point coordinate"],
    parameters: Float[Array, "case parameter"],
    *,
    recipe: Recipe,
) -> Float[Array, "member case variable point"]:
    """What every member predicts by itself."""
    means = jax.lax.map(lambda psi: _by_member(weights, coordinates, psi, recipe).mean, parameters)
    return jnp.swapaxes(means, 0, 1)


def _by_member(
    weights: Any, coordinates: Float[Array, "point coordinate"], psi: Float[Array, " parameter"], recipe: Recipe
) -> Predictive:
    """The prediction (member, variable, point) at one condition."""
    static = network_skeleton(recipe.model, recipe.head, coordinates.shape[1], psi.shape[0])

    def network(weights: Any) -> Predictive:
        output = jax.vmap(eqx.combine(weights, static), (0, None))(coordinates, psi)
        return jax.vmap(recipe.head.predictive)(output)

    predictive = map_networks(network, weights)
    return jax.tree.map(lambda a: a.reshape(recipe.members, -1, *a.shape[1:]), predictive)
