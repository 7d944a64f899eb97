"""Properties that every head has; a new head joins `INSTANCES` and inherits them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sureflow.errors import SureflowError
from sureflow.heads import HEADS, MVE, Deterministic, Evidential, Head, Mixture

INSTANCES = [
    Deterministic(),
    MVE(),
    MVE(warm_up=0, beta=0),
    Evidential(),
    Evidential(explosion=0),
    Evidential(regularizer="standardized", recovery=0.1, fewest_degrees=4.0),
    Mixture(),
    Mixture(5, 0),
]
each_head = pytest.mark.parametrize("head", INSTANCES, ids=repr)

extremes = st.floats(-300, 300, width=32)
SIZE = 16


def test_every_registered_head_is_tested():
    ours = {name for name in HEADS if HEADS[name].__module__.startswith("sureflow.")}
    assert ours == {head.name for head in INSTANCES}


@jax.jit(static_argnums=0)
def loss_and_gradient(head: Head, output, truth, progress):
    return jax.vmap(jax.value_and_grad(lambda *a: head.loss_parts(*a)["loss"]), (0, 0, None))(output, truth, progress)


@each_head
@given(
    outputs=arrays(np.float32, (SIZE, 16), elements=extremes),
    truth=arrays(np.float32, SIZE, elements=st.floats(-100, 100, width=32)),
    progress=st.sampled_from([0.0, 1.0]),
)
def test_loss_and_gradient_are_finite_for_extreme_outputs(head, outputs, truth, progress):
    loss, gradient = loss_and_gradient(head, jnp.asarray(outputs[:, : head.n_outputs]), jnp.asarray(truth), progress)
    assert np.isfinite(loss).all()
    assert np.isfinite(gradient).all()


@jax.jit(static_argnums=0)
def predict(head: Head, outputs):
    return jax.vmap(head.predictive)(outputs)


@each_head
@given(outputs=arrays(np.float32, (SIZE, 16), elements=extremes))
def test_prediction_is_finite_and_its_mean_is_the_first_output(head, outputs):
    predictive = predict(head, jnp.asarray(outputs[:, : head.n_outputs]))
    np.testing.assert_array_equal(predictive.mean, outputs[:, 0])
    for part in predictive.parts.values():
        assert np.isfinite(part).all()
        assert (np.asarray(part) > 0).all()


@jax.jit(static_argnums=0)
def probability_below(head: Head, output, values):
    return jax.vmap(head.below, (None, 0))(output, values)


@each_head
def test_the_best_mean_is_the_truth(head):
    outputs = np.zeros((SIZE, head.n_outputs), np.float32)
    outputs[:3, 0] = 0.0, 0.3, 0.6
    losses, _ = loss_and_gradient(head, jnp.asarray(outputs), jnp.full(SIZE, 0.3), 1.0)
    assert losses[1] < min(losses[0], losses[2])


@each_head
def test_settings_survive_a_round_trip(head):
    assert HEADS.build(HEADS.describe(head)) == head


def test_an_unknown_setting_is_refused():
    with pytest.raises(SureflowError, match=r"betta is not a setting; did you mean beta\?"):
        MVE(betta=0.5)  # type: ignore[call-arg]


@each_head
def test_the_probability_below_a_value_grows_from_zero_to_one(head):
    output = jnp.linspace(0.3, 0.5, head.n_outputs)
    mean = predict(head, output[None]).mean[0]
    below = [float(value) for value in probability_below(head, output, mean + np.array([-1e6, -1.0, 1.0, 1e6]))]
    assert below[0] == pytest.approx(0.0, abs=1e-6)
    assert below[-1] == pytest.approx(1.0, abs=1e-6)
    assert below == sorted(below)
    if head.normal:
        assert below[1] + below[2] == pytest.approx(1.0, abs=1e-6)  # symmetric about the mean
