"""Interpolation against SciPy's, and its leave-one-out bars against refits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from sureflow import scratch
from sureflow.models import InterpolationSettings, View
from sureflow.models.interpolation import Interpolation
from sureflow.models.kernels import KERNELS, WIDTH

X = np.linspace(0, 1, 20)
NOWHERE = np.empty((0, 0))


def view() -> View:
    inputs = np.random.default_rng(0).normal(size=(15, 2))
    fields = np.stack([np.sin(a + 3 * X) + b * X for a, b in 0.4 * inputs])
    return View(inputs, np.stack([fields, fields**2], axis=1), X[:, None], ("p", "q"))


def bent(model: Interpolation) -> Interpolation:
    """The same model without straight sides."""
    return replace(model, straight=np.zeros_like(model.straight))


def test_interpolation_is_that_of_scipy():
    given = view()
    asked = np.random.default_rng(1).normal(size=(6, 2))
    expected = RBFInterpolator(given.inputs, given.fields.reshape(15, -1), kernel="cubic", degree=1)(asked)
    found = bent(InterpolationSettings().fit(given)).predict(asked, NOWHERE)
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


@pytest.mark.parametrize("kernel", KERNELS)
def test_scales_are_learned_from_the_runs(kernel):
    """The fields bend in the first parameter, hardly in the second, and not at all in the third."""
    inputs = np.random.default_rng(0).uniform(-1, 1, size=(40, 3))
    fields = np.stack([np.sin(4 * a + 3 * X) + 0.1 * np.sin(b) * X for a, b, _ in inputs])[:, None]
    asked = np.random.default_rng(1).uniform(-0.8, 0.8, size=(20, 3))
    truth = np.stack([np.sin(4 * a + 3 * X) + 0.1 * np.sin(b) * X for a, b, _ in asked])[:, None]
    given = View(inputs, fields, X[:, None], ("p",))
    learned, equal = (InterpolationSettings(kernel, way).fit(given) for way in ("learned", "equal"))
    first, second, third = learned.scales
    assert first > 3 * second
    assert first > 3 * third
    errors = [np.abs(model.predict(asked, NOWHERE).mean - truth).mean() for model in (learned, equal)]
    assert errors[0] < 0.5 * errors[1]


def test_a_run_left_out_is_what_scales_are_learned_by():
    """The objective in closed form, against refits: at the scales found, a step either way is no better."""
    given = view()
    scales = InterpolationSettings(scales="learned").fit(given).scales

    def left_out(scales):
        missed = []
        for run in range(15):
            others = np.arange(15) != run
            inputs = given.inputs * scales
            left = replace(given, inputs=inputs[others], fields=given.fields[others])
            model = InterpolationSettings().fit(left)
            missed.append(np.sqrt(np.mean((model.predict(inputs[[run]], NOWHERE).mean - given.fields[run]) ** 2)))
        return np.log(np.mean(missed)) + 0.5 * np.sum((np.log(scales) / WIDTH) ** 2) / 15

    best = left_out(scales)
    for step in ([1.1, 1.0], [1.0, 1.1]):
        assert min(left_out(scales * step), left_out(scales / step)) > best - 1e-6


GROUPS = ([4], [0, 7, 9], [12, 3, 1, 14, 5])


@pytest.mark.parametrize("straight", [False, True])
@pytest.mark.parametrize(("small", "kernel"), [(False, "cubic"), (True, "cubic"), (False, "matern")])
def test_groups_left_out_are_those_of_refits(small, kernel, straight, monkeypatch):
    given, settings = view(), InterpolationSettings(kernel, "equal")
    model = replace(settings.fit(given), straight=np.full((2, 2), float(straight)))
    if small:  # block by block, into files
        monkeypatch.setattr(scratch, "IN_MEMORY", 100)
        monkeypatch.setattr(scratch, "BLOCK", 8 * 4 * 15 * 7)
    found = model.leave_out([np.array(group) for group in GROUPS])
    means = model.leave_out_mean([np.array(group) for group in GROUPS])
    np.testing.assert_allclose(means, found.predictive.mean, atol=1e-6 if small else 1e-10)
    start = 0
    for group in GROUPS:
        rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(15), group)
        left = replace(given, inputs=given.inputs[others], fields=given.fields[others])
        refit, at = replace(settings.fit(left), straight=model.straight), given.inputs[group]
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
    means = model.leave_out_mean([np.arange(3), np.array([6])])
    np.testing.assert_allclose(means, found.predictive.mean, atol=1e-9)
    assert np.isfinite(found.predictive.mean).all()
    assert np.isfinite(found.predictive.std).all()
    # At a run on the line, what the others on it say.
    others = model.leave_out([np.array([0, 1, 2, 8])]).predictive
    expected = refit.leave_out([np.array([5])]).predictive
    np.testing.assert_allclose(others.mean[3], expected.mean[0], atol=1e-9)


@pytest.mark.parametrize("direction", [(1.0, 2.0), (1.0, -1.0)])
def test_runs_along_a_line_are_interpolated_along_it(direction):
    """The polynomial has no slope across the line, and needs none."""
    along = np.linspace(-1, 1, 12)
    given = View(along[:, None] * np.array(direction), np.sin(along)[:, None, None] * X, X[:, None], ("p",))
    found = InterpolationSettings().fit(given).predict(0.3 * np.array([direction]), NOWHERE)
    np.testing.assert_allclose(found.mean[0, 0], np.sin(0.3) * X, atol=2e-3)
    assert np.isfinite(found.std).all()
