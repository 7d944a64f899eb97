import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from sureflow.metrics.scoring import (
    ause,
    gaussian_crps,
    gaussian_nll,
    rank_correlation,
    sharpness,
    z_rms,
)

RNG = np.random.default_rng(0)
MEAN, STD = RNG.normal(size=300), RNG.lognormal(-1, 1, 300)
TRUTH = MEAN + 2 * STD * RNG.normal(size=300)


def test_crps_is_the_integral_that_defines_it():
    """integral of (F(x) - [x >= truth])^2 dx."""
    mean, std, truth = 0.3, 0.7, 1.9
    below = quad(lambda x: scipy.stats.norm.cdf(x, mean, std) ** 2, -np.inf, truth)[0]
    above = quad(lambda x: scipy.stats.norm.sf(x, mean, std) ** 2, truth, np.inf)[0]
    assert gaussian_crps(np.array(mean), np.array(std), np.array(truth)) == pytest.approx(below + above, rel=1e-8)


def test_nll_is_that_of_scipy():
    np.testing.assert_allclose(gaussian_nll(MEAN, STD, TRUTH), -scipy.stats.norm.logpdf(TRUTH, MEAN, STD))


def test_sizes_of_bars_and_errors():
    assert sharpness(np.array([3.0, 4.0])) == pytest.approx(np.sqrt(12.5))
    assert z_rms(np.zeros(2), np.array([1.0, 2.0]), np.array([1.0, -6.0])) == pytest.approx(np.sqrt(5))


def test_a_std_of_zero_is_a_point_mass():
    mean, std, truth = np.zeros(3), np.zeros(3), np.array([0.0, 2.0, -3.0])
    np.testing.assert_array_equal(gaussian_crps(mean, std, truth), [0, 2, 3])
    np.testing.assert_array_equal(gaussian_nll(mean, std, truth), [-np.inf, np.inf, np.inf])
    assert z_rms(mean, std, truth) == np.inf
    assert z_rms(mean[:1], std[:1], truth[:1]) == 0


def test_crps_goes_over_into_that_of_a_point_mass():
    for std in (1e-3, 1e-30, 1e-310):
        assert gaussian_crps(np.zeros(1), np.array([std]), np.ones(1)) == pytest.approx(1.0, rel=1e-3)


def test_what_is_not_a_number_stays_so():
    assert np.isnan(gaussian_crps(np.zeros(1), np.array([np.nan]), np.ones(1)))
    assert np.isnan(gaussian_crps(np.array([np.nan]), np.zeros(1), np.ones(1)))


def sparsification(error, order):
    """Mean error of what remains after taking away 0, 1, .. points, in the given order."""
    return np.array([error[order[k:]].mean() for k in range(error.size)])


def test_ause_is_the_area_between_two_sparsification_curves():
    error = np.abs(TRUTH - MEAN)
    by_std, by_error = (sparsification(error, np.argsort(-key)) for key in (STD, error))
    expected = (by_std - by_error).mean() / error.mean()
    assert expected > 0.01
    assert ause(TRUTH - MEAN, STD) == pytest.approx(expected)


def test_ause_is_zero_for_bars_that_rank_perfectly_and_largest_for_the_reverse():
    error = RNG.normal(size=200)
    assert ause(error, 3 * np.abs(error)) == pytest.approx(0, abs=1e-12)
    reverse = ause(error, -np.abs(error))
    assert reverse > ause(error, RNG.random(200)) > 0
    assert ause(np.zeros(5), np.ones(5)) == 0


def test_constant_bars_score_as_random_ones_do():
    error = np.abs(RNG.normal(size=50))
    shuffled = [ause(error, RNG.random(50)) for _ in range(4000)]
    assert ause(error, np.ones(50)) == pytest.approx(np.mean(shuffled), abs=4 * np.std(shuffled) / np.sqrt(4000))


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3)), min_size=2, max_size=40))
def test_rank_correlation_is_that_of_scipy_with_ties(pairs):
    error, std = np.array(pairs, float).T
    found = rank_correlation(error, std)
    if np.ptp(np.abs(error)) == 0 or np.ptp(std) == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(scipy.stats.spearmanr(np.abs(error), std).statistic, abs=1e-12)
