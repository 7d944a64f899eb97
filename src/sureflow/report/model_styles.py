"""How models are drawn: the same in every figure of a report, and to be told apart without colors as well."""

from typing import Any

from sureflow.report.figures import BLUE, GREEN, ORANGE, RED
from sureflow.report.findings import Findings

# From light to dark in print as well.
COLORS = {
    "deterministic": "0.80",
    "mve": ORANGE,
    "evidential": RED,
    "evidential-epistemic": "#F2B58F",
    "ensemble": BLUE,
    "interpolation": GREEN,
    "pod-gp": "#CC79A7",
    "pod-deeponet": "0.25",
}
OTHERS = ("#56B4E9", "#7F5F00", "0.5", "#882255", "#117733")
# So that lines can be told apart without colors.
DASHES = {"mve": (6, 2), "evidential": (2, 1.5), "evidential-epistemic": (6, 2, 2, 2)}
MARKERS = "osD^vP"


def color(findings: Findings, label: str) -> str:
    """Fixed for the models of this package, the default one among them; the others in turn."""
    known = _fixed_colors(findings)
    others = [other for other in findings.labels if known[other] is None]
    return known[label] or OTHERS[others.index(label) % len(OTHERS)]


def _fixed_colors(findings: Findings) -> dict[str, str | None]:
    """By label, else by the kind of the model, unless a model that is compared with it has that color already."""
    found = {label: COLORS.get(label) for label in findings.labels}
    taken = {found[label] for label in findings.shown}
    for label in findings.labels:
        shade = COLORS.get(findings.described(label).get("model", ""))
        if found[label] is None and not (label in findings.shown and shade in taken):
            found[label] = shade
            taken |= {shade} if label in findings.shown else set()
    return found


def line(findings: Findings, label: str) -> dict[str, Any]:
    """How a model is drawn: the default one wider."""
    width = 2.4 if label == findings.default else 1.6
    dashes = {"dashes": DASHES[label]} if label in DASHES else {}
    return {"color": color(findings, label), "linewidth": width, **dashes}
