import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
import scipy.stats

from sureflow.heads import Evidential
from sureflow.heads.evidential import evidential_nll, log_gamma_ratio
from sureflow.runtime import double_precision


def parameters(size=500):
    rng = np.random.default_rng(0)
    gamma, truth = rng.normal(size=(2, size)) * 3
    v, beta = 10 ** rng.uniform(-4, 4, (2, size))
    alpha = 1 + 10 ** rng.uniform(-4, 4, size)
    return gamma, v, alpha, beta, truth


def test_nll_is_that_of_a_student_t():
    gamma, v, alpha, beta, truth = parameters()
    with double_precision():
        nll = np.asarray(evidential_nll(*map(jnp.asarray, (gamma, v, alpha, beta, truth))))
    scale = np.sqrt(beta * (1 + v) / (v * alpha))
    np.testing.assert_allclose(nll, -scipy.stats.t.logpdf(truth, 2 * alpha, gamma, scale), rtol=1e-6, atol=1e-6)


def test_nll_in_single_precision_keeps_its_digits():
    gamma, v, alpha, beta, truth = (np.float32(values).astype(float) for values in parameters())
    single = np.asarray(evidential_nll(*(jnp.asarray(a, jnp.float32) for a in (gamma, v, alpha, beta, truth))))
    with double_precision():
        double = np.asarray(evidential_nll(*map(jnp.asarray, (gamma, v, alpha, beta, truth))))
    np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-5)


def test_log_gamma_ratio():
    alpha = np.logspace(-3, 12, 200)
    with double_precision():
        ratio = np.asarray(log_gamma_ratio(jnp.asarray(alpha)))
    near = alpha < 1e4
    expected = scipy.special.gammaln(alpha[near] + 0.5) - scipy.special.gammaln(alpha[near])
    np.testing.assert_allclose(ratio[near], expected, atol=1e-9)
    np.testing.assert_allclose(ratio[~near], 0.5 * np.log(alpha[~near]), atol=2e-5)


def test_parts_are_the_moments_of_the_normal_inverse_gamma():
    output = jnp.array([0.7, -1.0, 0.5, 2.0])
    v, excess, beta = (float(jax.nn.softplus(raw)) for raw in output[1:])
    predictive = Evidential().predictive(output)
    np.testing.assert_allclose(predictive.parts["discrepancy"] ** 2, beta / excess, rtol=1e-5)
    np.testing.assert_allclose(predictive.parts["epistemic"] ** 2, beta / (v * excess), rtol=1e-5)
    np.testing.assert_allclose(predictive.std**2, beta / excess * (1 + 1 / v), rtol=1e-5)


def test_regularizer_is_the_error_times_the_evidence():
    output, truth = jnp.array([0.7, -1.0, 0.5, 2.0]), jnp.asarray(0.2)
    v, alpha = jax.nn.softplus(-1.0), 1 + jax.nn.softplus(0.5)
    parts = Evidential(regularization=0.3).loss_parts(output, truth, jnp.asarray(1.0))
    np.testing.assert_allclose(parts["regularizer"], 0.5 * (2 * v + alpha), rtol=1e-5)
    np.testing.assert_allclose(parts["loss"], parts["likelihood"] + 0.3 * parts["regularizer"], rtol=1e-6)


def test_explosions_are_counted():
    calm, exploded = jnp.array([0.0, 0.0, 0.0, 0.0]), jnp.array([0.0, -9.0, -9.0, 0.0])
    head, truth, progress = Evidential(explosion=10), jnp.asarray(0.0), jnp.asarray(1.0)
    assert head.loss_parts(calm, truth, progress)["exploded"] == 0
    assert head.loss_parts(exploded, truth, progress)["exploded"] == 1
    assert "exploded" not in Evidential(explosion=0).loss_parts(calm, truth, progress)


def test_more_degrees_of_freedom_keep_the_variance_finite():
    """With 2 alpha = 4 or more, the variance is at most twice the square of the width of the Student t."""
    output = jnp.array([0.0, -3.0, -3.0, 0.0])
    v, excess, beta = (float(jax.nn.softplus(raw)) for raw in output[1:])
    found = Evidential(fewest_degrees=4.0).predictive(output).std ** 2
    np.testing.assert_allclose(found, beta / (1 + excess) * (1 + 1 / v), rtol=1e-4)
    assert found <= 2 * beta * (1 + v) / (v * (2 + excess)) * 1.0001
    assert Evidential().predictive(output).std ** 2 > 20 * found
