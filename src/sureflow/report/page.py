"""The report of a study: one HTML file that needs nothing else, and its figures and tables as files beside it."""

import base64
import html
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from matplotlib.figure import Figure

from sureflow.data.store import explain_writing
from sureflow.files import write_atomically
from sureflow.report.claims import Claim, Finding, Verdict, judge_all
from sureflow.report.export import FORMATS, Table, number, share, to_html, write_tables
from sureflow.report.figures import save
from sureflow.report.findings import DOMAIN_NAMES, Findings
from sureflow.report.paper import CITATION
from sureflow.report.study_figures import draw_study
from sureflow.report.study_tables import all_tables

REPORT = "report.html"
FIGURES, TABLES = "figures", "tables"
VERDICT_CLASS = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNTESTED: "untested"}


def write_report(folder: Path) -> Path:
    """Make report.html, figures/ and tables/ of a study from its stored results; returns the page."""
    findings = Findings.read(folder)
    figures, tables = draw_study(findings), all_tables(findings)
    with explain_writing(folder):
        pictures = _write_figures(figures, folder / FIGURES)
        _remove_stale(folder / TABLES, FORMATS, tables)
        write_tables(tables.values(), folder / TABLES)
        write_atomically(folder / REPORT, render(findings, pictures, tables).encode())
    return folder / REPORT


def _write_figures(figures: Mapping[str, Figure | None], folder: Path) -> dict[str, bytes]:
    """Every figure that could be drawn as PNG and PDF; returns the PNGs."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    _remove_stale(folder, (".png", ".pdf"), drawn)
    for name, figure in drawn.items():
        for suffix in (".png", ".pdf"):
            beside = folder / f".{name}.part{suffix}"
            save(figure, beside)
            os.replace(beside, folder / f"{name}{suffix}")
            figure.set_layout_engine("none")  # what the first drawing laid out need not be laid out again
    return {name: (folder / f"{name}.png").read_bytes() for name in drawn}


def _remove_stale(folder: Path, suffixes: Iterable[str], kept: Iterable[str]) -> None:
    """What an earlier report left and this one does not make would be taken for a part of it."""
    for path in sorted(folder.glob("*")):
        if path.suffix in suffixes and path.stem not in kept:
            path.unlink()


@dataclass(frozen=True)
class Material:
    """What the sections of the page are made from."""

    findings: Findings
    pictures: Mapping[str, bytes]
    tables: Mapping[str, Table]
    judged: Sequence[tuple[Claim, Finding]]

    def figure(self, name: str, caption: str, *, missing: str, narrow: bool = True) -> str:
        """A figure with its caption; what to do if it could not be drawn."""
        if name not in self.pictures:
            return note("missing", f"No figure here: {missing}")
        kind = ' class="narrow"' if narrow else ""
        words = html.escape(caption)
        source = f"data:image/png;base64,{base64.b64encode(self.pictures[name]).decode()}"
        return f'<figure{kind}><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'

    def table(self, name: str, *, missing: str) -> str:
        table = self.tables.get(name)
        return note("missing", f"No table here: {missing}") if table is None else to_html(table)


def render(findings: Findings, pictures: Mapping[str, bytes], tables: Mapping[str, Table]) -> str:
    """The whole page, with its pictures (PNG) in it."""
    material = Material(findings, pictures, tables, judge_all(findings))
    sections = {name: make(material) for name, make in SECTIONS.items()}
    links = "".join(f'<a href="#{anchor(name)}">{html.escape(name)}</a> ' for name in sections)
    body = [first_screen(material), f"<nav>{links}</nav>"]
    body += [f'<h2 id="{anchor(name)}">{html.escape(name)}</h2>\n{content}' for name, content in sections.items()]
    template = Template((resources.files("sureflow.report") / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=html.escape(title_of(findings)), body="\n".join(body))


def title_of(findings: Findings) -> str:
    preset = findings.results.configuration.get("preset")
    return "Errors and error bars of hypersonic flow surrogates" + (f" ({preset} study)" if preset else "")


def first_screen(material: Material) -> str:
    findings = material.findings
    described = findings.results.configuration.get("description") or ""
    runs = findings.results.data.get("runs") or {}
    trained = f"{runs['train']} training runs" if "train" in runs else ""
    subtitle = " · ".join(html.escape(str(part)) for part in (described, trained) if part)
    return "\n".join(
        [
            f"<h1>{html.escape(title_of(findings))}</h1>",
            f'<p class="subtitle">{subtitle}</p>',
            f'<p class="result">{html.escape(" ".join(headline(findings, material.judged)))}</p>',
            material.table("summary", missing="the study has no rows; run `sureflow study`."),
        ]
    )


def headline(findings: Findings, judged: Sequence[tuple[Claim, Finding]]) -> tuple[str, str]:
    """The result in two sentences, from the numbers."""
    return _about_the_paper(findings, judged), _about_the_default(findings, judged)


def _about_the_paper(findings: Findings, judged: Sequence[tuple[Claim, Finding]]) -> str:
    error, calibration = judged[0][1].verdict, judged[1][1].verdict
    if "ensemble" not in findings.labels or Verdict.UNTESTED in (error, calibration):
        return "This study does not have all that the paper compares, so that its main claim is not tested here."
    members = findings.settings("ensemble").get("members")
    name = f"the paper's ensemble of {members}" if members and members > 1 else "the paper's ensemble"
    has = {
        (True, True): "has the lowest error and the best calibration",
        (True, False): "has the lowest error but not the best calibration",
        (False, True): "has the best calibration but not the lowest error everywhere",
        (False, False): "has neither the lowest error everywhere nor the best calibration",
    }[error is Verdict.HOLDS, calibration is Verdict.HOLDS]
    holds = error is calibration is Verdict.HOLDS
    return (
        f"On these runs, {name} {has} of the three kinds of model with uncertainties (MAE {_both(findings, 'mae', 'ensemble')}, "
        f"miscalibration area {_both(findings, 'miscalibration', 'ensemble')}): the paper's main claim "
        f"{'holds' if holds else 'does not hold as it stands'}."
    )


def _about_the_default(findings: Findings, judged: Sequence[tuple[Claim, Finding]]) -> str:
    label = findings.default
    if label is None or label == "ensemble":
        return counted(judged)
    inside, outside = (findings.row(label, domain) or {} for domain in ("in_domain", "out_of_domain"))
    ratio = ""
    theirs = findings.value("mae", "ensemble", "in_domain")
    if theirs and inside.get("mae"):
        factor = theirs / inside["mae"]
        ratio = f", {number(factor, 2)} times less than the ensemble," if factor > 1 else ""
    return (
        f"{findings.name(label)}, the default model, reaches an MAE of {number(inside.get('mae'))} in-domain{ratio} and "
        f"{number(outside.get('mae'))} out-of-domain; its 90 % intervals hold {share(inside.get('coverage90'))} and "
        f"{share(outside.get('coverage90'))} of the points."
    )


def counted(judged: Sequence[tuple[Claim, Finding]]) -> str:
    """How many claims hold."""
    holds, fails, untested = (sum(found.verdict is verdict for _, found in judged) for verdict in Verdict)
    return (
        f"Of {len(judged)} claims of the paper, {holds} hold on these runs, {fails} do not, and {untested} "
        f"{'is' if untested == 1 else 'are'} not tested in this study."
    )


def _both(findings: Findings, key: str, label: str) -> str:
    inside, outside = (findings.value(key, label, domain) for domain in ("in_domain", "out_of_domain"))
    return f"{number(inside)} in-domain and {number(outside)} out-of-domain"


def what_was_done(material: Material) -> str:
    results = material.findings.results
    train, runs = results.configuration.get("train") or {}, results.data.get("runs") or {}
    points = train.get("points_per_run")
    items = [
        f"The study repeats {CITATION}, on open data of our own: other CFD than the paper's, the same flight conditions, "
        "so that rankings can be compared and numbers cannot.",
        _about_runs(runs),
        _about_left_out(runs),
        f"{runs['not_converged']} runs did not converge and are not used." if runs.get("not_converged") else "",
        "All errors and standard deviations are in one normalized space: physical values, less the mean and over the "
        "standard deviation of the training runs. An error of 1 is as large as the whole variation of a field.",
        "The points of one run are correlated: thousands of points in a run are not thousands of independent tests. Spreads "
        "and coverages are therefore taken over runs where it matters.",
        "Evidential standard deviations are the total predictive ones (aleatoric and epistemic) unless a row says "
        "epistemic: the paper does not say which of the two it evaluates.",
    ]
    if points == "all":
        items.append(f"Training: {train.get('epochs')} epochs over all points of every training run.")
    elif points:
        items.append(
            f"Training: {train.get('epochs')} epochs. An epoch visits every training run at {points} freshly drawn random "
            f"points, not at all of its {results.data.get('points', 'points')}: that makes the study affordable."
        )
    return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in items if item) + "</ul>"


def _about_runs(runs: Mapping[str, Any]) -> str:
    test = runs.get("test") or {}
    if not test:
        return ""
    counts = ", ".join(f"{DOMAIN_NAMES.get(domain, domain)} {count}" for domain, count in test.items())
    return f"{runs.get('train')} runs train. Test runs: {counts} (a corner run belongs to two outer domains)."


def _about_left_out(runs: Mapping[str, Any]) -> str:
    left_out = {domain: n for domain, n in (runs.get("left_out") or {}).items() if n and domain != "out_of_domain"}
    if not left_out:
        return ""
    counts = ", ".join(f"{n} from {DOMAIN_NAMES.get(domain, domain)}" for domain, n in left_out.items())
    return (
        "The paper's low-Mach domain as printed (Mach 10, 11 and 12) shares Mach 12 with the training region. Runs that were "
        f"trained on are left out of the tests: {counts}."
    )


def paper_figures(material: Material) -> str:
    study = "run `sureflow study --preset paper`, which evaluates all four kinds."
    parts = [
        "<h3>Fig. 1: the flow</h3>",
        says("The four state variables of the axisymmetric flow at Mach 25 and 46 km."),
        material.figure(
            "fields",
            "Computed fields at Mach 25 and 46 km, which is a test run: no model has seen it.",
            missing="maps.npz is missing; run `sureflow study` again.",
            narrow=False,
        ),
        "<h3>Fig. 2: relative errors</h3>",
        says(
            "In-domain the ensemble errs least and the deterministic model is a close second; outside, the kinds are more "
            "alike, with the ensemble still lowest on average; MVE is weak in T and evidential in u2."
        ),
        material.figure(
            "relative_errors",
            "Relative error per test run, mean over the runs; whiskers: inter-quartile range over the runs.",
            missing=study,
        ),
        verdicts(material, "Fig. 2"),
        "<h3>Fig. 3: miscalibration areas</h3>",
        says(
            "The ensemble is best calibrated in-domain and outside; evidential is better than MVE in-domain; nothing is well "
            "calibrated for u1 outside; and the area does not notice that some evidential uncertainties are absurd."
        ),
        material.figure(
            "miscalibration",
            "Miscalibration area by variable (0 is perfect, 0.5 the worst); whiskers outside: standard deviation over the "
            "four outer domains.",
            missing=study,
        ),
        verdicts(material, "Fig. 3"),
        "<h3>Fig. 4: where the error is, and whether the model knows</h3>",
        says(
            "For u1 at Mach 25 and 46 km, high uncertainty goes with high error, and both sit at the bow shock and at the wall."
        ),
        material.figure(
            "spatial_u1",
            "Point-wise absolute error and standard deviation of u1, normalized; darker is higher, errors over 0.5 are black.",
            missing="maps.npz holds no prediction with standard deviations; run `sureflow study` with an ensemble.",
            narrow=False,
        ),
        verdicts(material, "Fig. 4"),
        "<h3>Fig. 5: evidential standard deviations</h3>",
        says(
            "Some evidential standard deviations exceed 10⁴ for the velocities and reach 10 for density and temperature."
        ),
        explosion_warning(material.findings),
        material.figure(
            "evidential_std",
            "How often the evidential model predicts a standard deviation of a given size, in-domain test runs.",
            missing="the study has no evidential model; " + study,
        ),
        material.figure(
            "evidential_epochs",
            "Evidential standard deviations as training goes on.",
            missing="results.json has no histories of an evidential model; " + study,
        ),
        verdicts(material, "Fig. 5"),
    ]
    return "\n".join(parts)


def explosion_warning(findings: Findings) -> str:
    """A warning for every model with standard deviations over ten times the variation of the fields."""
    words = []
    for label in findings.labels:
        for domain in ("in_domain", "out_of_domain"):
            over = findings.value("share_std_over_10", label, domain)
            if over:
                largest = findings.value("largest_std", label, domain)
                words.append(
                    f"{findings.name(label)}, {DOMAIN_NAMES[domain]}: {100 * over:.2g} % of the points, the largest "
                    f"{number(largest)}"
                )
    if not words:
        return ""
    return note(
        "warning",
        "Standard deviations over 10 times the variation of the fields, which mean nothing: " + "; ".join(words) + ".",
    )


def paper_table(material: Material) -> str:
    return material.table("appendix", missing="none of the paper's four kinds was evaluated; use the paper preset.")


def claims_section(material: Material) -> str:
    intro = (
        f"{counted(material.judged)} Statements are in our words. A claim about all domains or all variables "
        "holds only if it does in every one; the evidence says in how many it does."
    )
    return f"<p>{html.escape(intro)}</p>\n" + "\n".join(_claim(claim, found) for claim, found in material.judged)


def _claim(claim: Claim, found: Finding) -> str:
    return (
        f'<div class="claim"><p>{badge(found.verdict)} {html.escape(claim.statement)}</p>'
        f'<p class="meaning">{html.escape(claim.source)} · tested as: {html.escape(claim.criterion)}</p>'
        f'<p class="evidence">{html.escape(found.evidence)}</p></div>'
    )


def where_it_errs(material: Material) -> str:
    missing = "results.json has no cases; run `sureflow study` again."
    maps = "maps.npz holds no such prediction; run `sureflow study` again."
    parts = [
        material.figure(
            "error_plane",
            "Mean absolute error of every test run, averaged over the variables, over Mach number and altitude.",
            missing=missing,
        ),
        material.figure(
            "coverage_plane",
            "Share of the points of every test run that lie inside their 90 % intervals; 0.9 is right (black mark).",
            missing=missing,
        ),
        "<h3>In the flow</h3>",
        material.table("regions", missing="results.json has no rows by region; run `sureflow study` again."),
        material.figure(
            "spatial",
            "Absolute error and standard deviation of all four variables at Mach 25 and 46 km.",
            missing=maps,
            narrow=False,
        ),
    ]
    if material.findings.default not in (None, "ensemble"):
        caption = "The same for the default model; the scales are its own."
        parts.append(material.figure("spatial_default", caption, missing=maps, narrow=False))
    return "\n".join(parts)


def calibration_section(material: Material) -> str:
    missing = "results.json has no calibration curves; run `sureflow study` again."
    return "\n".join(
        [
            material.figure("calibration_curves", "Calibration curves, whole field, all variables.", missing=missing),
            material.figure(
                "calibration_curves_disturbed",
                "The same for the disturbed flow alone (pressure over 1.01 of the free stream's), where errors are made.",
                missing=missing,
            ),
            material.table("coverage", missing="no model with standard deviations was evaluated."),
        ]
    )


def leaderboard_section(material: Material) -> str:
    return "\n".join(
        [
            material.table("leaderboard", missing="the study has no rows."),
            material.figure(
                "learning_curves",
                "Mean absolute error against the number of training runs.",
                missing="learning curves need models trained on several numbers of runs: `sureflow study --preset full`.",
            ),
        ]
    )


def selection_section(material: Material) -> str:
    return material.table("selection", missing="training settings were given, not searched for (no selection).")


def provenance_section(material: Material) -> str:
    results = material.findings.results
    seeds = {
        f"{section} seed": (results.configuration.get(section) or {}).get("seed")
        for section in ("split", "train", "selection")
    }
    facts = {"data checksum": results.data.get("checksum"), "campaign": results.configuration.get("campaign")}
    facts = {name: value for name, value in facts.items() if value is not None}
    facts |= {name: seed for name, seed in seeds.items() if seed is not None}
    facts |= flattened(material.findings.provenance)
    entries = "".join(
        f"<dt>{html.escape(str(name))}</dt><dd>{html.escape(str(value))}</dd>" for name, value in facts.items()
    )
    configuration = html.escape(json.dumps(results.configuration, indent=1))
    absent = "" if material.findings.provenance else note("missing", "No times or machine: provenance.json is missing.")
    return f"<dl>{entries}</dl>{absent}\n<details><summary>Configuration</summary><pre>{configuration}</pre></details>"


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested provenance as lines; long lists are counted."""
    found: dict[str, str] = {}
    for key, value in values.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            found |= flattened(value, f"{name}, ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            plain = len(value) <= 8 and not any(isinstance(item, Mapping | list) for item in value)
            found[name] = ", ".join(map(str, value)) if plain else f"{len(value)} entries in provenance.json"
        elif isinstance(value, float):
            found[name] = f"{number(value, 4)} s" if "seconds" in name else number(value, 4)
        else:
            found[name] = str(value)
    return found


def says(words: str) -> str:
    """What the paper's caption says, in our words."""
    return f'<p class="says">The paper: {html.escape(words)}</p>'


def verdicts(material: Material, source: str) -> str:
    """The claims of one figure with their verdicts; the evidence is in the section of the claims."""
    items = "".join(
        f"<li>{badge(found.verdict)} {html.escape(claim.statement)}</li>"
        for claim, found in material.judged
        if source in claim.source
    )
    return f'<ul class="verdicts">{items}</ul>'


def badge(verdict: Verdict) -> str:
    return f'<span class="verdict {VERDICT_CLASS[verdict]}">{verdict.value}</span>'


def note(kind: str, words: str) -> str:
    return f'<p class="{kind}">{html.escape(words)}</p>'


def anchor(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


SECTIONS = {
    "What was done": what_was_done,
    "The paper's figures, on these runs": paper_figures,
    "The paper's table beside ours": paper_table,
    "The paper's claims": claims_section,
    "Where the error is": where_it_errs,
    "Calibration": calibration_section,
    "Leaderboard": leaderboard_section,
    "Training settings": selection_section,
    "Provenance": provenance_section,
}
