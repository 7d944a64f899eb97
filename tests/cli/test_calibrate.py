"""`sureflow calibrate`, as a command."""

import numpy as np
import pytest
from typer.testing import CliRunner

import synthetic
from sureflow import artifact
from sureflow.cli import app
from sureflow.data.dataset import Dataset
from sureflow.errors import SureflowError
from sureflow.learn import learn
from sureflow.models import InterpolationSettings


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUREFLOW_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def model(tmp_path):
    store = synthetic.write_store(tmp_path / "runs.zarr")
    artifact.save(learn(Dataset.from_store(store), InterpolationSettings(), scaling="freestream"), tmp_path / "model")
    return tmp_path / "model"


def run(*arguments):
    result = CliRunner().invoke(app, ["calibrate", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_model_is_calibrated_in_place(model):
    before = artifact.load(model)
    output = run(model, model.parent / "runs.zarr", "--no-quantities")
    assert "90 % intervals reach, in standard deviations: u1 " in output
    after = artifact.load(model)
    assert after.calibration is not None
    condition = np.array([[22.0, 41.0]])
    np.testing.assert_array_equal(after.predictive(condition).mean, before.predictive(condition).mean)
    assert "calibrated with 25 runs left out in folds" in after.predict(mach=22, altitude_km=41).attrs["bars"]


def test_runs_of_another_mesh_are_refused(model, tmp_path):
    other = synthetic.write_store(tmp_path / "other.zarr", shape=(5, 5))
    with pytest.raises(SureflowError, match="trained on a mesh of 48 points and these runs have 25"):
        run(model, other)
