"""Training on small problems with a known answer."""

import jax
import numpy as np
import pytest

import synthetic
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.heads import MVE, Deterministic, Evidential
from sureflow.models import DeepONetSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import Specification
from sureflow.train.batching import TrainingView
from sureflow.train.loop import Diverged, train
from sureflow.train.networks import Networks
from sureflow.train.recipe import Recipe
from views import view_of_runs

SMALL = DeepONetSettings(encoder_width=8, decoder_width=16, decoder_layers=2, fourier_octaves=0)
NOISE = 0.2


def sine_runs(noise: float) -> Runs:
    """sin(3 x) p + noise, for parameters p in -1..1."""
    rng = np.random.default_rng(0)
    parameter, x = np.linspace(-1, 1, 48), np.linspace(-1, 1, 64)
    field = np.sin(3 * x) * parameter[:, None] + noise * rng.normal(size=(48, 64))
    return Runs.from_arrays({"p": parameter}, x[:, None], {"w": field})


def train_sine(noise, head, members=1, epochs=120):
    """The surrogate, and the reports of its epochs."""
    settings = TrainSettings(points_per_run="all", batch=256, epochs=epochs, learning_rate=5e-3)
    reports = []
    spec = Specification(Networks(SMALL, head, Ensemble(members), settings))
    return learn(sine_runs(noise), spec, progress=reports.append), reports


@pytest.mark.parametrize(
    ("head", "own_parts"),
    [(MVE(), {"variance"}), (Evidential(), {"regularizer", "exploded", "std", "degrees"})],
    ids=["mve", "evidential"],
)
def test_a_known_noise_level_is_recovered(head, own_parts):
    surrogate, reports = train_sine(NOISE, head)
    field = surrogate.predict(p=np.linspace(-0.9, 0.9, 7))
    truth = np.sin(3 * field.x.values) * field.p.values[:, None]
    assert np.sqrt(np.mean((field.w - truth) ** 2)) < 0.3 * NOISE
    np.testing.assert_allclose(np.sqrt(np.mean(field.w_std**2)), NOISE, rtol=0.15)
    assert reports[-1].parts.keys() == {"loss", "likelihood", "squared_error"} | own_parts


def test_the_spread_of_an_ensemble_grows_away_from_the_data():
    surrogate, _ = train_sine(0.0, Deterministic(), members=4, epochs=60)
    inside, beyond, far = (float(surrogate.predict(p=p, extrapolate=True).w_std.mean()) for p in (0.5, 2.0, 4.0))
    assert 2 * inside < beyond < far


def small_recipe(members=2, **settings):
    settings = {"epochs": 3, "batch": 32, "points_per_run": 16, "learning_rate": 1e-2} | settings
    return Recipe(SMALL, Deterministic(), Ensemble(members), TrainSettings(**settings))


@pytest.fixture(scope="module")
def view():
    return TrainingView.of(view_of_runs(synthetic.runs()))


@pytest.fixture(scope="module")
def trained(view):
    return train(view, small_recipe())


def test_training_is_bit_identical_for_a_seed(view, trained):
    again = train(view, small_recipe())
    assert all(map(np.array_equal, jax.tree.leaves(trained.state.weights), jax.tree.leaves(again.state.weights)))
    other = train(view, small_recipe(seed=1))
    assert not any(map(np.array_equal, jax.tree.leaves(trained.state.weights), jax.tree.leaves(other.state.weights)))


def test_the_first_member_of_an_ensemble_is_the_single_model(view, trained):
    single = train(view, small_recipe(members=1))
    n_variables = view.fields.shape[0]
    for alone, among in zip(jax.tree.leaves(single.state.weights), jax.tree.leaves(trained.state.weights), strict=True):
        np.testing.assert_array_equal(alone, among[:n_variables])


def test_every_member_and_variable_has_a_network_and_a_loss_of_its_own(view, trained):
    loss = trained.history[-1].parts["loss"]
    assert loss.shape == (2, 4)
    assert len(np.unique(loss)) == loss.size
    assert (loss < trained.history[0].parts["loss"]).all()


def test_a_loss_that_is_not_finite_stops_with_advice(view):
    message = r"the loss of T, member 1 of 2, is not finite in epoch 1: lower train.learning_rate, which is 1e\+30"
    with pytest.raises(Diverged, match=message):
        train(view, small_recipe(learning_rate=1e30), names=("T", "u", "v", "w"))
    assert issubclass(Diverged, SureflowError)


@pytest.mark.parametrize("cores", [1, 3, 64])
def test_any_number_of_shares_gives_the_same_bits(monkeypatch, view, trained, cores):
    """Eight networks in one share, in two and in eight."""
    monkeypatch.setattr("sureflow.models.network.usable_cores", lambda: cores)
    again = train(view, small_recipe())
    assert all(map(np.array_equal, jax.tree.leaves(trained.state), jax.tree.leaves(again.state)))
    np.testing.assert_array_equal(trained.history[-1].parts["loss"], again.history[-1].parts["loss"])
