"""A whole study in this process."""

import synthetic
from sureflow.report.page import write_report
from sureflow.study.agenda import StudySettings
from sureflow.study.conduct import run_study
from sureflow.study.work import Audience


def test_the_report_links_an_explorer_of_the_default_model(tmp_path):
    synthetic.runs().save(tmp_path / "runs.zarr")
    default = {"label": "default", "model": {"name": "auto", "folds": 2, "candidates": [{"name": "interpolation"}]}}
    settings = StudySettings.model_validate({"runs": str(tmp_path / "runs.zarr"), "models": [default]})
    said = []
    watch = Audience(say=said.append, advance=lambda done, note: None, begin=lambda total: None)
    report = run_study(tmp_path / "study", settings, watch)
    assert '<a href="explorer.html">' in report.read_text()
    page = report.with_name("explorer.html")
    assert "interpolation of" in page.read_text()
    said.clear()
    run_study(tmp_path / "study", settings, watch)
    assert "explorer: unchanged" in said
    page.unlink()
    assert "explorer.html" not in write_report(tmp_path / "study").read_text()
