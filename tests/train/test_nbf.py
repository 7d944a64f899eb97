import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.models.contract import View
from sureflow.models.pod import pod
from sureflow.models.train_settings import TrainSettings
from sureflow.train.nbf import NBFSettings, _at, _last_by_least_squares, _targets

X = np.linspace(-1, 1, 40)[:, None]
INPUTS = np.random.default_rng(0).uniform(-1, 1, (12, 2))


def fields(x: np.ndarray) -> np.ndarray:
    """Two variables (case, variable, point) that are sums of two functions of x."""
    a, b = INPUTS[:, :1], INPUTS[:, 1:]
    return np.stack([np.sin(2 * x.T) + a * x.T, a * b * np.cos(x.T)], axis=1)


def settings(**train) -> NBFSettings:
    own = TrainSettings(batch=20, points_per_run="all", optimizer="muon", learning_rate=6e-3, **train)
    return NBFSettings(members=2, width=16, steps=300, basis_width=32, basis_layers=2, train=own)


def test_what_is_learned_leads_back_to_mean_and_modes():
    basis = pod(fields(X), 1e-6, 8)
    targets, amplitude = _targets(basis)
    functions = np.concatenate([basis.mean[None], basis.modes]).transpose(2, 0, 1)
    np.testing.assert_allclose((targets * amplitude).reshape(functions.shape), functions, atol=1e-12)


def test_the_last_layer_is_the_best_for_the_hidden_ones():
    """No other one has a smaller squared error: against that of the trained networks, and of one that is moved a little."""
    targets, _ = _targets(pod(fields(X), 1e-6, 8))
    model = settings(epochs=1)
    trained = model.train_basis(X, targets, X.shape[1] * 5, lambda report: None, None)
    solved = _last_by_least_squares(trained, X, targets, model.fourier_octaves)

    def error(networks, member, shift=0.0) -> float:
        one = type(networks)([w[member] for w in networks.weights], [b[member] + shift for b in networks.biases])
        found = _at(one, jnp.asarray(X, jnp.float32), model.fourier_octaves)
        return float(np.mean((np.asarray(found, float) - targets) ** 2))

    for member in range(2):
        assert error(solved, member) < 0.5 * error(trained, member)
        assert error(solved, member) < error(solved, member, 1e-2)


def test_it_predicts_between_the_points_that_it_learned_from():
    view = View(INPUTS, fields(X), X, ("p", "q"))
    found = settings(epochs=10).fit(view).predict(INPUTS, 0.5 * (X[1:] + X[:-1]))
    expected = fields(0.5 * (X[1:] + X[:-1]))
    assert np.abs(found.mean - expected).mean() < 0.03 * expected.std()


def test_points_of_their_own_for_every_run_are_refused():
    view = View(INPUTS, fields(X), np.stack([X] * len(INPUTS)), ("p", "q"))
    with pytest.raises(
        SureflowError, match="nbf needs points that all runs share, or coordinates that follow the body"
    ):
        settings(epochs=1).fit(view)
