"""The report of studies of any kind, without a reproduction."""

import json
from dataclasses import replace

import pytest

from report import general_study, synthetic_study
from report.pages import Page
from sureflow.errors import SureflowError
from sureflow.report.findings import Findings
from sureflow.report.headline import headline
from sureflow.report.page import render, write_report
from sureflow.report.planes import case_means
from sureflow.report.reproductions import REPRODUCTIONS
from sureflow.report.sections import SECTIONS, times
from sureflow.report.study_figures import draw_study
from sureflow.report.study_tables import all_tables

DOMAINS = {"random": ("in_domain",), "outside": ("in_domain", "fast", "out_of_domain"), "named": ("cruise", "landing")}


def rendered(findings: Findings) -> Page:
    """The page without its pictures."""
    return Page(render(findings, {}, all_tables(findings)))


def test_the_explorer_beside_the_report_is_linked():
    findings = general_study.findings(bars=False, mesh="none")
    assert 'href="explorer.html"' in render(findings, {}, all_tables(findings), explorer="explorer.html")
    assert "explorer.html" not in render(findings, {}, all_tables(findings))


@pytest.mark.parametrize(
    ("mesh", "bars"),
    [("triangles", True), ("triangles", False), ("points", True), ("tetrahedra", True), ("none", False)],
)
def test_a_study_of_any_runs_has_a_report(tmp_path, mesh, bars):
    findings = general_study.findings(bars=bars, mesh=mesh)
    folder = synthetic_study.write(tmp_path, findings)
    page = Page(write_report(folder).read_text())
    missing = ("Training", "Quantities", "Verdicts", *([] if bars else ["Error of the mesh"]))
    assert page.headings == [title for title in SECTIONS if title not in missing]
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in page.sources)
    assert "the paper" not in page.words.lower()
    assert "An error of 0.01 is 0.0100 in pressure_coefficient, 0.100 K in T" in page.words
    figures = {path.stem for path in (folder / "figures").iterdir()}
    drawn = mesh in ("triangles", "points")
    assert {"relative_errors", "error_plane"} <= figures
    assert ("fields" in figures, "spatial" in figures) == (drawn, drawn and bars)
    assert ("calibration_curves" in figures, "coverage_plane" in figures) == (bars, bars)
    assert ("has error bars" in page.words) != bars
    assert ("these fields have the axes x, y, z" in page.words) == (mesh == "tetrahedra")


@pytest.mark.parametrize("n_parameters", [1, 2, 4])
@pytest.mark.parametrize("domains", DOMAINS)
def test_domains_and_parameters_may_be_any(domains, n_parameters):
    parameters = dict(zip("abcd"[:n_parameters], ("K", "", "m", "s"), strict=False))
    findings = general_study.findings(parameters, domains=DOMAINS[domains], mesh="none")
    page, figures = rendered(findings), draw_study(findings)
    for name in ("error_plane", "coverage_plane", "relative_errors", "miscalibration", "calibration_curves"):
        assert figures[name] is not None, name
    panels = figures["error_plane"].axes
    expected = {"a (K)"} if n_parameters <= 2 else {"a (K)", "b", "c (m)", "d (s)"}  # of two, the other goes up
    assert {axis.get_xlabel() for axis in panels} - {""} == expected
    for domain in DOMAINS[domains]:
        assert findings.domain_name(domain) in page.words


def test_errors_are_in_physical_units_where_these_are_known():
    findings = general_study.findings()
    table = all_tables(findings)["errors"]
    assert table.header == ("model", "domain", "pressure_coefficient", "T (K)", "k_t (m2/s2)")
    error = findings.value("mae", "pod-gp", "in_domain", "k_t")
    assert table.rows[1][-1].value == pytest.approx(100 * error)
    del findings.results.data["fields"]
    table = all_tables(Findings(findings.results))["errors"]
    assert table.header[-1] == "k_t"
    assert table.rows[1][-1].value == error
    assert "normalized" in table.caption


def test_models_and_scalings_of_users_keep_their_names():
    rows = {row[0]: row for row in all_tables(general_study.findings())["leaderboard"].rows}
    assert rows["my-model"][1:4] == ("calibrated", "my-scaling; x, y", 60)
    assert rows["Interpolation (default)"][2] == "my-scaling"


def test_the_headline_is_about_the_default_and_the_best():
    findings = general_study.findings()
    (only,) = headline(findings)
    assert only.startswith("The model that `sureflow train` takes by default, here interpolation, has a mean absolute")
    for row in findings.results.rows:
        row["mae"] *= 0.1 if row["label"] == "pod-gp" else 1.0
    default, best = headline(Findings(findings.results))
    assert default == only
    assert best.startswith("POD-GP, from 60 training runs, has the lowest mean absolute error in-domain of this study")
    without = [row for row in findings.results.rows if not row.get("default")]
    assert headline(Findings(replace(findings.results, rows=without))) == [best]


def test_a_study_without_rows_says_so():
    findings = general_study.findings(mesh="none")
    empty = Findings(replace(findings.results, rows=[], cases=[], curves=[]))
    page = rendered(empty)
    assert "This study has no results." in page.words
    assert not any(draw_study(empty).values())


def test_the_best_six_models_are_compared_and_the_default():
    findings = general_study.findings(mesh="none")
    rows = [row | {"label": f"m{n}", "mae": n * row["mae"]} for row in findings.results.rows for n in range(1, 9)]
    rows = [row | {"default": False} for row in rows] + [row for row in findings.results.rows if row.get("default")]
    for row in rows:
        row["mae"] *= 100.0 if row.get("default") else 1.0
    many = Findings(replace(findings.results, rows=rows))
    assert len(many.shown) == 6
    assert {"default", "m1", "m2"} <= set(many.shown)
    assert len(all_tables(many)["leaderboard"].rows) == 9


def test_names_from_a_study_are_escaped():
    findings = general_study.findings()
    for row in findings.results.rows:
        row["label"], row["model"] = "<script>alert(1)</script>", "$x$"
    page = render(findings, {}, all_tables(findings))
    assert "<script>" not in page
    assert draw_study(findings)["relative_errors"] is not None


def test_a_run_of_two_domains_counts_once():
    findings = general_study.findings({"a": "", "b": ""})
    once = case_means(findings, "default", "mae")
    findings.results.cases.extend(row | {"domain": "corner"} for row in list(findings.results.cases))
    assert case_means(findings, "default", "mae") == once


def test_times_are_summed_by_kind_of_stage():
    seconds = {"selection 0": 50.0, "selection 1": 100.0, "train mve": 7200.0, "report": 8.6}
    assert times({"seconds": {"runs": 327.0} | seconds}) == {
        "time for the runs": "5 min",
        "time for selection": "2 min (2 stages)",
        "time for training": "2.0 h",
        "time for report": "8.6 s",
    }


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("results.json", b"{", "is damaged"),
        ("results.json", json.dumps({"schema": "other"}).encode(), "has schema"),
        ("maps.npz", b"PK no", "is damaged"),
        ("provenance.json", b"[1", "is damaged"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, words):
    folder = synthetic_study.write(tmp_path, general_study.findings())
    (folder / name).write_bytes(content)
    with pytest.raises(SureflowError, match=f"{name}.*{words}"):
        write_report(folder)


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(SureflowError, match=r"holds no study"):
        write_report(tmp_path)


def test_an_unknown_reproduction_is_refused():
    findings = general_study.findings()
    findings.results.configuration["reproduction"] = "leon2032"
    with pytest.raises(SureflowError, match=r"reproduction='leon2032' is not one of .*did you mean leon2023"):
        rendered(findings)
    assert "leon2023" in REPRODUCTIONS
