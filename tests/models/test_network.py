"""Properties that every network has; a new one joins `INSTANCES` and inherits them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.models import NETWORKS, DeepONetSettings
from sureflow.models.network import map_networks, network_axis, network_shares

INSTANCES = [
    DeepONetSettings(decoder_width=16),
    DeepONetSettings(fourier_octaves=0, encoder_layers=0, decoder_layers=0),
]
each_network = pytest.mark.parametrize("settings", INSTANCES, ids=repr)


def test_every_registered_network_is_tested():
    ours = {name for name in NETWORKS if NETWORKS[name].__module__.startswith("sureflow.")}
    assert ours == {settings.name for settings in INSTANCES}


@each_network
def test_settings_survive_a_round_trip(settings):
    assert NETWORKS.build(NETWORKS.describe(settings)) == settings


@each_network
@pytest.mark.parametrize(("coordinates", "parameters", "outputs"), [(2, 2, 1), (3, 1, 4)])
def test_a_point_and_a_condition_give_the_numbers_of_a_head(settings, coordinates, parameters, outputs):
    network = settings.build(coordinates, parameters, outputs, np.random.default_rng(0))
    output = eqx.filter_eval_shape(network, jnp.ones(coordinates), jnp.ones(parameters))
    assert output.shape == (outputs,)
    with_key = eqx.filter_eval_shape(network, jnp.ones(coordinates), jnp.ones(parameters), jax.random.key(0))
    assert with_key.shape == (outputs,)


@each_network
def test_weights_depend_on_the_seed_alone(settings):
    same, again, other = (settings.build(2, 2, 1, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert eqx.tree_equal(same, again)
    assert not eqx.tree_equal(same, other)


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
