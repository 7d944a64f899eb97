"""`sureflow train`: what is in a model's folder, and that no model is lost."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sureflow
from sureflow.surrogate.model_folder import alone_in
from sureflow.train.checkpoint import epochs_done

SMALL = ["model.encoder_width=4", "model.decoder_width=8", "model.decoder_layers=1", "train.batch=64", "members=2"]
COMMAND = [sys.executable, "-m", "sureflow"]


def networks(runs, output, *more, epochs=3):
    settings = [f"--set={setting}" for setting in (*SMALL, f"train.epochs={epochs}")]
    return ["train", str(runs), "-o", str(output), *settings, *more]


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] != "."}


@pytest.fixture(scope="module")
def runs(stores_of_all_kinds):
    return stores_of_all_kinds / "block.zarr"


@pytest.fixture
def model(run, runs, tmp_path):
    run("train", runs, "-o", tmp_path / "model", "--model", "interpolation")
    return tmp_path / "model"


def test_a_model_folder_holds_what_it_should(run, runs, tmp_path):
    ended = run(*networks(runs, "model"))
    names = sorted(files(tmp_path / "model"))
    assert names[:4] == ["events.jsonl", "experiment.toml", "model.json", "provenance.json"]
    assert names[4].startswith("weights-")
    assert f"Written to model/: {', '.join(names)}" in ended.out
    events = [json.loads(line) for line in (tmp_path / "model/events.jsonl").read_text().splitlines()]
    assert [event["epoch"] for event in events] == [1, 2, 3]
    assert json.loads((tmp_path / "model/provenance.json").read_text())["runs"]["train"] == 30


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("fno", ["model.modes=2", "model.width=4", "model.layers=1", "members=2", "train.epochs=2"]),
        ("nbf", ["model.members=2", "model.steps=20", "model.basis_width=8", "model.train.epochs=2"]),
        ("neural-process", ["model.width=4", "model.layers=1", "train.epochs=2"]),
    ],
)
def test_models_of_every_kind_are_trained_and_predict(run, runs, tmp_path, model, settings):
    run("train", runs, "-o", "model", "--model", model, *(f"--set={setting}" for setting in settings))
    assert len((tmp_path / "model/events.jsonl").read_text().splitlines()) == 2
    trained = sureflow.load(tmp_path / "model")
    assert trained.model_name == model
    assert np.isfinite(trained.predict(angle=1.1, thickness=0.4).p_std).all()


def test_the_resolved_experiment_trains_the_same_model(run, runs, model, tmp_path):
    run("train", model / "experiment.toml", "-o", tmp_path / "again")
    one, other = files(model), files(tmp_path / "again")
    assert one.keys() == other.keys()
    assert all(one[name] == other[name] for name in one if name not in ("provenance.json", "experiment.toml"))


def test_killed_and_started_again_it_ends_in_the_same_weights(run, runs, tmp_path):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    run(*networks(runs, whole, epochs=150))
    kill_after_checkpoint(networks(runs, torn, epochs=150), torn / "checkpoint.safetensors")
    assert not (torn / "model.json").exists()
    assert "continuing after epoch" in run(*networks(runs, torn, epochs=150)).remarks
    one, other = files(whole), files(torn)
    assert one["model.json"] == other["model.json"]
    assert one.keys() == other.keys()
    assert len(other["events.jsonl"].splitlines()) == 150


def kill_after_checkpoint(arguments, checkpoint, how=signal.SIGKILL):
    """Stop the command as soon as a checkpoint appears."""
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    try:
        while not checkpoint.exists():
            assert process.poll() is None, "training ended before it could be stopped"
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        os.kill(process.pid, how)
        _, remarks = process.communicate()
    return process.returncode, remarks


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_it_says_how_to_go_on(runs, tmp_path, how, code):
    command = networks(runs, tmp_path / "model", epochs=5000)
    ended, remarks = kill_after_checkpoint(command, tmp_path / "model/checkpoint.safetensors", how)
    assert ended == code
    assert remarks.splitlines()[-1].endswith("epochs are kept; run the same command again to continue")
    assert "Traceback" not in remarks


def test_a_replacement_that_was_killed_leaves_the_old_model_and_goes_on(run, refused, runs, model):
    before = files(model)
    command = networks(runs, model, "--overwrite", epochs=150)
    kill_after_checkpoint(command, model / "checkpoint.safetensors")
    assert before.items() <= files(model).items()
    assert sureflow.load(model).model_name == "interpolation"
    done = epochs_done(model / "checkpoint.safetensors")
    assert f"continuing after epoch {done}" in run(*command).remarks
    assert sureflow.load(model).model_name == "deeponet"


def test_a_model_is_replaced_only_when_asked(run, refused, runs, model):
    before = files(model)
    sentence = refused("train", runs, "-o", model, "--model", "pod-gp")
    assert sentence.endswith("holds a trained model: choose another folder, or allow it to be replaced (--overwrite)")
    assert files(model) == before
    run(*networks(runs, model, "--overwrite", epochs=1))
    run("train", runs, "-o", model, "--model", "pod-gp", "--overwrite")
    assert sureflow.load(model).model_name == "pod-gp"
    assert "events.jsonl" not in files(model)


def test_runs_that_cannot_be_learned_from_cost_no_model(refused, runs, model):
    before = files(model)
    sentence = refused("train", runs, "-o", model, "--overwrite", "--set=split.kind=random", "--set=split.test_runs=30")
    assert "leaves none to train on" in sentence
    assert files(model) == before


def test_two_trainings_do_not_share_a_folder(refused, runs, tmp_path):
    with alone_in(tmp_path / "model"):
        sentence = refused("train", runs, "-o", "model", "--model", "interpolation")
    assert sentence == ("another process is making the model in model: wait for it, stop it, or choose another folder")


@pytest.mark.parametrize("name", ["notes.txt", "experiment.toml"])
def test_files_of_the_users_own_are_never_touched(refused, runs, tmp_path, name):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    sentence = refused("train", runs, "-o", "mine", "--overwrite")
    assert sentence == f"mine holds files that do not belong to a model, such as {name}: choose another folder"
    assert (tmp_path / "mine" / name).read_text() == "mine"


def test_the_best_model_is_kept_and_the_table_shown(run, runs, tmp_path):
    candidates = 'model.candidates=[{name="interpolation"}, {name="pod-gp", modes=1}]'
    ended = run("train", runs, "--model=auto", "--set", candidates, "--set", "model.folds=2", "-o", "model")
    assert "<- kept" in ended.out
    assert re.search(r"pod-gp +Gaussian process  ", ended.out)
    assert "kept: the least geometric mean of error and sides, of those that went through all folds" in ended.out
    rows = json.loads((tmp_path / "model/provenance.json").read_text())["comparison"]
    kept = next(row["model"] for row in rows if row["chosen"])
    assert kept == min(rows, key=lambda row: row["mae"])["model"]
    assert sureflow.load(tmp_path / "model").model_name == kept


def test_an_ending_that_nothing_reads_is_named(refused, tmp_path):
    (tmp_path / "runs.ply").write_text("")
    assert refused("train", "runs.ply", "-o", "model").startswith(
        "runs.ply: the ending '.ply' is not one of .zarr, .npz"
    )
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "output is missing"),
        (["-o", "m", "--model", "pod-pg"], "model.name='pod-pg' is not one of"),
        (["-o", "m", "--model", "interpolation", "--uq", "mve"], "uq is for networks, and model.name is interpolation"),
        (["-o", "m", "--set", "train.epoch=3"], "model.train.epoch is not a setting; did you mean epochs?"),
        (["-o", "m", "--scaling", "freestream"], "scaling"),
        (["-o", "."], ". cannot hold results"),
        (["-o", "file/m"], "file/m cannot be written"),
        (["-o", "file"], "file cannot be written"),
    ],
)
def test_mistakes(refused, runs, tmp_path, more, sentence):
    (tmp_path / "file").write_text("")
    assert sentence in refused("train", runs, *more)
    assert not (tmp_path / "m").exists()


def test_a_cache_that_cannot_be_written_does_no_harm(run, runs, tmp_path, monkeypatch):
    """As in a read-only home: programs are compiled again and again, and that is all."""
    monkeypatch.setenv("SUREFLOW_CACHE", "/proc/nowhere")
    few = ["--set", "train.epochs=1", "--set", "train.points_per_run=4", "--set", "members=1"]
    run("train", runs, "-o", tmp_path / "model", "--model", "deeponet", "--uq", "deterministic", *few)
    assert (tmp_path / "model/model.json").exists()
