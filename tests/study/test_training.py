"""The search for training settings, and what is refused before anything is trained."""

from dataclasses import asdict

import numpy as np
import pytest
from pydantic import ValidationError

import synthetic
from small_networks import SMALL
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.study.agenda import StudySettings
from sureflow.study.division import StudyRuns
from sureflow.study.judging import evaluated_with
from sureflow.study.training import best, scores, select, train_model
from sureflow.study.work import Audience, Costs, Study
from sureflow.surrogate.artifact import load

CONDITIONS = np.array(
    [(m, a) for m in (10.0, 13.0, 16.0, 19.0, 22.0, 25.0, 30.0) for a in (20.0, 30.0, 38.0, 46.0, 60.0)]
)
NETWORK = {"label": "network", "uq": "deterministic", "model": {"name": "deeponet", **asdict(SMALL)}}
SILENT = Audience(say=lambda line: None, advance=lambda done, note: None, begin=lambda total: None)
FIELD_MODEL = {"label": "field", "model": {"name": "interpolation"}, "scaling": "none"}


def settings(*models: dict, **others) -> StudySettings:
    shown = {"mach": 25.0, "altitude_km": 46.0}
    common = {"campaign": "quick", "split": {"kind": "paper", "test_runs": 3}, "shown": shown, "models": models}
    return StudySettings.model_validate(common | others)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return synthetic.runs(CONDITIONS)


def test_a_candidate_that_diverges_is_lost_and_said_so(runs, tmp_path):
    search = {"learning_rate": [1e-3, 1e30], "batch": [64], "schedule": ["constant"], "epochs": 1, "held_out": 3}
    chosen = settings(NETWORK, selection=search, train={"epochs": 1, "points_per_run": 16})
    said: list[str] = []
    watch = Audience(say=said.append, advance=lambda done, note: None, begin=lambda total: None)
    study = Study(tmp_path, chosen, watch, Costs(chosen), {})
    assert select(study, StudyRuns(runs, chosen).training).learning_rate == 1e-3
    assert [score["mae"] is None for score in scores(study)] == [False, True]
    assert any(line.startswith("selection 1: not eligible, since the loss of u1, member 1 of 1,") for line in said)
    assert not list(tmp_path.rglob("checkpoint.safetensors"))


def test_without_a_candidate_that_converged_there_is_no_choice():
    with pytest.raises(SureflowError, match=r"every candidate diverged with selection.learning_rate=\[0.1, 1.0\]"):
        best([{"learning_rate": 1.0, "mae": None}, {"learning_rate": 0.1, "mae": None}])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"runs": 500}, r"model 'field': runs=500 of 12 training runs cannot be chosen"),
        ({"runs": 1}, r"model 'field': 1 converged runs are too few to learn from"),
        ({"runs": 4, "model": {"name": "auto"}}, r"model 'field': 4 runs are too few to compare"),
    ],
)
def test_numbers_of_runs_that_cannot_be_are_refused_first(runs, model, words):
    with pytest.raises(SureflowError, match=words):
        StudyRuns(runs, settings(NETWORK, FIELD_MODEL | model)).require_runs()


def test_whatever_an_evaluation_depends_on_is_among_its_inputs(runs):
    def inputs(model: dict, **others) -> dict:
        chosen = settings(model, **others)
        return evaluated_with(chosen.models[0], StudyRuns(runs, chosen))

    plain = inputs(FIELD_MODEL)
    assert plain == inputs(FIELD_MODEL)
    assert plain["row"]["coordinates"] is None
    assert plain["shown"] == {"mach": 25.0, "altitude_km": 46.0}
    # Another space with the same test runs: the study's split differs, the entry's does not.
    elsewhere = inputs(FIELD_MODEL | {"split_seed": 0}, split={"kind": "paper", "test_runs": 3, "seed": 1})
    assert elsewhere["split"] == plain["split"]
    assert elsewhere["space"] != plain["space"]
    for change in ({"model": {"name": "auto"}}, {"series": "field"}, {"scaling": "freestream"}, {"runs": 8}):
        assert inputs(FIELD_MODEL | change) != plain, change


def test_results_hold_no_path_of_the_machine(tmp_path):
    stored = StudySettings.model_validate({"runs": tmp_path / "runs.zarr", "models": [FIELD_MODEL]})
    assert stored.portable()["runs"] == "runs.zarr"
    assert settings(FIELD_MODEL, campaign=str(tmp_path / "own.toml")).portable()["campaign"] == "own.toml"
    assert settings(FIELD_MODEL).portable()["campaign"] == "quick"


def test_a_series_with_a_list_of_runs_is_a_model_for_each():
    curve = {"series": "interpolation", "model": {"name": "interpolation"}, "runs": [4, 9]}
    settings = StudySettings.model_validate({"campaign": "quick", "models": [curve]})
    assert [(entry.label, entry.series, entry.runs) for entry in settings.models] == [
        ("interpolation-4", "interpolation", 4),
        ("interpolation-9", "interpolation", 9),
    ]


def test_networks_of_few_runs_are_calibrated_on_training_runs_that_they_have_not_seen(tmp_path):
    many = synthetic.runs(np.array([(m, a) for m in np.linspace(10.0, 30.0, 11) for a in np.linspace(20.0, 60.0, 9)]))
    entry = NETWORK | {"uq": "ensemble", "members": 2, "runs": 6, "calibrate": True}
    chosen = settings(entry, train={"epochs": 1, "points_per_run": 16})
    data = StudyRuns(many, chosen)
    train_model(Study(tmp_path, chosen, SILENT, Costs(chosen), {}), chosen.models[0], chosen.train, data)
    calibration = load(tmp_path / "models" / "network").calibration
    assert calibration is not None
    assert calibration.fields.runs == data.division.train.sum() - 6


def test_networks_of_all_runs_have_none_to_calibrate_on():
    with pytest.raises(ValidationError, match="let it learn from fewer runs"):
        settings(NETWORK | {"calibrate": True})
