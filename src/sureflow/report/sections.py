"""The sections of the report of a study. What a study does not have is named, with the way to get it."""

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sureflow.data.schema import VARIABLES
from sureflow.report.captions import captions
from sureflow.report.claims import Claim
from sureflow.report.criteria import Finding, Verdict
from sureflow.report.export import Table, number, to_html
from sureflow.report.findings import BOTH, DOMAIN_NAMES, Findings
from sureflow.report.headline import counted
from sureflow.report.paper import CITATION

STAGE_NAMES = {"runs": "the runs", "selection": "selection", "train": "training", "evaluate": "evaluation"}
VERDICT_CLASS = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNTESTED: "untested"}


@dataclass(frozen=True)
class Material:
    """What the sections of the page are made from."""

    findings: Findings
    pictures: Mapping[str, bytes]
    tables: Mapping[str, Table]
    judged: Sequence[tuple[Claim, Finding]]

    def figure(self, name: str, *, missing: str, narrow: bool = True) -> str:
        """A figure with its caption; what to do if it could not be drawn."""
        if name not in self.pictures:
            return note("missing", f"No figure here: {missing}")
        kind = ' class="narrow"' if narrow else ""
        words = html.escape(captions(self.findings)[name])
        source = f"data:image/png;base64,{base64.b64encode(self.pictures[name]).decode()}"
        return f'<figure{kind}><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'

    def table(self, name: str, *, missing: str) -> str:
        table = self.tables.get(name)
        return note("missing", f"No table here: {missing}") if table is None else to_html(table)


def what_was_done(material: Material) -> str:
    findings, runs = material.findings, material.findings.results.data.get("runs") or {}
    items = [
        f"The study repeats {CITATION}, on CFD runs of our own: rankings can be compared with the paper's, numbers cannot."
        if findings.kinds
        else "",
        _about_runs(runs),
        _about_left_out(runs),
        _about_not_converged(runs),
        _about_units(findings.results.data.get("space")),
        "Miscalibration area: between the calibration curve (the share of points inside central intervals, against the "
        "share that ought to be there) and the diagonal. It pools all points of a domain, and so does the mean absolute "
        "error (MAE).",
        "The points of one run are correlated: thousands of points are not thousands of independent tests. Relative errors "
        "and shares inside intervals are therefore those of single runs, averaged over the runs.",
        "Evidential standard deviations are the total predictive ones (aleatoric and epistemic) unless a row says "
        "epistemic: the paper does not say which of the two it evaluates."
        if "evidential" in findings.labels
        else "",
        _about_training(findings) if findings.kinds else "",
    ]
    return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in items if item) + "</ul>"


def _about_units(space: Mapping[str, Sequence[float]] | None) -> str:
    """What the normalized numbers of the page are in physical units."""
    words = (
        "Errors and standard deviations are normalized: physical values over the standard deviation of the variable over "
        "all points of the training runs."
    )
    if space is None or len(space["std"]) != len(VARIABLES):
        return words
    units = (
        f"{number(0.01 * std)} {unit} in {name}"
        for (name, unit), std in zip(VARIABLES.items(), space["std"], strict=True)
    )
    return f"{words} An error of 0.01 is {', '.join(units)}."


def _about_training(findings: Findings) -> str:
    train = findings.results.configuration.get("train") or {}
    points, epochs = train.get("points_per_run"), train.get("epochs")
    if points is None:
        return ""
    if points == "all":
        return f"Networks are trained for {epochs} epochs over all points of every training run."
    words = (
        f"Networks are trained for {epochs} epochs unless study.toml says otherwise for one. An epoch visits every training "
        f"run at {points} freshly drawn random points, not at all of its {findings.results.data.get('points', 'points')}."
    )
    few, every = (findings.value("mae", label, "in_domain") for label in ("deterministic", "deterministic-all-points"))
    if few is None or every is None:
        return words
    return f"{words} With all of them the deterministic model's error in-domain is {number(every)} instead of {number(few)}."


def _about_runs(runs: Mapping[str, Any]) -> str:
    test = runs.get("test") or {}
    if not test:
        return ""
    counts = ", ".join(f"{count} {DOMAIN_NAMES.get(domain, domain)}" for domain, count in test.items())
    corner = " (a run in a corner belongs to two outer domains)" if len(test) > 2 else ""
    return f"{runs.get('train')} runs are trained on. Test runs: {counts}{corner}."


def _about_not_converged(runs: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in (runs.get("not_converged") or {}).items())
    return f"Runs that did not converge are not used: {counts}." if counts else ""


def _about_left_out(runs: Mapping[str, Any]) -> str:
    left_out = {domain: n for domain, n in (runs.get("left_out") or {}).items() if n and domain != "out_of_domain"}
    if not left_out:
        return ""
    counts = ", ".join(f"{n} from {DOMAIN_NAMES.get(domain, domain)}" for domain, n in left_out.items())
    return (
        "The paper's low-Mach domain as printed (Mach 10, 11 and 12) shares Mach 12 with the training region. Runs that were "
        f"trained on are left out of the tests: {counts}. In-domain test runs at Mach 12 count in both domains."
    )


def paper_figures(material: Material) -> str:
    if not material.findings.kinds:
        return ""
    study = "run `sureflow study --preset paper`, which evaluates all four kinds."
    parts = [
        "<h3>Fig. 1: the flow</h3>",
        says("The four state variables of the axisymmetric flow at Mach 25 and 46 km."),
        material.figure("fields", missing="maps.npz is missing; run `sureflow study` again.", narrow=False),
        "<h3>Fig. 2: relative errors</h3>",
        says(
            "In-domain the ensemble errs least and the deterministic model is a close second; outside, the kinds are more "
            "alike, with the ensemble still lowest on average; MVE is weak in T and evidential in u2."
        ),
        material.figure("relative_errors", missing=study),
        verdicts(material, "Fig. 2"),
        "<h3>Fig. 3: miscalibration areas</h3>",
        says(
            "The ensemble is best calibrated in-domain and outside; evidential is better than MVE in-domain; nothing is well "
            "calibrated for u1 outside; and the area does not notice that some evidential uncertainties are absurd."
        ),
        material.figure("miscalibration", missing=study),
        verdicts(material, "Fig. 3"),
        "<h3>Fig. 4: where the error is, and whether the model knows</h3>",
        says(
            "For u1 at Mach 25 and 46 km, high uncertainty goes with high error, and both sit at the bow shock and at the wall."
        ),
        material.figure(
            "spatial_u1",
            missing="maps.npz holds no prediction with standard deviations; run `sureflow study` with an ensemble.",
            narrow=False,
        ),
        verdicts(material, "Fig. 4"),
        "<h3>Fig. 5: evidential standard deviations</h3>",
        says(
            "Some evidential standard deviations exceed 10⁴ for the velocities and reach 10 for density and temperature."
        ),
        explosion_warning(material.findings),
        material.figure("evidential_std", missing="the study has no evidential model; " + study),
        material.figure("evidential_epochs", missing="results.json has no histories of an evidential model; " + study),
        verdicts(material, "Fig. 5"),
    ]
    return "\n".join(parts)


def explosion_warning(findings: Findings) -> str:
    """A warning for every model with standard deviations over ten times that of the fields."""
    words = []
    for label in findings.labels:
        for domain in BOTH:
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
        "Standard deviations over 10, ten times that of the fields themselves, say nothing: " + "; ".join(words) + ".",
    )


def paper_table(material: Material) -> str:
    if not material.findings.kinds:
        return ""
    appendix = material.table("appendix", missing="none of the paper's four kinds was evaluated; use the paper preset.")
    if "draws" not in material.tables:
        return appendix
    return appendix + "<h3>Other draws of the test runs</h3>" + material.table("draws", missing="")


def claims_section(material: Material) -> str:
    if not material.findings.kinds:
        return ""
    intro = (
        f"{counted(material.judged)} Statements are in our words. A claim about all domains or all variables "
        "holds only if it does in every one; the evidence says in how many it does, and lists numbers from the lowest up."
    )
    return f"<p>{html.escape(intro)}</p>\n" + "\n".join(_claim(claim, found) for claim, found in material.judged)


def _claim(claim: Claim, found: Finding) -> str:
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in found.lines)
    return (
        f'<div class="claim"><p>{badge(found.verdict)} {html.escape(claim.statement)}</p>'
        f'<p class="meaning">{html.escape(claim.source)} · tested as: {html.escape(claim.criterion)}</p>'
        f'<p class="evidence">{html.escape(found.evidence)}</p>{f"<ul>{lines}</ul>" if lines else ""}</div>'
    )


def where_it_errs(material: Material) -> str:
    missing = "results.json has no cases of the models that are compared; run `sureflow study` again."
    maps = "maps.npz holds no such prediction; run `sureflow study` again."
    parts = [
        material.figure("error_plane", missing=missing),
        material.figure("coverage_plane", missing=missing),
        "<h3>In the flow</h3>",
        material.table("regions", missing="results.json has no rows by region; run `sureflow study` again."),
        material.figure("spatial", missing=maps, narrow=False),
    ]
    if material.findings.default not in (None, "ensemble"):
        parts.append(material.figure("spatial_default", missing=maps, narrow=False))
    return "\n".join(parts)


def calibration_section(material: Material) -> str:
    missing = "results.json has no calibration curves; run `sureflow study` again."
    return "\n".join(
        [
            material.figure("calibration_curves", missing=missing),
            material.figure("calibration_curves_disturbed", missing=missing),
            material.table("coverage", missing="no model with standard deviations was evaluated."),
        ]
    )


def leaderboard_section(material: Material) -> str:
    return material.table("leaderboard", missing="the study has no rows.")


def learning_section(material: Material) -> str:
    if "learning_curves" not in material.tables:
        return note("missing", "No model was trained on several numbers of runs; `sureflow curve` does so.")
    return "\n".join(
        [
            material.figure("learning_curves", missing="run `sureflow report` again."),
            material.table("learning_curves", missing="run `sureflow report` again."),
        ]
    )


def selection_section(material: Material) -> str:
    if not material.findings.kinds and "selection" not in material.tables:
        return ""
    return material.table("selection", missing="training settings were given, not searched for (no selection).")


def provenance_section(material: Material) -> str:
    results, provenance = material.findings.results, material.findings.provenance
    configured = results.configuration
    facts = {name: configured.get(name) for name in ("campaign", "runs")} | {
        "data checksum": results.data.get("checksum")
    }
    facts |= {f"{name} seed": (configured.get(name) or {}).get("seed") for name in ("split", "train", "selection")}
    facts |= times(provenance)
    facts |= {name: value for part in ("machine", "versions") for name, value in (provenance.get(part) or {}).items()}
    entries = "".join(
        f"<dt>{html.escape(str(name))}</dt><dd>{html.escape(str(value))}</dd>"
        for name, value in facts.items()
        if value is not None
    )
    configuration = html.escape(json.dumps(configured, indent=1))
    absent = "" if provenance else note("missing", "No times or machine: provenance.json is missing.")
    return f"<dl>{entries}</dl>{absent}\n<details><summary>Configuration</summary><pre>{configuration}</pre></details>"


def times(provenance: Mapping[str, Any]) -> dict[str, str]:
    """How long every kind of stage took."""
    spent: dict[str, list[float]] = {}
    for stage, seconds in (provenance.get("seconds") or {}).items():
        spent.setdefault(stage.partition(" ")[0], []).append(seconds)
    return {
        f"time for {STAGE_NAMES.get(kind, kind)}": duration(sum(each))
        + (f" ({len(each)} stages)" if len(each) > 1 else "")
        for kind, each in spent.items()
    }


def duration(seconds: float) -> str:
    """'0.3 s', '44 s', '17 min' or '1.6 h'."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


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
    return f'<p class="{kind}">{prose(words)}</p>'


def prose(words: str) -> str:
    """Text for the page; commands between backticks are set as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(words))


SECTIONS = {
    "What was done": what_was_done,
    "The paper's figures, on these runs": paper_figures,
    "The paper's table beside ours": paper_table,
    "The paper's claims": claims_section,
    "Where the error is": where_it_errs,
    "Calibration": calibration_section,
    "Leaderboard": leaderboard_section,
    "Learning curves": learning_section,
    "Training settings": selection_section,
    "Provenance": provenance_section,
}
