import numpy as np
import pytest

import synthetic
from sureflow.data.dataset import Dataset
from sureflow.data.schema import Status
from sureflow.errors import SureflowError


@pytest.fixture
def own_runs():
    """Three parameters, a mesh of points in space, and one field."""
    rng = np.random.default_rng(0)
    return {
        "parameters": {"mach": [5.0, 6.0, 7.0, 8.0], "angle": np.zeros(4), "yaw": np.arange(4.0)},
        "coordinates": rng.normal(size=(10, 3)),
        "fields": {"p": rng.normal(size=(4, 10)), "q": rng.normal(size=(4, 10))},
    }


def test_runs_of_ones_own(own_runs):
    data = Dataset.from_arrays(**own_runs, units={"p": "Pa"})
    assert data.parameters.shape == (4, 3)
    assert data.parameter_names == ("mach", "angle", "yaw")
    assert data.fields.shape == (4, 2, 10)
    assert data.units == ("Pa", "")
    np.testing.assert_array_equal(data.fields[:, 1], own_runs["fields"]["q"])
    data.require_trainable()


def test_a_store_gives_its_converged_runs(tmp_path):
    path = synthetic.write_store(tmp_path / "runs.zarr", status={3: Status.STALLED, 5: Status.FAILED, 6: Status.TO_DO})
    data, expected = Dataset.from_store(path), synthetic.dataset()
    converged = ~np.isin(np.arange(len(expected.parameters)), [3, 5, 6])
    np.testing.assert_array_equal(data.parameters, expected.parameters[converged])
    np.testing.assert_array_equal(data.fields, expected.fields[converged])
    assert data.left_out == {"to do": 1, "stalled": 1, "failed": 1}
    assert data.checksum == expected.select(converged).checksum


def test_the_checksum_sees_every_value(own_runs):
    before = Dataset.from_arrays(**own_runs).checksum
    own_runs["fields"]["q"][3, 9] += 1e-12
    assert Dataset.from_arrays(**own_runs).checksum != before


def test_missing_values_are_named(own_runs):
    own_runs["fields"]["q"][2, 4] = np.nan
    data = Dataset.from_arrays(**own_runs)
    with pytest.raises(SureflowError, match="q of the run at mach=7, angle=0, yaw=2 has 1 missing or non-finite"):
        data.require_trainable()
    data.select(np.array([True, True, False, True])).require_trainable()


def test_too_few_runs_are_refused(tmp_path):
    path = synthetic.write_store(tmp_path / "runs.zarr", synthetic.grid()[:4], {0: Status.FAILED, 1: Status.STALLED})
    with pytest.raises(SureflowError, match=r"2 converged runs are too few.*left out: 1 stalled, 1 failed"):
        Dataset.from_store(path).require_trainable()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coordinates": np.zeros((9, 3))}, "for 10 points"),
        ({"parameters": {"mach": [1.0, 2.0]}}, "2 rows of parameters for 4 runs"),
        ({"fields": {"p": np.zeros((4, 10)), "q": np.zeros((4, 9))}}, "share one shape"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(own_runs, change, message):
    with pytest.raises(SureflowError, match=message):
        Dataset.from_arrays(**(own_runs | change))


def test_unknown_coordinates_are_refused(own_runs):
    with pytest.raises(SureflowError, match="these runs have xr"):
        Dataset.from_arrays(**own_runs).points("body-fitted")
