"""What the reproduction adds to the report."""

import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from report import synthetic_study
from report.pages import Page
from sureflow.cli import app
from sureflow.report.findings import Findings
from sureflow.report.headline import headline
from sureflow.report.page import render, write_report
from sureflow.report.planes import case_means
from sureflow.report.study_figures import draw_study
from sureflow.report.study_tables import all_tables

HEADINGS = [
    "What was done",
    "The paper's figures, on these runs",
    "The paper's table beside ours",
    "The paper's claims",
    "Where the error is",
    "Calibration",
    "Error of the mesh",
    "Leaderboard",
    "Learning curves",
    "Training",
    "Provenance",
]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A complete made-up study with its report."""
    folder = synthetic_study.write(tmp_path_factory.mktemp("study"), synthetic_study.findings())
    write_report(folder)
    return folder


def test_the_page_is_whole_and_needs_nothing_else(study):
    page = Page((study / "report.html").read_text())
    assert page.headings == HEADINGS
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in page.sources)
    assert "No figure here" not in page.words
    assert "512 freshly drawn random" in page.words
    assert "12 from low Mach" in page.words
    assert "shares Mach 12 with the training region" in page.words
    assert "sha256:000" in page.words
    assert "Computed fields at Mach 24 and 44 km" in page.words
    assert "An error of 0.01 is 0.0100 m/s in u1" in page.words
    assert "diverged" in page.words


def test_figures_and_tables_lie_beside_the_page(study):
    figures = {path.name for path in (study / "figures").iterdir()}
    drawn = {name for name, figure in draw_study(Findings.read(study)).items() if figure is not None}
    assert figures == {f"{name}{suffix}" for name in drawn for suffix in (".png", ".pdf")}
    assert {"fields", "relative_errors", "miscalibration", "spatial_u1", "evidential_std", "error_plane"} <= drawn
    assert {path.suffix for path in (study / "tables").iterdir()} == {".csv", ".md", ".tex"}
    assert "0.0378" in (study / "tables/appendix.csv").read_text()


def test_the_report_is_the_same_when_made_again_and_removes_what_it_made_alone(study, tmp_path):
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    study = tmp_path
    (study / "figures/mine.png").write_bytes(b"a user's")
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    (study / "tables/draws.md").write_text("of an earlier study with other draws")
    done = CliRunner().invoke(app, ["report", str(study)])
    assert done.exit_code == 0, done.output
    assert done.output.strip().endswith("report.html")
    assert {path: path.read_bytes() for path in study.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("named", [False, True])
def test_a_study_says_what_it_reproduces_or_its_split_does(named):
    findings = synthetic_study.findings("ensemble", complete=False)
    if named:
        findings.results.configuration["reproduction"] = "leon2023"
        findings.results.configuration["split"] = {"kind": "random"}
    assert "The paper's claims" in Page(render(findings, {}, all_tables(findings))).headings


def test_results_of_earlier_versions_are_shown_alike():
    findings = synthetic_study.findings("ensemble", complete=False)
    earlier = all_tables(findings)["leaderboard"]
    for row in findings.results.rows:
        row["coordinates"] = "physical"
    assert all_tables(Findings(findings.results))["leaderboard"] == earlier
    assert earlier.rows[0][2] == "none; x, r"


def test_the_headline_follows_the_numbers():
    findings = synthetic_study.findings()
    first, second = headline(findings)
    assert "has the lowest error and the best calibration" in first
    assert "the paper's main claim holds" in first
    assert second.startswith(
        "The model that `sureflow train` takes by default, here pod-gp, has a mean absolute error of"
    )
    swapped = synthetic_study.findings("deterministic", "mve", "evidential", "ensemble")
    worse = [r | {"mae": 9.0} if r["label"] == "ensemble" else r for r in swapped.results.rows]
    swapped.results.rows[:] = worse
    first, second = headline(swapped)
    assert "does not hold as it stands" in first
    assert second.startswith("Of 23 claims")


@pytest.mark.parametrize("entry", [{"members": 10}, {"model": {"sampler": {"name": "ensemble", "members": 10}}}])
def test_the_ensemble_is_called_by_its_size(entry):
    findings = synthetic_study.findings()
    findings.results.configuration["models"] = [{"label": "ensemble", **entry}]
    assert "the paper's ensemble of 10 has" in headline(findings)[0]


@pytest.mark.parametrize("labels", [(), ("deterministic",), ("mve", "evidential")])
def test_missing_pieces_are_named_and_break_nothing(labels):
    findings = synthetic_study.findings(*labels, complete=False)
    figures = draw_study(findings)
    drawn = {name for name, figure in figures.items() if figure is not None}
    assert "fields" not in figures  # without maps, pictures of earlier ones stay
    page = Page(render(findings, {}, all_tables(findings)))
    absent = {"Training"} if findings.has_bars else {"Training", "Error of the mesh"}
    assert page.headings == [name for name in HEADINGS if name not in absent]
    assert drawn <= {"relative_errors", "miscalibration", "learning_curves"}
    assert "No figure here" in page.words
    assert "provenance.json is missing" in page.words


def test_without_models_that_the_paper_speaks_of_nothing_is_said_of_it():
    findings = synthetic_study.findings("interpolation", complete=False)
    page = Page(render(findings, {}, all_tables(findings)))
    assert not [name for name in page.headings if "paper" in name]
    assert "By variable" in page.headings
    assert "Leon" not in page.words
    assert headline(findings)[0].startswith("Interpolation, from 205 training runs, has the lowest mean absolute error")
    assert not {"appendix", "claims"} & all_tables(findings).keys()


def test_without_outer_domains_figures_have_no_empty_panels():
    findings = synthetic_study.findings()
    for rows in (findings.results.rows, findings.results.curves):
        rows[:] = [row for row in rows if row["domain"] == "in_domain"]
    drawn = draw_study(findings)
    for name in ("relative_errors", "miscalibration", "calibration_curves", "learning_curves"):
        figure = drawn[name]
        assert figure is not None
        assert [axis.get_title(loc="left") for axis in figure.axes] == ["in-domain"], name


def test_error_and_standard_deviation_share_a_color_scale():
    figure = draw_study(synthetic_study.findings())["spatial"]
    assert figure is not None
    panels = [axis for axis in figure.axes if axis.get_title(loc="left")]
    for error, std in zip(panels[::2], panels[1::2], strict=True):
        assert error.collections[0].get_clim() == std.collections[0].get_clim()


def test_the_default_model_is_called_by_what_it_is():
    findings = synthetic_study.findings("interpolation", complete=False)
    rows = [row | {"label": "default", "default": True} for row in findings.results.rows]
    findings.results.rows[:] = rows
    findings.results.configuration["models"] = [{"label": "default", "calibrate": True, "runs": 16}]
    assert findings.name("default") == "Interpolation, calibrated (default, 16 runs)"


def test_a_corner_run_counts_once_on_the_plane():
    findings = synthetic_study.findings("ensemble")
    once = case_means(findings, "ensemble", "mae")
    corner = [row for row in findings.results.cases if (row["mach"], row["altitude_km"]) == (10.0, 20.0)]
    findings.results.cases.extend(row | {"domain": "low_altitude"} for row in corner)
    assert case_means(findings, "ensemble", "mae") == once
    assert once[10.0, 20.0] == pytest.approx(np.mean([row["mae"] for row in corner]))


def test_other_draws_of_the_test_runs_give_the_ranking_error_bars():
    kinds = ("deterministic", "ensemble")
    findings = synthetic_study.findings(*kinds)
    results = findings.results
    for seed, worse in ((1, 1.2), (2, 0.9)):
        for kind in kinds:
            entry = next(entry for entry in results.configuration["models"] if entry["label"] == kind)
            results.configuration["models"].append(entry | {"label": f"{kind}-split={seed}", "split_seed": seed})
            own = [row for row in results.rows if row["label"] == kind]
            results.rows.extend(row | {"label": f"{kind}-split={seed}", "mae": worse * row["mae"]} for row in own)
    tables = all_tables(Findings(results))
    deterministic, ensemble = tables["draws"].rows
    errors = {kind: [findings.value("mae", kind, domain) or 0.0 for domain in findings.domains] for kind in kinds}
    wins = 3 * sum(a < b for a, b in zip(errors["ensemble"], errors["deterministic"], strict=True))
    assert (deterministic[-1], ensemble[-1]) == (f"{15 - wins} of 15", f"{wins} of 15")
    error = findings.value("mae", "ensemble", "in_domain")
    assert error is not None
    assert ensemble[1].value == pytest.approx(error * np.mean([1.0, 1.2, 0.9]))
    assert ensemble[1].spread == pytest.approx(error * np.std([1.0, 1.2, 0.9]))
    assert not any("split" in str(row[0]) for row in tables["leaderboard"].rows)
