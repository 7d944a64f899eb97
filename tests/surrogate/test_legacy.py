"""Models of schema version 1, with what version 1 predicted: kept under tests/fixtures."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import sureflow
from sureflow.data.splits import AllRuns
from sureflow.errors import Exists, SureflowError
from sureflow.heads import MVE
from sureflow.models import DeepONetSettings, InterpolationSettings, PodGPSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.train.networks import Networks

FIXTURES = Path(__file__).parents[1] / "fixtures" / "version1"
NETWORK = DeepONetSettings(decoder_width=8, decoder_layers=1, encoder_width=6)
MODELS = {
    "interpolation": InterpolationSettings(),
    "pod-gp": PodGPSettings(modes=3),
    "deeponet": Networks(NETWORK, MVE(), Ensemble(2), TrainSettings(epochs=1, points_per_run="all")),
}
# Equal to the last bit on the machine that made them. Another processor adds in another order: in float64, in a solution
# with a factorized covariance, in float32.
TOLERANCE = {"interpolation": 1e-12, "pod-gp": 1e-7, "deeponet": 1e-4}
# The variance of a process is the small difference of its prior's and what the runs explain, so that another order of
# additions counts for more: by up to 6e-6 between the library that made these numbers and the present one.
TOLERANCE_OF_STD = TOLERANCE | {"pod-gp": 2e-5}
each_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def runs():
    return sureflow.open_runs(FIXTURES / "runs")


@pytest.fixture
def copy(tmp_path):
    """A model of version 1 that may be changed."""
    return lambda name="interpolation": shutil.copytree(FIXTURES / name, tmp_path / name)


def expected(name):
    with np.load(FIXTURES / name / "expected.npz") as file:
        return dict(file)


def test_the_runs_open(runs):
    assert repr(runs) == (
        "25 runs over mach (10..30), altitude_km (20..60): u1 (m/s), u2 (m/s), rho (kg/m3), T (K) at 20 cells of a block "
        "of 4 x 5 cells in x, r"
    )
    assert AllRuns()(runs).train.all()


def assert_same_fields(found, known, tolerance):
    """To rounding on any processor, which is relative to the largest value of a field: small ones are differences of these."""
    size = np.abs(known).max(axis=2, keepdims=True)
    np.testing.assert_allclose(found / size, known / size, rtol=0, atol=tolerance)


@each_model
def test_predictions_are_those_of_version_1(runs, name):
    model, known = sureflow.load(FIXTURES / name), expected(name)
    assert model.spec.model == MODELS[name]
    assert model.spec.scaling == "freestream"
    assert model.spec.seen_coordinates == ("body-fitted" if name == "deeponet" else "physical")
    assert model.data_checksum == runs.checksum
    found = model.predictive(known["ask"])
    assert_same_fields(found.mean, known["mean"], TOLERANCE[name])
    np.testing.assert_allclose(found.std, known["std"], rtol=TOLERANCE_OF_STD[name])


@each_model
def test_a_model_of_version_1_is_saved_as_one_of_the_present(copy, name):
    folder, asked = copy(name), expected(name)["ask"]
    before = sureflow.load(folder)
    with pytest.raises(Exists, match="holds a trained model"):
        before.save(folder)
    before.save(folder, overwrite=True)
    after = sureflow.load(folder)
    assert json.loads((folder / "model.json").read_text())["schema_version"] == 3
    assert not (folder / "weights.safetensors").exists()
    assert after.spec == before.spec
    assert after.header == before.header
    np.testing.assert_array_equal(after.predictive(asked).mean, before.predictive(asked).mean)
    np.testing.assert_array_equal(after.predictive(asked).std, before.predictive(asked).std)
    assert after.predict(mach=20, altitude_km=40).identical(before.predict(mach=20, altitude_km=40))


def test_quantities_have_the_bars_that_the_calibration_gave_them(runs):
    """Bars of version 1 widen with the distance from the hull; those that the same runs give now are about as wide inside."""
    model = sureflow.load(FIXTURES / "interpolation")
    own, found = (one.quantities(mach=21, altitude_km=47) for one in (model, model.calibrate(runs, folds=True)))
    assert {*own} >= {"stand_off", "stagnation_pressure", "drag_coefficient_pressure", "stand_off_std"}
    for name in own:
        np.testing.assert_allclose(found[name], own[name], rtol=3.0 if str(name).endswith("_std") else 1e-12)


def test_a_calibrated_model_of_version_2_answers_as_it_did_and_is_saved_as_one_of_the_present(tmp_path):
    """Inside, above and below the ranges; its bars widen with the distance from the hull."""
    folder = FIXTURES.parent / "version2"
    model = sureflow.load(folder / "interpolation")
    model.save(tmp_path / "model")
    with np.load(folder / "expected.npz") as known:
        for one in (model, sureflow.load(tmp_path / "model")):
            found = one.predictive(known["ask"])
            assert_same_fields(found.mean, known["mean"], 1e-12)
            np.testing.assert_allclose(found.std, known["std"], rtol=1e-6)
            mach, altitude = known["ask"].T
            quantities = one.quantities(mach=mach, altitude_km=altitude, extrapolate=True)
            for name in ("stand_off_std", "drag_coefficient_pressure_std"):
                np.testing.assert_allclose(quantities[name], known[name], rtol=1e-6)
            assert one.predict(mach=33, altitude_km=47).attrs["verdict"].startswith("extrapolated: mach=33 is outside")


def test_a_model_of_version_1_answers_like_any_other():
    field = sureflow.load(FIXTURES / "interpolation").predict(mach=25, altitude_km=46)
    assert field.u1.dims == ("j", "i")
    assert field.u1.shape == (4, 5)
    assert field.node_x.shape == (5, 6)
    assert field.attrs["verdict"] == "inside"
    points = np.column_stack([field.x.values.ravel(), field.r.values.ravel()])
    for name in MODELS:
        model = sureflow.load(FIXTURES / name)
        assert model.predict(mach=25, altitude_km=46, points=points).u1.shape == (20,)


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_truncated_weights_are_refused(copy, keep):
    weights = copy() / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    with pytest.raises(SureflowError, match=r"weights\.safetensors is damaged or truncated"):
        sureflow.load(weights.parent)


def test_a_flipped_bit_is_noticed(copy):
    weights = copy() / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-100] ^= 1
    weights.write_bytes(content)
    with pytest.raises(SureflowError, match="checksum differs"):
        sureflow.load(weights.parent)


def test_missing_weights_are_named(copy):
    folder = copy()
    (folder / "weights.safetensors").unlink()
    with pytest.raises(SureflowError, match=r"weights\.safetensors is missing: restore it, or train the model again"):
        sureflow.load(folder)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("interpolation", lambda m: m.pop("normalizer"), "is damaged: KeyError.*normalizer"),
        ("interpolation", lambda m: m.pop("weights_checksum"), "is damaged: KeyError.*weights_checksum"),
        ("interpolation", lambda m: m["normalizer"].pop("fields"), "is damaged: KeyError.*fields"),
        ("interpolation", lambda m: m["scaling"].update(name="other"), "scaling='other' is not one of"),
        ("interpolation", lambda m: m["calibration"]["fields"]["scale"].update(float32="?"), "is damaged"),
        ("interpolation", lambda m: m["calibration"]["fields"]["scale"].update(shape=[1]), "is damaged"),
        ("interpolation", lambda m: m["configuration"]["model"].update(name="other"), "'other' is not one of"),
        ("deeponet", lambda m: m["configuration"].update(members=3), "has shape and type"),
        ("deeponet", lambda m: m["configuration"]["model"].update(decoder_layers=2), "lacks tensor"),
        ("deeponet", lambda m: m["configuration"]["head"].update(name="other"), "head.name='other' is not one of"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(copy, name, change, message):
    path = copy(name) / "model.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(SureflowError, match=message):
        sureflow.load(path.parent)
