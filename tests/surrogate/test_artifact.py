"""Models on disk: saved whole, replaced whole, and refused when anything is wrong with them."""

import contextlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import xarray

import kinds_of_runs
import layers
import sureflow
import synthetic
from sureflow import files, tensorfile
from sureflow.data.runs import Runs
from sureflow.errors import Exists, SureflowError
from sureflow.heads import MVE
from sureflow.models import DeepONetSettings, InterpolationSettings, PodGPSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate import artifact
from sureflow.surrogate.artifact import load, save
from sureflow.surrogate.fit import fit
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model_folder import LOCK, alone_in, is_unsettled
from sureflow.surrogate.specification import Specification
from sureflow.tensorfile import write_tensors
from sureflow.train.networks import Networks

SMALL = DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1, fourier_octaves=1)
MODEL = Networks(SMALL, MVE(beta=0.25), Ensemble(2), TrainSettings(epochs=1, batch=64, points_per_run=8, seed=3))
SPEC = Specification(MODEL, "none", "body-fitted")
NUMBER = "numbers.stand_off."  # what begins the names of the arrays of one of them
ASKED = np.array([[21.0, 47.0], [33.0, 47.0]])


@pytest.fixture(scope="module")
def surrogate():
    return learn(synthetic.runs(), SPEC)


@pytest.fixture(scope="module")
def saved(surrogate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save(surrogate, folder)
    return folder


@pytest.fixture(scope="module")
def calibrated():
    """A quick model with bars of fields and of quantities."""
    return fit(synthetic.runs(), "interpolation")


@pytest.fixture(scope="module")
def saved_with_bars(calibrated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrated")
    calibrated.save(folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


@pytest.fixture
def copy_with_bars(saved_with_bars, tmp_path):
    return shutil.copytree(saved_with_bars, tmp_path / "copy")


def file_of(folder, kind):
    (path,) = folder.glob(f"{kind}-*.safetensors")
    return path


def names_in(folder):
    return {path.name for path in folder.iterdir() if path.name != LOCK}


def change_manifest(folder, change):
    path = folder / "model.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def change_arrays(folder, kind, change):
    """Other arrays in the file, which the manifest then names as its own."""
    path = file_of(folder, kind)
    arrays = {name: np.array(array) for name, array in tensorfile.map_tensors(path, tensorfile.checksum(path)).items()}
    change(arrays)
    checksum = write_tensors(path, arrays)
    entry = (lambda m: m["weights"]) if kind == "weights" else (lambda m: m["calibration"]["file"])
    change_manifest(folder, lambda manifest: entry(manifest).update(checksum=checksum))


# What is kept


def test_a_loaded_model_predicts_the_same(surrogate, saved):
    loaded = load(saved)
    assert loaded.spec == SPEC
    assert loaded.data_checksum == synthetic.runs().checksum
    assert loaded.header == surrogate.header
    expected, found = (model.predict(mach=[12, 35], altitude_km=30) for model in (surrogate, loaded))
    assert expected.identical(found)
    assert repr(loaded) == repr(surrogate)


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
    assert (manifest["schema"], manifest["schema_version"]) == ("sureflow-model", 3)
    assert manifest["specification"]["model"]["head"] == {"name": "mve", "warm_up": 0.25, "beta": 0.25}
    assert manifest["specification"]["model"]["train"]["seed"] == 3
    assert manifest["mesh"] == {"points": 48, "shape": [6, 8]}
    assert [item["name"] for item in manifest["header"]["parameters"]] == ["mach", "altitude_km"]
    assert manifest["versions"].keys() >= {"sureflow", "jax"}
    assert {"normalizer", "data_checksum", "weights"} <= manifest.keys()
    assert names_in(saved) == {"model.json", manifest["weights"]["name"]}


def test_nothing_in_a_calibration_is_an_array_in_the_manifest(saved_with_bars):
    manifest = json.loads((saved_with_bars / "model.json").read_text())
    assert {*manifest["calibration"]} == {"file", "fields", "quantities", "wall"}
    assert "float32" not in (saved_with_bars / "model.json").read_text()
    assert names_in(saved_with_bars) == {
        "model.json",
        manifest["weights"]["name"],
        manifest["calibration"]["file"]["name"],
    }


def test_saving_twice_writes_the_same_bytes(surrogate, saved, tmp_path):
    save(surrogate, tmp_path)
    assert names_in(tmp_path) == names_in(saved)
    for name in names_in(saved):
        assert (tmp_path / name).read_bytes() == (saved / name).read_bytes()


def test_arrays_of_a_loaded_model_are_mapped(saved_with_bars):
    fitted = load(saved_with_bars).predictor.fitted
    assert all(isinstance(array.base, np.memmap) for array in (fitted.fields, fitted.residuals))


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_any_mesh_survives(kind, tmp_path):
    model = fit(kinds_of_runs.runs(kind), "interpolation")
    model.save(tmp_path)
    loaded = load(tmp_path)
    for ask in ({"angle": 0.7, "thickness": 0.4}, {"angle": [0.7, 0.9], "thickness": 0.4}):
        assert loaded.predict(**ask).identical(model.predict(**ask))
    points = np.asarray(model.space.at(np.array([0.7, 0.4])).points)[:3]
    ask = {"angle": 0.7, "thickness": 0.4, "points": points}
    assert loaded.predict(**ask).identical(model.predict(**ask))


def test_a_comparison_is_kept(tmp_path):
    spec = {"name": "auto", "candidates": ["interpolation", {"name": "pod-gp", "modes": 2}], "folds": 3}
    model = fit(synthetic.runs(), spec, calibrate=False)
    model.save(tmp_path)
    assert [dict(row) for row in load(tmp_path).comparison] == json.loads(json.dumps(model.comparison))
    assert "chosen by" in repr(load(tmp_path))


# Replacing


def test_a_model_is_replaced_only_if_asked(surrogate, calibrated, copy):
    with pytest.raises(Exists, match="holds a trained model: choose another folder, or allow it to be replaced"):
        calibrated.save(copy)
    assert load(copy).spec == SPEC
    calibrated.save(copy, overwrite=True)
    assert load(copy).spec == calibrated.spec
    assert len(names_in(copy)) == 3


def test_calibrating_in_place_keeps_the_weights_as_they_are(tmp_path):
    model = learn(synthetic.runs(), Specification(InterpolationSettings()))
    model.save(tmp_path)
    before = file_of(tmp_path, "weights")
    content, inode = before.read_bytes(), before.stat().st_ino
    load(tmp_path).calibrate(synthetic.runs()).save(tmp_path, overwrite=True)
    assert file_of(tmp_path, "weights").read_bytes() == content
    assert file_of(tmp_path, "weights").stat().st_ino == inode
    assert load(tmp_path).calibration is not None


def test_a_loaded_model_is_saved_elsewhere(copy_with_bars, tmp_path):
    loaded = load(copy_with_bars)
    loaded.save(tmp_path / "other")
    for name in names_in(copy_with_bars):
        assert (tmp_path / "other" / name).read_bytes() == (copy_with_bars / name).read_bytes()
    shutil.rmtree(copy_with_bars)
    assert load(tmp_path / "other").predict(mach=25, altitude_km=46).attrs["verdict"] == "inside"


def test_a_model_whose_file_is_gone_is_saved_from_memory(surrogate, copy, tmp_path):
    loaded = load(copy)
    shutil.rmtree(copy)
    loaded.save(tmp_path / "other")
    np.testing.assert_array_equal(load(tmp_path / "other").predictive(ASKED).mean, surrogate.predictive(ASKED).mean)


def test_a_model_whose_file_was_replaced_by_another_is_not_saved_with_that(surrogate, copy, tmp_path):
    """What a loaded model holds is what is saved, not what has taken its file's place since."""
    loaded = load(copy)
    other = learn(synthetic.runs(), Specification(PodGPSettings(modes=2)))
    other.save(copy, overwrite=True)
    loaded.save(tmp_path / "kept")
    np.testing.assert_array_equal(load(tmp_path / "kept").predictive(ASKED).mean, surrogate.predictive(ASKED).mean)


class Killed(BaseException):
    """What no part of the program may catch."""


STEPS = ("flush", "rename", "move", "remove")


def kill_at(monkeypatch, moment: int):
    """Every step of saving that touches the disk, of which the given one does not happen; the steps that did."""
    done = []

    def counted(name, action):
        def act(*arguments, **options):
            if len(done) == moment:
                raise Killed(name)
            done.append(name)
            return action(*arguments, **options)

        return act

    monkeypatch.setattr("os.fsync", counted("flush", files.os.fsync))
    monkeypatch.setattr("os.replace", counted("rename", files.os.replace))
    monkeypatch.setattr("pathlib.Path.replace", counted("move", artifact.Path.replace))
    monkeypatch.setattr("pathlib.Path.unlink", counted("remove", artifact.Path.unlink))
    return done


@pytest.mark.parametrize("with_bars", [False, True])
def test_a_kill_between_any_two_steps_leaves_the_old_model_or_the_new_one(copy, calibrated, monkeypatch, with_bars):
    old = load(copy)
    new = calibrated if with_bars else learn(synthetic.runs(), Specification(InterpolationSettings()))
    before, after = old.predict(mach=21, altitude_km=47), new.predict(mach=21, altitude_km=47)
    seen, moment = [], 0
    while True:
        with monkeypatch.context() as patch:
            done = kill_at(patch, moment)
            try:
                new.save(copy, overwrite=True)
                break
            except Killed:
                pass
        found = load(copy).predict(mach=21, altitude_km=47)
        assert found.identical(before) or found.identical(after)
        seen.append(found.identical(after))
        moment += 1
    assert {*done} == {*STEPS}
    # First the old one, then the new one, and never back.
    assert seen == sorted(seen)
    assert seen[0] is False
    assert seen[-1] is True
    assert names_in(copy) == {"model.json", *(path.name for path in copy.glob("*-*.safetensors"))}
    assert len(names_in(copy)) == 2 + with_bars


def test_a_first_save_that_is_killed_leaves_no_model(surrogate, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        kill_at(patch, 3)
        with pytest.raises(Killed):
            surrogate.save(tmp_path / "model")
    assert not artifact.holds_model(tmp_path / "model")
    surrogate.save(tmp_path / "model")
    assert load(tmp_path / "model").spec == SPEC


def test_a_full_disk_leaves_the_old_model(copy, calibrated, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    before = names_in(copy)
    with pytest.raises(SureflowError, match="is full: make room and do the same again"):
        calibrated.save(copy, overwrite=True)
    monkeypatch.undo()
    assert names_in(copy) == before
    assert load(copy).spec == SPEC


@pytest.mark.parametrize("moment", range(40))
def test_what_describes_a_model_changes_with_it(copy, calibrated, monkeypatch, moment):
    """A training that is killed anywhere leaves the old model with its files or, once settled, the new one with its own."""
    for name in artifact.DESCRIBING:
        (copy / name).write_text("old")
    (copy / "events.jsonl").write_text("old")
    described = {"experiment.toml": b"new", "provenance.json": b"new", "events.jsonl": b""}
    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        done = kill_at(patch, moment)
        artifact.write_model(calibrated, copy, described)
    assert moment > 5 or not done or not is_unsettled(copy)
    artifact.settle_model(copy)
    is_new = load(copy).spec == calibrated.spec
    found = {path.name: path.read_text() for path in copy.iterdir() if path.suffix in (".toml", ".jsonl")}
    assert found == ({"experiment.toml": "new"} if is_new else {"experiment.toml": "old", "events.jsonl": "old"})
    assert not is_unsettled(copy)
    assert len([*copy.glob("*.safetensors")]) == (2 if is_new else 1)


def test_a_model_that_is_replaced_while_it_is_read(copy, calibrated, monkeypatch):
    """Its files are gone when the reader comes to them: it reads the other model instead, and that whole."""
    read = artifact.map_tensors

    def late(path, expected):
        monkeypatch.setattr(artifact, "map_tensors", read)
        calibrated.save(copy, overwrite=True)
        return read(path, expected)

    monkeypatch.setattr(artifact, "map_tensors", late)
    assert load(copy).predict(mach=21, altitude_km=47).identical(calibrated.predict(mach=21, altitude_km=47))


def test_one_process_writes_at_a_time(surrogate, copy):
    before = names_in(copy)
    with alone_in(copy), pytest.raises(SureflowError, match="another process is making the model"):
        surrogate.save(copy, overwrite=True)
    assert names_in(copy) == before


# What is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(schema_version=4), "schema version 4; this sureflow reads versions 1 to 3: use"),
        (lambda m: m.update(schema_version="2"), "schema version 2; this sureflow reads"),
        (lambda m: m.update(schema_version=None), "schema version None"),
        (lambda m: m.update(schema="other"), "has the schema 'other'; models of sureflow have 'sureflow-model'"),
        (lambda m: m.pop("normalizer"), "normalizer is missing"),
        (lambda m: m.update(surprise=1), "surprise is not a setting"),
        (lambda m: m["specification"]["model"]["sampler"].update(members=3), "has shape and type"),
        (lambda m: m["specification"]["model"]["head"].update(name="other"), "specification.model.head.name='other'"),
        (lambda m: m["specification"]["model"]["network"].update(decoder_layers=2), "lacks tensor"),
        (lambda m: m["specification"].update(coordinates="polar"), "coordinates='polar' is not one of"),
        (lambda m: m.update(specification={"model": {"name": "auto"}}), "specification does not say which model it is"),
        (lambda m: m["normalizer"].pop("fields"), "normalizer.fields is missing"),
        (
            lambda m: m["normalizer"]["fields"]["mean"].pop(),
            "normalizer.fields: it has 3 means and 4 standard deviations",
        ),
        (lambda m: m["normalizer"]["fields"]["std"].__setitem__(1, 0), "normalizer.fields.std.1=0"),
        (lambda m: m["normalizer"]["inputs"]["mean"].append(1.0), "normalizer.inputs: it has 3 means"),
        (lambda m: m["normalizer"]["coordinates"]["std"].pop(), "normalizer.coordinates: it has 2 means and 1"),
        (
            lambda m: [v.pop() for v in m["normalizer"]["fields"].values()],
            "normalizer.fields has 3 entries, expected 4",
        ),
        (
            lambda m: [v.pop() for v in m["normalizer"]["coordinates"].values()],
            "normalizer of this model is damaged: it has 1 coordinates, expected 2",
        ),
        (lambda m: m["field_scale"].pop("std"), "field_scale.std is missing"),
        (lambda m: m["header"]["fields"].pop(), "normalizer.fields has 4 entries, expected 3"),
        (lambda m: m["header"]["parameters"].pop(), "altitude_km"),
        (lambda m: m["scaling"].update(name="other"), "scaling.name='other' is not one of"),
        (lambda m: m["mesh"].update(points=47), "mesh of .* is damaged: coordinates must be .*47"),
        (
            lambda m: m["mesh"].update(shape=[6, 9]),
            r"is damaged: a block of \(6, 9\) cells has 70 nodes, but 63 are given",
        ),
        (lambda m: m["weights"].update(name="../other.safetensors"), "weights.name"),
        (lambda m: m["weights"].update(name="/etc/passwd"), "weights.name"),
        (lambda m: m["weights"].update(checksum="0" * 64), "checksum differs"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(copy, change, message):
    change_manifest(copy, change)
    with pytest.raises(SureflowError, match=message):
        load(copy)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"\xff\xfe", b'{"schema": ' + b"[" * 100_000])
def test_a_manifest_that_is_something_else_is_refused(copy, content):
    (copy / "model.json").write_bytes(content)
    with pytest.raises(SureflowError, match=r"model\.json is damaged"):
        load(copy)


@pytest.mark.parametrize("name", ["model.json", "weights", "calibration"])
@pytest.mark.parametrize("keep", [0, 5, 300, -1])
def test_truncated_files_are_refused(copy_with_bars, name, keep):
    path = copy_with_bars / name if name == "model.json" else file_of(copy_with_bars, name)
    content = path.read_bytes().rstrip() if name == "model.json" else path.read_bytes()
    path.write_bytes(content[:keep])
    with pytest.raises(SureflowError, match="damaged"):
        load(copy_with_bars)


@pytest.mark.parametrize("kind", ["weights", "calibration"])
@pytest.mark.parametrize("place", [0, 9, 60, -1000, -1])
def test_a_flipped_bit_is_noticed(copy_with_bars, kind, place):
    path = file_of(copy_with_bars, kind)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(SureflowError, match=r"checksum differs|damaged or truncated"):
        load(copy_with_bars)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_numbers_are_refused(copy_with_bars, bad):
    def spoil(arrays):
        arrays["model.fields"][0, 0, 0] = bad

    change_arrays(copy_with_bars, "weights", spoil)
    with pytest.raises(SureflowError, match=r"'model.fields' has values that are not finite"):
        load(copy_with_bars)


@pytest.mark.parametrize("name", ["space.points", "space.nodes", "training.parameters"])
def test_other_arrays_that_are_not_numbers_are_refused(copy_with_bars, name):
    change_arrays(copy_with_bars, "weights", lambda arrays: arrays[name].__setitem__((0, 0), np.nan))
    with pytest.raises(SureflowError, match=f"'{name}' has values that are not finite"):
        load(copy_with_bars)


def test_bars_that_are_not_numbers_are_refused(copy_with_bars):
    change_arrays(copy_with_bars, "calibration", lambda arrays: arrays["fields.scale"].__setitem__((0, 0), np.nan))
    with pytest.raises(SureflowError, match=r"'fields.scale' has values that are not finite"):
        load(copy_with_bars)


@pytest.mark.parametrize("name", ["model.fields", "space.points", "training.parameters"])
def test_missing_arrays_are_named(copy_with_bars, name):
    change_arrays(copy_with_bars, "weights", lambda arrays: arrays.pop(name))
    with pytest.raises(SureflowError, match=name.partition(".")[2]):
        load(copy_with_bars)


def test_missing_bars_are_named(copy_with_bars):
    change_arrays(copy_with_bars, "calibration", lambda arrays: arrays.pop("fields.scale"))
    with pytest.raises(SureflowError, match=r"calibration of this model is damaged \(scale is missing\)"):
        load(copy_with_bars)


def test_missing_files_are_named(copy_with_bars, tmp_path):
    with pytest.raises(SureflowError, match=r"is not a trained model: there is no such folder"):
        sureflow.load(tmp_path / "none")
    with pytest.raises(SureflowError, match=r"is not a trained model: it has no model.json"):
        sureflow.load(tmp_path)
    file_of(copy_with_bars, "calibration").unlink()
    with pytest.raises(SureflowError, match=r"calibration-\w+.safetensors is missing"):
        sureflow.load(copy_with_bars)
    file_of(copy_with_bars, "weights").unlink()
    with pytest.raises(SureflowError, match=r"weights-\w+.safetensors is missing"):
        sureflow.load(str(copy_with_bars))


def test_a_model_of_a_kind_that_is_not_registered_here_says_so(copy):
    change_manifest(copy, lambda m: m["specification"]["model"].update(name="my-own"))
    with pytest.raises(SureflowError, match="'my-own' is not one of"):
        load(copy)


def test_points_without_a_mesh_survive(tmp_path):
    rng = np.random.default_rng(0)
    runs = Runs.from_arrays({"a": np.arange(5.0)}, rng.normal(size=(9, 3)), {"p": rng.normal(size=(5, 9))})
    surrogate = learn(runs, Specification(MODEL))
    surrogate.save(tmp_path)
    field = load(tmp_path).predict(a=2.5)
    assert field.p.dims == ("point",)
    assert field.identical(surrogate.predict(a=2.5))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("model.nodes", lambda a: a[:-1]),
        ("model.inverse", lambda a: a[:-1]),
        ("model.fields", lambda a: a[:, :-1]),
        ("model.fields", lambda a: a[..., :-1]),
        ("model.fields", lambda a: a.astype(np.int64)),
        ("model.residuals", lambda a: a[None]),
        ("model.scales", lambda a: a[:-1]),
        ("training.parameters", lambda a: a[:, :-1]),
        ("training.parameters", lambda a: a[:0]),
        ("space.points", lambda a: a[:-1]),
        ("space.points", lambda a: a[:, 0]),
        ("space.nodes", lambda a: a[:, :1]),
        ("space.nodes", lambda a: a.astype(np.int64)),
        ("space.nodes", lambda a: a[0, 0]),
        (NUMBER + "inputs", lambda a: a[:-1]),
        (NUMBER + "varying", lambda a: np.concatenate([a, a])),
        (NUMBER + "mean", lambda a: a[0, 0]),
        (NUMBER + "logarithms", lambda a: a[:, :-1]),
    ],
)
def test_arrays_of_other_shapes_are_refused(copy_with_bars, name, change):
    change_arrays(
        copy_with_bars, "weights", lambda arrays: arrays.update({name: np.ascontiguousarray(change(arrays[name]))})
    )
    with pytest.raises(SureflowError, match=r"damaged|has the shape"):
        load(copy_with_bars)


def test_numbers_over_other_inputs_are_refused(copy_with_bars):
    """How many there are is known only when conditions are given."""
    change_arrays(
        copy_with_bars,
        "weights",
        lambda arrays: arrays.update({NUMBER + "varying": np.append(arrays[NUMBER + "varying"], 0.0)}),
    )
    with pytest.raises(
        SureflowError, match=r"the model is damaged: .* was learned over 3 inputs, expected 2; train it"
    ):
        load(copy_with_bars).quantities(mach=20.0, altitude_km=40.0)


def test_a_mesh_that_moves_by_arrays_of_other_shapes_is_refused(tmp_path):
    fit(kinds_of_runs.runs("moving"), "interpolation", calibrate=False).save(tmp_path)
    kept = dict(tensorfile.map_tensors(file_of(tmp_path, "weights"), tensorfile.checksum(file_of(tmp_path, "weights"))))
    kept = {name: np.array(array) for name, array in kept.items() if name.startswith("space.moving.")}
    for name, array in kept.items():
        other = np.ascontiguousarray(array[..., :-1])
        change_arrays(tmp_path, "weights", lambda arrays, new={**kept, name: other}: arrays.update(new))
        with pytest.raises(SureflowError, match=r"damaged|has the shape"):
            load(tmp_path)


def test_the_damaged_lines_of_a_mesh_are_told(tmp_path):
    fit(layers.runs(), "body-aligned", scaling="similarity", calibrate=False).save(tmp_path)
    change_arrays(tmp_path, "weights", lambda arrays: arrays.update({"space.nodes": 0.0 * arrays["space.nodes"]}))
    with pytest.raises(SureflowError, match="the model is damaged: the lines of its mesh are not normal to the wall"):
        load(tmp_path).predict(mach=20.0, altitude_km=40.0)


def test_bars_of_quantities_that_are_one_number_are_refused(copy_with_bars):
    change_arrays(copy_with_bars, "calibration", lambda arrays: arrays.update({"quantities.scale": np.float32(1.0)}))
    with pytest.raises(SureflowError, match=r"the model is damaged: scale has the shape"):
        load(copy_with_bars)


def test_bars_of_other_shapes_are_refused(copy_with_bars):
    def fewer_points(arrays):
        for name in ("fields.scale", "fields.sides"):
            arrays[name] = np.ascontiguousarray(arrays[name][..., :-1])

    change_arrays(copy_with_bars, "calibration", fewer_points)
    with pytest.raises(SureflowError, match=r"the model is damaged: scale has the shape"):
        load(copy_with_bars)


def test_finite_arrays_that_give_no_finite_answer_are_not_answered(copy_with_bars):
    change_arrays(
        copy_with_bars,
        "weights",
        lambda arrays: arrays.update({"model.fields": np.full_like(arrays["model.fields"], 1e308)}),
    )
    with pytest.raises(SureflowError, match=r"gives values that are not finite at mach=25, altitude_km=46"):
        load(copy_with_bars).predict(mach=25, altitude_km=46)
    smaller = np.ascontiguousarray
    change_arrays(
        copy_with_bars,
        "weights",
        lambda arrays: arrays.update({"model.inverse": smaller(arrays["model.inverse"][1:, 1:])}),
    )
    with pytest.raises(SureflowError, match=r"cannot be evaluated .* its arrays do not fit together"):
        load(copy_with_bars).predict(mach=25, altitude_km=46)


@pytest.mark.parametrize("name", ["model.json", "weights", "calibration"])
def test_links_out_of_the_folder_are_refused(copy_with_bars, tmp_path, name):
    path = copy_with_bars / name if name == "model.json" else file_of(copy_with_bars, name)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SureflowError, match=r"is a link: copy the file that it points to"):
        load(copy_with_bars)


def test_a_manifest_that_is_too_large_or_too_deep_is_refused_at_once(copy, monkeypatch):
    (copy / "model.json").write_text("[" * 100_000)
    with pytest.raises(SureflowError, match="is damaged: it is nested too deeply"):
        load(copy)
    (copy / "model.json").write_text(json.dumps({"schema": list(range(300_000))}))
    with pytest.raises(SureflowError, match="has the schema") as raised:
        load(copy)
    assert len(str(raised.value)) < 400
    monkeypatch.setattr("sureflow.validation.LARGEST_JSON", 1000)
    with pytest.raises(SureflowError, match=r"bytes, and at most 1,000 are read"):
        load(copy)
