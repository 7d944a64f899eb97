"""The evidence of hyperparameters against scikit-learn's."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, WhiteKernel

from sureflow.models.processes import LENGTH_PRIOR, WIDE, Evidence, most_probable


def test_value_and_gradient_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(30, 3))
    target, logarithms = np.sin(inputs).sum(axis=1), np.array([0.4, -6.0, 0.3, 0.9, 1.4])
    kernel = ConstantKernel() * Matern(np.ones(3), nu=2.5) + WhiteKernel()
    kernel += ConstantKernel(WIDE, "fixed") * DotProduct(1.0, "fixed")
    theirs = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0).fit(inputs, target)
    theta = logarithms[[0, 2, 3, 4, 1]]
    likelihood, slope = theirs.log_marginal_likelihood(theta, eval_gradient=True)
    value, gradient = Evidence(inputs, target)(logarithms)
    center, width = LENGTH_PRIOR
    off = (logarithms[2:] - center) / width
    constant = 0.5 * len(target) * np.log(2.0 * np.pi)  # which moves no maximum
    assert value == pytest.approx(-likelihood - constant + 0.5 * off @ off, rel=1e-9)
    expected = -slope[[0, 4, 1, 2, 3]]
    expected[2:] += off / width
    # Both invert covariances with a condition number of 1e7.
    assert gradient == pytest.approx(expected, rel=1e-6)


def test_lengths_follow_what_the_target_depends_on():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(60, 2))
    found = most_probable(inputs, np.sin(2.0 * inputs[:, 0]))
    assert found[3] > found[2] + 1.0  # the second parameter changes nothing
