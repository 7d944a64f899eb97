import numpy as np
import pytest

import synthetic
from data.own_runs import ANGLES, KINDS, cloud, hexahedra, moving, own_runs, structured
from sureflow import scratch
from sureflow.data.meshes import Cells
from sureflow.data.runs import Runs
from sureflow.data.schema import Status
from sureflow.data.store import open_runs
from sureflow.data.streams import Flight
from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import PerfectGas

each_kind = pytest.mark.parametrize("kind", KINDS)


def test_runs_of_ones_own():
    runs = cloud()
    assert runs.parameter_names == ("angle",)
    assert runs.names == ("p", "q")
    assert runs.units == ("Pa", "")
    assert runs.header.limits == {"angle": (0.1, 10.0)}
    assert runs.header.axes == ("x",)
    np.testing.assert_array_equal(runs.array()[:, 1], runs.array()[:, 0] ** 2)
    np.testing.assert_array_equal(runs.numbers, 2 * ANGLES[:, None])
    runs.require_trainable()


def test_runs_say_what_they_are():
    assert repr(cloud()) == "5 runs over angle (0.5..8): p (Pa), q at 9 points in x"
    assert repr(structured()).endswith("at 16 cells of a block of 4 x 4 cells in x, y")
    assert repr(hexahedra()).endswith("at 27 points of an unstructured mesh in x, y, z")
    assert repr(moving()).endswith("cells in x, y, which move from run to run")
    assert repr(cloud().select(slice(0, 0))) == "0 runs over angle: p (Pa), q at 9 points in x"


def test_single_precision_stays_single():
    fields = {"p": np.ones((5, 9), np.float32)}
    runs = cloud(fields=fields, units=None)
    assert runs.fields.dtype == runs.fields[0].dtype == np.float32
    assert runs.array().dtype == float
    assert cloud(fields=fields | {"q": np.ones((5, 9))}, units=None).fields.dtype == float


@each_kind
def test_parts_join_to_the_whole(kind):
    runs = KINDS[kind]()
    train, test = runs.split(test=0.4, seed=1)
    assert (len(train), len(test)) == (3, 2)
    joined = Runs.join([test, train])
    order = np.argsort(joined.parameters[:, 0])
    again = joined.select(order)
    assert again.checksum == runs.checksum != joined.checksum
    np.testing.assert_array_equal(again.numbers, runs.numbers)
    for case in range(len(runs)):
        for one, other in zip(again.geometry_of(case).arrays(), runs.geometry_of(case).arrays(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_joined_runs_take_the_order_of_the_first():
    one, other = cloud(ANGLES[:3]), cloud(ANGLES[3:])
    p, q = other.array().swapaxes(0, 1)
    swapped = cloud(ANGLES[3:], fields={"q": q, "p": p})
    joined = Runs.join([one, swapped])
    assert joined.names == ("p", "q")
    assert joined.checksum == Runs.join([one, other]).checksum
    np.testing.assert_array_equal(joined.select(np.array([4])).array(), joined.array()[4:])


def test_the_split_is_a_share_or_a_number():
    assert [len(part) for part in synthetic.runs().split(test=5)] == [20, 5]
    first, again, other = (synthetic.runs().split(seed=seed)[1].parameters for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    with pytest.raises(
        SureflowError, match=r"test=2 of 25 runs leaves nothing to test or to train on: give a fraction below 1"
    ):
        synthetic.runs().split(test=2.0)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (lambda: cloud(ANGLES + 1, fields={"p": np.zeros((5, 9))}), "their fields are p and not p, q"),
        (lambda: cloud(ANGLES + 1, units={"p": "bar", "angle": "deg"}), "p.unit is 'bar' there and 'Pa' here"),
        (lambda: cloud(ANGLES + 1, ranges={}), "angle.low is None there and 0.1 here"),
        (lambda: cloud(ANGLES + 1, axes=["r"]), r"axes is \['r'\] there and \['x'\] here"),
        (lambda: cloud(ANGLES + 1, made_by={"mesh": {"cells": 2}}), "made_by.mesh is there and not here"),
        (lambda: own_runs(np.zeros((8, 1)), ANGLES + 1), "they have 9 and 8 points"),
        (lambda: own_runs(np.zeros((9, 1)), ANGLES + 1), "their meshes lie up to 1 apart"),
        (lambda: own_runs(np.zeros((5, 9, 1)), ANGLES + 1), "one has a mesh that all its runs share"),
        (lambda: cloud(), "5 of 10 runs repeat the condition of another; the first of them is run 5 at angle=0.5"),
    ],
)
def test_runs_that_disagree_are_not_joined(other, sentence):
    with pytest.raises(SureflowError, match=sentence):
        Runs.join([cloud(), other()])


def test_cells_that_are_connected_otherwise_are_not_joined():
    runs = hexahedra()
    cells = runs.topology.cells
    assert cells is not None
    other = Cells(cells.connectivity[::-1].copy(), cells.offsets, cells.types)
    assert runs.geometry is not None
    with pytest.raises(SureflowError, match="their cells are connected differently"):
        Runs.join([runs, own_runs(runs.geometry.points, ANGLES + 1, location="points", cells=other)])
    with pytest.raises(SureflowError, match="there are no runs to join"):
        Runs.join([])


def test_a_store_gives_its_converged_runs(tmp_path):
    path = synthetic.write_store(tmp_path / "runs.zarr", status={3: Status.STALLED, 5: Status.FAILED, 6: Status.TO_DO})
    runs, expected = open_runs(path), synthetic.runs()
    converged = ~np.isin(np.arange(len(expected)), [3, 5, 6])
    np.testing.assert_array_equal(runs.parameters, expected.parameters[converged])
    np.testing.assert_array_equal(runs.array(), expected.array()[converged])
    assert runs.left_out == {"interrupted": 1, "stalled": 1, "failed": 1}
    assert runs.checksum == expected.select(converged).checksum
    assert "(left out: 1 stalled, 1 failed, 1 interrupted)" in repr(runs)


@each_kind
def test_the_checksum_sees_every_value(kind):
    runs = KINDS[kind]()
    p, q = runs.array().swapaxes(0, 1)
    q = q + np.eye(*q.shape, 2) * 1e-12
    assert KINDS[kind](fields={"p": p, "q": q}).checksum != runs.checksum


def test_missing_values_are_named():
    p, q = cloud().array().swapaxes(0, 1)
    q = np.where((np.arange(5) == 2)[:, None] & (np.arange(9) == 4), np.nan, q)
    runs = cloud(fields={"p": p, "q": q})
    with pytest.raises(SureflowError, match="q of the run at angle=2 has 1 missing or non-finite"):
        runs.require_trainable()
    runs.select(np.arange(5) != 2).require_trainable()
    with pytest.raises(SureflowError, match="coordinates have 1 missing or non-finite values"):
        own_runs(np.array([[0.0], [np.nan]])).require_trainable()


def test_too_few_runs_are_refused(tmp_path):
    path = synthetic.write_store(tmp_path / "runs.zarr", synthetic.grid()[:4], {0: Status.FAILED, 1: Status.STALLED})
    with pytest.raises(SureflowError, match=r"2 converged runs are too few.*left out: 1 stalled, 1 failed"):
        open_runs(path).require_trainable()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"parameters": {"angle": [1.0, 2.0]}}, "parameters are given for 2 runs and fields for 5"),
        ({"parameters": {"angle": np.ones((5, 2))}}, "every parameter needs one value for each run"),
        ({"parameters": {"angle": [[1.0], [1.0, 2.0]]}}, "'angle' is not an array of numbers"),
        ({"parameters": {"angle": [1, 2, 3, 4, np.nan]}}, "parameters have 1 missing"),
        ({"coordinates": np.zeros((8, 1))}, r"\(9, 1\) like the fields; their shape is \(8, 1\)"),
        ({"coordinates": np.zeros(9)}, r"must be \(point, axis\); their shape is \(9,\)"),
        ({"coordinates": {"polar": np.zeros((9, 1))}}, "coordinates are given as polar: give physical"),
        ({"fields": {"p": np.zeros((5, 9)), "q": np.zeros((5, 8))}}, "share one shape"),
        ({"fields": {"angle": np.zeros((5, 9))}}, "'angle' is the name of a field and of a parameter: rename"),
        ({"fields": {"x": np.zeros((5, 9))}}, "'x' is the name of an axis and of a field: rename"),
        ({"parameters": {"points": np.arange(5.0)}}, "parameter 'points' has a name that is reserved for predictions"),
        ({"parameters": {"extrapolate": np.arange(5.0)}}, "parameter 'extrapolate' has a name that is reserved"),
        ({"fields": {"case": np.zeros((5, 9))}}, "field 'case' has a name that is reserved for predictions"),
        (
            {"fields": {"p": np.zeros((5, 9)), "p_std": np.zeros((5, 9))}},
            "'p_std' would be taken for a part of the error",
        ),
        ({"units": {"pp": "Pa"}}, "'pp' has a unit, range or scale but no values: the names are angle, p"),
        ({"ranges": {"angle": (0.0, 4.0)}}, r"the range of angle, 0..4, excludes the run with angle=5"),
        ({"logarithmic": ["angle"], "parameters": {"angle": [0, 1, 2, 3, 4]}}, "angle=0 has no logarithm"),
        ({"numbers": {"drag": [1.0]}}, "numbers are given for 1 runs and fields for 5"),
        ({"coordinates": np.zeros((4, 9, 1))}, "coordinates are given for 4 runs and fields for 5"),
        ({"location": "faces"}, "location='faces' must be 'cells' or 'points'"),
        ({"shape": (3, 3)}, "a structured mesh needs its nodes"),
        ({"shape": (3, 3), "nodes": np.zeros((9, 1))}, r"a block of \(3, 3\) cells has 16 nodes, but 9 are given"),
        ({"shape": (8,), "nodes": np.zeros((9, 1))}, "the mesh has 8 cells, but the fields have 9 values"),
        ({"nodes": np.zeros((9, 2))}, r"nodes must be \(node, 1\)"),
        ({"free_stream": Flight()}, "the free stream needs the parameter mach, but the parameters are angle"),
        ({"gas": PerfectGas(), "made_by": {"x": {1, 2}}}, "made_by: give plain values, which JSON can hold"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, sentence):
    given = {
        "parameters": {"angle": np.arange(1.0, 6.0)},
        "coordinates": np.linspace(0, 1, 9)[:, None],
        "fields": {"p": np.zeros((5, 9))},
    }
    with pytest.raises(SureflowError, match=sentence):
        Runs.from_arrays(**(given | change))


@pytest.mark.parametrize(
    ("connectivity", "offsets", "sentence"),
    [
        ([0, 1, 9], [0, 3], "the cells refer to the nodes 0..9, but there are only 4"),
        ([0, 1, 2], [0, 2], "must begin with 0, increase, and end with 3, the number of corners"),
        ([0, 1, 2, 1, 2, 3], [0, 3, 6], "the mesh has 2 cells, but the fields have 1 values"),
    ],
)
def test_cells_that_do_not_fit_are_refused(connectivity, offsets, sentence):
    cells = Cells(np.array(connectivity), np.array(offsets), np.full(len(offsets) - 1, 5))
    with pytest.raises(SureflowError, match=sentence):
        Runs.from_arrays({"a": [1.0]}, np.zeros((1, 2)), {"p": [[1.0]]}, cells=cells, nodes=np.zeros((4, 2)))


def test_coordinates_of_the_points():
    runs = structured()
    assert runs.known_coordinates == ("physical", "body-fitted")
    np.testing.assert_allclose(runs.coordinates("body-fitted"), runs.coordinates("physical")[:, ::-1])
    with pytest.raises(SureflowError, match="coordinates='body-fitted': these runs have physical coordinates"):
        cloud().coordinates("body-fitted")
    points, place = np.zeros((9, 1)), np.ones((9, 1))
    own = Runs.from_arrays({"a": [1.0]}, {"xr": points, "body-fitted": place}, {"p": np.zeros((1, 9))})
    np.testing.assert_array_equal(own.coordinates("body-fitted"), place)
    np.testing.assert_array_equal(own.coordinates("physical"), points)


def test_selecting_what_is_not_there_is_refused():
    with pytest.raises(SureflowError, match="5 runs can be selected by a mask of that length"):
        cloud().select(np.array([7]))


def test_the_free_stream_of_flights():
    runs = synthetic.runs()
    streams = runs.free_streams(np.array([6]))
    assert streams is not None
    expected = FlightCondition(*runs.parameters[6]).free_stream()
    for name, value in vars(expected).items():
        np.testing.assert_allclose(getattr(streams[0], name), value, rtol=1e-12)
    assert cloud().free_streams() is None
    assert runs.header.limits == {"mach": (2.0, 40.0), "altitude_km": (0.0, 86.0)}


def test_the_free_stream_of_named_parameters():
    names = {"velocity": "u", "density": "d", "temperature": "t"}
    given = ({"u": [1e3], "d": [0.1], "t": [300.0]}, np.zeros((2, 2)), {"p": [[1.0, 2.0]]}, None, names)
    assert Runs.from_arrays(*given).free_streams() is None
    streams = Runs.from_arrays(*given, gas=PerfectGas()).free_streams()
    assert streams is not None
    assert streams[0].pressure == pytest.approx(0.1 * 287.0529 * 300.0)


def test_large_runs_do_not_fit_into_memory(monkeypatch):
    assert cloud().fits_in_memory
    monkeypatch.setattr(scratch, "IN_MEMORY", 5 * 2 * 9 * 8 - 1)
    assert not cloud().fits_in_memory
