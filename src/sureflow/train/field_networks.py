"""Trained networks of whole fields: a straight line over the parameters, and what they add to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from sureflow.errors import SureflowError
from sureflow.models.contract import Coordinates, FittedModel, Inputs, Samples, Sizes, View, require_enough_runs
from sureflow.models.network import Context
from sureflow.models.trend import Trend
from sureflow.predictive import Predictive
from sureflow.train.asking import ask, ask_each, ask_loss
from sureflow.train.recipe import Recipe
from sureflow.train.tensors import from_tensors, to_tensors

WEIGHTS, TREND, CONTEXT = "weights.", "trend.", "context."


@dataclass(frozen=True)
class TrainedFields(FittedModel):
    """Weights of all members, the line, and the training runs of networks that look at them."""

    recipe: Recipe
    sizes: Sizes
    weights: Any
    trend: Trend
    context: Context | None

    @classmethod
    def fit(cls, recipe: Recipe, view: View, train: Callable[[View], Any]) -> Self:
        """Train on what the line leaves; `train` gives the weights of networks that learn a view."""
        require_enough_runs(view.inputs, recipe.network.name)
        trend, rest = Trend.fit(view)
        weights = train(replace(view, fields=rest))
        context = None
        if recipe.network.looks_at_runs:
            seen = jnp.asarray(rest.swapaxes(0, 1), jnp.float32)
            context = Context(jnp.asarray(view.inputs, jnp.float32), seen, jnp.ones(len(view.inputs)))
        return cls(recipe, view.sizes, weights, trend, context)

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        found = ask(self.recipe, self.weights, self.context, self.sizes, inputs, coordinates)
        line, scale = self.trend.at(inputs), self.trend.scale[:, None]
        parts = {name: scale * np.asarray(part, float) for name, part in found.parts.items()}
        quantiles = {level: line + scale * np.asarray(one, float) for level, one in found.quantiles.items()}
        return Predictive(line + scale * np.asarray(found.mean, float), parts, quantiles)

    def loss(self, view: View) -> float:
        scale = np.where(self.trend.scale > 0, self.trend.scale, 1.0)[:, None]
        rest = replace(view, fields=(view.fields - self.trend.at(view.inputs)) / scale)
        return ask_loss(self.recipe, self.weights, self.context, self.sizes, rest)

    @property
    def has_samples(self) -> bool:
        return self.recipe.sampler.several

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """What the first `count` answers are by themselves."""
        self.recipe.sampler.require_several()
        answers = ask_each(self.recipe, self.weights, self.context, self.sizes, inputs, coordinates)[:count]
        return self.trend.at(inputs) + self.trend.scale[:, None] * answers

    def arrays(self) -> dict[str, np.ndarray]:
        groups = {WEIGHTS: to_tensors(self.weights), TREND: self.trend._asdict()}
        if self.context is not None:
            groups[CONTEXT] = to_tensors(self.context)
        return {group + name: array for group, arrays in groups.items() for name, array in arrays.items()}

    @classmethod
    def restore(cls, recipe: Recipe, form: Any, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> Self:
        """The trained networks that had these arrays; `form` is that of their weights."""
        wanted = {TREND + name for name in Trend._fields}
        if recipe.network.looks_at_runs:
            wanted |= {CONTEXT + item.name for item in fields(Context)}
        for name in sorted(wanted ^ {name for name in arrays if not name.startswith(WEIGHTS)}):
            raise SureflowError(f"the model {'lacks' if name in wanted else 'has an unknown'} tensor {name!r}")
        weights = jax.tree.map(jnp.asarray, from_tensors(form, _inside(arrays, WEIGHTS), "the model"))
        context = None
        if recipe.network.looks_at_runs:
            context = Context(**{name: jnp.asarray(array) for name, array in _inside(arrays, CONTEXT).items()})
        return cls(recipe, sizes, weights, Trend(**_inside(arrays, TREND)), context)


def _inside(arrays: Mapping[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(group): array for name, array in arrays.items() if name.startswith(group)}
