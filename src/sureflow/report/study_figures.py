"""Figures of a study: the paper's, and those that it lacks. A figure that the results cannot fill is None."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from sureflow.evaluate.results import Row
from sureflow.report import paper
from sureflow.report.figures import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    STYLE,
    Panel,
    cell_areas,
    draw_fields,
    flow_panels,
    largest_seen,
)
from sureflow.report.findings import DOMAIN_NAMES, Findings, variables
from sureflow.report.planes import coverage_plane_figure, error_plane_figure

SYMBOLS = {"u1": "$u_1$", "u2": "$u_2$", "rho": "$\\rho$", "T": "$T$", "mean": "mean"}
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
VARIABLE_LINES: tuple[dict[str, Any], ...] = (
    {"color": BLUE},
    {"color": ORANGE, "dashes": (6, 2)},
    {"color": GREEN, "dashes": (2, 1.5)},
    {"color": RED, "dashes": (6, 2, 2, 2)},
)
MARKERS = "osD^vP"
LARGE_ERROR = 0.5  # the paper draws what lies above in black
SMALL = 0.01  # color scales that end below are given in a power of ten
DARKER_IS_HIGHER = "YlGnBu"


def color(findings: Findings, label: str) -> str:
    """Fixed for the models of the paper and of this package, the default one among them; the others in turn."""
    known = {other: _fixed_color(findings, other) for other in findings.labels}
    others = [other for other in findings.labels if known[other] is None]
    return known[label] or OTHERS[others.index(label) % len(OTHERS)]


def _fixed_color(findings: Findings, label: str) -> str | None:
    return COLORS.get(label) or COLORS.get(findings.described(label).get("model", ""))


def fields_figure(findings: Findings) -> Figure | None:
    """The four computed state variables at the condition that the paper shows."""
    if "truth" not in findings.maps:
        return None
    maps = findings.maps
    title = f"Computed flow, {findings.shown_condition}"
    return draw_fields(maps["node_x"], maps["node_r"], flow_panels(maps["truth"]), title=title)


def errors_figure(findings: Findings) -> Figure | None:
    """Relative errors by variable and model, in-domain and outside; whiskers are the inter-quartile range over runs."""

    def bar(label: str, domain: str, variable: str) -> tuple[float, float, float] | None:
        row = findings.row(label, domain, variable)
        if row is None or row["relative_error"] is None or row["relative_error_q25"] is None:
            return None
        return row["relative_error"], row["relative_error_q25"], row["relative_error_q75"]

    return _bars(findings, findings.kinds, bar, "relative error of a run")


def miscalibration_figure(findings: Findings) -> Figure | None:
    """Miscalibration areas by variable and model; whiskers outside are the standard deviation over the four domains."""

    def bar(label: str, domain: str, variable: str) -> tuple[float, float, float] | None:
        value = findings.value("miscalibration", label, domain, variable)
        if value is None:
            return None
        pooled = domain == "out_of_domain"
        spread = (findings.value("miscalibration_spread", label, domain, variable) if pooled else None) or 0.0
        return value, max(0.0, value - spread), value + spread

    labels = [label for label in ("mve", "evidential", "evidential-epistemic", "ensemble") if label in findings.labels]
    return _bars(findings, labels, bar, "miscalibration area", highest=0.5)


def _bars(
    findings: Findings,
    labels: Sequence[str],
    bar: Callable[[str, str, str], tuple[float, float, float] | None],
    ylabel: str,
    highest: float | None = None,
) -> Figure | None:
    """Groups of bars by variable, a bar for each model: in-domain above, out-of-domain below, on one scale."""
    names, domains = (*variables(), "mean"), findings.both
    found = {(d, k, v): bar(k, d, v) for d in domains for k in labels for v in names}
    if not any(found.values()):
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 2.5 * len(domains) + 0.4), layout="constrained")
        axes = figure.subplots(len(domains), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        width = 0.8 / len(labels)
        for axis, domain in zip(axes, domains, strict=True):
            for place, label in enumerate(labels):
                left = np.arange(len(names)) + (place - 0.5 * (len(labels) - 1)) * width
                shown = [(x, found[domain, label, v]) for x, v in zip(left, names, strict=True)]
                _draw_bars(axis, [s for s in shown if s[1]], width, color(findings, label), findings.name(label))
            axis.set_title(DOMAIN_NAMES[domain], loc="left")
            axis.set_ylabel(ylabel)
            axis.grid(axis="y", color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
            axis.axvline(len(names) - 1.5, color="0.7", linewidth=0.8, dashes=(2, 3))
            axis.tick_params(axis="x", length=0, labelbottom=True, labelsize=10)
        axes[0].set_ylim(0.0, highest)
        axes[0].set_xlim(-0.55, len(names) - 0.45)
        axes[0].set_xticks(range(len(names)), [SYMBOLS[name] for name in names])
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(labels), frameon=False
        )
    return figure


def _draw_bars(axis: Axes, bars: Sequence[Any], width: float, shade: str, label: str) -> None:
    if not bars:
        axis.bar([], [], color=shade, label=label)
        return
    x = [place for place, _ in bars]
    value, low, high = np.array([numbers for _, numbers in bars]).T
    axis.bar(x, value, 0.92 * width, color=shade, edgecolor="0.3", linewidth=0.4, label=label)
    if (high > low).any():
        # The mean may lie outside of the inter-quartile range: whiskers are drawn where they are, not about the bar.
        axis.vlines(x, low, high, color="0.15", linewidth=1.0)
        for end in (low, high):
            axis.plot(x, end, "_", color="0.15", markersize=60 * width / 2.4, markeredgewidth=1.0)


def spatial_figure(findings: Findings, label: str, names: Sequence[str] | None = None) -> Figure | None:
    """Absolute error of a model beside its standard deviation, in normalized space; darker is higher."""
    if not findings.has_map(label):
        return None
    maps = findings.maps
    nodes = maps["node_x"], maps["node_r"]
    scale = np.asarray(maps["space_std"])[:, None, None]
    error, std = np.abs(maps[f"{label}__mean"] - maps["truth"]) / scale, maps[f"{label}__std"] / scale
    panels = []
    for place, name in enumerate(variables()):
        if names is None or name in names:
            panels += _error_and_bar(SYMBOLS[name], error[place], std[place], cell_areas(*nodes))
    title = f"{findings.name(label)}, {findings.shown_condition}, in standard deviations of the training runs"
    return draw_fields(*nodes, panels, title=title)


def _error_and_bar(symbol: str, error: np.ndarray, std: np.ndarray, areas: np.ndarray) -> list[Panel]:
    """Two panels on one color scale, so that they can be compared."""
    highest = min(LARGE_ERROR, max(largest_seen(values, areas) for values in (error, std)))
    exponent = int(np.floor(np.log10(highest))) if 0 < highest < SMALL else 0
    unit = f" ($10^{{{exponent}}}$)" if exponent else ""
    shown = {f"|error| of {symbol}{unit}": error, f"standard deviation of {symbol}{unit}": std}
    return [
        Panel(words, values / 10.0**exponent, DARKER_IS_HIGHER, highest=highest / 10.0**exponent)
        for words, values in shown.items()
    ]


def histogram_figure(findings: Findings, label: str = "evidential", domain: str = "in_domain") -> Figure | None:
    """How large a model's standard deviations are, by variable."""
    rows = {
        row["variable"]: row
        for row in findings.results.histogram
        if row["label"] == label and row["domain"] == domain and row["variable"] in variables()
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
            axis.step(left, np.append(counts, counts[-1]), where="post", label=SYMBOLS[name] + end, **style)
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
        axis.set_title(f"{findings.name(label)}, {DOMAIN_NAMES[domain]}", loc="left")
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


def calibration_figure(findings: Findings, region: str = "all") -> Figure | None:
    """Share of points inside central intervals against the share that ought to be, for every kind of model."""
    curves = {
        (row["label"], row["domain"]): row
        for row in findings.results.curves
        if row["variable"] == "mean"
        and row["region"] == region
        and row["runs"] == max(findings.runs(row["label"]), default=None)
    }
    labels = [
        label
        for label in [*findings.shown, "evidential-epistemic"]
        if any((label, domain) in curves for domain in findings.both)
    ]
    if not labels:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 4.6), layout="constrained")
        for axis, domain in zip(_panels(figure, findings), findings.both, strict=True):
            axis.plot([0, 1], [0, 1], color="0.55", linewidth=0.9, dashes=(4, 3), label="perfect")
            for label in labels:
                row = curves.get((label, domain))
                expected, observed = (row["expected"], row["observed"]) if row else ([], [])
                axis.plot(expected, observed, **_line(findings, label), label=findings.name(label))
            axis.set_title(DOMAIN_NAMES[domain], loc="left")
            axis.set_xlabel("expected share inside")
            axis.set_aspect("equal")
            axis.set_xlim(0, 1)
            axis.set_ylim(0, 1)
            axis.grid(color="0.92", linewidth=0.6)
        first = figure.axes[0]
        first.set_ylabel("observed share inside")
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        for x, y, words in ((0.27, 0.79, "bars too wide"), (0.73, 0.08, "bars too narrow")):
            first.text(x, y, words, ha="center", color="0.35", fontsize=8, bbox=behind, zorder=4)
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def _line(findings: Findings, label: str) -> dict[str, Any]:
    """How a model is drawn: the default one wider."""
    width = 2.4 if label == findings.default else 1.6
    dashes = {"dashes": DASHES[label]} if label in DASHES else {}
    return {"color": color(findings, label), "linewidth": width, **dashes}


def learning_curve_figure(findings: Findings) -> Figure | None:
    """Error against the number of training runs, for models that were trained on several numbers of them.

    The ensemble is there for comparison, also with a single number of runs.
    """
    labels = [label for label in findings.labels if len(findings.runs(label)) > 1]
    if not labels:
        return None
    if "ensemble" in findings.labels and "ensemble" not in labels:
        labels.append("ensemble")
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 4.2), layout="constrained")
        axes = _panels(figure, findings)
        for axis, domain in zip(axes, findings.both, strict=True):
            _draw_learning(axis, findings, labels, domain)
        first, ticks = axes[0], sorted({n for label in labels for n in findings.runs(label)})
        first.set_xticks(ticks, [str(n) for n in ticks])
        first.xaxis.set_minor_locator(NullLocator())
        first.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        first.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        first.yaxis.set_minor_formatter(NullFormatter())
        first.set_ylabel("mean absolute error, normalized")
        if findings.outer:  # the paper's domains, and so its body and conditions
            _mark_paper(first)
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def _panels(figure: Figure, findings: Findings) -> Sequence[Axes]:
    """A panel in-domain and, where it was tested, one out-of-domain, on the same axes."""
    return figure.subplots(1, len(findings.both), sharex=True, sharey=True, squeeze=False)[0]


def _draw_learning(axis: Axes, findings: Findings, labels: Sequence[str], domain: str) -> None:
    for label, marker in zip(labels, itertools.cycle(MARKERS), strict=False):
        points = [(n, findings.value("mae", label, domain, runs=n)) for n in findings.runs(label)]
        runs, errors = np.array([point for point in points if point[1] is not None], float).reshape(-1, 2).T
        style = {"color": color(findings, label), "marker": marker, "markersize": 4}
        axis.loglog(runs, errors, **style, label=findings.name(label))
    axis.set_title(DOMAIN_NAMES[domain], loc="left")
    axis.set_xlabel("training runs")
    axis.grid(color="0.92", linewidth=0.6, which="both")
    axis.set_axisbelow(True)


def _mark_paper(axis: Axes) -> None:
    """The in-domain error that the paper prints for its ensemble."""
    printed = paper.TABLE["ensemble"]["in_domain"].mae
    axis.axhline(printed, color="0.45", linewidth=0.9, dashes=(4, 3))
    axis.annotate(
        f"the paper's ensemble, {paper.TRAINING_RUNS} runs, its data", (1.0, printed),
        xycoords=("axes fraction", "data"), xytext=(-3, -3), textcoords="offset points", ha="right", va="top", fontsize=7,
        color="0.35",
    )  # fmt: skip


def epochs_figure(findings: Findings, label: str = "evidential") -> Figure | None:
    """Mean evidential standard deviation on the training points as training goes on."""
    rows = findings.history(label)
    if not rows:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 3.8), layout="constrained")
        axis = figure.subplots()
        for name, style in zip(variables(), VARIABLE_LINES, strict=True):
            points = sorted((row["epoch"], row["mean_std"]) for row in rows if row["variable"] == name)
            axis.semilogy(*zip(*points, strict=True), **style, label=SYMBOLS[name])
        axis.axhline(1.0, color="0.4", linewidth=0.9, dashes=(4, 3))
        axis.annotate(
            "std of the fields", (1.0, 1.0), xycoords=("axes fraction", "data"), xytext=(-3, 3),
            textcoords="offset points", ha="right", color="0.35", fontsize=8,
        )  # fmt: skip
        axis.set_title(f"{findings.name(label)}, training points", loc="left")
        axis.set_xlabel("epoch")
        axis.set_ylabel("mean standard deviation, normalized")
        axis.grid(color="0.92", linewidth=0.6)
        axis.set_axisbelow(True)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def draw_study(findings: Findings) -> dict[str, Figure | None]:
    """Every figure by the stem of its file; None where the results cannot fill it. Without maps nothing is said of theirs."""
    figures = {
        "relative_errors": errors_figure(findings),
        "miscalibration": miscalibration_figure(findings),
        "evidential_std": histogram_figure(findings),
        "calibration_curves": calibration_figure(findings),
        "calibration_curves_disturbed": calibration_figure(findings, "disturbed"),
        "error_plane": error_plane_figure(findings),
        "coverage_plane": coverage_plane_figure(findings),
        "learning_curves": learning_curve_figure(findings),
        "evidential_epochs": epochs_figure(findings),
    }
    return figures | _draw_maps(findings) if findings.maps else figures


def _draw_maps(findings: Findings) -> dict[str, Figure | None]:
    mapped = next((label for label in ("ensemble", *findings.labels) if findings.has_map(label)), "")
    default = findings.default if findings.default and findings.default != mapped else ""
    return {
        "fields": fields_figure(findings),
        "spatial_u1": spatial_figure(findings, mapped, ["u1"]),
        "spatial": spatial_figure(findings, mapped),
        "spatial_default": spatial_figure(findings, default),
    }
