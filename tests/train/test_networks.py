"""Networks for single points as a model: how members, passes, variables and conditions lie in what they answer."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.heads import MVE, Deterministic
from sureflow.models import DeepONetSettings, NetworkSettings
from sureflow.models.contract import Sizes
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble, Sampler
from sureflow.train.networks import Networks, TrainedNetworks
from sureflow.validation import settings

SIZES = Sizes(inputs=2, coordinates=1, fields=3)
X = np.linspace(-1, 1, 5)[:, None]
CONDITIONS = np.array([[0.1, 0.2], [-0.3, 0.5]])


class Sum(eqx.Module):
    """Its weight, the coordinate and the first parameter, and a number that is drawn if there is noise."""

    weight: jax.Array

    def __call__(self, x, psi, noise=None):
        drawn = 0.0 if noise is None else jax.random.uniform(noise.key)
        return self.weight + x[0] + psi[0] + drawn


@settings
class SumSettings(NetworkSettings):
    name: ClassVar[str] = "sum"

    def build(self, sizes, n_outputs, rng):
        return Sum(jnp.asarray(rng.uniform(size=n_outputs), jnp.float32))


@settings
class Drawing(Sampler):
    name: ClassVar[str] = "drawing"
    random: ClassVar[bool] = True
    members: int = 2
    passes: int = 4


def sums(sampler: Sampler) -> TrainedNetworks:
    """Networks whose weight says which they are: 10 x member + variable."""
    model = Networks(SumSettings(), Deterministic(), sampler, TrainSettings())
    names = [10.0 * member + variable for member in range(sampler.members) for variable in range(SIZES.fields)]
    return model.restore({"weight": np.array(names, np.float32)[:, None]}, SIZES)


def expected(coordinates: np.ndarray) -> np.ndarray:
    """(member, case, variable, point) without what is drawn."""
    x = np.broadcast_to(coordinates[..., 0], (len(CONDITIONS), len(X)))
    names = 10.0 * np.arange(2)[:, None] + np.arange(SIZES.fields)
    return names[:, None, :, None] + (x + CONDITIONS[:, :1])[None, :, None]


@pytest.mark.parametrize("moving", [False, True])
def test_every_network_answers_in_its_place(moving):
    coordinates = np.stack([X, 2 * X]) if moving else X
    model = sums(Ensemble(2))
    samples = model.samples(CONDITIONS, coordinates, 5, np.random.default_rng(0))
    np.testing.assert_allclose(samples, expected(coordinates), atol=1e-5)
    found = model.predict(CONDITIONS, coordinates)
    np.testing.assert_allclose(found.mean, expected(coordinates).mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.std, 5.0, atol=1e-5)
    assert len(model.samples(CONDITIONS, coordinates, 1, np.random.default_rng(0))) == 1


def test_every_pass_draws_once_for_all_points():
    model = sums(Drawing())
    samples = model.samples(CONDITIONS, X, 100, np.random.default_rng(0))
    assert samples.shape == (8, 2, 3, 5)
    drawn = samples.reshape(2, 4, 2, 3, 5) - expected(X)[:, None]
    np.testing.assert_allclose(drawn, drawn[..., :1].repeat(5, axis=-1), atol=1e-5)
    assert (np.diff(np.sort(drawn[0, :, 0, 0, 0])) > 1e-3).all()
    assert (drawn >= -1e-5).all()
    assert (drawn <= 1 + 1e-5).all()
    first, second = (model.predict(CONDITIONS, X) for _ in range(2))
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_allclose(first.mean, samples.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(first.std, samples.std(axis=0), atol=1e-4)


def test_one_pass_of_one_member_claims_no_error():
    model = sums(Drawing(members=1, passes=1))
    assert model.predict(CONDITIONS, X).std is None
    assert not model.has_samples
    with pytest.raises(SureflowError, match="a single network has no members to sample: train an ensemble"):
        model.samples(CONDITIONS, X, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("head", "sampler", "uq"),
    [
        (Deterministic(), Ensemble(1), "deterministic"),
        (Deterministic(), Ensemble(3), "ensemble"),
        (Deterministic(), Drawing(), "drawing"),
        (MVE(), Ensemble(3), "mve"),
    ],
)
def test_bars_come_from_the_head_or_else_from_the_sampler(head, sampler, uq):
    assert Networks(head=head, sampler=sampler).uq == uq
    assert Networks(head=head, sampler=sampler).title == "deeponet"


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (SIZES._replace(inputs=3), "the model: tensor 'parameter_encoder.weights.0' has shape and type"),
        (SIZES._replace(coordinates=2), "the model: tensor 'space_encoder.weights.0' has shape and type"),
        (SIZES._replace(fields=2), "has shape and type"),
    ],
)
def test_arrays_of_other_sizes_are_refused(sizes, message):
    model = Networks(DeepONetSettings(encoder_width=2, decoder_width=2, decoder_layers=0), sampler=Ensemble(1))
    networks = [model.network.build(SIZES, 1, np.random.default_rng(seed)) for seed in range(SIZES.fields)]
    weights = jax.tree.map(lambda *leaves: np.stack(leaves), *eqx.filter(networks, eqx.is_array))
    arrays = TrainedNetworks(model.recipe, SIZES, weights).arrays()
    assert model.restore(arrays, SIZES).predict(CONDITIONS, X).mean.shape == (2, 3, 5)
    with pytest.raises(SureflowError, match=message):
        model.restore(arrays, sizes)
    with pytest.raises(SureflowError, match=r"has an unknown tensor 'more'"):
        model.restore({**arrays, "more": np.zeros(1)}, SIZES)
