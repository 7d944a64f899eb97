import jax.numpy as jnp
import numpy as np

from sureflow.predictive import Predictive
from sureflow.uq.ensemble import Ensemble

rng = np.random.default_rng(0)
MEANS = jnp.asarray(rng.normal(size=(4, 3, 5)))
STDS = jnp.asarray(rng.uniform(0.5, 2, size=(4, 3, 5)))


def test_members_without_a_std_give_their_spread():
    one = Ensemble(4).combine(Predictive(MEANS, {}))
    np.testing.assert_allclose(one.mean, MEANS.mean(0), rtol=1e-6)
    np.testing.assert_allclose(one.std, MEANS.std(0), rtol=1e-6)


def test_the_variance_is_that_of_the_mixture_and_splits_in_two():
    one = Ensemble(4).combine(Predictive(MEANS, {"discrepancy": STDS}))
    second_moment = (MEANS**2 + STDS**2).mean(0)
    np.testing.assert_allclose(one.std**2, second_moment - one.mean**2, rtol=1e-5)
    np.testing.assert_allclose(one.parts["discrepancy"] ** 2, (STDS**2).mean(0), rtol=1e-6)
    np.testing.assert_allclose(one.parts["epistemic"], MEANS.std(0), rtol=1e-6)


def test_the_spread_joins_the_epistemic_part_of_the_members():
    one = Ensemble(4).combine(Predictive(MEANS, {"epistemic": STDS}))
    np.testing.assert_allclose(one.parts["epistemic"] ** 2, MEANS.var(0) + (STDS**2).mean(0), rtol=1e-5)


def test_one_member_is_itself():
    one = Ensemble(1).combine(Predictive(MEANS[:1], {}))
    np.testing.assert_array_equal(one.mean, MEANS[0])
    assert one.std is None
