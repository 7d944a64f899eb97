import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import xarray

import sureflow
import synthetic
from sureflow import artifact
from sureflow.data.dataset import Dataset
from sureflow.errors import SureflowError
from sureflow.heads import MVE
from sureflow.learn import learn
from sureflow.models import DeepONetSettings
from sureflow.train.loop import Recipe, TrainSettings

RECIPE = Recipe(
    DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1, fourier_octaves=1),
    MVE(beta=0.25),
    members=2,
    train=TrainSettings(epochs=1, batch=64, points_per_run=8, seed=3),
)


@pytest.fixture(scope="module")
def surrogate():
    return learn(synthetic.dataset(), RECIPE, "body-fitted")


@pytest.fixture(scope="module")
def saved(surrogate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    artifact.save(surrogate, folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


def test_a_loaded_model_predicts_the_same(surrogate, saved):
    loaded = artifact.load(saved)
    assert loaded.recipe == RECIPE
    assert loaded.data_checksum == synthetic.dataset().checksum
    expected, found = (model.predict(mach=[12, 35], altitude_km=30) for model in (surrogate, loaded))
    assert expected.identical(found)


def test_a_new_process_predicts_the_same(surrogate, saved, tmp_path):
    script = (
        "import sys, sureflow\n"
        "assert 'jax' not in sys.modules\n"
        f"sureflow.load({str(saved)!r}).predict(mach=25, altitude_km=46).to_netcdf({str(tmp_path / 'f.nc')!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
    with xarray.open_dataset(tmp_path / "f.nc") as found:
        np.testing.assert_array_equal(found.u1, surrogate.predict(mach=25, altitude_km=46).u1)


def test_the_manifest_says_what_was_trained_on_what(saved):
    manifest = json.loads((saved / "model.json").read_text())
    assert manifest["schema"] == "sureflow-model"
    assert manifest["configuration"]["head"] == {"name": "mve", "warm_up": 0.25, "beta": 0.25}
    assert manifest["configuration"]["train"]["seed"] == 3
    assert manifest["mesh"] == {"points": 48, "coordinates": {"xr": 2, "body-fitted": 2}, "shape": [6, 8]}
    assert len(manifest["training_domain"]["parameters"]) == 25
    assert manifest["versions"].keys() >= {"sureflow", "jax"}
    assert {"normalizer", "data_checksum", "weights_checksum"} <= manifest.keys()


def test_saving_twice_writes_the_same_bytes(surrogate, saved, tmp_path):
    artifact.save(surrogate, tmp_path)
    for name in (artifact.MANIFEST, artifact.WEIGHTS):
        assert (tmp_path / name).read_bytes() == (saved / name).read_bytes()


def test_runs_without_a_structured_mesh(tmp_path):
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays({"a": np.arange(5.0)}, rng.normal(size=(9, 3)), {"p": rng.normal(size=(5, 9))})
    surrogate = learn(data, RECIPE, "xr")
    artifact.save(surrogate, tmp_path)
    field = artifact.load(tmp_path).predict(a=2.5)
    assert field.p.dims == ("point",)
    assert field.identical(surrogate.predict(a=2.5))


def change_manifest(folder, change):
    path = folder / "model.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(schema_version=2), "has schema .*2.*; this version of sureflow reads"),
        (lambda m: m.update(schema="other"), "has schema"),
        (lambda m: m.pop("normalizer"), "normalizer: Field required"),
        (lambda m: m.update(surprise=1), "surprise: Extra inputs are not permitted"),
        (lambda m: m["configuration"].update(members=3), "has shape and type"),
        (lambda m: m["configuration"]["head"].update(name="other"), "configuration.head"),
        (lambda m: m["configuration"]["model"].update(decoder_layers=2), "lacks tensor"),
        (lambda m: m["configuration"].update(coordinates="polar"), "coordinates 'polar' are none of xr, body-fitted"),
        (lambda m: m["normalizer"].pop("fields"), "normalizer.fields: Field required"),
        (lambda m: m["normalizer"]["fields"]["mean"].pop(), "normalizer.fields has 3 entries, expected 4"),
        (lambda m: m["training_domain"]["parameters"][2].pop(), "training_domain.parameters.2 has 1 entries"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(copy, change, message):
    change_manifest(copy, change)
    with pytest.raises(SureflowError, match=message):
        artifact.load(copy)


@pytest.mark.parametrize("name", ["model.json", "weights.safetensors"])
@pytest.mark.parametrize("keep", [0, 5, 300, -1])
def test_truncated_files_are_refused(copy, name, keep):
    content = (copy / name).read_bytes().rstrip()
    (copy / name).write_bytes(content[:keep])
    with pytest.raises(SureflowError, match="damaged"):
        artifact.load(copy)


def test_a_flipped_bit_is_noticed(copy):
    content = bytearray((copy / "weights.safetensors").read_bytes())
    content[-100] ^= 1
    (copy / "weights.safetensors").write_bytes(content)
    with pytest.raises(SureflowError, match="checksum differs"):
        artifact.load(copy)


def test_missing_files_are_named(copy, tmp_path):
    with pytest.raises(SureflowError, match=r"is not a trained model: there is no such folder"):
        sureflow.load(tmp_path / "none")
    with pytest.raises(SureflowError, match=r"is not a trained model: it has no model.json"):
        sureflow.load(tmp_path)
    (copy / "weights.safetensors").unlink()
    with pytest.raises(SureflowError, match=r"weights.safetensors is missing"):
        sureflow.load(copy)
