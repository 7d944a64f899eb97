"""The figures that the paper has, on our runs."""

from collections.abc import Iterable

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from sureflow.evaluate.results import Row
from sureflow.report.captions import general_captions
from sureflow.report.figures import STYLE, symbol
from sureflow.report.findings import Findings
from sureflow.report.spatial import mapped, spatial_default_figure, spatial_figure
from sureflow.report.study_figures import (
    VARIABLE_LINES,
    epochs_figure,
    errors_figure,
    learning_curve_figure,
    miscalibration_figure,
)
from sureflow.reproduction.leon2023 import printed

WITH_BARS = ("mve", "evidential", "evidential-epistemic", "ensemble")


def relative_errors(findings: Findings) -> Figure | None:
    """Fig. 2: the paper's kinds alone."""
    return errors_figure(findings, findings.kinds)


def miscalibration(findings: Findings) -> Figure | None:
    """Fig. 3: the paper's kinds that have error bars."""
    return miscalibration_figure(findings, [label for label in WITH_BARS if label in findings.labels])


def learning_curves(findings: Findings) -> Figure | None:
    """With the paper's ensemble, ours and as printed, where the domains are the paper's, and so body and conditions."""
    mark = (printed.TABLE["ensemble"]["in_domain"].mae, f"the paper's ensemble, {printed.TRAINING_RUNS} runs, its data")
    return learning_curve_figure(findings, ["ensemble"], mark if findings.outer else None)


def evidential_epochs(findings: Findings) -> Figure | None:
    return epochs_figure(findings, ["evidential"])


def spatial_u1(findings: Findings) -> Figure | None:
    """Fig. 4."""
    return spatial_figure(findings, mapped(findings, "ensemble"), ["u1"])


def spatial(findings: Findings) -> Figure | None:
    return spatial_figure(findings, mapped(findings, "ensemble"))


def spatial_default(findings: Findings) -> Figure | None:
    return spatial_default_figure(findings, "ensemble")


def evidential_std(findings: Findings, label: str = "evidential", domain: str = "in_domain") -> Figure | None:
    """Fig. 5: how large a model's standard deviations are, by variable."""
    rows = {
        row["variable"]: row
        for row in findings.results.histogram
        if row["label"] == label and row["domain"] == domain and row["variable"] in findings.variables
    }
    if not rows:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 3.8), layout="constrained")
        axis = figure.subplots()
        for (name, row), style in zip(rows.items(), VARIABLE_LINES, strict=False):
            counts = np.asarray(row["counts"], float)
            largest = findings.value("largest_std", label, domain, name)
            end = "" if largest is None else f", largest {_power(largest)}"
            left = 10.0 ** np.asarray(row["edges"], float)
            axis.step(left, np.append(counts, counts[-1]), where="post", label=symbol(name) + end, **style)
        axis.set_xscale("log")
        axis.set_xlim(*_filled_range(rows.values()))
        axis.set_yscale("symlog", linthresh=1.0)
        axis.set_ylim(0.0, 5.0 * max(max(row["counts"]) for row in rows.values()))
        axis.axvline(1.0, color="0.4", linewidth=0.9, dashes=(4, 3))
        axis.annotate(
            " std of the fields", (1.0, 1.0), xycoords=("data", "axes fraction"), va="top", color="0.35", fontsize=8
        )
        axis.set_xlabel("predicted standard deviation, in standard deviations of the training runs")
        axis.set_ylabel("points")
        axis.grid(color="0.92", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.set_title(f"{findings.name(label)}, {findings.domain_name(domain)}", loc="left")
        axis.legend(frameon=False, fontsize=8)
    return figure


def _filled_range(rows: Iterable[Row]) -> tuple[float, float]:
    """The powers of ten between which some histogram has points, and the std of the fields."""
    ends = [0.0]
    for row in rows:
        filled = np.flatnonzero(row["counts"])
        ends += [row["edges"][place] for place in (*filled[:1], *(filled[-1:] + 1))]
    return 10.0 ** np.floor(min(ends)), 10.0 ** np.ceil(max(ends))


def _power(value: float) -> str:
    """'3.2', '47' or '$1.2\\cdot10^{4}$'."""
    if 0.01 <= value < 100:
        return f"{value:.2g}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"${mantissa}\\cdot10^{{{int(exponent)}}}$"


def captions(findings: Findings) -> dict[str, str]:
    """Of the paper's figures, in its order."""
    condition, general = findings.shown_condition, general_captions(findings)
    return {
        "fields": f"Computed fields at {condition}, a test run; x is measured from the nose tip, r from the axis.",
        "relative_errors": general["relative_errors"],
        "miscalibration": general["miscalibration"],
        "spatial_u1": f"Absolute error and standard deviation of u1 at {condition}, normalized, on one color scale. Darker "
        "is higher; black lies above the scale.",
        "evidential_std": "Number of points by the standard deviation that the evidential model predicts for them, "
        "in-domain test runs.",
        "evidential_epochs": "Mean evidential standard deviation on the training points, epoch by epoch.",
    }
