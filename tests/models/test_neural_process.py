import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.models import NeuralProcessSettings
from sureflow.models.contract import Sizes
from sureflow.models.network import Context

SIZES = Sizes(inputs=2, coordinates=1, fields=3)
X, PSI = jnp.linspace(-1, 1, 5)[:, None], jnp.array([0.3, -0.2])


def context(seed: int = 0, runs: int = 7) -> Context:
    inputs, fields = (
        jax.random.normal(jax.random.key(seed), (runs, 2)),
        jax.random.normal(jax.random.key(9), (3, runs, 5)),
    )
    return Context(inputs, fields, jnp.ones(runs))


def network(attentive: bool):
    return eqx.filter_jit(NeuralProcessSettings(width=8, attentive=attentive).build(SIZES, 6, np.random.default_rng(0)))


@pytest.mark.parametrize("attentive", [True, False])
def test_the_order_of_the_runs_does_not_matter(attentive):
    given, order = context(), np.random.default_rng(1).permutation(7)
    shuffled = Context(given.inputs[order], given.fields[:, order], given.counts)
    found = network(attentive)(X, PSI, given)
    np.testing.assert_allclose(network(attentive)(X, PSI, shuffled), found, atol=1e-5)
    other = Context(given.inputs[order], given.fields, given.counts)  # the fields of other runs
    assert np.abs(network(attentive)(X, PSI, other) - found).max() > 1e-3


@pytest.mark.parametrize("attentive", [True, False])
def test_runs_that_do_not_count_are_not_seen(attentive):
    given = context()
    fewer = Context(given.inputs[:4], given.fields[:, :4], given.counts[:4])
    hidden = Context(given.inputs, given.fields, given.counts.at[4:].set(0.0))
    np.testing.assert_allclose(network(attentive)(X, PSI, hidden), network(attentive)(X, PSI, fewer), atol=1e-5)


def test_a_point_sees_the_runs_at_its_own_place():
    given = context()
    changed = Context(given.inputs, given.fields.at[:, :, 2].add(1.0), given.counts)
    moved = np.abs(network(True)(X, PSI, changed) - network(True)(X, PSI, given)).max(axis=0)
    assert moved[2] > 1e-3
    np.testing.assert_allclose(np.delete(moved, 2), 0.0, atol=1e-6)
