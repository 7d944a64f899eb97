"""Interpolation against SciPy's, and its leave-one-out bars against refits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from sureflow.models import InterpolationSettings, View

X = np.linspace(0, 1, 20)
NOWHERE = np.empty((0, 0))


def view() -> View:
    inputs = np.random.default_rng(0).normal(size=(15, 2))
    fields = np.stack([np.sin(a + 3 * X) + b * X for a, b in 0.4 * inputs])
    return View(inputs, np.stack([fields, fields**2], axis=1), X[:, None], ("p", "q"))


def test_interpolation_is_that_of_scipy():
    given = view()
    asked = np.random.default_rng(1).normal(size=(6, 2))
    expected = RBFInterpolator(given.inputs, given.fields.reshape(15, -1), kernel="cubic", degree=1)(asked)
    found = InterpolationSettings().fit(given).predict(asked, NOWHERE)
    np.testing.assert_allclose(found.mean.reshape(6, -1), expected, rtol=1e-8, atol=1e-10)


def test_interpolation_passes_through_the_runs_without_a_doubt():
    given = view()
    found = InterpolationSettings().fit(given).predict(given.inputs, NOWHERE)
    np.testing.assert_allclose(found.mean, given.fields, atol=1e-10)
    assert found.std.max() < 1e-4 * given.fields.std()


def test_leave_one_out_residuals_are_those_of_refits():
    given = view()
    model = InterpolationSettings().fit(given)
    for run in (0, 7):
        others = np.arange(15) != run
        left = replace(given, inputs=given.inputs[others], fields=given.fields[others])
        refit, at = InterpolationSettings().fit(left), given.inputs[run : run + 1]
        missed = given.fields[run] - refit.predict(at, NOWHERE).mean[0]
        # At a run left out, the variance of the cubic kernel's process is 1 / (A^-1)_kk.
        power = refit._power(at)[0]
        np.testing.assert_allclose(power, model.inverse[run, run] ** -0.5, rtol=1e-6)
        np.testing.assert_allclose(model.residuals[run] * power, missed, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("direction", [(1.0, 2.0), (1.0, -1.0)])
def test_runs_along_a_line_are_interpolated_along_it(direction):
    """The polynomial has no slope across the line, and needs none."""
    along = np.linspace(-1, 1, 12)
    given = View(along[:, None] * np.array(direction), np.sin(along)[:, None, None] * X, X[:, None], ("p",))
    found = InterpolationSettings().fit(given).predict(0.3 * np.array([direction]), NOWHERE)
    np.testing.assert_allclose(found.mean[0, 0], np.sin(0.3) * X, atol=2e-3)
    assert np.isfinite(found.std).all()
