"""Runs warped to a condition: exact where it must be, and better than cells where a wall layer thickens."""

from dataclasses import replace

import numpy as np
import pytest

import layers
import synthetic
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.wall_layer import LANDMARKS, WallLayer, lines_of
from sureflow.errors import SureflowError
from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
from sureflow.models import AlignedSettings, InterpolationSettings
from sureflow.models.kernels import KERNELS, inverse_system
from sureflow.models.warps import monotone, taps
from sureflow.surrogate.choose import compare
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import ComparisonSettings, Specification

NOWHERE = np.empty((0, 0))
FEW = np.array([0, 4, 7, 11, 13, 17, 20, 24])  # of the 25 runs


@pytest.fixture(scope="module")
def model():
    return learn(layers.runs(), Specification(AlignedSettings(), "similarity"))


def test_the_layer_is_found_as_thick_as_it_was_made():
    runs = layers.runs()
    layer = WallLayer.of(runs)
    assert layer is not None
    # Made as 12 Re^-1/2 times the place where tanh(2 x) is 0.95.
    numbers = layer.similarity.numbers(runs.parameters)
    made = 12.0 * numbers.reynolds**-0.5 * 0.5 * np.arctanh(0.95) * layers.LENGTH
    np.testing.assert_allclose(layer.thickness(numbers), made, rtol=0.2)  # between cells, where the profile bends
    assert abs(layer.power + 0.5) < 0.05
    rows = layer.landmarks(numbers, [lines_of(runs.geometry, runs.topology)] * len(runs))
    assert rows.shape == (len(runs), len(LANDMARKS))
    assert (np.diff(rows, axis=1) > 0).all()
    assert (rows < layer.rows[2]).all()


def test_the_place_where_a_wall_has_turned_is_found_between_lines():
    """At the end of the sphere of a sphere-cone, whatever the size of the sphere."""
    for radius in (0.06, 0.1, 0.2):
        body, settings = (
            SphereCone(nose_radius=radius, half_angle_deg=9.0, length=1.3),
            MeshSettings(cells=(32, 16), mach=12.0),
        )
        mesh = body_mesh(body, settings)
        lines = lines_of(Geometry.blocks(mesh.centers, (mesh.node_x, mesh.node_r)), Topology(mesh.shape))
        assert lines is not None
        step = np.hypot(*(np.diff(node[0]) for node in (mesh.node_x, mesh.node_r)))
        arc = np.cumsum(step) - 0.5 * step
        joint = radius * (np.pi / 2 - np.radians(9.0))
        assert np.interp(joint, arc, np.arange(32)) == pytest.approx(lines.along[1], abs=0.05)
        assert (np.diff(lines.along) > 0).all()


def test_a_wall_that_does_not_turn_has_places_at_even_distances():
    nodes = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 5)), axis=-1)
    centers = 0.25 * (nodes[1:, 1:] + nodes[1:, :-1] + nodes[:-1, 1:] + nodes[:-1, :-1])
    lines = lines_of(Geometry(centers.reshape(-1, 2), nodes.reshape(-1, 2)), Topology((4, 8)))
    assert lines is not None
    np.testing.assert_allclose(lines.along, [1.75, 3.5, 5.25])


def test_runs_without_a_layer_say_so():
    for runs in (synthetic.runs(), layers.runs(wall="adiabatic")):
        with pytest.raises(
            SureflowError, match="aligned needs velocity, density and temperature on lines normal to a wall"
        ):
            learn(runs, Specification(AlignedSettings()))


def oblique_runs():
    runs = layers.runs()
    nodes = runs.geometry.nodes.reshape(layers.SHAPE[0] + 1, layers.SHAPE[1] + 1, 2)
    away = np.linalg.norm(nodes - nodes[:1], axis=2)[..., None]
    along = np.stack(
        [np.sin(np.linspace(0, np.pi / 2, layers.SHAPE[1] + 1)), np.cos(np.linspace(0, np.pi / 2, 6))], axis=-1
    )
    return replace(runs, geometry=replace(runs.geometry, nodes=(nodes + 2.0 * away * along).reshape(-1, 2)))


def test_lines_that_are_not_normal_to_the_wall_are_none():
    for runs, normal in ((layers.runs(), True), (oblique_runs(), False)):
        assert (lines_of(runs.geometry, runs.topology) is not None) == normal
        assert (WallLayer.of(runs) is not None) == normal


def test_without_such_lines_the_plain_model_is_compared_alone():
    candidates = ComparisonSettings((InterpolationSettings(), AlignedSettings()))
    found = compare(oblique_runs().select(FEW), candidates, ("freestream", "similarity"))
    assert {row.model for row in found.candidates} == {"interpolation"}


def test_it_passes_through_the_runs(model):
    runs = layers.runs()
    found, truth = model.raw_predictive(runs.parameters), runs.array()
    scale = truth.std(axis=(0, 2))[:, None]
    assert np.max(np.abs(found.mean - truth) / scale) < 3e-6  # in single precision
    assert np.max(found.std / scale) < 5e-3  # the root of rounding


def test_few_runs_are_enough():
    runs = layers.runs()
    unseen = runs.select(np.setdiff1d(np.arange(25), FEW))
    errors = {}
    for settings in (AlignedSettings(), InterpolationSettings(scales="learned")):
        found = learn(runs.select(FEW), Specification(settings, "similarity")).raw_predictive(unseen.parameters).mean
        errors[settings.name] = np.mean(np.abs(found - unseen.array()) / runs.array().std(axis=(0, 2))[:, None])
    assert errors["aligned"] < 0.6 * errors["interpolation"]


def test_cross_validation_finds_that_out():
    candidates = (InterpolationSettings(), AlignedSettings())
    found = compare(layers.runs().select(FEW), ComparisonSettings(candidates, folds=8), ("freestream", "similarity"))
    assert (found.settings, found.scaling) == (AlignedSettings(), "similarity")
    assert [row.scaling for row in found.candidates if row.model == "aligned"] == ["similarity"]


def test_a_group_left_out_is_that_of_a_refit_with_the_same_scales():
    given = layers.view(np.random.default_rng(0).normal(size=(15, 2)))
    fitted, group = AlignedSettings().fit(given), np.array([2, 9, 11])
    others = np.setdiff1d(np.arange(15), group)
    refit = AlignedSettings().fit(replace(given, inputs=given.inputs[others], fields=given.fields[others]))
    nodes = given.inputs[others][:, :2] * fitted.scales
    inverse = inverse_system(KERNELS["cubic"], nodes)
    refit = replace(refit, nodes=nodes, scales=fitted.scales, inverse=inverse, straight=fitted.straight)
    expected = refit.predict(given.inputs[group], given.coordinates).mean
    found = fitted.leave_out([group])
    np.testing.assert_allclose(found.predictive.mean, expected, atol=2e-5)  # runs of little weight are left out of sums
    power = refit.novelty(given.inputs[group], given.inputs) * refit._typical_power
    np.testing.assert_allclose(found.novelty * fitted._typical_power, power, rtol=1e-8)


def test_temperature_and_density_in_the_layer_stay_positive(model):
    """Far outside of the runs as well."""
    found = model.raw_predictive(np.array([[3.0, 5.0], [40.0, 84.0]])).mean.reshape(2, 4, *layers.SHAPE)
    inside = int(model.predictor.layer.rows[0])
    assert (found[:, 2:, :inside] > 0).all()


def test_maps_are_monotone_and_that_to_oneself_is_none():
    rng = np.random.default_rng(0)
    given = np.array([-0.5, 1.0, 2.0, 5.0, 8.0, 16.0])
    found = np.column_stack([np.full(200, -0.5), np.sort(rng.uniform(0, 15, (200, 4)), axis=1), np.full(200, 16.0)])
    rows = monotone(given, found, np.linspace(-0.5, 16.0, 200))
    assert (np.diff(rows, axis=1) >= -1e-12).all()
    np.testing.assert_allclose(monotone(given, given[None], np.arange(16.0))[0], np.arange(16.0), atol=1e-12)


def test_values_between_levels_are_exact_for_cubics():
    places = np.array([[-0.5, -0.1, 0.0, 0.3, 4.7, 7.2]])
    first, weights = taps(places, 9)
    level = np.concatenate([[-0.5], np.arange(8.0)])
    cubic = lambda x: 1.0 + x - 0.5 * x**2 + 0.1 * x**3  # noqa: E731
    found = sum(weights[tap] * cubic(level[first + tap]) for tap in range(4))
    np.testing.assert_allclose(found, cubic(places), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("warp.inner", lambda array: array[:1]),
        ("warp.columns", lambda array: array + 90),
        ("warp.rows", lambda array: array * 1e9),
    ],
)
def test_arrays_that_reach_beyond_each_other_are_refused(model, name, change):
    fitted = model.predictor.fitted
    arrays = fitted.arrays()
    assert type(fitted).from_arrays(arrays).warp.is_sound
    with pytest.raises(SureflowError, match="the model is damaged"):
        type(fitted).from_arrays(arrays | {name: change(arrays[name])})
