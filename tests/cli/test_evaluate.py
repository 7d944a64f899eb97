"""`sureflow evaluate`, as a command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import synthetic
from sureflow import artifact
from sureflow.cli import app
from sureflow.data.dataset import Dataset
from sureflow.data.schema import Status
from sureflow.errors import SureflowError
from sureflow.evaluate.accuracy import mean_absolute_error
from sureflow.heads import MVE
from sureflow.learn import learn
from sureflow.models import DeepONetSettings
from sureflow.train.loop import Recipe, TrainSettings

SMALL = DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1)
RECIPE = Recipe(SMALL, MVE(), 1, TrainSettings(epochs=2, batch=64, points_per_run=16))


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUREFLOW_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return synthetic.write_store(tmp_path_factory.mktemp("runs") / "runs.zarr")


@pytest.fixture(scope="module")
def trained(runs):
    """A checkerboard inside of Mach 15..25 and 30..50 km."""
    (mach, altitude) = Dataset.from_store(runs).parameters.T
    box = (mach >= 15) & (mach <= 25) & (altitude >= 30) & (altitude <= 50)
    return box & ((mach / 5 + altitude / 10) % 2 == 0)


@pytest.fixture(scope="module")
def model(runs, trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "model"
    folder.mkdir()
    artifact.save(learn(Dataset.from_store(runs).select(trained), RECIPE, "body-fitted"), folder)
    return folder


def run(*arguments):
    result = CliRunner().invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_rows_as_json_are_the_errors_of_the_model(runs, model, trained):
    rows = json.loads(run(model, runs, "--json"))
    counts = {row["domain"]: row["n_runs"] for row in rows if row["region"] == "all"}
    assert counts == {"in_domain": 9 - trained.sum(), "out_of_domain": 16}
    data = Dataset.from_store(runs)
    mach, altitude = data.parameters.T
    outside = (mach < 15) | (mach > 25) | (altitude < 30) | (altitude > 50)
    mean, std = data.fields[trained].mean(axis=(0, 2)), data.fields[trained].std(axis=(0, 2))
    predicted = artifact.load(model).predictive(data.parameters[outside]).mean
    error = mean_absolute_error(*(
        (np.moveaxis(f, 1, -1) - mean).reshape(-1, 4).T / std[:, None] for f in (predicted, data.fields[outside])
    ))  # fmt: skip
    found = {row["variable"]: row["mae"] for row in rows if (row["domain"], row["region"]) == ("out_of_domain", "all")}
    np.testing.assert_allclose([found[name] for name in data.names], error, rtol=1e-5)


def test_a_table_for_people(runs, model, trained):
    text = run(model, runs)
    assert "in_domain" in text
    assert "miscalibration" in text
    assert "disturbed points" in text
    assert f"{trained.sum()} runs were trained on and are not tested" in text


def test_help_says_which_runs_are_tested():
    text = " ".join(run("--help").split())
    assert "A run whose condition was trained on or calibrated with is never tested." in text


def test_mistakes_end_in_a_sentence(runs, model, trained, tmp_path):
    with pytest.raises(SureflowError, match="paper's split"):
        run(model, runs, "--split", "paper")
    only = synthetic.write_store(tmp_path / "trained.zarr", Dataset.from_store(runs).parameters[trained])
    with pytest.raises(
        SureflowError, match="converged runs were trained on or calibrated with: give a store with other runs"
    ):
        run(model, only)
    finer = synthetic.write_store(tmp_path / "finer.zarr", shape=(12, 8))
    with pytest.raises(SureflowError, match="mesh of 48 points and these runs have 96"):
        run(model, finer)


def test_runs_without_a_training_run_are_measured_by_themselves(runs, model, trained, tmp_path):
    others = Dataset.from_store(runs).parameters[~trained]
    store = synthetic.write_store(tmp_path / "others.zarr", others, {0: Status.FAILED})
    assert "None of the training runs is in this store" in run(model, store)
