"""Properties that every sampler has, and those of the ensemble; a new sampler joins `INSTANCES` and inherits them."""

import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.samplers import SAMPLERS, Dropout, Ensemble

INSTANCES = [Ensemble(4), Ensemble(1), Dropout(1, 4), Dropout(2, 2, 0.3)]
each_sampler = pytest.mark.parametrize("sampler", INSTANCES, ids=repr)

rng = np.random.default_rng(0)
MEANS = jnp.asarray(rng.normal(size=(4, 3, 5)))
STDS = jnp.asarray(rng.uniform(0.5, 2, size=(4, 3, 5)))


def test_every_registered_sampler_is_tested():
    ours = {name for name in SAMPLERS if SAMPLERS[name].__module__.startswith("sureflow.")}
    assert ours == {sampler.name for sampler in INSTANCES}


@each_sampler
def test_settings_survive_a_round_trip(sampler):
    assert SAMPLERS.build(SAMPLERS.describe(sampler)) == sampler


@each_sampler
@pytest.mark.parametrize("parts", [{}, {"discrepancy": STDS}, {"epistemic": STDS}, {"epistemic": STDS, "other": STDS}])
def test_answers_combine_to_the_moments_of_their_mixture(sampler, parts):
    count = sampler.members * sampler.passes
    answers = Predictive(MEANS[:count], {name: part[:count] for name, part in parts.items()})
    one = sampler.combine(answers)
    own = (
        sum(np.asarray(part, float) ** 2 for part in answers.parts.values()) if parts else np.zeros(answers.mean.shape)
    )
    second_moment = (np.asarray(answers.mean, float) ** 2 + own).mean(axis=0)
    np.testing.assert_allclose(one.mean, answers.mean.mean(axis=0), rtol=1e-6)
    variance = np.zeros(one.mean.shape) if one.std is None else np.asarray(one.std) ** 2
    np.testing.assert_allclose(variance, second_moment - np.asarray(one.mean, float) ** 2, rtol=1e-5, atol=1e-6)


def test_members_without_a_std_give_their_spread():
    one = Ensemble(4).combine(Predictive(MEANS, {}))
    np.testing.assert_allclose(one.mean, MEANS.mean(0), rtol=1e-6)
    np.testing.assert_allclose(one.std, MEANS.std(0), rtol=1e-6)


def test_the_variance_splits_in_two():
    one = Ensemble(4).combine(Predictive(MEANS, {"discrepancy": STDS}))
    np.testing.assert_allclose(one.parts["discrepancy"] ** 2, (STDS**2).mean(0), rtol=1e-6)
    np.testing.assert_allclose(one.parts["epistemic"], MEANS.std(0), rtol=1e-6)


def test_the_spread_joins_the_epistemic_part_of_the_members():
    one = Ensemble(4).combine(Predictive(MEANS, {"epistemic": STDS}))
    np.testing.assert_allclose(one.parts["epistemic"] ** 2, MEANS.var(0) + (STDS**2).mean(0), rtol=1e-5)


def test_one_member_is_itself():
    one = Ensemble(1).combine(Predictive(MEANS[:1], {}))
    np.testing.assert_array_equal(one.mean, MEANS[0])
    assert one.std is None


@pytest.mark.parametrize("members", [0, -1, 1.5, "many"])
def test_a_number_of_members_that_cannot_be_is_refused(members):
    with pytest.raises(SureflowError, match=f"members={members!r} must be"):
        Ensemble(members)
