"""Calibration against the Uncertainty Toolbox, and what it leaves open: zeros, infinities and NaN."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureflow.errors import SureflowError
from sureflow.metrics import intervals
from sureflow.metrics.intervals import (
    BINS,
    area_between,
    calibration_curve,
    coverage,
    interval_bins,
    interval_counts,
    miscalibration_area,
    observed_shares,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what its plotting dependencies say at import is not ours
    import uncertainty_toolbox as toolbox

TOLERANCE = 1e-6


def prediction(seed, scale=1.0, shift=0.0, size=2000):
    """mean, std and truth with errors `scale` times what the bars say, and a bias of `shift` bars."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=size), rng.lognormal(-2, 1, size)
    return mean, std, mean + std * (scale * rng.standard_t(3, size) + shift)


@given(seed=st.integers(0, 1000), scale=st.floats(0.01, 30), shift=st.floats(-3, 3), size=st.integers(1, 500))
def test_the_area_is_that_of_the_toolbox(seed, scale, shift, size):
    given_values = prediction(seed, scale, shift, size)
    expected = toolbox.miscalibration_area(*given_values)
    assert miscalibration_area(*given_values) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("vectorized", [False, True])
def test_the_area_of_a_curve_that_crosses_the_diagonal(vectorized):
    """Too wide near the mean and too narrow in the tails: the curve crosses between two levels of the grid."""
    mean, std, truth = prediction(0, 0.8)
    observed = calibration_curve(mean, std, truth)[1]
    assert np.any(np.diff(np.sign(observed - intervals.EXPECTED)[1:-1]))
    expected = toolbox.miscalibration_area(mean, std, truth, vectorized=vectorized)
    assert miscalibration_area(mean, std, truth) == pytest.approx(expected, abs=TOLERANCE)


def test_the_curve_is_that_of_the_toolbox():
    values = prediction(3)
    for ours, theirs in zip(calibration_curve(*values), toolbox.get_proportion_lists_vectorized(*values), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_coverage_is_that_of_the_toolbox(level):
    values = prediction(4)
    assert coverage(*values, level) == pytest.approx(toolbox.get_proportion_in_interval(*values, level))


def test_exact_bars_are_calibrated_and_ones_of_the_wrong_size_are_not():
    rng = np.random.default_rng(0)
    error = rng.normal(size=400_000)
    assert miscalibration_area(0 * error, np.ones_like(error), error) < 0.002
    assert miscalibration_area(0 * error, np.full_like(error, 1e-9), error) == pytest.approx(0.5, abs=0.01)
    assert miscalibration_area(0 * error, np.full_like(error, 1e9), error) == pytest.approx(0.5, abs=0.01)


def test_counts_add_up_run_by_run_and_chunk_by_chunk(monkeypatch):
    mean, std, truth = prediction(5)
    whole = interval_counts(mean, std, truth)
    by_run = sum(
        interval_counts(*values) for values in zip(*(v.reshape(8, -1) for v in (mean, std, truth)), strict=True)
    )
    np.testing.assert_array_equal(by_run, whole)
    monkeypatch.setattr(intervals, "CHUNK", 7)
    np.testing.assert_array_equal(interval_counts(mean, std, truth), whole)
    assert whole.sum() == mean.size
    assert area_between(intervals.EXPECTED, observed_shares(whole)) == miscalibration_area(mean, std, truth)


def test_single_precision_is_as_good():
    values = prediction(6)
    single = (v.astype(np.float32) for v in values)
    assert miscalibration_area(*single) == pytest.approx(miscalibration_area(*values), abs=1e-4)


def test_a_std_of_zero_is_inside_every_interval_or_none():
    mean, std, truth = np.array([1.0, 1.0]), np.zeros(2), np.array([1.0, 1.0 + 1e-12])
    np.testing.assert_array_equal(interval_bins(mean, std, truth), [0, BINS - 1])
    np.testing.assert_array_equal(calibration_curve(mean, std, truth)[1], 0.5)
    assert coverage(mean, std, truth, 0.999) == 0.5
    assert miscalibration_area(mean[:1], std[:1], truth[:1]) == pytest.approx(0.5)
    assert miscalibration_area(mean[1:], std[1:], truth[1:]) == pytest.approx(0.5)


def test_what_is_not_a_number_is_inside_of_nothing():
    mean, std, truth = np.array([np.nan, 0.0]), np.array([1.0, np.nan]), np.ones(2)
    np.testing.assert_array_equal(interval_bins(mean, std, truth), BINS - 1)
    assert coverage(mean, std, truth, 0.9) == 0


def test_infinite_bars_hold_everything():
    bins = interval_bins(np.array([0.0]), np.array([np.inf]), np.array([5.0]))
    np.testing.assert_array_equal(bins, [0])


@pytest.mark.parametrize("level", [0.0, 1.0, 90.0, -0.1])
def test_levels_are_shares(level):
    with pytest.raises(SureflowError, match="must lie between 0 and 1"):
        coverage(np.zeros(1), np.ones(1), np.zeros(1), level)
