"""`sureflow calibrate`, as a command."""

import numpy as np
import pytest

import sureflow
import synthetic
from sureflow.surrogate.model_folder import alone_in


@pytest.fixture
def model(run, tmp_path):
    synthetic.runs().save(tmp_path / "runs.zarr")
    run("train", "runs.zarr", "-o", "model", "--model", "interpolation", "--scaling", "freestream")
    return tmp_path / "model"


def test_a_model_is_calibrated_in_place(run, model):
    before = sureflow.load(model)
    ended = run("calibrate", "model", "runs.zarr", "--no-quantities")
    assert "90 % intervals reach, in standard deviations: u1 " in ended.out
    assert "calibrating with folds over the 25 runs that the model was trained on" in ended.remarks
    after = sureflow.load(model)
    assert after.calibration is not None
    assert after.calibration.quantities is None
    condition = np.array([[22.0, 41.0]])
    np.testing.assert_array_equal(after.predictive(condition).mean, before.predictive(condition).mean)
    assert "calibrated with 25 runs left out in folds" in after.predict(mach=22, altitude_km=41).attrs["bars"]
    run("calibrate", "model", "runs.zarr")
    assert sureflow.load(model).calibration.quantities is not None


def test_runs_of_another_mesh_are_refused(refused, model, tmp_path):
    synthetic.runs(shape=(5, 5)).save(tmp_path / "other.zarr")
    assert refused("calibrate", "model", "other.zarr").startswith("the model was trained on a mesh of 48 points")
    with alone_in(model):
        assert refused("calibrate", "model", "runs.zarr").startswith("another process is making the model in model")
    assert sureflow.load(model).calibration is None
