"""Test and out-of-domain runs are for testing only: what they hold changes nothing that is trained, calibrated or chosen."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import synthetic
from small_networks import SMALL
from sureflow.data.runs import Runs
from sureflow.data.sources import ArrayFields
from sureflow.reproduction.leon2023.domains import PaperDomains
from sureflow.study.agenda import StudySettings
from sureflow.study.division import StudyRuns
from sureflow.study.training import select, train_model
from sureflow.study.work import Audience, Costs, Study

MACH = np.array([10.0, 13.0, 16.0, 19.0, 22.0, 25.0, 30.0])
ALTITUDE_KM = np.array([20.0, 30.0, 38.0, 46.0, 60.0])
SETTINGS = {
    "campaign": "quick",  # only the rough costs of the progress bar come from it
    "split": {"kind": "paper", "test_runs": 3},
    "train": {"epochs": 2, "points_per_run": 16, "batch": 64},
    "selection": {
        "learning_rate": [1e-3, 1e-2], "batch": [64], "schedule": ["cosine"], "epochs": 1, "held_out": 3,
    },
    "models": [
        {
            "label": "default", "scaling": "freestream", "calibrate": True,
            "model": {"name": "auto", "folds": 2, "candidates": [{"name": "interpolation"}, {"name": "pod-gp", "modes": 2}]},
        },
        {"label": "network", "uq": "deterministic", "model": {"name": "deeponet", **asdict(SMALL)}},
    ],
}  # fmt: skip


def everything_trained(runs: Runs, folder: Path) -> dict[str, bytes]:
    """All files of models and selection that a study leaves."""
    settings = StudySettings.model_validate(SETTINGS)
    watch = Audience(say=lambda line: None, advance=lambda done, note: None, begin=lambda total: None)
    study, data = Study(folder, settings, watch, Costs(settings), {}), StudyRuns(runs, settings)
    train = select(study, data.training)
    for entry in settings.models:
        train_model(study, entry, train, data)
    kept = (*folder.rglob("model.json"), *folder.rglob("*-*.safetensors"), *folder.rglob("score.json"))
    return {str(file.relative_to(folder)): file.read_bytes() for file in kept}


@pytest.fixture(scope="module")
def runs() -> Runs:
    return synthetic.runs(np.array([(mach, altitude) for mach in MACH for altitude in ALTITUDE_KM]))


def test_test_runs_change_nothing_that_is_trained_calibrated_or_chosen(runs, tmp_path):
    tested = ~PaperDomains(test_runs=3)(runs).train
    assert tested.sum() > 20
    fields = runs.array().copy()
    fields[tested] = np.nan
    seen = everything_trained(runs, tmp_path / "seen")
    blind = everything_trained(replace(runs, fields=ArrayFields(fields)), tmp_path / "blind")
    assert len(seen) == 7  # two models, their arrays, the bars of one, and two scores
    assert seen == blind


def test_training_runs_do_change_it(runs, tmp_path):
    """The comparison above can fail."""
    training = np.flatnonzero(PaperDomains(test_runs=3)(runs).train)
    fields = runs.array().copy()
    fields[training[0]] *= 1.001
    settings = StudySettings.model_validate(SETTINGS)
    checksums = {
        StudyRuns(each, settings).training.checksum for each in (runs, replace(runs, fields=ArrayFields(fields)))
    }
    assert len(checksums) == 2
