"""The tables of a study."""

from collections.abc import Iterable, Sequence

from sureflow.report import paper
from sureflow.report.export import Measured, Table
from sureflow.report.findings import DOMAIN_NAMES, REGION_NAMES, Findings


def best_of(values: Iterable[float | None]) -> float | None:
    """The smallest of those that are known."""
    return min((value for value in values if value is not None), default=None)


def summary_table(findings: Findings) -> Table:
    """The first screen: error and miscalibration of the paper's kinds and the default model, by domain."""
    labels, domains = findings.shown or findings.labels, findings.domains
    rows = []
    for label in labels:
        rows.append((findings.name(label), *(_pair(findings, label, labels, domain) for domain in domains)))
    caption = (
        "Mean absolute error, and below it the miscalibration area (0 is perfect, 0.5 the worst), in normalized space, "
        "averaged over the four state variables. Bold: the lowest error of a column."
    )
    return Table(
        "summary", caption, ("model", *(DOMAIN_NAMES[domain] for domain in domains)), tuple(rows), "miscalibration"
    )


def _pair(findings: Findings, label: str, labels: Sequence[str], domain: str) -> Measured:
    mae = findings.value("mae", label, domain)
    best = best_of(findings.value("mae", other, domain) for other in labels)
    return Measured(
        mae, best=mae is not None and mae == best, companion=findings.value("miscalibration", label, domain)
    )


def appendix_table(findings: Findings) -> Table:
    """The paper's table beside ours, with the spread over the variables."""
    rows = []
    kinds = [kind for kind in paper.KINDS if kind in findings.labels]
    for kind in kinds:
        for domain in findings.domains:
            printed, ours = paper.TABLE[kind][domain], findings.row(kind, domain) or {}
            best = best_of(findings.value("mae", other, domain) for other in kinds)
            rows.append(
                (
                    findings.name(kind),
                    DOMAIN_NAMES[domain],
                    Measured(printed.mae, printed.mae_spread, best=kind == "ensemble"),
                    Measured(ours.get("mae"), ours.get("mae_spread"), best=ours.get("mae") == best is not None),
                    Measured(printed.miscalibration, printed.miscalibration_spread, decimals=2),
                    Measured(ours.get("miscalibration"), ours.get("miscalibration_spread"), decimals=2),
                )
            )
    caption = (
        "Mean absolute error over all points of a domain and miscalibration area, averaged over the four state variables, "
        "± their standard deviation over the variables. The paper's columns are its printed appendix table, computed on "
        "its own CFD data; bold: the lowest error of a domain."
    )
    header = ("model", "domain", "MAE, paper", "MAE, here", "miscalibration, paper", "miscalibration, here")
    return Table("appendix", caption, header, tuple(rows))


def leaderboard_table(findings: Findings) -> Table:
    """Every model and number of training runs: error and miscalibration by domain, the best first."""
    domains = findings.domains
    entries = [(label, runs) for label in findings.labels for runs in findings.runs(label)]
    entries.sort(key=lambda entry: _rank(findings, *entry))
    best = {domain: best_of(findings.value("mae", *e[:1], domain, runs=e[1]) for e in entries) for domain in domains}
    rows = []
    for label, runs in entries:
        described = next(row for row in findings.results.rows if row["label"] == label)
        cells = []
        for domain in domains:
            mae = findings.value("mae", label, domain, runs=runs)
            wrong = findings.value("miscalibration", label, domain, runs=runs)
            cells.append(Measured(mae, best=mae is not None and mae == best[domain], companion=wrong))
        seconds = findings.training_seconds(label) if runs == findings.runs(label)[-1] else None
        name = findings.name(label) + (" (default)" if label == findings.default else "")
        about = ", ".join(str(described[key]) for key in ("uq", "scaling", "coordinates") if described.get(key))
        rows.append((name, about, runs, *cells, Measured(seconds)))
    rows.append(_printed_row(domains))
    caption = (
        "Every model of this study, ordered by out-of-domain error: mean absolute error, and below it the miscalibration "
        "area, over the whole field. The last row is the paper's ensemble as printed, on its own data."
    )
    header = ("model", "uq, scaling, coordinates", "runs", *(DOMAIN_NAMES[d] for d in domains), "training (s)")
    return Table("leaderboard", caption, header, tuple(rows), "miscalibration")


def _rank(findings: Findings, label: str, runs: int) -> float:
    for domain in ("out_of_domain", "in_domain"):
        mae = findings.value("mae", label, domain, runs=runs)
        if mae is not None:
            return mae
    return float("inf")


def _printed_row(domains: Sequence[str]) -> tuple:
    printed = [paper.TABLE["ensemble"][domain] for domain in domains]
    cells = (Measured(line.mae, companion=line.miscalibration) for line in printed)
    return ("Ensemble, as printed", "ensemble, none, xr", paper.TRAINING_RUNS, *cells, Measured(None))


def coverage_table(findings: Findings) -> Table:
    """What the error bars are worth: observed shares inside intervals, in the whole field and the disturbed flow."""
    rows = []
    labels = [*findings.shown, *(["evidential-epistemic"] if "evidential-epistemic" in findings.labels else [])]
    for label in labels:
        for domain in ("in_domain", "out_of_domain"):
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
        "deviation beside the mean absolute error, root mean square of error/std (1 is right) and CRPS, averaged over the "
        "variables. Most points of the whole field are undisturbed free stream; the disturbed flow is what counts."
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
    caption = "Error and mean standard deviation by region of the flow, in-domain test runs."
    header = ("model", "region", "MAE", "mean std", "in 90 %", "MAE of u1", "mean std of u1")
    return Table("regions", caption, header, tuple(rows))


def relative_error_table(findings: Findings) -> Table:
    """The numbers of the figure of relative errors."""
    rows = []
    for label in findings.labels:
        for domain in (*findings.domains, "out_of_domain"):
            for variable in ("u1", "u2", "rho", "T", "mean"):
                row = findings.row(label, domain, variable)
                if row is not None:
                    keys = ("relative_error", "relative_error_q25", "relative_error_q75", "miscalibration")
                    cells = (Measured(row.get(key)) for key in keys)
                    rows.append((findings.name(label), DOMAIN_NAMES[domain], variable, *cells, row["n_runs"]))
    caption = "Relative error per run (mean and quartiles over the test runs) and miscalibration area, by variable."
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
    for candidate in sorted(candidates, key=lambda c: (c.get("mae") is None, c.get("mae") or 0.0)):
        taken = all(candidate.get(key) == chosen.get(key) for key in keys)
        settings = (f"{candidate.get('learning_rate'):g}", candidate.get("batch"), str(candidate.get("schedule")))
        rows.append((*settings, Measured(candidate.get("mae"), best=taken)))
    caption = (
        f"Learning rate, batch and schedule, which the paper does not give: the deterministic model, "
        f"{search.get('epochs', 'some')} epochs, mean absolute error on {search.get('held_out', 'some')} training runs held "
        "out. Bold: taken for all four kinds."
    )
    return Table("selection", caption, ("learning rate", "batch", "schedule", "MAE held out"), tuple(rows))


def all_tables(findings: Findings) -> dict[str, Table]:
    """Every table that has rows, by name."""
    made = [
        summary_table(findings),
        appendix_table(findings),
        leaderboard_table(findings),
        coverage_table(findings),
        region_table(findings),
        relative_error_table(findings),
        selection_table(findings),
    ]
    return {table.name: table for table in made if table is not None and table.rows}
