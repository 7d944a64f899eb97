from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.heads import Deterministic
from sureflow.models.contract import Sizes
from sureflow.models.network import NetworkSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Dropout
from sureflow.surrogate.specification import specification
from sureflow.train.asking import ask
from sureflow.train.recipe import Recipe
from sureflow.validation import settings


class Linear(eqx.Module):
    """y = sum_i w_i x_i, with the terms as units that are dropped."""

    weights: jax.Array

    def __call__(self, x, psi, noise=None):
        return (self.weights @ (x if noise is None else noise.drop(x, 0)))[None]


@settings
class LinearSettings(NetworkSettings):
    name: ClassVar[str] = "linear"

    def build(self, sizes, n_outputs, rng):
        return Linear(jnp.zeros(sizes.coordinates))


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_moments_of_a_linear_network_are_the_analytic_ones(rate):
    """mean = w x and variance = rate / (1 - rate) sum_i (w_i x_i)^2, within five standard errors of so many passes."""
    rng, passes = np.random.default_rng(0), 8000
    weights, x = rng.normal(size=6), rng.normal(size=(4, 6))
    recipe = Recipe(LinearSettings(), Deterministic(), Dropout(1, passes, rate), TrainSettings())
    sizes = Sizes(inputs=1, coordinates=6, fields=1)
    found = ask(recipe, Linear(jnp.asarray(weights[None], jnp.float32)), None, sizes, np.zeros((1, 1)), x)
    std = np.sqrt(rate / (1 - rate) * ((weights * x) ** 2).sum(axis=1))
    np.testing.assert_allclose(found.mean[0, 0], x @ weights, atol=5 * std.max() / passes**0.5)
    np.testing.assert_allclose(found.std[0, 0], std, rtol=5 / passes**0.5)


@pytest.mark.parametrize("model", ["pod-gp", "interpolation", "nbf"])
def test_models_without_networks_that_draw_are_refused(model):
    with pytest.raises(SureflowError, match=f"uq is for networks, and model.name is {model}: leave it out, or choose"):
        specification({"model": model, "uq": "dropout"})


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1])
def test_rates_that_cannot_be_are_refused(rate):
    with pytest.raises(SureflowError, match=f"rate={rate}"):
        Dropout(rate=rate)
