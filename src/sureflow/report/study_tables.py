"""The tables of a study."""

from collections.abc import Iterable, Sequence

from sureflow.evaluate.bar_parts import MESH, SURROGATE
from sureflow.evaluate.results import Row
from sureflow.report.findings import INSIDE, MEAN, OUTSIDE, Findings, region_name
from sureflow.report.reproductions import TableMaker
from sureflow.report.tabular import Measured, Table
from sureflow.wording import BARS, with_unit, words_of

UQ_NAMES = {**BARS, "evidential-epistemic": "epistemic", "gp": "GP"}  # short ones, for narrow columns
# Unlike `evaluate`, a study does not count the intervals that predictions promise, which networks have none of.
WITHIN = {"coverage50": "within 0.67 std", "coverage90": "within 1.64 std", "coverage95": "within 1.96 std"}
SCALING_NAMES = {"freestream": "free stream", "log-density": "log density"}
PHYSICAL_NAMES = ("physical", "xr")  # what version 1 of the results called them comes second
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def best_of(values: Iterable[float | None]) -> float | None:
    """The smallest of those that are known."""
    return min((value for value in values if value is not None), default=None)


def summary_table(findings: Findings) -> Table:
    """The first screen: error and miscalibration of the models that are compared, by domain."""
    rows = [(findings.name(label), *_pairs(findings, label, findings.shown)) for label in findings.shown]
    outer = len(findings.outer)
    pooled = f" Out-of-domain pools the {counted(outer)} domains before it." if outer > 1 else ""
    scale = " (0 is perfect, 0.5 the worst)" if findings.has_bars else ""
    caption = (
        f"Mean absolute error{_and_area(findings)}{scale}, in normalized space, averaged over the state variables."
        f"{pooled} Bold: the lowest error of a column."
    )
    return Table("summary", caption, ("model", *headings(findings, findings.columns)), tuple(rows), "miscalibration")


def _and_area(findings: Findings) -> str:
    """What the second number of a cell is, where there is one."""
    return " and then the miscalibration area" if findings.has_bars else ""


def counted(count: int) -> str:
    """'four'."""
    return COUNTS[count] if count < len(COUNTS) else str(count)


def headings(findings: Findings, domains: Sequence[str]) -> list[str]:
    return [findings.domain_name(domain) for domain in domains]


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


def leaderboard_table(findings: Findings) -> Table:
    """Every model, from the most runs that it was trained on: error and miscalibration by domain, the best first."""
    rows, labels = [], findings.competing
    for label in sorted(labels, key=findings.rank):
        seconds = Measured(findings.training_seconds(label), decimals=1)
        about = (*_about(findings, findings.described(label)), findings.runs(label)[-1])
        rows.append((findings.name(label), *about, *_pairs(findings, label, labels), seconds))
    last = findings.both[-1]
    order = f"error in the domain {findings.domain_name(last)}"
    if last in (INSIDE, OUTSIDE):
        order = "out-of-domain error (in-domain where no other runs were tested)"
    caption = (
        f"Every model of this study, ordered by {order}: mean absolute error{_and_area(findings)}, over the whole field, in "
        "normalized space. Bold: the lowest error of a column."
    )
    domains = headings(findings, findings.columns)
    header = ("model", "error bars", "scaling; coordinates", "runs", *domains, "training (s)")
    return Table("leaderboard", caption, header, tuple(rows), "miscalibration")


def _about(findings: Findings, row: Row) -> tuple[str, str]:
    """What gives the error bars, and what the model sees; whole-field models see no coordinates."""
    bars: str = row["uq"]
    scaling: str = row["scaling"]
    coordinates: str | None = row["coordinates"]
    seen = [SCALING_NAMES.get(scaling, scaling)]
    if coordinates in PHYSICAL_NAMES:
        seen.append(", ".join(findings.fact("axes") or ()) or "physical")
    elif coordinates is not None:
        seen.append(coordinates)
    return UQ_NAMES.get(bars, bars), "; ".join(seen)


def error_table(findings: Findings) -> Table | None:
    """Errors of the models that are compared, by variable and domain, in physical units where these are known."""
    scales, units = _scales(findings)
    rows = []
    for label in findings.shown:
        for domain in findings.columns:
            errors = [findings.value("mae", label, domain, name) for name in findings.variables]
            cells = (Measured(None if e is None else e * scale) for e, scale in zip(errors, scales, strict=True))
            rows.append((findings.name(label), findings.domain_name(domain), *cells))
    titles = (with_unit(name, unit) for name, unit in zip(findings.variables, units, strict=True))
    space = "normalized space" if set(scales) == {1.0} else "physical units"
    caption = f"Mean absolute error by variable and domain, in {space}."
    return Table("errors", caption, ("model", "domain", *titles), tuple(rows))


def _scales(findings: Findings) -> tuple[list[float], list[str]]:
    """What an error of 1 is, by variable, and its unit; ones and nothing where the units are not known."""
    std, units = (findings.results.data.get("space") or {}).get("std", ()), findings.fact("fields") or {}
    if len(std) != len(findings.variables) or not all(units.get(name) for name in findings.variables):
        return [1.0] * len(findings.variables), [""] * len(findings.variables)
    return list(std), [units[name] for name in findings.variables]


def learning_table(findings: Findings) -> Table:
    """The numbers of the learning curves."""
    rows = []
    for label in findings.labels:
        for runs in findings.runs(label) if len(findings.runs(label)) > 1 else ():
            rows.append(
                (findings.name(label), runs, *(_pair(findings, label, domain, runs) for domain in findings.both))
            )
    caption = (
        f"Mean absolute error{_and_area(findings)}, in normalized space, averaged over the state variables, "
        "by the number of training runs. Fewer runs than all are chosen to fill the training region."
    )
    return Table(
        "learning_curves", caption, ("model", "runs", *headings(findings, findings.both)), tuple(rows), "miscalibration"
    )


def coverage_table(findings: Findings) -> Table:
    """What the error bars are worth: observed shares inside intervals, in the whole field and the disturbed flow."""
    rows = []
    for label in findings.shown_with_parts:
        for domain in findings.both:
            for region in ("all", "disturbed"):
                row = findings.row(label, domain, region=region)
                if row is None or row.get("coverage90") is None:
                    continue
                shares = (Measured(row.get(key), unit="%") for key in WITHIN)
                scores = (Measured(row.get(key)) for key in ("miscalibration", "mean_std", "mae", "z_rms", "crps"))
                place = (findings.domain_name(domain), region_name(region))
                rows.append((findings.name(label), *place, *shares, *scores))
    caption = (
        "Share of points within 0.67, 1.64 and 1.96 standard deviations, which hold 50, 90 and 95 % of a Gaussian (of a "
        "mixture, between its quantiles; mean over runs), miscalibration area, mean standard deviation beside the mean "
        "absolute error, root mean square of error/std (z-RMS; 1 is right, over 1 the bars are too narrow) and "
        "continuous ranked probability score (CRPS; lower is better), averaged over the variables, in normalized space."
    )
    if "disturbed" in findings.regions:
        caption += " The disturbed flow has a pressure over 1.01 times that of the free stream."
    header = (
        "model", "domain", "region", *WITHIN.values(), "miscalibration", "mean std", "MAE", "z-RMS", "CRPS",
    )  # fmt: skip
    return Table("coverage", caption, header, tuple(rows))


def region_table(findings: Findings) -> Table | None:
    """Where in the field a model errs, and whether its bars know."""
    rows, domain = [], findings.columns[0]
    first = findings.variables[0]
    for label in findings.shown:
        for region in findings.regions:
            row = findings.row(label, domain, region=region)
            if row is None or region in ("all", "disturbed"):
                continue
            alone = findings.row(label, domain, first, region) or {}
            rows.append(
                (
                    findings.name(label),
                    region_name(region),
                    Measured(row.get("mae")),
                    Measured(row.get("mean_std")),
                    Measured(row.get("coverage90"), unit="%"),
                    Measured(alone.get("mae")),
                    Measured(alone.get("mean_std")),
                )
            )
    caption = (
        "Mean absolute error, mean standard deviation and share of points within 1.64 standard deviations by region of the "
        f"flow, {findings.domain_name(domain)} test runs, averaged over the variables and for {first} alone, in normalized "
        "space."
    )
    header = ("model", "region", "MAE", "mean std", WITHIN["coverage90"], f"MAE of {first}", f"mean std of {first}")
    return Table("regions", caption, header, tuple(rows))


def quantity_table(findings: Findings) -> Table | None:
    """What engineers read off the predictions, against the test runs."""
    found = {(row["label"], row["runs"], row["domain"], row["quantity"]): row for row in findings.results.quantities}
    names = list(dict.fromkeys(row["quantity"] for row in findings.results.quantities))
    rows = []
    for label in findings.shown:
        for runs in findings.runs(label):
            for domain in findings.both:
                cells = [found.get((label, runs, domain, name)) for name in names]
                if any(cells):
                    about = (findings.name(label), runs, findings.domain_name(domain))
                    rows.append((*about, *(_quantity(cell) for cell in cells)))
    caption = (
        "Mean relative error of quantities in percent, and, of calibrated models, the share of test runs whose value lies "
        "within 1.64 standard deviations. Values are read off predicted and computed fields in the same way."
    )
    titles = (words_of(name) for name in names)
    return Table("quantities", caption, ("model", "runs", "domain", *titles), tuple(rows), WITHIN["coverage90"])


def _quantity(row: Row | None) -> Measured:
    if row is None or row["relative_error"] is None:
        return Measured(None)
    return Measured(100.0 * row["relative_error"], companion=row["coverage90"])


def bar_part_table(findings: Findings) -> Table | None:
    """The surrogate's and the mesh's part of the bars."""
    rows = []
    for domain in findings.both:
        for row in findings.bar_parts(domain):
            surrogate, mesh = row[SURROGATE], row[MESH]
            share = mesh**2 / (surrogate**2 + mesh**2) if surrogate or mesh else None
            name = with_unit(words_of(row["name"]), row["unit"])
            about = (findings.name(row["label"]), findings.domain_name(domain), name)
            rows.append((*about, Measured(surrogate), Measured(mesh), Measured(share, unit="%")))
    caption = (
        "Standard deviations for the surrogate's error against runs on its mesh and for the error of that mesh, averaged over "
        "the test runs (and the points of a field), and the mesh's share of both variances together."
    )
    return Table("bar_parts", caption, ("model", "domain", "of", "surrogate", "mesh", "mesh's share"), tuple(rows))


def verdict_table(findings: Findings) -> Table | None:
    """What the models say of the test runs before any of them is computed."""
    kinds = ("inside", "extrapolated", "refused")
    rows = [
        (findings.name(row["label"]), row["runs"], findings.domain_name(row["domain"]), *(row[kind] for kind in kinds))
        for row in findings.results.verdicts
        if row["label"] in findings.shown and row["domain"] in findings.both
    ]
    caption = "How many test runs the models call inside their training domain, extrapolated, or refuse to predict."
    return Table("verdicts", caption, ("model", "runs", "domain", *kinds), tuple(sorted(rows, key=_by_model_and_runs)))


def _by_model_and_runs(row: tuple) -> tuple:
    return row[:2]


def relative_error_table(findings: Findings) -> Table:
    """The numbers of the figure of relative errors."""
    rows = []
    for label in findings.labels:
        for domain in findings.columns:
            for variable in (*findings.variables, MEAN):
                row = findings.row(label, domain, variable)
                if row is not None:
                    keys = ("relative_error", "relative_error_q25", "relative_error_q75", "miscalibration")
                    cells = (Measured(row.get(key)) for key in keys)
                    rows.append((findings.name(label), findings.domain_name(domain), variable, *cells, row["n_runs"]))
    caption = (
        "Relative error of a run (mean and quartiles over the test runs) and miscalibration area, by variable, in "
        "normalized space."
    )
    header = (
        "model", "domain", "variable", "relative error", "lower quartile", "upper quartile", "miscalibration", "runs",
    )  # fmt: skip
    return Table("relative_errors", caption, header, tuple(rows))


def selection_table(findings: Findings) -> Table | None:
    """The search for training settings."""
    selection = findings.results.selection
    candidates = selection.get("candidates") or []
    if not candidates:
        return None
    chosen = selection.get("chosen") or {}
    search = findings.results.configuration.get("selection") or {}
    keys = [key for key in candidates[0] if key != "mae"]
    rows = []
    for candidate in sorted(candidates, key=lambda c: (c["mae"] is None, c["mae"])):
        taken = all(candidate[key] == chosen.get(key) for key in keys)
        error = "diverged" if candidate["mae"] is None else Measured(candidate["mae"], best=taken)
        tried = (f"{value:g}" if isinstance(value, float) else value for value in (candidate[key] for key in keys))
        rows.append((*tried, error))
    caption = (
        f"Candidates for the training settings: mean absolute error of the deterministic model "
        f"after {search.get('epochs', 'some')} epochs on {search.get('held_out', 'some')} training runs that were held out, "
        "in normalized space. Bold: taken for all networks of the study."
    )
    titles = ("batch (points)" if key == "batch" else key.replace("_", " ") for key in keys)
    return Table("selection", caption, (*titles, "MAE on held-out runs"), tuple(rows))


MAKERS: dict[str, TableMaker] = {
    "summary": summary_table,
    "errors": error_table,
    "leaderboard": leaderboard_table,
    "learning_curves": learning_table,
    "coverage": coverage_table,
    "regions": region_table,
    "quantities": quantity_table,
    "verdicts": verdict_table,
    "bar_parts": bar_part_table,
    "relative_errors": relative_error_table,
    "selection": selection_table,
}


def table_makers(findings: Findings) -> dict[str, TableMaker | None]:
    """What makes the tables of a study; nothing makes those that its reproduction leaves out."""
    return {**MAKERS, **findings.reproduction.tables}


def all_tables(findings: Findings) -> dict[str, Table]:
    """Every table that has rows, by name."""
    if not findings.labels:
        return {}
    made = {name: make(findings) for name, make in table_makers(findings).items() if make is not None}
    return {name: table for name, table in made.items() if table is not None and table.rows}
