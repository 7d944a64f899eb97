"""Networks as a model: any network, with any head and any sampler."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import Field

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
from sureflow.models.network import NETWORKS, NetworkSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.predictive import Predictive
from sureflow.samplers import SAMPLERS, Ensemble, Sampler
from sureflow.train.asking import ask, ask_each, ask_loss, ask_slope
from sureflow.train.batching import TrainingView
from sureflow.train.checkpoint import begin_or_go_on, keeping
from sureflow.train.field_networks import TrainedFields
from sureflow.train.loop import initial_state, train, weight_shapes
from sureflow.train.recipe import Recipe
from sureflow.train.tensors import from_tensors, to_tensors
from sureflow.validation import settings, validated


@dataclass(frozen=True)
class TrainedNetworks(FittedModel):
    """Weights of all networks (leading axis: members x variables, variable fastest)."""

    recipe: Recipe
    sizes: Sizes
    weights: Any

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        return ask(self.recipe, self.weights, None, self.sizes, inputs, coordinates)

    def loss(self, view: View) -> float:
        return ask_loss(self.recipe, self.weights, None, self.sizes, view)

    def slope(
        self, inputs: Inputs, coordinates: Coordinates, d_inputs: Inputs, d_coordinates: Coordinates
    ) -> Float[np.ndarray, "variable value"]:
        along = (d_inputs, d_coordinates)
        return ask_slope(self.recipe, self.weights, self.sizes, (inputs, coordinates), along)

    @property
    def has_samples(self) -> bool:
        return self.recipe.sampler.several

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """What the first `count` answers are by themselves."""
        self.recipe.sampler.require_several()
        return ask_each(self.recipe, self.weights, None, self.sizes, inputs, coordinates)[:count]

    def arrays(self) -> dict[str, np.ndarray]:
        return to_tensors(self.weights)


@MODELS.add
@settings
class Networks(ModelSettings):
    """Networks of one kind, with what their outputs mean, how many of them there are, and how they are trained."""

    name: ClassVar[str] = "networks"
    network: Annotated[NetworkSettings, NETWORKS] = DeepONetSettings()
    head: Annotated[Head, HEADS] = Deterministic()
    sampler: Annotated[Sampler, SAMPLERS] = Ensemble()
    train: TrainSettings = Field(default_factory=lambda given: given["network"].training)

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self.network.capabilities

    @property
    def uq(self) -> str:  # type: ignore[override]
        """The name of the head; of the sampler where the head says nothing about its error."""
        by_sampler = self.head.name == Deterministic.name and self.sampler.several
        return self.sampler.name if by_sampler else self.head.name

    @property
    def title(self) -> str:
        return self.network.name

    @property
    def training(self) -> TrainSettings:
        return self.train

    @property
    def networks(self) -> int:
        return self.sampler.members

    def trained_with(self, common: TrainSettings, own: Mapping[str, Any] | None = None) -> Self:
        """Those of single points share training settings; a batch of whole fields is something else."""
        shared = self.network.training if self.network.whole_fields else common
        return replace(self, train=validated(TrainSettings, {**asdict(shared), **(own or {})}, "train"))  # type: ignore[call-overload]

    def alone(self) -> Self:
        return replace(self, sampler=replace(self.sampler, members=1))  # type: ignore[type-var]

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.network, self.head, self.sampler, self.train)

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> FittedModel:
        """Train, with a checkpoint after every epoch, from which an interrupted training goes on."""
        if self.network.whole_fields:
            return TrainedFields.fit(self.recipe, view, lambda rest: self._train(rest, progress, checkpoint))
        return TrainedNetworks(self.recipe, view.sizes, self._train(view, progress, checkpoint))

    def _train(self, view: View, progress: Progress, checkpoint: Checkpoint | None) -> Any:
        """The weights of all networks."""
        on_device = TrainingView.of(view)
        start = begin_or_go_on(lambda: initial_state(on_device, self.recipe), checkpoint)
        on_epoch = keeping(progress, checkpoint)
        return train(on_device, self.recipe, names=view.names, start=start, on_epoch=on_epoch).state.weights

    def restore(self, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> FittedModel:
        form = weight_shapes(self.recipe, sizes)
        if self.network.whole_fields:
            return TrainedFields.restore(self.recipe, form, arrays, sizes)
        weights = from_tensors(form, arrays, "the model")
        return TrainedNetworks(self.recipe, sizes, jax.tree.map(jnp.asarray, weights))
