"""Bars that are kept in a frame: where the cells of meshes lie there, and that bars go where layers and shocks go."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import layers
from sureflow.errors import SureflowError
from sureflow.models import AlignedSettings, BodyAlignedSettings
from sureflow.models.body_frame import BodyFrame
from sureflow.models.frame_cells import Cells


@pytest.fixture(scope="module")
def given():
    return layers.view(np.random.default_rng(0).normal(size=(20, 2)), moves=2.0)


@pytest.fixture(scope="module")
def model(given):
    return BodyAlignedSettings().fit(given)


def somewhere(rng, shape=(7, 4)):
    """Cells at any places of a block, beyond its ends as well."""
    lines = np.sort(rng.uniform(-0.5, shape[1] - 0.5, size=shape[1]))
    return Cells(rng.uniform(-0.5, shape[0] - 0.5, size=shape), lines)


def test_values_between_cells_are_those_of_scipy():
    rng = np.random.default_rng(0)
    cells, fields = somewhere(rng), rng.normal(size=(2, 3, 28))
    found = cells.between(fields).reshape(2, 3, 7, 4)
    at = np.broadcast_arrays(cells.rows, cells.lines)
    expected = [[map_coordinates(v.reshape(7, 4), at, order=1, mode="nearest") for v in run] for run in fields]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_mesh_of_one_line():
    cells = Cells(np.array([[0.5], [1.0], [1.7]]), np.zeros(1))
    np.testing.assert_allclose(cells.between(np.array([[0.0, 1.0, 4.0]])), [[0.5, 1.0, 3.1]])


def test_what_is_drawn_has_the_mean_of_what_lies_between():
    rng = np.random.default_rng(0)
    cells, fields = somewhere(rng), rng.uniform(size=(1, 28))
    drawn = np.mean([cells.drawn(fields, rng) for _ in range(4000)], axis=0)
    # The standard error of a mean over 4000 draws of values that differ by one at most is below 0.008.
    np.testing.assert_allclose(drawn, cells.between(fields), atol=5 * 0.008)


def test_the_way_there_and_back_leads_to_where_it_began(given, model):
    """Within half a cell: both ways take values between cells."""
    frame = model.warp
    for run in range(3):
        there = frame.cells_of_frame(frame.shocks[run], frame.told[run])
        back = frame.cells_of_mesh(frame.shocks[run], frame.told[run])
        rows = np.broadcast_to(np.arange(layers.SHAPE[0], dtype=float)[:, None], layers.SHAPE)
        found = back.between(there.between(rows.reshape(1, -1))).reshape(layers.SHAPE)
        np.testing.assert_allclose(found[1:-1], rows[1:-1], atol=0.5)


def test_bars_go_where_the_shock_goes(given, model):
    """The same frame, asked at a condition whose shock lies elsewhere: the largest bars lie there as well."""
    frame, line, bars = model.warp, 2, np.zeros((1, *layers.SHAPE))
    shock = frame.shocks.mean(axis=1)
    nearest, farthest = int(np.argmin(shock)), int(np.argmax(shock))
    at_shock = np.argmin(
        np.abs(frame.cells_of_frame(frame.shocks[nearest], frame.told[nearest]).rows[:, line] - shock[nearest])
    )
    bars[:, at_shock] = 1.0

    def largest(run):
        on_mesh = frame.cells_of_mesh(frame.shocks[run], frame.told[run]).between(bars.reshape(1, -1))
        return np.argmax(on_mesh.reshape(layers.SHAPE)[:, line])

    assert shock[farthest] > shock[nearest] + 3.0
    assert largest(farthest) - largest(nearest) == pytest.approx(shock[farthest] - shock[nearest], abs=1.0)


def test_residuals_are_on_cells_of_the_frame(given, model):
    assert model.is_framed
    assert isinstance(model.warp, BodyFrame)
    assert model.residuals.shape == given.fields.shape
    missed = np.asarray(model.leave_out_mean([*np.arange(20)[:, None]])) - given.fields
    np.testing.assert_allclose(model.missed, np.sqrt((missed**2).mean(axis=(1, 2))), rtol=1e-3)
    assert not AlignedSettings().fit(given).is_framed


def test_samples_scatter_as_the_bars_say(given, model):
    inputs = given.inputs[:2] + 0.05
    std = np.asarray(model.predict(inputs, given.coordinates).std)
    drawn = model.samples(inputs, given.coordinates, 4000, np.random.default_rng(0))
    scatter = np.sqrt(((drawn - np.asarray(model.predict(inputs, given.coordinates).mean)) ** 2).mean(axis=0))
    seen = std > 0.05 * std.max()
    # 20 runs, drawn with weights, have a heavy tail: 4000 draws tell the scatter at a point to a tenth or so.
    np.testing.assert_allclose(scatter[seen], std[seen], rtol=0.15)


def test_models_of_earlier_versions_keep_their_bars_on_the_mesh(given, model):
    arrays = {name: array for name, array in model.arrays().items() if name != "missed"}
    former = type(model).from_arrays(arrays)
    assert not former.is_framed
    inputs = given.inputs[:2] + 0.05
    expected = replace(model, missed=np.zeros(0)).predict(inputs, given.coordinates).std
    np.testing.assert_array_equal(former.predict(inputs, given.coordinates).std, expected)
    assert not np.allclose(expected, model.predict(inputs, given.coordinates).std, rtol=0.1)


@pytest.mark.parametrize("missed", [np.ones(3), -np.ones(20), np.full(20, np.nan), np.ones((20, 1))])
def test_what_was_missed_must_fit_the_runs(model, missed):
    with pytest.raises(SureflowError, match="what it missed at its runs does not fit them; train it again"):
        type(model).from_arrays({**model.arrays(), "missed": missed})
