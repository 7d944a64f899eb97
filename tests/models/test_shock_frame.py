"""Runs in a frame of wall layers and shocks: there and back, and better than cells where shocks move."""

from dataclasses import replace

import numpy as np
import pytest

import layers
from sureflow.models import AlignedSettings, InterpolationSettings, ShockAlignedSettings
from sureflow.models.input_metric import LeftOutError, learned_metric
from sureflow.models.kernels import KERNELS
from sureflow.models.shock_frame import ShockFrame, at_places, between, places_of_rows, shock_rows
from sureflow.models.warps import COLUMNS


def test_where_shocks_move_runs_are_brought_to_them():
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(60, 4)), moves=6.0)
    few, errors = np.arange(30), {}
    for settings in (ShockAlignedSettings(), AlignedSettings(), InterpolationSettings(scales="learned")):
        model = settings.fit(replace(given, inputs=given.inputs[few], fields=given.fields[few]))
        found = model.predict(given.inputs[30:], given.coordinates).mean
        errors[settings.name] = np.abs(found - given.fields[30:]).mean()
    assert errors["shock-aligned"] < 0.5 * min(errors["aligned"], errors["interpolation"])


def test_it_passes_through_the_runs_and_keeps_what_is_lost():
    given = layers.view(np.random.default_rng(0).normal(size=(15, 2)))
    assert given.layer is not None
    assert given.shape is not None
    frame = ShockFrame.of(given, given.layer, given.shape)
    found = np.stack([*frame.combined(np.eye(15), given.inputs[:, -COLUMNS:])])
    np.testing.assert_allclose(found, given.fields, atol=2e-5)
    assert np.abs(frame.lost).mean() < 5e-3


def test_shocks_are_found_between_rows():
    rows = np.arange(30.0)[:, None]
    place = np.array([12.3, 20.8])
    pressure = 0.5 * (1.0 - np.tanh(rows - place)) + 0.02
    np.testing.assert_allclose(shock_rows(pressure, np.ones_like(pressure)), place, atol=0.06)


def test_there_and_back_along_a_line():
    rows = np.linspace(-0.5, 23.5, 97)[:, None] ** 1.0 + 0.3 * np.sin(np.linspace(0, np.pi, 97))[:, None]
    places = places_of_rows(rows, 24)
    np.testing.assert_allclose(between(rows[:, None], np.arange(97.0), places)[:, 0, 0], np.arange(24.0), atol=1e-3)


@pytest.mark.parametrize("ties", [0, 3])
def test_places_of_rows_are_those_of_piecewise_lines(ties):
    """Line by line, with places that coincide at the ends as well."""
    rng = np.random.default_rng(0)
    rows = np.clip(np.cumsum(rng.uniform(0.1, 0.4, size=(97, 5)), axis=0) - 1.0, 0.0, 15.0)
    rows[:ties], rows[len(rows) - ties :] = 0.0, 15.0
    expected = [np.interp(np.arange(16.0), line, np.arange(97.0)) for line in rows.T]
    np.testing.assert_allclose(places_of_rows(rows, 16), np.stack(expected, axis=1), rtol=1e-14)


def test_values_at_places_are_those_between_levels():
    """With every line at places of its own, up to both ends."""
    rng = np.random.default_rng(0)
    values, at = rng.normal(size=(20, 3, 5)), rng.uniform(0.0, 19.0, size=(40, 5))
    at[0], at[-1] = 0.0, 19.0
    expected = between(values, np.arange(20.0), at)
    np.testing.assert_allclose(at_places(values, at), expected, atol=1e-14)
    np.testing.assert_allclose(at_places(values.astype(np.float32), at), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_metric_has_the_gradient_of_its_error(kernel):
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(20, 3))
    error = LeftOutError(KERNELS[kernel], nodes, np.sin(nodes @ rng.normal(size=(3, 5))))
    at = 0.3 * rng.normal(size=6)
    expected = [(error(at + step)[0] - error(at - step)[0]) / 2e-5 for step in 1e-5 * np.eye(6)]
    np.testing.assert_allclose(error(at)[1], expected, atol=1e-6)


def test_inputs_are_mixed_as_the_fields_ask():
    """Of two inputs only their sum counts: the metric finds that, and errors at other conditions fall."""
    rng = np.random.default_rng(1)
    nodes = rng.uniform(-1, 1, size=(40, 2))
    fields = np.sin(3.0 * nodes.sum(axis=1))[:, None, None] * np.ones((1, 1, 4))
    metric = learned_metric(KERNELS["cubic"], nodes, fields)
    along, across = (np.linalg.norm(np.array(way) @ metric) for way in ((1.0, 1.0), (1.0, -1.0)))
    assert along > 5.0 * across
