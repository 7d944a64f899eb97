"""Figures of a study. A figure that the results cannot fill is None."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from sureflow.evaluate.bar_parts import MESH, SURROGATE
from sureflow.report.figures import BLUE, GREEN, ORANGE, RED, STYLE, decimal_powers, symbol
from sureflow.report.findings import MEAN, OUTSIDE, Findings
from sureflow.report.model_styles import MARKERS, color, line
from sureflow.report.planes import coverage_plane_figure, error_plane_figure
from sureflow.report.reproductions import FigureMaker
from sureflow.report.spatial import MAP_MAKERS
from sureflow.wording import words_of

VARIABLE_LINES: tuple[dict[str, Any], ...] = (
    {"color": BLUE},
    {"color": ORANGE, "dashes": (6, 2)},
    {"color": GREEN, "dashes": (2, 1.5)},
    {"color": RED, "dashes": (6, 2, 2, 2)},
)
WIDEST = 12.0  # inches

Bar = tuple[float, float, float]  # a value, and the ends of its whisker


def errors_figure(findings: Findings, labels: Sequence[str] | None = None) -> Figure | None:
    """Relative errors by variable and model, in-domain and outside; whiskers are the inter-quartile range over runs."""

    def bar(label: str, domain: str, variable: str) -> Bar | None:
        row = findings.row(label, domain, variable)
        if row is None or row["relative_error"] is None or row["relative_error_q25"] is None:
            return None
        return row["relative_error"], row["relative_error_q25"], row["relative_error_q75"]

    return _bars(findings, findings.shown if labels is None else labels, bar, "relative error of a run")


def miscalibration_figure(findings: Findings, labels: Sequence[str] | None = None) -> Figure | None:
    """Miscalibration areas by variable and model; whiskers outside are the standard deviation over the outer domains."""

    def bar(label: str, domain: str, variable: str) -> Bar | None:
        value = findings.value("miscalibration", label, domain, variable)
        if value is None:
            return None
        pooled = domain == OUTSIDE
        spread = (findings.value("miscalibration_spread", label, domain, variable) if pooled else None) or 0.0
        return value, max(0.0, value - spread), value + spread

    chosen = findings.shown_with_parts if labels is None else labels
    with_bars = [label for label in chosen if any(bar(label, domain, MEAN) for domain in findings.both)]
    return _bars(findings, with_bars, bar, "miscalibration area", highest=0.5)


def _bars(
    findings: Findings,
    labels: Sequence[str],
    bar: Callable[[str, str, str], Bar | None],
    ylabel: str,
    highest: float | None = None,
) -> Figure | None:
    """Groups of bars by variable, a bar for each model: in-domain above, out-of-domain below, on one scale."""
    names, domains = (*findings.variables, MEAN), findings.both
    found = {(d, k, v): bar(k, d, v) for d in domains for k in labels for v in names}
    if not any(found.values()):
        return None
    with rc_context(STYLE):
        size = min(WIDEST, max(7.4, 0.25 * len(labels) * len(names))), 2.5 * len(domains) + 0.4
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(domains), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        width = 0.8 / len(labels)
        for axis, domain in zip(axes, domains, strict=True):
            for place, label in enumerate(labels):
                left = np.arange(len(names)) + (place - 0.5 * (len(labels) - 1)) * width
                shown = [(x, found[domain, label, v]) for x, v in zip(left, names, strict=True)]
                _draw_bars(axis, [s for s in shown if s[1]], width, color(findings, label), findings.name(label))
            axis.set_title(findings.domain_name(domain), loc="left")
            axis.set_ylabel(ylabel)
            axis.grid(axis="y", color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
            axis.axvline(len(names) - 1.5, color="0.7", linewidth=0.8, dashes=(2, 3))
            axis.tick_params(axis="x", length=0, labelbottom=True, labelsize=10)
        axes[0].set_ylim(0.0, highest)
        axes[0].set_xlim(-0.55, len(names) - 0.45)
        axes[0].set_xticks(range(len(names)), [*map(symbol, findings.variables), MEAN])
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=min(4, len(labels)), frameon=False
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


def calibration_figure(findings: Findings, region: str = "all") -> Figure | None:
    """Share of points inside central intervals against the share that ought to be, for every kind of model."""
    curves = {
        (row["label"], row["domain"]): row
        for row in findings.results.curves
        if row["variable"] == MEAN
        and row["region"] == region
        and row["runs"] == max(findings.runs(row["label"]), default=None)
    }
    labels = [label for label in findings.shown_with_parts if any((label, d) in curves for d in findings.both)]
    if not labels:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 4.6), layout="constrained")
        for axis, domain in zip(_panels(figure, findings), findings.both, strict=True):
            axis.plot([0, 1], [0, 1], color="0.55", linewidth=0.9, dashes=(4, 3), label="perfect")
            for label in labels:
                row = curves.get((label, domain))
                expected, observed = (row["expected"], row["observed"]) if row else ([], [])
                axis.plot(expected, observed, **line(findings, label), label=findings.name(label))
            axis.set_title(findings.domain_name(domain), loc="left")
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


def bar_part_figure(findings: Findings) -> Figure | None:
    """The mesh's part of the bars over the surrogate's, for every field and quantity."""
    parts = {domain: findings.bar_parts(domain) for domain in findings.both}
    names = list(dict.fromkeys(row["name"] for rows in parts.values() for row in rows))
    if not names:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 0.3 * len(names) + 1.3), layout="constrained")
        axis = figure.subplots()
        for (domain, rows), shade, marker in zip(parts.items(), (BLUE, ORANGE), "os", strict=False):
            known = {row["name"]: row[MESH] / row[SURROGATE] for row in rows if row[SURROGATE] > 0 and row[MESH] > 0}
            places = [names.index(name) for name in known]
            axis.plot([*known.values()], places, marker, color=shade, markersize=6, label=findings.domain_name(domain))
        axis.axvline(1.0, color="0.3", linewidth=0.9)
        decimal_powers(axis, "x")
        axis.set_yticks(range(len(names)), [words_of(name) for name in names])
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(axis="y", color="0.92", linewidth=0.6)
        axis.set_xlabel("error of the mesh over error of the surrogate (standard deviations)")
        low, high = axis.get_xlim()
        axis.set_xlim(min(low, 0.5), max(high, 2.0))
        for x, words, side in ((0.01, "the surrogate dominates", "left"), (0.99, "the mesh dominates", "right")):
            axis.text(x, 1.02, words, transform=axis.transAxes, ha=side, color="0.35", fontsize=8)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def learning_curve_figure(
    findings: Findings, beside: Sequence[str] = (), mark: tuple[float, str] | None = None
) -> Figure | None:
    """Error against the number of training runs, for models that were trained on several numbers of them.

    Models `beside` them are there for comparison, also with a single number of runs; `mark` is an error with its name.
    """
    labels = [label for label in findings.labels if len(findings.runs(label)) > 1]
    if not labels:
        return None
    labels += [label for label in beside if label in findings.labels and label not in labels]
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
        if mark is not None:
            _draw_mark(first, *mark)
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def _panels(figure: Figure, findings: Findings) -> Sequence[Axes]:
    """A panel in-domain and, where it was tested, one out-of-domain, on the same axes."""
    return list(figure.subplots(1, len(findings.both), sharex=True, sharey=True, squeeze=False)[0])


def _draw_learning(axis: Axes, findings: Findings, labels: Sequence[str], domain: str) -> None:
    for label, marker in zip(labels, itertools.cycle(MARKERS), strict=False):
        points = [(n, findings.value("mae", label, domain, runs=n)) for n in findings.runs(label)]
        runs, errors = np.array([point for point in points if point[1] is not None], float).reshape(-1, 2).T
        style = {"color": color(findings, label), "marker": marker, "markersize": 4}
        axis.loglog(runs, errors, **style, label=findings.name(label))
    axis.set_title(findings.domain_name(domain), loc="left")
    axis.set_xlabel("training runs")
    axis.grid(color="0.92", linewidth=0.6, which="both")
    axis.set_axisbelow(True)


def _draw_mark(axis: Axes, value: float, words: str) -> None:
    axis.axhline(value, color="0.45", linewidth=0.9, dashes=(4, 3))
    axis.annotate(
        words, (1.0, value), xycoords=("axes fraction", "data"), xytext=(-3, -3), textcoords="offset points", ha="right",
        va="top", fontsize=7, color="0.35",
    )  # fmt: skip


def epochs_figure(findings: Findings, labels: Sequence[str] | None = None) -> Figure | None:
    """Mean standard deviation on the training points as training goes on, of models whose heads report one."""
    chosen = findings.labels if labels is None else labels
    histories = {label: findings.history(label) for label in chosen}
    histories = {label: rows for label, rows in histories.items() if rows}
    if not histories:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 3.4 * len(histories) + 0.4), layout="constrained")
        axes = figure.subplots(len(histories), 1, squeeze=False)[:, 0]
        for axis, (label, rows) in zip(axes, histories.items(), strict=True):
            for name, style in zip(findings.variables, itertools.cycle(VARIABLE_LINES), strict=False):
                points = sorted((row["epoch"], row["mean_std"]) for row in rows if row["variable"] == name)
                axis.semilogy(*zip(*points, strict=True), **style, label=symbol(name))
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
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


MAKERS: dict[str, FigureMaker] = {
    "relative_errors": errors_figure,
    "miscalibration": miscalibration_figure,
    "calibration_curves": calibration_figure,
    "calibration_curves_disturbed": lambda findings: calibration_figure(findings, "disturbed"),
    "error_plane": error_plane_figure,
    "coverage_plane": coverage_plane_figure,
    "bar_parts": bar_part_figure,
    "learning_curves": learning_curve_figure,
    "training_std": epochs_figure,
}


def draw_study(findings: Findings) -> dict[str, Figure | None]:
    """Every figure by the stem of its file; None where the results cannot fill it. Without maps nothing is said of theirs."""
    makers = {**MAKERS, **findings.reproduction.figures}
    if findings.maps:
        makers |= {**MAP_MAKERS, **findings.reproduction.map_figures}
    return {name: None if make is None or not findings.labels else make(findings) for name, make in makers.items()}
