"""Networks for single points as a model: any network, with any head and any sampler."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.errors import SureflowError
from sureflow.heads import HEADS, Deterministic, Head
from sureflow.models import DeepONetSettings
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
    Sizes,
    View,
    unheard,
)
from sureflow.models.network import NETWORKS, NetworkSettings, map_networks
from sureflow.predictive import Predictive
from sureflow.samplers import SAMPLERS, Ensemble, Sampler
from sureflow.train.batching import TrainingView
from sureflow.train.checkpoint import load_checkpoint, save_checkpoint
from sureflow.train.loop import Training, network_skeleton, train, weight_shapes
from sureflow.train.recipe import Recipe, TrainSettings
from sureflow.train.tensors import from_tensors, to_tensors
from sureflow.validation import settings

# The randomness of samplers that ask a network several times: predictions repeat bit for bit.
SAMPLER_SEED = 0


@dataclass(frozen=True)
class TrainedNetworks(FittedModel):
    """Weights of all networks (leading axis: members x variables, variable fastest)."""

    recipe: Recipe
    weights: Any

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        filled, places = _filled(inputs), coordinates if coordinates.ndim == 2 else _filled(coordinates)
        found = _predict(self.weights, _float32(places), _float32(filled), recipe=self.recipe)
        return jax.tree.map(lambda values: values[: len(inputs)], found)

    @property
    def has_samples(self) -> bool:
        sampler = self.recipe.sampler
        return sampler.members * sampler.passes > 1

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """What the first `count` answers are by themselves."""
        if not self.has_samples:
            raise SureflowError("a single network has no members to sample: train an ensemble")
        answers = _answer_means(self.weights, _float32(coordinates), _float32(inputs), recipe=self.recipe)
        return np.asarray(answers)[:count]

    def arrays(self) -> dict[str, np.ndarray]:
        return to_tensors(self.weights)


@MODELS.add
@settings
class Networks(ModelSettings):
    """One network a variable and member, of the values at single points."""

    name: ClassVar[str] = "networks"
    capabilities: ClassVar[Capabilities] = Capabilities(resumes=True, anywhere=True)
    network: Annotated[NetworkSettings, NETWORKS] = DeepONetSettings()
    head: Annotated[Head, HEADS] = Deterministic()
    sampler: Annotated[Sampler, SAMPLERS] = Ensemble()
    train: TrainSettings = TrainSettings()

    @property
    def uq(self) -> str:  # type: ignore[override]
        """The name of the head; of the sampler where the head says nothing about its error."""
        several = self.sampler.members * self.sampler.passes > 1
        return self.sampler.name if self.head.name == Deterministic.name and several else self.head.name

    @property
    def title(self) -> str:
        return self.network.name

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.network, self.head, self.sampler, self.train)

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> TrainedNetworks:
        """Train, with a checkpoint after every epoch, from which an interrupted training goes on."""
        on_device, start = TrainingView.of(view), None
        if checkpoint is not None and checkpoint.path.exists():
            start = load_checkpoint(checkpoint.path, on_device, self.recipe, checkpoint.fingerprint)

        def end_of_epoch(training: Training) -> None:
            # Told before it is kept: an epoch that is lost in between is done, and told, again.
            progress(training.history[-1])
            if checkpoint is not None:
                save_checkpoint(checkpoint.path, training, checkpoint.fingerprint)

        trained = train(on_device, self.recipe, names=view.names, start=start, on_epoch=end_of_epoch)
        return TrainedNetworks(self.recipe, trained.state.weights)

    def restore(self, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> TrainedNetworks:
        form = weight_shapes(self.recipe, sizes.coordinates, sizes.inputs, sizes.fields)
        weights = from_tensors(form, arrays, "the model")
        return TrainedNetworks(self.recipe, jax.tree.map(jnp.asarray, weights))


def _filled(rows: np.ndarray) -> np.ndarray:
    """The rows with the last one repeated, up to a power of two: few compiled programs serve all numbers of conditions."""
    count = 1 << max(len(rows) - 1, 0).bit_length()
    return np.concatenate([rows, np.repeat(rows[-1:], count - len(rows), axis=0)])


def _float32(values: np.ndarray) -> Array:
    return jnp.asarray(values, jnp.float32)


@partial(jax.jit, static_argnames="recipe")
def _predict(
    weights: Any,
    coordinates: Float[Array, "point coordinate"] | Float[Array, "case point coordinate"],
    parameters: Float[Array, "case parameter"],
    *,
    recipe: Recipe,
) -> Predictive:
    """Mean and parts (case, variable, point) of all networks, one condition at a time."""
    return _each_condition(
        lambda x, psi: recipe.sampler.combine(_answers(weights, x, psi, recipe)), coordinates, parameters
    )


@partial(jax.jit, static_argnames="recipe")
def _answer_means(
    weights: Any,
    coordinates: Float[Array, "point coordinate"] | Float[Array, "case point coordinate"],
    parameters: Float[Array, "case parameter"],
    *,
    recipe: Recipe,
) -> Float[Array, "answer case variable point"]:
    """What every answer is by itself."""
    means = _each_condition(lambda x, psi: _answers(weights, x, psi, recipe).mean, coordinates, parameters)
    return jnp.swapaxes(means, 0, 1)


def _each_condition(function: Any, coordinates: Array, parameters: Array) -> Any:
    """`function` of coordinates and parameters at one condition after the other; all share the coordinates, or none."""
    if coordinates.ndim == 2:
        return jax.lax.map(lambda psi: function(coordinates, psi), parameters)
    return jax.lax.map(lambda both: function(*both), (coordinates, parameters))


def _answers(weights: Any, x: Float[Array, "point coordinate"], psi: Float[Array, " parameter"], recipe: Recipe) -> Any:
    """The predictions (answer, variable, point) at one condition. All points of one pass share its key."""
    static = network_skeleton(recipe.network, recipe.head, x.shape[1], psi.shape[0])
    sampler = recipe.sampler

    def network(weights: Any) -> Predictive:
        answer = eqx.combine(weights, static)
        if not sampler.random:
            return jax.vmap(recipe.head.predictive)(jax.vmap(answer, (0, None))(x, psi))

        def one_pass(key: Array) -> Predictive:
            return jax.vmap(recipe.head.predictive)(jax.vmap(answer, (0, None, None))(x, psi, key))

        return jax.lax.map(one_pass, jax.random.split(jax.random.key(SAMPLER_SEED), sampler.passes))

    predictive = map_networks(network, weights)

    def by_answer(values: Array) -> Array:
        """(member x variable, [pass,] point) as (member x pass, variable, point)."""
        by_member = values.reshape(sampler.members, -1, *values.shape[1:])
        if sampler.random:
            by_member = jnp.swapaxes(by_member, 1, 2)
        return by_member.reshape(-1, *by_member.shape[-2:])

    return jax.tree.map(by_answer, predictive)
