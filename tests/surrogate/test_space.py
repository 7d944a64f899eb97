"""Where predictions are: shared meshes of two and three dimensions, and meshes that move with the parameters."""

from dataclasses import replace

import numpy as np
import pytest

import kinds_of_runs
import layers
from kinds_of_runs import KINDS
from small_networks import PAIR
from sureflow.data.meshes import Cells
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError, Unanswerable
from sureflow.heads import Deterministic
from sureflow.models import DeepONetSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate.fit import fit
from sureflow.surrogate.learning import learn
from sureflow.surrogate.space import MovingGeometry, Space
from sureflow.surrogate.specification import Specification
from sureflow.train.networks import Networks
from sureflow.uq.bars import NO_NEIGHBORS
from views import view_of_runs

ASKED = np.array([[0.7, 0.4], [1.3, 0.52]])
SMALL = DeepONetSettings(encoder_width=8, decoder_width=16, decoder_layers=2, fourier_octaves=1)
TRAIN = TrainSettings(epochs=100, batch=128, points_per_run="all", learning_rate=1e-2)


@pytest.fixture(scope="module")
def models():
    return {kind: fit(kinds_of_runs.runs(kind), "interpolation") for kind in KINDS}


def test_models_of_whole_fields_are_equal_on_every_mesh(models):
    """The same values at other places: means, bars and calibration agree to the last bit.

    Neighbors are known in structured blocks alone: there, bars of neighboring cells may count beyond the sides, and fields of
    factors are smoothed, of which the bars of these runs need none.
    """
    expected = models["block"].predictive(ASKED)
    known = models["block"].calibration.fields.facts()
    assert models["moving"].calibration.fields.facts() == known
    for model in models.values():
        found = model.predictive(ASKED)
        np.testing.assert_array_equal(found.mean, expected.mean)
        np.testing.assert_array_equal(found.std, expected.std)
        assert replace(model.calibration.fields.facts(), spread=known.spread) == known


def test_neighbors_are_those_of_a_block(models):
    """Three cells away at most, along every index; beyond the ends, the cells at the ends count on."""
    space = models["block"].space
    field = np.random.default_rng(0).normal(size=space.shape)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(field, 3, mode="edge"), (7, 7))
    largest, smoothed = (around(field.reshape(1, 1, -1)).reshape(space.shape) for around in space.neighbors)
    np.testing.assert_array_equal(largest, windows.max(axis=(2, 3)))
    np.testing.assert_allclose(smoothed, windows.mean(axis=(2, 3)), atol=1e-14)
    assert models["volume"].space.neighbors is NO_NEIGHBORS


@pytest.mark.parametrize("kind", KINDS)
def test_fields_are_predicted_where_the_mesh_is(models, kind):
    field = models[kind].predict(angle=0.7, thickness=0.4)
    truth = kinds_of_runs.runs(kind, ASKED[:1])
    places = truth.geometry_of(0)
    for axis, name in enumerate(kinds_of_runs.AXES[kind]):
        np.testing.assert_allclose(field[name].values.ravel(), places.points[:, axis], atol=1e-9)
        np.testing.assert_allclose(field[f"node_{name}"].values.ravel(), places.nodes[:, axis], atol=1e-9)
    np.testing.assert_allclose(field.p.values.ravel(), truth.array()[0, 0], rtol=0.01)
    assert field.p.dims == (("cell",) if kind == "volume" else ("j", "i"))
    assert field.attrs["verdict"] == "inside"


def test_an_unstructured_mesh_is_told_whole(models):
    field = models["volume"].predict(angle=0.7, thickness=0.4)
    _, cells = kinds_of_runs.hexahedra()
    np.testing.assert_array_equal(field.connectivity, cells.connectivity)
    np.testing.assert_array_equal(field.offsets, cells.offsets)
    np.testing.assert_array_equal(field.cell_types, cells.types)


def test_a_mesh_that_moves_has_places_for_each_case(models):
    field = models["moving"].predict(angle=ASKED[:, 0], thickness=ASKED[:, 1])
    assert field.x.dims == ("case", "j", "i")
    assert field.node_x.dims == ("case", "node_j", "node_i")
    np.testing.assert_allclose(field.x[1] / field.x[0], 1.52 / 1.4, rtol=1e-9)
    still = models["block"].predict(angle=ASKED[:, 0], thickness=ASKED[:, 1])
    assert still.x.dims == ("j", "i")


@pytest.mark.parametrize("kind", KINDS)
def test_points_of_the_mesh_are_answered_like_the_mesh(models, kind):
    model = models[kind]
    points = kinds_of_runs.runs(kind, ASKED[:1]).geometry_of(0).points
    field = model.predict(angle=0.7, thickness=0.4)
    at_points = model.predict(angle=0.7, thickness=0.4, points=points)
    np.testing.assert_allclose(at_points.p, field.p.values.ravel(), rtol=1e-4)
    assert (at_points.p_std >= 0).all()
    with pytest.raises(SureflowError, match="1 of 1 points lie outside the mesh of the runs"):
        model.predict(angle=0.7, thickness=0.4, points=points[:1] + 10.0)


def test_points_are_looked_up_in_the_mesh_of_their_own_case(models):
    """A point that is inside the thick body's mesh only."""
    corner = kinds_of_runs.runs("moving", np.array([[1.0, 0.6]])).geometry_of(0).points[-1:]
    model = models["moving"]
    assert model.predict(angle=1.0, thickness=0.6, points=corner).p.shape == (1,)
    with pytest.raises(SureflowError, match="outside the mesh"):
        model.predict(angle=1.0, thickness=0.3, points=corner)


def pulses(at: np.ndarray, points: np.ndarray) -> np.ndarray:
    """A field of physical space: what a network on physical coordinates can learn on any mesh."""
    return np.stack([np.sin(3 * x[:, 0] + angle) * x[:, 1] for (angle, _), x in zip(at, points, strict=True)])


@pytest.fixture(scope="module")
def network():
    """A network of physical space, on a mesh that moves."""
    runs = kinds_of_runs.runs("moving")
    places = [runs.geometry_of(case) for case in range(len(runs))]
    points, nodes = np.stack([p.points for p in places]), np.stack([p.nodes for p in places if p.nodes is not None])
    at = dict(zip(runs.parameter_names, runs.parameters.T, strict=True))
    moving = Runs.from_arrays(
        at, points, {"w": pulses(runs.parameters, points)}, shape=kinds_of_runs.SHAPE, nodes=nodes
    )
    model = Networks(SMALL, Deterministic(), Ensemble(2), TRAIN)
    return learn(moving, Specification(model, "none", "physical"))


def test_networks_see_the_physical_coordinates_of_each_run(network):
    points = np.stack([kinds_of_runs.runs("moving", ASKED).geometry_of(case).points for case in range(2)])
    truth = pulses(ASKED, points)
    found = np.asarray(network.predictive(ASKED).mean)[:, 0]
    assert np.abs(found - truth).mean() < 0.1 * truth.std()


def test_a_network_answers_at_a_point_alike_whatever_mesh_it_is_in(network):
    """A physical point does not move with the mesh."""
    points = np.array([[0.5, 0.5], [0.8, 0.7]])
    thin, thick = (network.predict(angle=1.0, thickness=t, points=points).w.values for t in (0.35, 0.55))
    truth = np.sin(3 * points[:, 0] + 1.0) * points[:, 1]
    np.testing.assert_allclose(thin, truth, atol=0.15)
    np.testing.assert_allclose(thick, truth, atol=0.15)


@pytest.mark.parametrize(
    ("kind", "coordinates"), [("block", "body-fitted"), ("moving", "body-fitted"), ("volume", "physical")]
)
def test_networks_train_on_every_mesh(kind, coordinates, tmp_path):
    model = learn(kinds_of_runs.runs(kind), Specification(PAIR))
    assert model.spec.coordinates == coordinates
    points = kinds_of_runs.runs(kind, ASKED[:1]).geometry_of(0).points
    field = model.predict(angle=0.7, thickness=0.4)
    at_points = model.predict(angle=0.7, thickness=0.4, points=points)
    np.testing.assert_allclose(at_points.p, field.p.values.ravel(), rtol=1e-4)


def test_coordinates_that_runs_do_not_have_are_refused():
    spec = Specification(Networks(), coordinates="body-fitted")
    with pytest.raises(SureflowError, match="coordinates='body-fitted': these runs have physical coordinates"):
        learn(kinds_of_runs.runs("volume"), spec)


def test_places_between_runs_are_interpolated_and_those_of_runs_are_met():
    runs = kinds_of_runs.runs("moving")
    moving = MovingGeometry.of(runs)
    for case in (0, 13):
        found, truth = moving.at(runs.parameters[case]), runs.geometry_of(case)
        np.testing.assert_allclose(found.points, truth.points, atol=1e-9)
        np.testing.assert_allclose(found.nodes, truth.nodes, atol=1e-9)
    between = moving.at(ASKED[1])
    np.testing.assert_allclose(between.nodes, kinds_of_runs.nodes() * 1.52, atol=1e-9)


def test_beyond_the_runs_places_go_on_as_their_slopes_say():
    """Straight or bent, whatever the runs that are left out on a side teach."""
    runs = kinds_of_runs.runs("moving")
    moving, along = MovingGeometry.of(runs), np.array([0.3, -1.0])
    low, high = runs.parameters.min(axis=0), runs.parameters.max(axis=0)
    for condition in (high + 0.1 * (high - low), low - 0.2 * (high - low)):
        slope, step = moving.slope(condition, along), 1e-4
        ahead, behind = (moving.at(condition + way * along).points for way in (step, -step))
        np.testing.assert_allclose(slope.points, (ahead - behind) / (2 * step), atol=1e-6)


def test_a_space_survives_its_arrays():
    for kind in KINDS:
        runs = kinds_of_runs.runs(kind)
        space = Space.of(runs)
        shape, location = runs.topology.shape, runs.header.location
        names = runs.parameter_names
        again = Space.restore(runs.header.axes, shape, location, runs.n_points, space.arrays(), names)
        assert again.topology == space.topology
        for place, other in zip(again.at(ASKED[0]).arrays(), space.at(ASKED[0]).arrays(), strict=True):
            np.testing.assert_array_equal(place, other)


def test_arrays_of_a_space_that_do_not_fit_are_refused():
    runs = kinds_of_runs.runs("moving")
    arrays = Space.of(runs).arrays()
    with pytest.raises(SureflowError, match="a mesh of 99 points in 2 axes moves by 50 places in 2 axes"):
        Space.restore(("x", "y"), runs.topology.shape, "cells", 99, arrays, runs.parameter_names)
    runs = kinds_of_runs.runs("volume")
    arrays = Space.of(runs).arrays() | {"cells.types": np.zeros(3, int)}
    with pytest.raises(SureflowError, match="the offsets of 3 cells"):
        Space.restore(("x", "y", "z"), None, "cells", runs.n_points, arrays, runs.parameter_names)


@pytest.mark.parametrize("location", ["cells", "points"])
def test_a_structured_block_in_three_dimensions(location):
    shape = (2, 3, 4)
    axes = np.meshgrid(*(np.linspace(0, 1, n + 1) for n in shape), indexing="ij")
    nodes = np.column_stack([axis.ravel() for axis in axes])
    grid = nodes.reshape(3, 4, 5, 3)
    corners = [grid[i : i + 2, j : j + 3, k : k + 4] for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    points = nodes if location == "points" else np.mean(corners, axis=0).reshape(-1, 3)
    angle = np.linspace(0, 2, 8)
    fields = {"p": np.stack([np.sin(a + points.sum(axis=1)) for a in angle])}
    runs = Runs.from_arrays({"angle": angle}, points, fields, shape=shape, nodes=nodes, location=location)
    field = fit(runs, "interpolation").predict(angle=0.9)
    assert field.p.dims == ("k", "j", "i")
    assert field.p.shape == (shape if location == "cells" else (3, 4, 5))
    np.testing.assert_allclose(field.p, np.sin(0.9 + field.x + field.y + field.z), atol=0.01)
    at_points = fit(runs, "interpolation").predict(angle=0.9, points=points)
    np.testing.assert_allclose(at_points.p, field.p.values.ravel(), atol=1e-6)


def test_the_view_says_how_values_lie():
    block, volume, moving = (view_of_runs(kinds_of_runs.runs(kind)) for kind in KINDS)
    assert block.shape == moving.shape == kinds_of_runs.SHAPE
    assert volume.shape is None
    assert isinstance(volume.topology.cells, Cells)
    assert (block.coordinates.ndim, volume.coordinates.ndim, moving.coordinates.ndim) == (2, 2, 3)
    assert moving.coordinates.shape == (30, 20, 2)
    assert block.sizes == (2, 2, 2, kinds_of_runs.SHAPE)
    assert volume.sizes == (2, 3, 2, None)


def test_a_condition_at_which_the_mesh_folds_is_refused_for_itself_alone():
    surrogate = fit(layers.folding(), "body-aligned", scaling="similarity", calibrate=False)
    asked = np.array([[20.0, 40.0], [30.4, 40.0], [1e200, 40.0], [27.0, 57.0]])
    verdicts = surrogate.place(asked, extrapolate=True).verdicts
    assert [verdict.trust for verdict in verdicts] == ["inside", "refused", "refused", "extrapolated"]
    reason = (
        "the mesh that the runs suggest at mach=30.4, altitude_km=40 folds, or its lines are not normal to the wall"
    )
    assert verdicts[1].reason == reason
    for ask in (surrogate.predict, surrogate.quantities, surrogate.surface):
        for extrapolate in (False, True):
            with pytest.raises(Unanswerable, match=f"^refused: {reason}. Compute runs there$"):
                ask(mach=[20.0, 30.4], altitude_km=40.0, extrapolate=extrapolate)
    assert surrogate.predict(mach=20.0, altitude_km=40.0).attrs["verdict"] == "inside"


@pytest.mark.parametrize("model", ["body-aligned", "pod-gp", "interpolation"])
def test_too_few_runs_for_a_mesh_that_moves(model):
    with pytest.raises(SureflowError, match="5 runs are too few for a mesh that moves over 4 parameters: it needs 6"):
        fit(layers.bodies(5), model)
