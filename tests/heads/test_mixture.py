import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from constant_network import ConstantSettings
from sureflow.errors import SureflowError
from sureflow.heads import Mixture
from sureflow.models.contract import Sizes
from sureflow.models.train_settings import TrainSettings
from sureflow.predictive import INTERVALS
from sureflow.runtime import double_precision
from sureflow.samplers import Ensemble
from sureflow.train.asking import ask
from sureflow.train.recipe import Recipe

OUTPUT = np.array([0.3, -1.0, 0.4, 2.0, 0.5, -1.0, 1.5, 0.2, -0.7, 1.1])


def frozen(output: np.ndarray) -> tuple[np.ndarray, list]:
    """Weights and normal distributions, from the definition."""
    displacement, raw, logits = np.split(output[1:], 3)
    weights = np.exp(logits) / np.exp(logits).sum()
    means = output[0] + displacement - weights @ displacement
    return weights, [stats.norm(m, np.sqrt(np.log1p(np.exp(r)) + 1e-6)) for m, r in zip(means, raw, strict=True)]


@pytest.mark.parametrize("truth", [-3.0, 0.3, 5.0])
def test_the_likelihood_is_that_of_scipy(truth):
    weights, normals = frozen(OUTPUT)
    expected = -np.log(sum(w * normal.pdf(truth) for w, normal in zip(weights, normals, strict=True)))
    with double_precision():
        found = Mixture(3).loss_parts(jnp.asarray(OUTPUT), jnp.asarray(truth), jnp.asarray(1.0))
        early = Mixture(3).loss_parts(jnp.asarray(OUTPUT), jnp.asarray(truth), jnp.asarray(0.1))
    np.testing.assert_allclose(found["loss"], expected, rtol=1e-12)
    np.testing.assert_allclose(early["loss"], (truth - 0.3) ** 2, rtol=1e-12)


def test_moments_are_those_of_the_mixture():
    weights, normals = frozen(OUTPUT)
    second = sum(w * (normal.var() + normal.mean() ** 2) for w, normal in zip(weights, normals, strict=True))
    mean = sum(w * normal.mean() for w, normal in zip(weights, normals, strict=True))
    with double_precision():
        found = Mixture(3).predictive(jnp.asarray(OUTPUT))
        np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(found.std, np.sqrt(second - mean**2), rtol=1e-12)


def test_intervals_are_quantiles_of_the_mixture_of_all_members():
    """Two members, of which the second is displaced: against the root of SciPy's distribution functions."""
    recipe = Recipe(ConstantSettings(), Mixture(3), Ensemble(2), TrainSettings())
    outputs = np.stack([OUTPUT, OUTPUT + np.eye(10)[0] * 4]).astype(np.float32)
    found = ask(recipe, ConstantSettings.weights(outputs), None, Sizes(1, 1, 1), np.zeros((2, 1)), np.zeros((3, 1)))
    members = [frozen(output.astype(float)) for output in outputs]

    def below(value: float) -> float:
        return np.mean([sum(w * n.cdf(value) for w, n in zip(*member, strict=True)) for member in members])

    assert {*found.quantiles} == {level for ends in INTERVALS.values() for level in ends}
    for level, values in found.quantiles.items():
        expected = brentq(lambda value, level=level: below(value) - level, -30, 30, xtol=1e-12)
        np.testing.assert_allclose(values, np.full((2, 1, 3), expected), atol=2e-5)
    normal = np.asarray(found.mean) + 1.6449 * np.asarray(found.std)
    assert (np.abs(found.quantiles[0.95] - normal) > 0.1).all()  # an interval of a normal distribution is another one


@pytest.mark.parametrize("components", [1, 100])
def test_numbers_of_components_that_make_no_mixture_are_refused(components):
    with pytest.raises(SureflowError, match=f"components={components}: choose from 2 to 20; the head mve is one"):
        Mixture(components)
