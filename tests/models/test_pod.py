"""Decomposition into modes, and Gaussian processes of their coefficients against the textbook."""

import numpy as np
import pytest

from sureflow import scratch
from sureflow.models import PodGPSettings, View
from sureflow.models.pod import combine, pod
from sureflow.models.products import Squares, product, squares

X = np.linspace(0, 1, 20)


def view() -> View:
    inputs = np.random.default_rng(0).normal(size=(15, 2))
    fields = np.stack([np.sin(a + 3 * X) + b * X for a, b in 0.4 * inputs])
    return View(inputs, np.stack([fields, fields**2], axis=1), X[:, None], ("p", "q"))


@pytest.fixture(params=["in memory", "in passes"])
def memory(request, monkeypatch):
    if request.param == "in passes":
        monkeypatch.setattr(scratch, "IN_MEMORY", 1000)
        monkeypatch.setattr(scratch, "BLOCK", 2000)


@pytest.mark.usefixtures("memory")
def test_pod_leaves_what_it_says():
    fields = view().fields
    whole = pod(fields, 1e-30, 100)
    # Modes of a few parts in 1e8 are rounding in the Gram matrix.
    np.testing.assert_allclose(whole.mean + combine(whole.coefficients, whole.modes), fields, atol=1e-7)
    few = pod(fields, 1e-3, 100)
    rest = fields - few.mean - combine(few.coefficients, few.modes)
    assert len(few.modes) < len(whole.modes)
    assert (rest**2).sum() <= 1e-3 * ((fields - few.mean) ** 2).sum()
    fewer = pod(fields, 1e-3, len(few.modes) - 1)
    assert (fewer.truncation > few.truncation).mean() > 0.5
    gram = few.modes.reshape(len(few.modes), -1) @ few.modes.reshape(len(few.modes), -1).T
    np.testing.assert_allclose(gram, np.eye(len(few.modes)), atol=1e-12)


def test_pod_in_passes_is_pod(monkeypatch):
    fields = view().fields
    expected = pod(fields, 1e-6, 100)
    monkeypatch.setattr(scratch, "IN_MEMORY", 1000)
    monkeypatch.setattr(scratch, "BLOCK", 2000)
    found = pod(fields, 1e-6, 100)
    assert isinstance(found.modes, np.memmap)
    sign = np.sign((found.modes * expected.modes).sum(axis=(1, 2)))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(found.modes * sign[:, None, None], expected.modes, atol=1e-10)
    np.testing.assert_allclose(found.coefficients * sign, expected.coefficients, atol=1e-10)
    np.testing.assert_allclose(found.truncation, expected.truncation, atol=1e-10)


def test_products_and_squares_are_those_of_numpy_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    weights, rows = rng.normal(size=(2, 3, 5)), rng.normal(size=(5, 70))
    monkeypatch.setattr(scratch, "BLOCK", 8 * 7 * 11)
    np.testing.assert_allclose(product(weights, rows), weights @ rows, rtol=1e-14)
    np.testing.assert_array_equal(squares(rows), rows**2)
    monkeypatch.setattr(scratch, "IN_MEMORY", 64)
    assert isinstance(squares(rows), Squares)
    np.testing.assert_allclose(product(weights, squares(rows)), weights @ rows**2, rtol=1e-13)


def test_the_posterior_is_that_of_the_textbook():
    """Rasmussen & Williams 2006, eqs. 2.25 and 2.26, in NumPy and without padding."""
    given = view()
    model = PodGPSettings(modes=2).fit(given)
    asked = np.array([[0.3, -0.2]])

    def kernel(a, b, logarithms):
        r = np.sqrt(5 * (((a[:, None] - b[None]) / np.exp(logarithms[2:])) ** 2).sum(axis=2))
        return np.exp(logarithms[0]) * (1 + r + r**2 / 3) * np.exp(-r) + 100 * (1 + a @ b.T)

    location, deviation = model._coefficients(asked)
    for mode, logarithms in enumerate(model.logarithms):
        covariance = kernel(given.inputs, given.inputs, logarithms) + np.exp(logarithms[1]) * np.eye(15)
        cross = kernel(asked, given.inputs, logarithms)
        mean = cross @ np.linalg.solve(covariance, model.coefficients[mode])
        variance = kernel(asked, asked, logarithms) - cross @ np.linalg.solve(covariance, cross.T)
        np.testing.assert_allclose(location[0, mode], model.scale[mode] * mean[0], rtol=1e-5)
        np.testing.assert_allclose(deviation[0, mode], model.scale[mode] * variance[0, 0] ** 0.5, rtol=1e-2)
