"""The tables of a study."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, pstdev

from sureflow.evaluate.results import Row
from sureflow.report import paper
from sureflow.report.claims import judge_all
from sureflow.report.export import Measured, Table
from sureflow.report.findings import BOTH, DOMAIN_NAMES, REGION_NAMES, Findings

UQ_NAMES = {
    "deterministic": "none",
    "mve": "MVE",
    "evidential-epistemic": "epistemic",
    "gp": "GP",
    "loo": "leave-one-out",
}
SCALING_NAMES = {"none": "none", "freestream": "free stream", "log-density": "log density"}
COORDINATE_NAMES = {"xr": "x, r", "body-fitted": "body-fitted"}


def best_of(values: Iterable[float | None]) -> float | None:
    """The smallest of those that are known."""
    return min((value for value in values if value is not None), default=None)


def summary_table(findings: Findings) -> Table:
    """The first screen: error and miscalibration of the paper's kinds and the default model, by domain."""
    rows = [(findings.name(label), *_pairs(findings, label, findings.shown)) for label in findings.shown]
    pooled = " Out-of-domain pools the four domains before it." if findings.outer else ""
    caption = (
        "Mean absolute error and then the miscalibration area (0 is perfect, 0.5 the worst), in normalized space, "
        f"averaged over the state variables.{pooled} Bold: the lowest error of a column."
    )
    return Table("summary", caption, ("model", *_headings(findings.columns)), tuple(rows), "miscalibration")


def _headings(domains: Sequence[str]) -> list[str]:
    return [DOMAIN_NAMES[domain] for domain in domains]


def _pairs(findings: Findings, label: str, labels: Sequence[str]) -> list[Measured]:
    """Error and miscalibration of a model in every column, marked where no other model's error is lower."""
    cells = []
    for domain in findings.columns:
        lowest = best_of(findings.value("mae", other, domain) for other in labels)
        cell = _pair(findings, label, domain)
        cells.append(cell._replace(best=cell.value is not None and cell.value == lowest))
    return cells


def _pair(findings: Findings, label: str, domain: str, runs: int | None = None) -> Measured:
    area = findings.value("miscalibration", label, domain, runs=runs)
    return Measured(findings.value("mae", label, domain, runs=runs), companion=area)


def appendix_table(findings: Findings) -> Table:
    """The paper's table beside ours, with the spread over the variables."""
    rows = []
    for kind in findings.kinds:
        for domain in findings.domains:
            printed, ours = paper.TABLE[kind][domain], findings.row(kind, domain) or {}
            least_printed = best_of(paper.TABLE[other][domain].mae for other in paper.KINDS)
            least = best_of(findings.value("mae", other, domain) for other in findings.kinds)
            rows.append(
                (
                    findings.name(kind),
                    DOMAIN_NAMES[domain],
                    Measured(printed.mae, printed.mae_spread, best=printed.mae == least_printed),
                    Measured(ours.get("mae"), ours.get("mae_spread"), best=ours.get("mae") == least is not None),
                    Measured(printed.miscalibration, printed.miscalibration_spread, decimals=2),
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
    draws = {kind: findings.draws(kind) for kind in findings.kinds}
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
    header = ("model", *_headings(findings.columns), "lowest error in")
    return Table("draws", caption, header, tuple(rows), "miscalibration")


def _over_draws(findings: Findings, labels: Sequence[str], domain: str) -> Measured:
    errors, areas = (
        [value for label in labels if (value := findings.value(key, label, domain)) is not None]
        for key in ("mae", "miscalibration")
    )
    if not errors:
        return Measured(None)
    return Measured(fmean(errors), pstdev(errors), companion=fmean(areas) if areas else None)


def leaderboard_table(findings: Findings) -> Table:
    """Every model, from the most runs that it was trained on: error and miscalibration by domain, the best first."""
    rows = []
    labels = [label for label in findings.labels if "split_seed" not in findings.settings(label)]
    for label in sorted(labels, key=lambda label: _rank(findings, label)):
        seconds = Measured(findings.training_seconds(label), decimals=1)
        about = (*_about(findings.described(label)), findings.runs(label)[-1])
        rows.append((findings.name(label), *about, *_pairs(findings, label, labels), seconds))
    if findings.kinds:
        rows.append(_printed_row(findings.columns))
    caption = (
        "Every model of this study, ordered by out-of-domain error (in-domain where no other runs were tested): mean "
        "absolute error and then the miscalibration area, over the whole field, in normalized space. Bold: the lowest "
        "error of a column."
    )
    if findings.kinds:
        caption += " The last row is the paper's ensemble as printed, on its own data."
    header = ("model", "error bars", "scaling; coordinates", "runs", *_headings(findings.columns), "training (s)")
    return Table("leaderboard", caption, header, tuple(rows), "miscalibration")


def _about(row: Row) -> tuple[str, str]:
    """What gives the error bars, and what the model sees; whole-field models see no coordinates."""
    bars: str = row["uq"]
    seen = [SCALING_NAMES[row["scaling"]]]
    if row["coordinates"] is not None:
        seen.append(COORDINATE_NAMES[row["coordinates"]])
    return UQ_NAMES.get(bars, bars), "; ".join(seen)


def _rank(findings: Findings, label: str) -> float:
    for domain in reversed(findings.both):
        mae = findings.value("mae", label, domain)
        if mae is not None:
            return mae
    return float("inf")


def _printed_row(domains: Sequence[str]) -> tuple:
    """The paper's ensemble; the paper does not pool the outer domains."""
    printed = [paper.TABLE["ensemble"].get(domain) for domain in domains]
    cells = (Measured(line.mae, companion=line.miscalibration) if line else Measured(None) for line in printed)
    return ("Ensemble, as printed", "ensemble", "none; x, r", paper.TRAINING_RUNS, *cells, Measured(None))


def learning_table(findings: Findings) -> Table:
    """The numbers of the learning curves."""
    rows = []
    for label in findings.labels:
        for runs in findings.runs(label) if len(findings.runs(label)) > 1 else ():
            rows.append(
                (findings.name(label), runs, *(_pair(findings, label, domain, runs) for domain in findings.both))
            )
    caption = (
        "Mean absolute error and then the miscalibration area, in normalized space, averaged over the state variables, "
        "by the number of training runs. Fewer runs than all are chosen to fill the training region."
    )
    return Table(
        "learning_curves", caption, ("model", "runs", *_headings(findings.both)), tuple(rows), "miscalibration"
    )


def coverage_table(findings: Findings) -> Table:
    """What the error bars are worth: observed shares inside intervals, in the whole field and the disturbed flow."""
    rows = []
    labels = [*findings.shown, *(["evidential-epistemic"] if "evidential-epistemic" in findings.labels else [])]
    for label in labels:
        for domain in BOTH:
            for region in ("all", "disturbed"):
                row = findings.row(label, domain, region=region)
                if row is None or row.get("coverage90") is None:
                    continue
                shares = (Measured(row.get(key), unit="%") for key in ("coverage50", "coverage90", "coverage95"))
                scores = (Measured(row.get(key)) for key in ("miscalibration", "mean_std", "mae", "z_rms", "crps"))
                place = (DOMAIN_NAMES[domain], REGION_NAMES[region])
                rows.append((findings.name(label), *place, *shares, *scores))
    caption = (
        "Share of points inside central 50, 90 and 95 % intervals (mean over runs), miscalibration area, mean standard "
        "deviation beside the mean absolute error, root mean square of error/std (z-RMS; 1 is right, over 1 the bars are "
        "too narrow) and continuous ranked probability score (CRPS; lower is better), averaged over the variables, in "
        "normalized space. The disturbed flow has a pressure over 1.01 times that of the free stream."
    )
    header = (
        "model", "domain", "region", "in 50 %", "in 90 %", "in 95 %", "miscalibration", "mean std", "MAE", "z-RMS", "CRPS",
    )  # fmt: skip
    return Table("coverage", caption, header, tuple(rows))


def region_table(findings: Findings) -> Table:
    """Where in the flow a model errs, and whether its bars know."""
    rows = []
    for label in findings.shown:
        for region, name in REGION_NAMES.items():
            row = findings.row(label, "in_domain", region=region)
            if row is None or region in ("all", "disturbed"):
                continue
            u1 = findings.row(label, "in_domain", "u1", region) or {}
            rows.append(
                (
                    findings.name(label),
                    name,
                    Measured(row.get("mae")),
                    Measured(row.get("mean_std")),
                    Measured(row.get("coverage90"), unit="%"),
                    Measured(u1.get("mae")),
                    Measured(u1.get("mean_std")),
                )
            )
    caption = (
        "Mean absolute error, mean standard deviation and share of points inside 90 % intervals by region of the flow, "
        "in-domain test runs, averaged over the variables and for u1 alone, in normalized space."
    )
    header = ("model", "region", "MAE", "mean std", "in 90 %", "MAE of u1", "mean std of u1")
    return Table("regions", caption, header, tuple(rows))


def relative_error_table(findings: Findings) -> Table:
    """The numbers of the figure of relative errors."""
    rows = []
    for label in findings.labels:
        for domain in findings.columns:
            for variable in ("u1", "u2", "rho", "T", "mean"):
                row = findings.row(label, domain, variable)
                if row is not None:
                    keys = ("relative_error", "relative_error_q25", "relative_error_q75", "miscalibration")
                    cells = (Measured(row.get(key)) for key in keys)
                    rows.append((findings.name(label), DOMAIN_NAMES[domain], variable, *cells, row["n_runs"]))
    caption = (
        "Relative error of a run (mean and quartiles over the test runs) and miscalibration area, by variable, in "
        "normalized space."
    )
    header = (
        "model",
        "domain",
        "variable",
        "relative error",
        "lower quartile",
        "upper quartile",
        "miscalibration",
        "runs",
    )
    return Table("relative_errors", caption, header, tuple(rows))


def selection_table(findings: Findings) -> Table | None:
    """The search for what the paper does not give."""
    selection = findings.results.selection
    candidates = selection.get("candidates") or []
    if not candidates:
        return None
    chosen = selection.get("chosen") or {}
    search = findings.results.configuration.get("selection") or {}
    keys = ("learning_rate", "batch", "schedule")
    rows = []
    for candidate in sorted(candidates, key=lambda c: (c["mae"] is None, c["mae"])):
        taken = all(candidate[key] == chosen.get(key) for key in keys)
        error = "diverged" if candidate["mae"] is None else Measured(candidate["mae"], best=taken)
        rows.append((f"{candidate['learning_rate']:g}", candidate["batch"], candidate["schedule"], error))
    caption = (
        f"Learning rate, batch and schedule, which the paper does not give: mean absolute error of the deterministic model "
        f"after {search.get('epochs', 'some')} epochs on {search.get('held_out', 'some')} training runs that were held out, "
        "in normalized space. Bold: taken for all networks of the study."
    )
    header = ("learning rate", "batch (points)", "schedule", "MAE on held-out runs")
    return Table("selection", caption, header, tuple(rows))


def claims_table(findings: Findings) -> Table:
    """What became of every claim of the paper."""
    rows = [
        (claim.statement, claim.source, claim.criterion, found.verdict.value, found.words)
        for claim, found in judge_all(findings)
    ]
    caption = "The paper's claims, in our words, what we take them to mean, and what these runs say of them."
    return Table("claims", caption, ("claim", "where", "tested as", "verdict", "what we found"), tuple(rows))


MAKERS: dict[str, Callable[[Findings], Table | None]] = {
    "summary": summary_table,
    "appendix": appendix_table,
    "draws": draws_table,
    "leaderboard": leaderboard_table,
    "learning_curves": learning_table,
    "coverage": coverage_table,
    "regions": region_table,
    "relative_errors": relative_error_table,
    "selection": selection_table,
    "claims": claims_table,
}


def all_tables(findings: Findings) -> dict[str, Table]:
    """Every table that has rows, by name."""
    made = {name: make(findings) for name, make in MAKERS.items()}
    return {name: table for name, table in made.items() if table is not None and table.rows}
