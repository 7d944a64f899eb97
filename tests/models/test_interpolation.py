"""Interpolation against SciPy's, and its leave-one-out bars against refits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from sureflow import scratch
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


GROUPS = ([4], [0, 7, 9], [12, 3, 1, 14, 5])


@pytest.mark.parametrize("small", [False, True])
def test_groups_left_out_are_those_of_refits(small, monkeypatch):
    given = view()
    model = InterpolationSettings().fit(given)
    if small:  # block by block, into files
        monkeypatch.setattr(scratch, "IN_MEMORY", 100)
        monkeypatch.setattr(scratch, "BLOCK", 8 * 4 * 15 * 7)
    found = model.leave_out([np.array(group) for group in GROUPS])
    start = 0
    for group in GROUPS:
        rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(15), group)
        left = replace(given, inputs=given.inputs[others], fields=given.fields[others])
        refit, at = InterpolationSettings().fit(left), given.inputs[group]
        expected = refit.predict(at, NOWHERE)
        precision = 1e-6 if small else 1e-10  # of a file, in float32
        np.testing.assert_allclose(found.predictive.mean[rows], expected.mean, atol=precision)
        np.testing.assert_allclose(found.predictive.std[rows], expected.std, rtol=1e-5)  # its residuals are float32
        np.testing.assert_allclose(found.novelty[rows] * model._typical_power, refit._power(at), rtol=1e-9)


def test_a_group_that_the_polynomial_needs_is_left_out_all_the_same():
    """All runs but three lie on a line: the others leave the slope across it open."""
    along = np.linspace(-1, 1, 12)
    inputs = np.column_stack([along, np.where(np.arange(12) < 3, 0.5, 0.0)])
    fields = np.sin(along)[:, None, None] * X
    model = InterpolationSettings().fit(View(inputs, fields, X[:, None], ("p",)))
    refit = InterpolationSettings().fit(View(np.column_stack([along, 0 * along])[3:], fields[3:], X[:, None], ("p",)))
    found = model.leave_out([np.arange(3), np.array([6])])
    assert np.isfinite(found.predictive.mean).all()
    assert np.isfinite(found.predictive.std).all()
    # At a run on the line, what the others on it say.
    on_line = model.leave_out([np.array([0, 1, 2, 8])]).predictive
    expected = refit.leave_out([np.array([5])]).predictive
    np.testing.assert_allclose(on_line.mean[3], expected.mean[0], atol=1e-9)


@pytest.mark.parametrize("direction", [(1.0, 2.0), (1.0, -1.0)])
def test_runs_along_a_line_are_interpolated_along_it(direction):
    """The polynomial has no slope across the line, and needs none."""
    along = np.linspace(-1, 1, 12)
    given = View(along[:, None] * np.array(direction), np.sin(along)[:, None, None] * X, X[:, None], ("p",))
    found = InterpolationSettings().fit(given).predict(0.3 * np.array([direction]), NOWHERE)
    np.testing.assert_allclose(found.mean[0, 0], np.sin(0.3) * X, atol=2e-3)
    assert np.isfinite(found.std).all()
