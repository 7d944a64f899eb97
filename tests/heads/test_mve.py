import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from sureflow.heads import MVE
from sureflow.heads.mve import gaussian_loss
from sureflow.runtime import double_precision


def test_the_printed_loss_is_twice_the_negative_log_density_less_log_2_pi():
    rng = np.random.default_rng(0)
    mean, truth = rng.normal(size=(2, 200)) * 3
    variance = 10 ** rng.uniform(-6, 6, 200)
    with double_precision():
        loss = np.asarray(gaussian_loss(jnp.asarray(mean), jnp.asarray(variance), jnp.asarray(truth)))
    density = scipy.stats.norm.logpdf(truth, mean, np.sqrt(variance))
    np.testing.assert_allclose(loss, -2 * density - np.log(2 * np.pi), rtol=1e-10)


def test_warm_up_fits_the_mean_alone():
    head = MVE(warm_up=0.5)
    gradient = jax.grad(lambda output, progress: head.loss_parts(output, jnp.asarray(1.0), progress)["loss"])
    during, after = (gradient(jnp.array([0.0, 0.3]), jnp.asarray(done)) for done in (0.49, 0.5))
    assert during[0] == -2
    assert during[1] == 0
    assert after[1] != 0


@pytest.mark.parametrize(("beta", "power"), [(0.0, -1), (0.5, -0.5), (1.0, 0)])
def test_beta_sets_how_the_pull_on_the_mean_depends_on_the_variance(beta, power):
    head = MVE(warm_up=0, beta=beta)
    gradient = jax.grad(lambda output: head.loss_parts(output, jnp.asarray(1.0), jnp.asarray(1.0))["loss"])
    pulls = [gradient(jnp.array([0.0, raw]))[0] for raw in (-2.0, 3.0)]
    variances = [head.predictive(jnp.array([0.0, raw])).std ** 2 for raw in (-2.0, 3.0)]
    np.testing.assert_allclose(pulls, [-2 * float(variance) ** power for variance in variances], rtol=1e-5)
