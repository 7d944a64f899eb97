"""Processes that leave runs out, against those of the other runs."""

from dataclasses import replace

import numpy as np

from sureflow.models import PodGPSettings, View

X = np.linspace(0, 1, 20)
NOWHERE = np.empty((0, 0))
GROUPS = ([4], [0, 7, 9], [12, 3, 1, 14, 5])


def view() -> View:
    inputs = np.random.default_rng(0).normal(size=(15, 2))
    fields = np.stack([np.sin(a + 3 * X) + b * X for a, b in 0.4 * inputs])
    return View(inputs, np.stack([fields, fields**2], axis=1), X[:, None], ("p", "q"))


def posterior(model, kept, asked):
    """Mean and variance of every coefficient over its scale, by the textbook (Rasmussen & Williams 2006, Eq. 2.23-2.24)."""
    found = []
    for (amplitude, noise, *lengths), target in zip(model.logarithms, model.coefficients, strict=True):

        def kernel(a, b, amplitude=amplitude, lengths=lengths):
            r = np.sqrt(5.0) * np.linalg.norm((a[:, None] - b[None]) / np.exp(lengths), axis=-1)
            return np.exp(amplitude) * (1 + r + r**2 / 3) * np.exp(-r) + 100.0 * (1.0 + a @ b.T)

        runs, at = model.inputs[kept], model.inputs[asked]
        solved = np.linalg.solve(kernel(runs, runs) + np.exp(noise) * np.eye(len(runs)), kernel(runs, at))
        found.append((solved.T @ target[kept], np.diag(kernel(at, at)) - (kernel(runs, at) * solved).sum(axis=0)))
    return np.array(found).transpose(1, 2, 0)


def test_groups_left_out_are_those_of_processes_of_the_others():
    model = PodGPSettings(modes=4).fit(view())
    left_out = model.leave_out([np.array(group) for group in GROUPS]).predictive
    start = 0
    for group in GROUPS:
        rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(15), group)
        location, variance = posterior(model, others, group)
        expected = model._fields(model.scale * location, model.scale * np.sqrt(variance))
        np.testing.assert_allclose(
            left_out.mean[rows], expected.mean, atol=2e-9
        )  # of covariances with a condition of 1e9
        np.testing.assert_allclose(left_out.std[rows], expected.std, rtol=1e-6)
        refit = replace(model, inputs=model.inputs[others], coefficients=model.coefficients[:, others])
        np.testing.assert_allclose(left_out.mean[rows], refit.predict(view().inputs[group], NOWHERE).mean, atol=1e-6)
