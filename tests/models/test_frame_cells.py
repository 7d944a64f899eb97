"""Bars that are kept in a frame: where the cells of meshes lie there, and that bars go where layers and shocks go."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

import layers
from sureflow.errors import SureflowError
from sureflow.models import AlignedSettings, BodyAlignedSettings
from sureflow.models.beyond import EARLIER
from sureflow.models.body_frame import BodyFrame
from sureflow.models.frame_cells import CellPlaces
from sureflow.models.kernels import nearby
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import Specification


@pytest.fixture(scope="module")
def given():
    return layers.view(np.random.default_rng(0).normal(size=(20, 2)), moves=2.0)


@pytest.fixture(scope="module")
def model(given):
    return BodyAlignedSettings().fit(given)


def somewhere(rng, shape=(7, 4)):
    """CellPlaces at any places of a block, beyond its ends as well."""
    lines = np.sort(rng.uniform(-0.5, shape[1] - 0.5, size=shape[1]))
    return CellPlaces(rng.uniform(-0.5, shape[0] - 0.5, size=shape), lines)


def test_values_between_cells_are_those_of_scipy():
    rng = np.random.default_rng(0)
    cells, fields = somewhere(rng), rng.normal(size=(2, 3, 28))
    found = cells.between(fields).reshape(2, 3, 7, 4)
    at = np.broadcast_arrays(cells.rows, cells.lines)
    expected = [[map_coordinates(v.reshape(7, 4), at, order=1, mode="nearest") for v in run] for run in fields]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_mesh_of_one_line():
    cells = CellPlaces(np.array([[0.5], [1.0], [1.7]]), np.zeros(1))
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


@pytest.fixture(scope="module")
def of_bodies():
    """Meshes whose walls turn on other lines from run to run."""
    return learn(layers.bodies(30), Specification(BodyAlignedSettings(), "similarity")).predictor.fitted


@pytest.mark.parametrize("which", ["model", "of_bodies"])
def test_bars_are_kept_on_cells_of_the_frame(request, which):
    """What is missed at a run left out goes there by the map of this run, and its bars come back by the same."""
    fitted = request.getfixturevalue(which)
    frame, runs = fitted.warp, range(0, len(fitted.nodes), 7)
    assert isinstance(frame, BodyFrame)
    assert fitted.is_framed
    one_by_one = [*np.arange(len(fitted.nodes))[:, None]]
    left_out = fitted.leave_out(one_by_one).predictive
    weights, powers = fitted._systems.left_out(one_by_one)
    power = (powers[1:].T @ frame.shares_of_points)[:, None]
    fields = np.stack([*frame.combined(np.eye(len(fitted.nodes))[None], frame.told)])
    missed = np.asarray(left_out.mean) - fields
    np.testing.assert_allclose(fitted.error_sizes, np.sqrt((missed**2).mean(axis=(1, 2))), rtol=1e-3)
    straight = replace(fitted, straight=np.full_like(fitted.straight, EARLIER))  # whose bars hold no doubt
    std = np.asarray(straight.leave_out(one_by_one).predictive.std)
    for run in runs:
        there = frame.cells_of_frame(frame.shocks[run], frame.told[run])
        expected = there.between(missed[run]) / power[run]
        np.testing.assert_allclose(fitted.residuals[run], expected, atol=1e-4 * np.abs(expected).max())
        others = np.setdiff1d(np.arange(len(fitted.nodes)), [run])
        close = nearby(fitted.nodes[[run]], fitted.nodes[others], float(fitted.width[0]))[0]
        in_frame = power[run] * np.sqrt(np.einsum("k,kvp->vp", close, fitted.residuals[others].astype(float) ** 2))
        asked = weights[0][run] @ frame.shocks
        expected = frame.cells_of_mesh(asked, frame.told[run]).between(in_frame)
        np.testing.assert_allclose(std[run], expected, atol=1e-4 * expected.max())


def test_the_way_there_and_back_along_the_wall(of_bodies):
    frame, (n_rows, n_lines) = of_bodies.warp, of_bodies.warp.shape
    assert frame.shocks.shape[1] > n_lines
    lines = np.broadcast_to(np.arange(float(n_lines)), (n_rows, n_lines)).reshape(1, -1)
    for run in range(3):
        there = frame.cells_of_frame(frame.shocks[run], frame.told[run])
        back = frame.cells_of_mesh(frame.shocks[run], frame.told[run])
        assert np.abs(there.lines - np.arange(n_lines)).max() > 0.01
        found = back.between(there.between(lines)).reshape(n_rows, n_lines)
        np.testing.assert_allclose(found, lines.reshape(n_rows, n_lines), atol=0.5)


def test_one_draw_decides_for_all_cells():
    """Of a field that is linear in the rows, all cells draw from the row below, or all from the one above."""
    cells = CellPlaces(np.full((5, 3), 1.0) * np.arange(5)[:, None] + np.full((5, 3), 0.5), np.arange(3.0))
    rows = np.repeat(np.arange(5.0), 3)[None]
    for seed in range(8):
        step = cells.drawn(rows, np.random.default_rng(seed)).reshape(5, 3)[:-1] - np.arange(4.0)[:, None]
        assert step.min() == step.max()


def test_samples_scatter_as_the_bars_say(given, model):
    inputs = given.inputs[:2] + 0.05
    std = np.asarray(model.predict(inputs, given.coordinates).std)
    drawn = model.samples(inputs, given.coordinates, 4000, np.random.default_rng(0))
    scatter = np.sqrt(((drawn - np.asarray(model.predict(inputs, given.coordinates).mean)) ** 2).mean(axis=0))
    seen = std > 0.05 * std.max()
    # 20 runs, drawn with weights, have a heavy tail: 4000 draws tell the scatter at a point to a tenth or so.
    np.testing.assert_allclose(scatter[seen], std[seen], rtol=0.15)


def test_models_of_earlier_versions_keep_their_bars_on_the_mesh(given, model):
    arrays = {name: array for name, array in model.arrays().items() if name != "error_sizes"}
    former = type(model).from_arrays(arrays)
    assert not former.is_framed
    assert not AlignedSettings().fit(given).is_framed
    inputs = given.inputs[:2] + 0.05
    expected = replace(model, error_sizes=np.zeros(0)).predict(inputs, given.coordinates).std
    np.testing.assert_array_equal(former.predict(inputs, given.coordinates).std, expected)
    assert not np.allclose(expected, model.predict(inputs, given.coordinates).std, rtol=0.1)


@pytest.mark.parametrize(
    "sizes", [np.ones(3), -np.ones(20), np.full(20, np.nan), np.full(20, np.inf), np.ones((20, 1))]
)
def test_sizes_of_errors_must_fit_the_runs(model, sizes):
    with pytest.raises(SureflowError, match="the sizes of its errors do not fit its runs"):
        type(model).from_arrays({**model.arrays(), "error_sizes": sizes})
