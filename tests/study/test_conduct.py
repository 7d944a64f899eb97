"""Stages of a study in this process."""

import synthetic
from sureflow.study.agenda import StudySettings
from sureflow.study.conduct import explorer_stage
from sureflow.study.training import train_model
from sureflow.study.work import Audience, Costs, Study


def test_the_default_model_gets_an_explorer(tmp_path):
    synthetic.runs().save(tmp_path / "runs.zarr")
    default = {"label": "default", "model": {"name": "auto", "folds": 2, "candidates": [{"name": "interpolation"}]}}
    settings = StudySettings.model_validate({"runs": str(tmp_path / "runs.zarr"), "models": [default]})
    said: list[str] = []
    watch = Audience(say=said.append, advance=lambda done, note: None, begin=lambda total: None)
    study = Study(tmp_path, settings, watch, Costs(settings))
    train_model(study, settings.models[0], settings.train, synthetic.runs())
    explorer_stage(study)
    assert "A model of 25 runs (interpolation)" in (tmp_path / "explorer.html").read_text()
    explorer_stage(study)
    assert said[-1] == "explorer: unchanged"
