"""Properties that every network has; a new one joins `INSTANCES` and inherits them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.models import NETWORKS, DeepONetSettings, FNOSettings, NeuralProcessSettings
from sureflow.models.contract import Sizes
from sureflow.models.network import Context, Noise, map_networks, network_axis, network_shares

INSTANCES = [
    DeepONetSettings(decoder_width=16),
    DeepONetSettings(fourier_octaves=0, encoder_layers=0, decoder_layers=1),
    FNOSettings(width=4, modes=2, layers=2, padding=1, hidden=5),
    NeuralProcessSettings(width=6, layers=1),
    NeuralProcessSettings(width=6, layers=1, attentive=False),
]
each_network = pytest.mark.parametrize("settings", INSTANCES, ids=repr)


def test_every_registered_network_is_tested():
    ours = {name for name in NETWORKS if NETWORKS[name].__module__.startswith("sureflow.")}
    assert ours == {settings.name for settings in INSTANCES}


@each_network
def test_settings_survive_a_round_trip(settings):
    assert NETWORKS.build(NETWORKS.describe(settings)) == settings


@each_network
@pytest.mark.parametrize("sizes", [Sizes(2, 2, 1, (4, 5)), Sizes(1, 3, 2, (4, 4, 4))], ids=str)
def test_places_and_a_condition_give_the_numbers_of_a_head(settings, sizes):
    outputs, n_points = 3 * sizes.fields, int(np.prod(sizes.shape))
    network = settings.build(sizes, outputs, np.random.default_rng(0))
    x, psi, noise = jnp.ones((n_points, sizes.coordinates)), jnp.ones(sizes.inputs), Noise(jax.random.key(0), 0.3)
    if settings.whole_fields:
        context = Context(jnp.ones((6, sizes.inputs)), jnp.ones((sizes.fields, 6, n_points)), jnp.ones(6))
        given, shape = (x, psi, context), (outputs, n_points)
    else:
        given, shape = (x[0], psi), (outputs,)
    for extra in ((), (noise,)):
        assert eqx.filter_eval_shape(network, *given, *extra).shape == shape
    answer = eqx.filter_jit(network)
    assert not np.allclose(answer(*given, noise), answer(*given))


@each_network
def test_weights_depend_on_the_seed_alone(settings):
    sizes = Sizes(2, 2, 1, (4, 5))
    same, again, other = (settings.build(sizes, 1, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert eqx.tree_equal(same, again)
    assert not eqx.tree_equal(same, other)


def test_dropped_units_keep_their_mean():
    rates = jnp.array([0.0, 0.1, 0.5])
    keys = jax.random.split(jax.random.key(1), 4000)
    for rate in rates:
        drawn = np.asarray(jax.vmap(lambda key, rate=rate: Noise(key, rate).drop(jnp.ones(8), 3))(keys))
        np.testing.assert_allclose(drawn.mean(), 1.0, atol=0.02)
        np.testing.assert_allclose((drawn == 0).mean(), rate, atol=0.02)
    assert not np.allclose(Noise(keys[0], 0.5).drop(jnp.ones(8), 0), Noise(keys[0], 0.5).drop(jnp.ones(8), 1))


def test_networks_are_mapped_over_their_leading_axis():
    values = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(map_networks(lambda a, b: a.sum() + b, values, jnp.ones(3)), [2, 6, 10])
    assert network_axis() == "sequential"  # on a CPU, where the tests run


@pytest.mark.parametrize(
    ("networks", "cores", "shares"),
    [(40, 2, 2), (40, 6, 5), (40, 12, 10), (40, 64, 40), (4, 3, 2), (5, 2, 1), (1, 8, 1)],
)
def test_networks_are_shared_out_equally_over_as_many_cores_as_possible(monkeypatch, networks, cores, shares):
    monkeypatch.setattr("sureflow.models.network.usable_cores", lambda: cores)
    assert network_shares(networks) == shares
