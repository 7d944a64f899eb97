"""Stages of a study in this process."""

import pytest

import synthetic
from mesh_pairs import COARSE, COARSER, FINE, runs
from sureflow.errors import SureflowError
from sureflow.evaluate.results import Results
from sureflow.study.agenda import StudySettings
from sureflow.study.conduct import explorer_stage, run_study
from sureflow.study.division import StudyRuns
from sureflow.study.training import train_model
from sureflow.study.work import Audience, Costs, Study


def test_the_default_model_gets_an_explorer(tmp_path):
    synthetic.runs().save(tmp_path / "runs.zarr")
    default = {"label": "default", "model": {"name": "auto", "folds": 2, "candidates": [{"name": "interpolation"}]}}
    settings = StudySettings.model_validate(
        {"runs": str(tmp_path / "runs.zarr"), "split": {"kind": "random", "test_runs": 5}, "models": [default]}
    )
    said: list[str] = []
    watch = Audience(say=said.append, advance=lambda done, note: None, begin=lambda total: None)
    study = Study(tmp_path, settings, watch, Costs(settings))
    data = StudyRuns(synthetic.runs(), settings)
    train_model(study, settings.models[0], settings.train, data)
    explorer_stage(study)
    assert f"A model of {len(data.training)} runs (interpolation)" in (tmp_path / "explorer.html").read_text()
    explorer_stage(study)
    assert said[-1] == "explorer: unchanged"


def mesh_study(folder, **more):
    """A calibrated interpolation of runs that others tell the error of the mesh of."""
    pairs = synthetic.grid()[::2]
    for name, shape, where in (("runs", COARSE, None), ("fine", FINE, pairs), ("coarse", COARSER, pairs)):
        runs(shape, where).save(folder / f"{name}.zarr")
    told = {"finer": str(folder / "fine.zarr"), "coarser": str(folder / "coarse.zarr")}
    model = {"label": "interpolation", "model": {"name": "interpolation"}, "calibrate": True}
    return StudySettings.model_validate(
        {
            "runs": str(folder / "runs.zarr"),
            "split": {"kind": "random", "test_runs": 5},
            "mesh_error": told,
            "models": [model | more],
        }
    )


def test_a_study_says_which_part_of_the_bars_dominates(tmp_path):
    silent = Audience(say=lambda words: None, advance=lambda done, note: None, begin=lambda total: None)
    page = run_study(tmp_path / "study", mesh_study(tmp_path), silent).read_text()
    assert "<h2" in page
    assert "is the larger part of the bars of" in page
    rows = Results.read(tmp_path / "study").bar_parts
    assert {"u1", "T", "stand_off"} <= {row["name"] for row in rows}
    assert (tmp_path / "study" / "figures" / "bar_parts.png").exists()
    assert str(tmp_path) not in (tmp_path / "study" / "results.json").read_text()


def test_meshes_that_do_not_fit_are_refused_before_anything_is_written(tmp_path):
    silent = Audience(say=lambda words: None, advance=lambda done, note: None, begin=lambda total: None)
    settings = mesh_study(tmp_path)
    runs((24, 24), synthetic.grid()[::2]).save(tmp_path / "coarse.zarr", overwrite=True)
    with pytest.raises(SureflowError, match="model 'interpolation': meshes of 24x24 and 16x16 cells are not nested"):
        run_study(tmp_path / "study", settings, silent)
    assert not [entry for entry in (tmp_path / "study").iterdir() if not entry.name.startswith(".")]


def test_the_error_of_the_mesh_needs_calibrated_bars(tmp_path):
    silent = Audience(say=lambda words: None, advance=lambda done, note: None, begin=lambda total: None)
    with pytest.raises(SureflowError, match="the study has none: give a model calibrate = true"):
        run_study(tmp_path / "study", mesh_study(tmp_path, calibrate=False), silent)
