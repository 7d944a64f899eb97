"""What the reproduction adds to the report of its study: names, sections, figures, tables and a headline."""

from collections.abc import Sequence
from typing import Any

from sureflow.report.findings import Findings
from sureflow.report.headline import about_the_default
from sureflow.report.reproductions import REPRODUCTIONS, Reproduction
from sureflow.report.tabular import number
from sureflow.reproduction.leon2023 import paper_figures, paper_tables, printed
from sureflow.reproduction.leon2023.claims import CLAIMS, Claim, judge_all
from sureflow.reproduction.leon2023.criteria import BOTH, Finding, Outcome

LABEL_NAMES = {
    "deterministic": "Deterministic",
    "deterministic-all-points": "Deterministic, all points",
    "evidential-epistemic": "Evidential (epistemic std)",
    "interpolation-unscaled": "Interpolation, unscaled",
    "deeponet-body-fitted": "DeepONet, body-fitted",
    "fno-mve": "FNO, MVE",
    "mve-ensemble": "Ensemble of MVE",
}
DOMAIN_NAMES = {"high_mach": "high Mach", "low_mach": "low Mach"}

Judged = Sequence[tuple[Claim, Finding]]


def headline(findings: Findings) -> list[str]:
    """What became of the paper's main claim, and how the default model does."""
    judged = judge_all(findings)
    if findings.default is not None and findings.default != "ensemble":
        return [_main_claim(findings, judged), about_the_default(findings, findings.default, beside="ensemble")]
    return [_main_claim(findings, judged), counted(judged)]


def _main_claim(findings: Findings, judged: Judged) -> str:
    error, calibration = judged[0][1].verdict, judged[1][1].verdict
    if "ensemble" not in findings.labels or Outcome.UNTESTED in (error, calibration):
        return "This study does not have all that the paper compares, so that its main claim is not tested here."
    members = _members(findings)
    name = f"the paper's ensemble of {members}" if members and members > 1 else "the paper's ensemble"
    has = {
        (True, True): "has the lowest error and the best calibration",
        (True, False): "has the lowest error but not the best calibration",
        (False, True): "has the best calibration but not the lowest error everywhere",
        (False, False): "has neither the lowest error everywhere nor the best calibration",
    }[error is Outcome.HOLDS, calibration is Outcome.HOLDS]
    holds = error is calibration is Outcome.HOLDS
    return (
        f"On these runs, {name} {has} of the three kinds of model with uncertainties (mean absolute error "
        f"{_both(findings, 'mae')}, miscalibration area {_both(findings, 'miscalibration')}): the paper's main claim "
        f"{'holds' if holds else 'does not hold as it stands'}."
    )


def _members(findings: Findings) -> int | None:
    """How many networks the ensemble has, from its settings; results of earlier versions have them beside the model."""
    settings = findings.settings("ensemble")
    return settings.get("members") or ((settings.get("model") or {}).get("sampler") or {}).get("members")


def _both(findings: Findings, key: str) -> str:
    return " and ".join(
        f"{number(findings.value(key, 'ensemble', domain))} {findings.domain_name(domain)}" for domain in BOTH
    )


def counted(judged: Judged) -> str:
    """How many claims hold."""
    holds, fails = (sum(found.verdict is outcome for _, found in judged) for outcome in (Outcome.HOLDS, Outcome.FAILS))
    untested = len(CLAIMS) - holds - fails
    return (
        f"Of {len(CLAIMS)} claims of the paper, {holds} {'holds' if holds == 1 else 'hold'} on these runs, {fails} "
        f"{'does' if fails == 1 else 'do'} not, and {untested} {'is' if untested == 1 else 'are'} not tested in this study."
    )


def remarks(findings: Findings) -> list[str]:
    """What a reader of the paper wants to know besides."""
    found = []
    left_out = (findings.results.data.get("runs") or {}).get("left_out") or {}
    if left_out.get("low_mach"):
        found.append(
            "The paper's low-Mach domain as printed (Mach 10, 11 and 12) shares Mach 12 with the training region. In-domain "
            "test runs at Mach 12 count in both domains."
        )
    if "evidential" in findings.labels:
        found.append(
            "Evidential standard deviations are the total predictive ones (aleatoric and epistemic) unless a row says "
            "epistemic: the paper does not say which of the two it evaluates."
        )
    few, every = (findings.value("mae", label, "in_domain") for label in ("deterministic", "deterministic-all-points"))
    if few is not None and every is not None:
        found.append(
            f"With all points of every run in an epoch, the deterministic model's error in-domain is {number(every)} "
            f"instead of {number(few)}."
        )
    return found


def context(findings: Findings) -> dict[str, Any]:
    """The claims with their verdicts, for the template."""
    judged = judge_all(findings)
    return {"judged": judged, "counted": counted(judged)}


REPRODUCTIONS.register(
    "leon2023",
    Reproduction(
        title="Errors and error bars of hypersonic flow surrogates",
        citation=printed.CITATION,
        kinds=printed.KINDS,
        label_names=LABEL_NAMES,
        domain_names=DOMAIN_NAMES,
        facts={
            "axes": ("x", "r"),
            "axis_unit": "m",
            "fields": {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K"},
            "parameters": {"mach": "1", "altitude_km": "km"},
        },
        figures={
            "relative_errors": paper_figures.relative_errors,
            "miscalibration": paper_figures.miscalibration,
            "learning_curves": paper_figures.learning_curves,
            "evidential_std": paper_figures.evidential_std,
            "evidential_epochs": paper_figures.evidential_epochs,
            "training_std": None,
        },
        map_figures={
            "spatial_u1": paper_figures.spatial_u1,
            "spatial": paper_figures.spatial,
            "spatial_default": paper_figures.spatial_default,
        },
        tables={
            "errors": None,
            "appendix": paper_tables.appendix_table,
            "draws": paper_tables.draws_table,
            "leaderboard": paper_tables.leaderboard_with_paper,
            "selection": paper_tables.selection_with_reason,
            "claims": paper_tables.claims_table,
        },
        captions=paper_figures.captions,
        headline=headline,
        remarks=remarks,
        template="sureflow.reproduction.leon2023/chapters.html",
        sections={
            "The paper's figures, on these runs": "paper_figures",
            "The paper's table beside ours": "paper_table",
            "The paper's claims": "claims",
        },
        replaces=frozenset({"By variable"}),
        of_others=frozenset({"claims", "The paper's claims"}),
        context=context,
    ),
)
