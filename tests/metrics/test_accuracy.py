import numpy as np
import pytest

from sureflow.metrics.accuracy import mean_absolute_error, relative_error


def test_errors_keep_the_leading_axes():
    truth = np.array([[3.0, 4.0], [0.0, 2.0]])
    mean = truth + np.array([[0.0, 0.5], [2.0, 0.0]])
    np.testing.assert_allclose(relative_error(mean, truth), [0.1, 1.0])
    np.testing.assert_allclose(mean_absolute_error(mean, truth), [0.25, 1.0])
    np.testing.assert_allclose(mean_absolute_error(mean, truth, np.array([0.5, 2.0])), [0.5, 0.5])


def test_a_truth_of_zero_is_met_or_missed():
    np.testing.assert_array_equal(relative_error(np.array([[0.0, 0.0], [0.0, 1.0]]), np.zeros((2, 2))), [0.0, np.inf])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_in_double_precision(dtype):
    truth = np.full(100_000, 0.1, dtype)
    assert mean_absolute_error(np.zeros_like(truth), truth) == pytest.approx(float(truth[0]), rel=1e-12)
    assert relative_error(np.zeros_like(truth), truth) == pytest.approx(1.0, rel=1e-12)
