import equinox as eqx
import jax.numpy as jnp
import numpy as np

from sureflow.models import DeepONetSettings
from sureflow.models.contract import Sizes
from sureflow.models.features import fourier_features
from sureflow.models.mlp import MLP


def mlp(network, values):
    """The same in plain linear algebra."""
    *hidden, last = [tuple(map(np.asarray, layer)) for layer in zip(network.weights, network.biases, strict=True)]
    for weight, bias in hidden:
        values = np.tanh(weight @ values + bias)
    return last[0] @ values + last[1]


def test_equation_1():
    network = DeepONetSettings(fourier_octaves=0).build(Sizes(2, 2, 1), 1, np.random.default_rng(3))
    x, psi = np.array([0.3, -1.2], np.float32), np.array([0.7, 0.1], np.float32)
    hidden = mlp(network.space_encoder, x) * mlp(network.parameter_encoder, psi)
    output = eqx.filter_jit(network)(jnp.asarray(x), jnp.asarray(psi))
    np.testing.assert_allclose(output, mlp(network.decoder, hidden), rtol=2e-5)


def test_sizes_of_the_papers_network():
    network = DeepONetSettings(fourier_octaves=0).build(Sizes(2, 2, 1), 1, np.random.default_rng(0))
    sizes = {
        name: [weight.shape[::-1] for weight in getattr(network, name).weights]
        for name in ("space_encoder", "parameter_encoder", "decoder")
    }
    assert sizes == {
        "space_encoder": [(2, 32), (32, 32)],
        "parameter_encoder": [(2, 32), (32, 32)],
        "decoder": [(32, 256), (256, 256), (256, 256), (256, 1)],
    }


def test_fourier_features_double_the_frequency():
    x = jnp.array([0.2, -0.5])
    features = fourier_features(x, 2)
    phases = np.pi * np.array([0.2, 0.4, -0.5, -1.0])
    np.testing.assert_allclose(features, np.concatenate([x, np.sin(phases), np.cos(phases)]), atol=1e-6)
    np.testing.assert_array_equal(fourier_features(x, 0), x)


def test_weights_are_uniform_within_one_over_the_root_of_the_inputs():
    mlp = MLP.draw((16, 400, 3), np.random.default_rng(0))
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        bound = weight.shape[1] ** -0.5
        assert abs(weight).max() <= bound
        assert abs(bias).max() <= bound
        np.testing.assert_allclose(weight.std(), bound / 3**0.5, rtol=0.05)
