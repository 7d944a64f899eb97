"""Runs in a frame of wall layers, shocks and turns of walls: there and back, on meshes that move, and region by region."""

from dataclasses import replace

import numpy as np
import pytest

import layers
from sureflow.data.wall_layer import ALONG
from sureflow.errors import SureflowError
from sureflow.models import AlignedSettings, BodyAlignedSettings, InterpolationSettings
from sureflow.models.body_frame import BETWEEN, BodyFrame, _taken, body_nodes
from sureflow.models.kernels import KERNELS, inverse_system, terms
from sureflow.models.shock_frame import between
from sureflow.models.warps import told_of_lines
from sureflow.surrogate.choose import suits
from sureflow.surrogate.specification import ComparisonSettings


def test_where_shocks_move_runs_are_brought_to_them():
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(60, 4)), moves=6.0)
    few, errors = np.arange(30), {}
    for settings in (BodyAlignedSettings(), AlignedSettings(), InterpolationSettings(scales="learned")):
        model = settings.fit(replace(given, inputs=given.inputs[few], fields=given.fields[few]))
        found = model.predict(given.inputs[30:], given.coordinates).mean
        errors[settings.name] = np.abs(found - given.fields[30:]).mean()
    assert errors["body-aligned"] < 0.5 * min(errors["aligned"], errors["interpolation"])


def test_it_passes_through_the_runs_and_keeps_what_is_lost():
    given = layers.view(np.random.default_rng(0).normal(size=(15, 2)))
    assert given.layer is not None
    assert given.shape is not None
    frame = BodyFrame.of(given, given.layer, given.shape)
    found = np.stack([*frame.combined(np.eye(15)[None], given.inputs[:, -told_of_lines(given.shape) :])])
    np.testing.assert_allclose(found, given.fields, atol=2e-5)
    assert np.abs(frame.lost).mean() < 5e-3


def turning(view, by: float):
    """The same runs whose walls turn on other lines, as the first input says, and the fields with them."""
    lines, rows = layers.SHAPE[1], layers.SHAPE[0]
    shift = by * np.tanh(view.inputs[:, :1])
    inputs = view.inputs.copy()
    first = inputs.shape[1] - told_of_lines(layers.SHAPE)
    inputs[:, first : first + 3] += shift * np.array([0.5, 1.0, 0.5])
    at = np.arange(lines) - shift
    bump = 1.0 / (1.0 + np.exp(-2.0 * (at - 2.0)))
    fields = view.fields.reshape(len(inputs), 4, rows, lines).copy()
    fields[:, :2] *= bump[:, None, None]
    return replace(view, inputs=inputs, fields=fields.reshape(len(inputs), 4, -1))


def test_walls_that_turn_on_other_lines_are_brought_together():
    given = turning(layers.view(np.random.default_rng(0).normal(size=(15, 2))), 0.6)
    assert given.layer is not None
    assert given.shape is not None
    frame = BodyFrame.of(given, given.layer, given.shape)
    assert frame.modes.shape[3] == 2 * (layers.SHAPE[1] - 1) + 1
    found = np.stack([*frame.combined(np.eye(15)[None], given.inputs[:, -told_of_lines(given.shape) :])])
    np.testing.assert_allclose(found, given.fields, atol=2e-5)


def test_every_region_has_its_own_inputs():
    """Between layer and shock hardly anything but the first input counts, if layers end well below the shock."""
    given = layers.view(np.random.default_rng(0).normal(size=(40, 2)) - [0.0, 3.0])
    model = BodyAlignedSettings().fit(given)
    assert isinstance(model.warp, BodyFrame)
    assert len(model.regional) == len(model.warp.regions) > 1
    mixed = [model.mixture @ own for own in model.regional]
    weight = [np.linalg.norm(one[1]) / np.linalg.norm(one[0]) for one in mixed]
    starts = sorted({place.start for place, _ in model.warp.regions})
    layer, above = (
        [w for w, (place, _) in zip(weight, model.warp.regions, strict=True) if place.start == start]
        for start in starts[:2]
    )
    assert min(layer) > 2.0 * max(above)


def test_bars_have_no_seams_between_layer_and_shock():
    """Far outside, bars of neighboring regions differ many times: from row to row, those of the model change little by little."""
    given = layers.view(np.random.default_rng(0).normal(size=(40, 2)) - [0.0, 3.0])
    frame = BodyAlignedSettings().fit(given).warp
    assert isinstance(frame, BodyFrame)
    shares = frame.shares_of_points.reshape(len(frame.regions), *layers.SHAPE)
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-12)
    assert shares.min() >= 0.0
    # A seam is a fifth of the way to the shock wide, and the steepest slope of its cubic is 1.5.
    steepest = 1.5 / (0.2 * frame.shocks.mean())
    assert 0.0 < np.abs(np.diff(shares, axis=1)).max() <= steepest


def test_groups_left_out_are_those_of_a_refit_with_the_same_mixtures():
    given = layers.view(np.random.default_rng(0).normal(size=(20, 2)), moves=2.0)
    fitted, group = BodyAlignedSettings().fit(given), np.array([2, 9, 11])
    fitted = replace(fitted, straight=np.zeros_like(fitted.straight))
    others = np.setdiff1d(np.arange(20), group)
    weights = np.zeros((1 + len(fitted.regional), len(group), 20))
    for number, (_, nodes, _) in enumerate(fitted._systems.mixed):
        inverse = inverse_system(KERNELS["cubic"], nodes[others])
        weights[number][:, others] = terms(KERNELS["cubic"], nodes[group], nodes[others]) @ inverse[:, : len(others)]
    expected = np.stack([*fitted.warp.combined(weights, fitted.warp.layers[group])])
    np.testing.assert_allclose(fitted.leave_out([group]).predictive.mean, expected, atol=1e-5)


def test_bars_allow_for_what_the_mixtures_have_seen():
    given = layers.view(np.random.default_rng(0).normal(size=(20, 2)))
    fitted = BodyAlignedSettings().fit(given)
    assert fitted.optimism == pytest.approx(np.sqrt(20 / 18.5))
    assert AlignedSettings().fit(given).optimism == 1.0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("regional", lambda array: array[:1]),
        ("regional_inverse", lambda array: array[:, :-1]),
        ("warp.told", lambda array: np.full_like(array, np.nan)),
        ("warp.shares", lambda array: array[:2]),
        ("warp.columns", lambda array: array + 90),
        ("warp.held", lambda array: array * np.nan),
        ("width", lambda array: -array),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(name, change):
    fitted = BodyAlignedSettings().fit(layers.view(np.random.default_rng(0).normal(size=(15, 2))))
    arrays = fitted.arrays()
    assert type(fitted).from_arrays(arrays).warp.is_sound
    with pytest.raises(SureflowError, match="the model is damaged"):
        type(fitted).from_arrays(arrays | {name: change(arrays[name])})


def test_frames_are_compared_where_they_suit():
    """Shocks that stay are for meshes that do."""
    runs, moving = layers.runs(), layers.runs()
    moving = replace(moving, geometry=None, geometries=lambda case: runs.geometry_of(case))
    for given, model in ((runs, "layer-aligned"), (moving, "body-aligned")):
        chosen = [one.name for one in ComparisonSettings().candidates if suits(one, "similarity", given)]
        assert [name for name in chosen if name.endswith("-aligned")] == [model]


def test_shocks_that_are_still_stay_where_they_are():
    given = layers.view(np.random.default_rng(0).normal(size=(15, 2)), moves=6.0)
    assert given.layer is not None
    assert given.shape is not None
    frame = BodyFrame.of(given, given.layer, given.shape, still=True)
    assert np.ptp(frame.shocks, axis=0).max() < 1e-12
    found = np.stack([*frame.combined(np.eye(15)[None], given.inputs[:, -told_of_lines(given.shape) :])])
    np.testing.assert_allclose(found, given.fields, atol=2e-5)


def test_what_it_believes_of_its_runs_is_what_it_misses_at_them():
    """Although mixtures of the inputs differ from region to region, in units of their own."""
    given = layers.view(np.random.default_rng(0).uniform(-1.0, 1.0, size=(20, 4)), moves=3.0)
    model = BodyAlignedSettings().fit(given)
    missed = np.asarray(model.leave_out([*np.arange(20)[:, None]]).predictive.mean) - given.fields
    np.testing.assert_allclose(model.belief().errors, np.sqrt((missed**2).mean(axis=(1, 2))), rtol=1e-3)
    inputs = given.inputs + 0.1
    bars = np.sqrt((np.asarray(model.predict(inputs, given.coordinates).std) ** 2).mean(axis=(1, 2)))
    ratio = np.sqrt(model.belief().variance(inputs[:, :4])) / bars
    assert 0.5 < np.median(ratio) < 2.0


def test_places_between_layer_and_shock_stay_unless_the_layer_reaches_them():
    given, shock, rows = layers.view(np.zeros((1, 2))), np.array([20.0]), layers.SHAPE[0]
    told = given.inputs[0, -told_of_lines(layers.SHAPE) :]
    usual, nodes = told[len(ALONG) + rows], {}
    for share in (0.25, 1.0, 1.5, 6.0):
        one = told.copy()
        one[len(ALONG) + rows] *= share
        nodes[share] = body_nodes(one, shock, rows, usual)[0]
        assert (np.diff(nodes[share]) > 0).all()
    np.testing.assert_array_equal(nodes[1.0], body_nodes(told, shock, rows)[0])
    between = slice(-2 - len(BETWEEN), -2)
    np.testing.assert_allclose(nodes[0.25][between], nodes[1.0][between])
    assert (nodes[6.0][between] > nodes[1.0][between]).all()
    assert nodes[0.25][4] < nodes[1.0][4] < nodes[1.5][4]


def test_models_of_earlier_versions_answer_as_they_did():
    """Their places between layer and shock follow the layer, and all runs nearby count in their bars."""
    fitted = BodyAlignedSettings().fit(layers.view(np.random.default_rng(0).normal(size=(15, 2))))
    arrays = {name: array for name, array in fitted.arrays().items() if name not in ("width", "warp.held")}
    former = type(fitted).from_arrays(arrays)
    assert former.width == 1.0
    assert former.warp.held == 0.0


@pytest.mark.parametrize("count", [3, 4, 9])
def test_values_are_taken_to_places_between_lines(count):
    at, lines = np.linspace(0.0, count - 1.0, 23), np.arange(count, dtype=float)
    values = np.random.default_rng(0).normal(size=count)
    expected = between(values[:, None, None], lines, at[:, None])[:, 0, 0]
    np.testing.assert_allclose(_taken(at, count) @ values, expected, atol=1e-14)
