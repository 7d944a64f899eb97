"""What is refused before anything is written, what `--overwrite` deletes, and what the provenance keeps."""

import json

import pytest

from studies import write_study
from sureflow.campaign.versions import versions
from sureflow.errors import Exists, SureflowError
from sureflow.study.agenda import StudySettings, load_study
from sureflow.study.conduct import run_study
from sureflow.study.stages import Stage
from sureflow.study.work import (
    Audience,
    Costs,
    Study,
    all_versions,
    read_provenance,
    remark_on_versions,
    write_provenance,
)

SILENT = Audience(say=lambda words: None, advance=lambda done, note: None, begin=lambda total: None)
SETTINGS = {"campaign": "quick", "models": [{"label": "field", "model": {"name": "interpolation"}}]}


@pytest.fixture
def study(tmp_path) -> Study:
    settings = StudySettings.model_validate(SETTINGS)
    return Study(tmp_path, settings, SILENT, Costs(settings))


def test_an_unknown_campaign_leaves_nothing_behind(tmp_path):
    settings = StudySettings.model_validate(SETTINGS | {"campaign": "papr"})
    with pytest.raises(SureflowError, match="papr"):
        run_study(tmp_path / "study", settings, SILENT)
    assert [path.name for path in (tmp_path / "study").iterdir()] == [".study.toml.lock"]


def test_runs_of_another_campaign_are_deleted_on_request_alone(tmp_path, monkeypatch):
    settings, folder = load_study(str(write_study(tmp_path))), tmp_path / "study"
    campaign = tmp_path / "campaign.toml"
    original = campaign.read_text()
    campaign.write_text(original.replace("altitude_km = [20,", "altitude_km = [21,"))
    with pytest.raises(Exists, match=r"holds the runs of another campaign \(condition 0 .*allow them to be deleted"):
        run_study(folder, settings, SILENT)
    assert not (folder / "study.toml").exists()

    deletes = []

    def stop(path, campaign, workers, options, watch):
        deletes.append(options.overwrite)
        raise KeyboardInterrupt

    monkeypatch.setattr("sureflow.study.conduct.run_levels", stop)
    for text in (campaign.read_text(), original):
        campaign.write_text(text)
        with pytest.raises(KeyboardInterrupt):
            run_study(folder, settings, SILENT, overwrite=True)
    assert deletes == [True, False]


def test_a_stage_that_was_interrupted_goes_on_counting(study, monkeypatch):
    now = iter(range(0, 1000, 10))  # ten seconds between two looks at the clock
    monkeypatch.setattr("sureflow.study.work.time.perf_counter", lambda: float(next(now)))

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.stage(Stage("train field", {}, [], interrupted))
    assert read_provenance(study.folder)[0] == {"train field": 10.0}
    study.stage(Stage("train field", {}, [], lambda: None))
    assert study.clock == {"train field": 20.0}
    study.stage(Stage("train field", {"epochs": 3}, [], lambda: None))  # done again, not on
    assert study.clock == {"train field": 10.0}


def test_times_of_stages_that_are_no_more_go(study):
    study.clock.update({"train other": 5.0, "train field": 7.0})
    write_provenance(study)
    assert read_provenance(study.folder)[0] == {"train field": 7.0}


def test_other_versions_are_said_and_kept(study):
    assert remark_on_versions(study) == ""
    assert all_versions(study) == versions()
    older = Study(study.folder, study.settings, SILENT, study.costs, {}, versions() | {"jax": "0.0.1"})
    assert "was begun with other versions (jax 0.0.1 there and" in remark_on_versions(older)
    assert all_versions(older)["jax"] == f"0.0.1, then {versions()['jax']}"
    write_provenance(older)
    again = Study(study.folder, study.settings, SILENT, study.costs, *read_provenance(study.folder))
    assert remark_on_versions(again) == ""
    assert all_versions(again) == all_versions(older)
    assert json.loads((study.folder / "provenance.json").read_bytes())["versions"] == all_versions(older)
