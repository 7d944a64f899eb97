"""Tables that stand beside the paper's: its appendix, other draws of the test runs, its claims, its ensemble's row."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pstdev
from typing import Any

from sureflow.report.findings import Findings
from sureflow.report.study_tables import best_of, headings, leaderboard_table, selection_table
from sureflow.report.tabular import Cell, Measured, Table
from sureflow.reproduction.leon2023 import printed
from sureflow.reproduction.leon2023.claims import judge_all


def appendix_table(findings: Findings) -> Table:
    """The paper's table beside ours, with the spread over the variables."""
    rows = []
    for kind in findings.kinds:
        for domain in findings.domains:
            theirs, ours = printed.TABLE[kind][domain], findings.row(kind, domain) or {}
            least_printed = best_of(printed.TABLE[other][domain].mae for other in printed.KINDS)
            least = best_of(findings.value("mae", other, domain) for other in findings.kinds)
            rows.append(
                (
                    findings.name(kind),
                    findings.domain_name(domain),
                    Measured(theirs.mae, theirs.mae_spread, best=theirs.mae == least_printed),
                    Measured(ours.get("mae"), ours.get("mae_spread"), best=ours.get("mae") == least is not None),
                    Measured(theirs.miscalibration, theirs.miscalibration_spread, decimals=2),
                    Measured(ours.get("miscalibration"), ours.get("miscalibration_spread"), decimals=2),
                )
            )
    caption = (
        "Mean absolute error over all points of a domain and miscalibration area, averaged over the four state variables, "
        "± their standard deviation over the variables, in normalized space. The paper's columns are its printed appendix "
        "table, computed on its own CFD data. Bold: the lowest error of a domain."
    )
    header = ("model", "domain", "MAE, paper", "MAE, here", "miscalibration, paper", "miscalibration, here")
    return Table("appendix", caption, header, tuple(rows))


def draws_table(findings: Findings) -> Table | None:
    """Whether the ranking of the paper's kinds depends on which runs were drawn for testing."""
    draws = {kind: draws_of(findings, kind) for kind in findings.kinds}
    seeds = set.intersection(*map(set, draws.values())) if draws else set()
    if len(seeds) < 2:
        return None
    places = [(seed, domain) for seed in sorted(seeds) for domain in findings.domains]
    least = {
        place: best_of(findings.value("mae", draws[kind][place[0]], place[1]) for kind in draws) for place in places
    }
    rows = []
    for kind, labels in draws.items():
        cells = [_over_draws(findings, [labels[seed] for seed in sorted(seeds)], d) for d in findings.columns]
        wins = sum(findings.value("mae", labels[seed], domain) == least[seed, domain] for seed, domain in places)
        rows.append((findings.name(kind), *cells, f"{wins} of {len(places)}"))
    caption = (
        f"The same networks with {len(seeds)} draws of the test runs: mean absolute error, its mean ± standard deviation "
        "over the draws, and then the mean miscalibration area, in normalized space. The last column counts the draws and "
        "domains in which a kind errs least."
    )
    header = ("model", *headings(findings, findings.columns), "lowest error in")
    return Table("draws", caption, header, tuple(rows), "miscalibration")


def draws_of(findings: Findings, label: str) -> dict[int, str]:
    """Models that differ from one in the draw of their test runs alone, itself among them, by the seed of the draw."""
    configured = findings.results.configuration
    first = (configured.get("split") or {}).get("seed", 0)
    return {
        entry.get("split_seed", first): entry["label"]
        for entry in configured.get("models") or ()
        if entry["label"] in findings.labels and _without_draw(entry) == _without_draw(findings.settings(label))
    }


def _without_draw(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in ("label", "split_seed")}


def _over_draws(findings: Findings, labels: Sequence[str], domain: str) -> Measured:
    errors, areas = (
        [value for label in labels if (value := findings.value(key, label, domain)) is not None]
        for key in ("mae", "miscalibration")
    )
    if not errors:
        return Measured(None)
    return Measured(fmean(errors), pstdev(errors), companion=fmean(areas) if areas else None)


def leaderboard_with_paper(findings: Findings) -> Table:
    """Every model, and the paper's ensemble as printed; the paper does not pool the outer domains."""
    table = leaderboard_table(findings)
    lines = [printed.TABLE["ensemble"].get(domain) for domain in findings.columns]
    cells = (Measured(line.mae, companion=line.miscalibration) if line else Measured(None) for line in lines)
    row: tuple[Cell, ...] = (
        "Ensemble, as printed", "ensemble", "none; x, r", printed.TRAINING_RUNS, *cells, Measured(None),
    )  # fmt: skip
    caption = f"{table.caption} The last row is the paper's ensemble as printed, on its own data."
    return replace(table, rows=(*table.rows, row), caption=caption)


def selection_with_reason(findings: Findings) -> Table | None:
    table = selection_table(findings)
    if table is None:
        return None
    reason = "Learning rate, batch and schedule, which the paper does not give"
    return replace(table, caption=table.caption.replace("Candidates for the training settings", reason))


def claims_table(findings: Findings) -> Table | None:
    """What became of the claims of the paper; none where the study can test none of them."""
    rows = [
        (claim.statement, claim.source, claim.criterion, found.verdict.value, found.words)
        for claim, found in judge_all(findings)
    ]
    if not rows:
        return None
    caption = "The paper's claims, in our words, what we take them to mean, and what these runs say of them."
    return Table("claims", caption, ("claim", "where", "tested as", "verdict", "what we found"), tuple(rows))
