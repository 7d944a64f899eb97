"""What the sections of the report say. What a study does not have is named, with the way to get it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sureflow.evaluate.bar_parts import larger_part
from sureflow.report.captions import captions
from sureflow.report.findings import OUTSIDE, Findings
from sureflow.report.spatial import not_drawn
from sureflow.report.tabular import Table, number

STAGE_NAMES = {"runs": "the runs", "selection": "selection", "train": "training", "evaluate": "evaluation"}
# Titles, with the macros of sections.html that make them.
SECTIONS = {
    "What was done": "what_was_done",
    "By variable": "by_variable",
    "Where the error is": "where_it_errs",
    "Calibration": "calibration",
    "Error of the mesh": "mesh_error",
    "Leaderboard": "leaderboard",
    "Quantities": "quantities",
    "Verdicts": "verdicts",
    "Learning curves": "learning",
    "Training": "training",
    "Provenance": "provenance",
}


@dataclass(frozen=True)
class Material:
    """What the sections of the page are made from; `further` is what those of a reproduction need besides."""

    findings: Findings
    pictures: Mapping[str, bytes]
    tables: Mapping[str, Table]
    further: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def captions(self) -> dict[str, str]:
        return captions(self.findings)

    @property
    def items(self) -> list[str]:
        return items(self.findings)

    @property
    def not_drawn(self) -> str:
        return not_drawn(self.findings)

    @property
    def warning(self) -> str:
        return explosions(self.findings)

    @property
    def larger_part(self) -> str:
        """A sentence for every domain."""
        found = self.findings
        told = {domain: larger_part(found.bar_parts(domain)) for domain in found.both}
        return " ".join(f"{found.domain_name(domain).capitalize()}: {words}" for domain, words in told.items() if words)

    @property
    def facts(self) -> dict[str, Any]:
        return facts(self.findings)

    @property
    def configuration(self) -> str:
        return json.dumps(self.findings.results.configuration, indent=1)


def items(findings: Findings) -> list[str]:
    """What was done, point by point."""
    runs = findings.results.data.get("runs") or {}
    citation, remarks = findings.reproduction.citation, findings.reproduction.remarks
    repeated = f"The study repeats {citation}, on CFD runs of our own: rankings can be compared with the paper's, numbers cannot."
    found = [
        repeated if citation else "",
        _about_runs(findings, runs),
        _about_left_out(findings, runs),
        _about_not_converged(runs),
        _about_units(findings),
        "Miscalibration area: between the calibration curve (the share of points inside central intervals, against the "
        "share that ought to be there) and the diagonal. It pools all points of a domain, and so does the mean absolute "
        "error (MAE).",
        "The points of one run are correlated: thousands of points are not thousands of independent tests. Relative errors "
        "and shares inside intervals are therefore those of single runs, averaged over the runs.",
        _about_training(findings),
        *(remarks(findings) if remarks else ()),
    ]
    return [item for item in found if item]


def _about_runs(findings: Findings, runs: Mapping[str, Any]) -> str:
    test = runs.get("test") or {}
    if not test:
        return ""
    counts = ", ".join(f"{count} {findings.domain_name(domain)}" for domain, count in test.items())
    corner = " (a run in a corner belongs to two outer domains)" if len(findings.outer) > 1 else ""
    return f"{runs.get('train')} runs are trained on. Test runs: {counts}{corner}."


def _about_left_out(findings: Findings, runs: Mapping[str, Any]) -> str:
    left_out = {domain: n for domain, n in (runs.get("left_out") or {}).items() if n and domain != OUTSIDE}
    counts = ", ".join(f"{n} from {findings.domain_name(domain)}" for domain, n in left_out.items())
    return f"Runs that were trained on are left out of the tests: {counts}." if counts else ""


def _about_not_converged(runs: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in (runs.get("not_converged") or {}).items())
    return f"Runs that did not converge are not used: {counts}." if counts else ""


def _about_units(findings: Findings) -> str:
    """What the normalized numbers of the page are in physical units."""
    words = (
        "Errors and standard deviations are normalized: physical values over the standard deviation of the variable over "
        "all points of the training runs."
    )
    units: Mapping[str, str] = findings.fact("fields") or {}
    std: Sequence[float] = (findings.results.data.get("space") or {}).get("std", ())
    if len(std) != len(findings.variables):
        return words
    sizes = (
        f"{number(0.01 * one)}{'' if units[name] == '1' else f' {units[name]}'} in {name}"
        for name, one in zip(findings.variables, std, strict=True)
        if units.get(name)
    )
    listed = ", ".join(sizes)
    return f"{words} An error of 0.01 is {listed}." if listed else words


def _about_training(findings: Findings) -> str:
    train = findings.results.configuration.get("train") or {}
    points, epochs = train.get("points_per_run"), train.get("epochs")
    if points is None or not any(findings.described(label).get("coordinates") for label in findings.labels):
        return ""
    if points == "all":
        return f"Networks are trained for {epochs} epochs over all points of every training run."
    return (
        f"Networks are trained for {epochs} epochs unless study.toml says otherwise for one. An epoch visits every training "
        f"run at {points} freshly drawn random points, not at all of its {findings.results.data.get('points', 'points')}."
    )


def explosions(findings: Findings) -> str:
    """A warning of all models with standard deviations over ten times that of the fields."""
    found = []
    for label in findings.labels:
        for domain in findings.both:
            over = findings.value("share_std_over_10", label, domain)
            if over:
                largest = number(findings.value("largest_std", label, domain))
                place = f"{findings.name(label)}, {findings.domain_name(domain)}"
                found.append(f"{place}: {100 * over:.2g} % of the points, the largest {largest}")
    words = "Standard deviations over 10, ten times that of the fields themselves, say nothing: "
    return f"{words}{'; '.join(found)}." if found else ""


def facts(findings: Findings) -> dict[str, Any]:
    """Where the results come from; what is not known is left out."""
    results, provenance = findings.results, findings.provenance
    configured = results.configuration
    found = {name: configured.get(name) for name in ("campaign", "runs")}
    found["data checksum"] = results.data.get("checksum")
    found |= {f"{name} seed": (configured.get(name) or {}).get("seed") for name in ("split", "train", "selection")}
    found |= times(provenance)
    found |= {name: value for part in ("machine", "versions") for name, value in (provenance.get(part) or {}).items()}
    return {name: value for name, value in found.items() if value is not None}


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
