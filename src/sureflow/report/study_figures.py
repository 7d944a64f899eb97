"""Figures of a study: the paper's, and those that it lacks. A figure that the results cannot fill is None."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from sureflow.report import paper
from sureflow.report.figures import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    STYLE,
    Panel,
    draw_conditions,
    draw_fields,
    flow_panels,
)
from sureflow.report.findings import DOMAIN_NAMES, Findings, variables

SYMBOLS = {"u1": "$u_1$", "u2": "$u_2$", "rho": "$\\rho$", "T": "$T$", "mean": "mean"}
# From light to dark in print as well.
COLORS = {
    "deterministic": "0.80",
    "mve": ORANGE,
    "evidential": RED,
    "evidential-epistemic": "#F2B58F",
    "ensemble": BLUE,
}
OTHERS = (GREEN, "#CC79A7", "0.25", "#56B4E9", "#7F5F00")
LARGE_ERROR = 0.5  # the paper draws what lies above in black
DARKER_IS_HIGHER = "YlGnBu"
BOTH = ("in_domain", "out_of_domain")
CONDITION = "Mach 25, 46 km"
TRAINING_EDGE = "#C1121F"


def color(findings: Findings, label: str) -> str:
    """Fixed for the paper's kinds; by order of appearance for the others."""
    if label in COLORS:
        return COLORS[label]
    others = [other for other in findings.labels if other not in COLORS]
    return OTHERS[others.index(label) % len(OTHERS)]


def fields_figure(findings: Findings) -> Figure | None:
    """The four computed state variables at the condition that the paper shows."""
    if "truth" not in findings.maps:
        return None
    maps = findings.maps
    title = f"{CONDITION}: computed flow"
    return draw_fields(maps["node_x"], maps["node_r"], flow_panels(maps["truth"]), title=title)


def errors_figure(findings: Findings) -> Figure | None:
    """Relative errors by variable and model, in-domain and outside; whiskers are the inter-quartile range over runs."""

    def bar(label: str, domain: str, variable: str) -> tuple[float, float, float] | None:
        row = findings.row(label, domain, variable)
        if row is None or row["relative_error"] is None or row["relative_error_q25"] is None:
            return None
        return row["relative_error"], row["relative_error_q25"], row["relative_error_q75"]

    return _bars(findings, findings.kinds, bar, "relative error per run")


def miscalibration_figure(findings: Findings) -> Figure | None:
    """Miscalibration areas by variable and model; whiskers outside are the standard deviation over the four domains."""

    def bar(label: str, domain: str, variable: str) -> tuple[float, float, float] | None:
        value = findings.value("miscalibration", label, domain, variable)
        if value is None:
            return None
        spread = 0.0
        if domain == "out_of_domain":
            areas = [findings.value("miscalibration", label, outer, variable) for outer in findings.outer]
            known = [area for area in areas if area is not None]
            spread = float(np.std(known)) if len(known) > 1 else 0.0
        return value, value - spread, value + spread

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
    names = (*variables(), "mean")
    found = {(d, k, v): bar(k, d, v) for d in BOTH for k in labels for v in names}
    if not any(found.values()):
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 5.4), layout="constrained")
        axes = figure.subplots(2, 1, sharex=True, sharey=True)
        width = 0.8 / len(labels)
        for axis, domain in zip(axes, BOTH, strict=True):
            for place, label in enumerate(labels):
                left = np.arange(len(names)) + (place - 0.5 * (len(labels) - 1)) * width
                shown = [(x, found[domain, label, v]) for x, v in zip(left, names, strict=True)]
                _draw_bars(axis, [s for s in shown if s[1]], width, color(findings, label), findings.name(label))
            axis.set_title(DOMAIN_NAMES[domain], loc="left")
            axis.set_ylabel(ylabel)
            axis.grid(axis="y", color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
            axis.axvline(len(names) - 1.5, color="0.7", linewidth=0.8, dashes=(2, 3))
            axis.tick_params(axis="x", length=0, labelbottom=True)
        axes[0].set_ylim(0.0, highest)
        axes[0].set_xlim(-0.55, len(names) - 0.45)
        axes[0].set_xticks(range(len(names)), [SYMBOLS[name] for name in names], fontsize=10)
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
    scale = np.asarray(maps["space_std"])[:, None, None]
    error, std = np.abs(maps[f"{label}__mean"] - maps["truth"]) / scale, maps[f"{label}__std"] / scale
    panels = []
    for place, name in enumerate(variables()):
        if names is None or name in names:
            large = bool(error[place].max() > LARGE_ERROR)
            note = f", black over {LARGE_ERROR}" if large else ""
            panels += [
                Panel(
                    f"|error| of {SYMBOLS[name]}{note}",
                    error[place],
                    DARKER_IS_HIGHER,
                    clipped=True,
                    highest=LARGE_ERROR if large else None,
                ),
                Panel(f"standard deviation of {SYMBOLS[name]}", std[place], DARKER_IS_HIGHER, clipped=True),
            ]
    title = f"{findings.name(label)}, {CONDITION}, in standard deviations of the training runs"
    return draw_fields(maps["node_x"], maps["node_r"], panels, title=title)


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
        for (name, row), shade, dashes in zip(
            rows.items(), (BLUE, ORANGE, GREEN, RED), ((), (6, 2), (2, 1.5), (6, 2, 2, 2)), strict=False
        ):
            counts = np.asarray(row["counts"], float)
            line: dict[str, Any] = {"dashes": dashes} if dashes else {}
            largest = findings.value("largest_std", label, domain, name)
            end = "" if largest is None else f", largest {_power(largest)}"
            left = 10.0 ** np.asarray(row["edges"], float)
            axis.step(left, np.append(counts, counts[-1]), where="post", color=shade, label=SYMBOLS[name] + end, **line)
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=1.0)
        axis.set_ylim(0.0, None)
        axis.axvline(1.0, color="0.4", linewidth=0.9, dashes=(4, 3))
        axis.annotate(
            " the fields themselves", (1.0, 1.0), xycoords=("data", "axes fraction"), va="top", color="0.35", fontsize=8
        )
        axis.set_xlabel("predicted standard deviation, in standard deviations of the training runs")
        axis.set_ylabel("points")
        axis.grid(color="0.92", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.set_title(f"{findings.name(label)}, {DOMAIN_NAMES[domain]}", loc="left")
        axis.legend(frameon=False, fontsize=8)
    return figure


def _power(value: float) -> str:
    """'3.2', '47' or '$1.2\\cdot10^{4}$'."""
    if 0.01 <= value < 1000:
        return f"{value:.2g}"
    exponent = int(np.floor(np.log10(value))) if value > 0 else 0
    return f"${value / 10.0**exponent:.1f}\\cdot10^{{{exponent}}}$"


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
        if any((label, domain) in curves for domain in BOTH)
    ]
    if not labels:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 4.9), layout="constrained")
        for axis, domain in zip(figure.subplots(1, 2, sharex=True, sharey=True), BOTH, strict=True):
            axis.plot([0, 1], [0, 1], color="0.55", linewidth=0.9, dashes=(4, 3), label="perfect")
            for label in labels:
                row = curves.get((label, domain))
                expected, observed = (row["expected"], row["observed"]) if row else ([], [])
                width = 2.4 if label == findings.default else 1.6
                axis.plot(expected, observed, color=color(findings, label), linewidth=width, label=findings.name(label))
            axis.set_title(DOMAIN_NAMES[domain], loc="left")
            axis.set_xlabel("expected share inside")
            axis.set_aspect("equal")
            axis.set_xlim(0, 1)
            axis.set_ylim(0, 1)
            axis.grid(color="0.92", linewidth=0.6)
        first = figure.axes[0]
        first.set_ylabel("observed share inside")
        for x, y, words in ((0.27, 0.9, "bars too wide"), (0.73, 0.08, "bars too narrow")):
            first.text(x, y, words, ha="center", color="0.45", fontsize=8)
        figure.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure


def error_plane_figure(findings: Findings) -> Figure | None:
    """Mean absolute error of every test run over the Mach-altitude plane, on one scale for all models."""
    found = {label: case_means(findings, label, "mae") for label in findings.shown}
    found = {label: cases for label, cases in found.items() if cases}
    values = [value for cases in found.values() for value in cases.values() if value > 0]
    if not values:
        return None
    norm = LogNorm(min(values), max(values) if max(values) > min(values) else 2 * min(values))
    return _planes(findings, found, "mean absolute error", norm=norm, cmap="viridis")


def coverage_plane_figure(findings: Findings) -> Figure | None:
    """Share of points of every test run that lie inside their 90 % intervals, over the Mach-altitude plane."""
    found = {label: case_means(findings, label, "coverage90") for label in findings.shown}
    found = {label: cases for label, cases in found.items() if cases}
    if not found:
        return None
    bar = "share of points inside 90 % intervals"
    return _planes(findings, found, bar, norm=Normalize(0.0, 1.0), cmap="cividis", marked=0.9)


def case_means(findings: Findings, label: str, key: str) -> dict[tuple[float, float], float]:
    """A number of every test run by (Mach number, altitude), averaged over the variables; a corner run counts once."""
    runs = max(findings.runs(label), default=None)
    found: dict[tuple[float, float], dict[str, float]] = {}
    for row in findings.results.cases:
        if row["label"] == label and row["runs"] == runs and row.get(key) is not None:
            found.setdefault((row["mach"], row["altitude_km"]), {})[row["variable"]] = row[key]
    return {
        place: by_name["mean"] if "mean" in by_name else float(np.mean(list(by_name.values())))
        for place, by_name in found.items()
    }


def _planes(
    findings: Findings,
    found: dict[str, dict[tuple[float, float], float]],
    bar_label: str,
    marked: float | None = None,
    **colors: Any,
) -> Figure:
    columns = min(len(found), 2)
    rows = -(-len(found) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(3.7 * columns + 0.8, 2.9 * rows + 0.3), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        image = None
        for axis, (label, cases) in zip(axes.ravel(), found.items(), strict=False):
            conditions, values = _filled(cases)
            image = draw_conditions(axis, conditions, values, **colors)
            _outline_training(axis, findings, *conditions.T)
            axis.set_title(findings.name(label), loc="left")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        for axis in axes.ravel()[len(found) :]:
            axis.set_axis_off()
        for axis in axes.ravel()[: len(found)][-columns:]:
            axis.set_xlabel("Mach number")
            axis.tick_params(labelbottom=True)
        for axis in axes[:, 0]:
            axis.set_ylabel("altitude (km)")
        assert image is not None
        bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=12 * rows + 8, label=bar_label)
        bar.outline.set_visible(False)  # type: ignore[operator]
        if marked is not None:
            bar.ax.axhline(marked, color="black", linewidth=1.5)
        if training_box(findings):
            outline = Rectangle((0, 0), 1, 1, fill=False, edgecolor=TRAINING_EDGE, linewidth=1.7)
            words = "training region; what is blank in it was trained on"
            figure.legend([outline], [words], loc="outside upper left", frameon=False, fontsize=8)
    return figure


def _filled(cases: dict[tuple[float, float], float]) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of the Mach numbers and altitudes that occur, with NaN where no run was tested, so that they make tiles."""
    mach, altitude = (sorted({place[axis] for place in cases}) for axis in (0, 1))
    places = [(m, a) for m in mach for a in altitude]
    return np.array(places, float), np.array([cases.get(place, np.nan) for place in places])


def training_box(findings: Findings) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Mach numbers and altitudes between which the training runs lie, where the split says so."""
    split = findings.results.configuration.get("split") or {}
    mach, altitude = split.get("mach"), split.get("altitude_km")
    return (tuple(mach), tuple(altitude)) if mach and altitude else None


def _outline_training(axis: Axes, findings: Findings, mach: np.ndarray, altitude: np.ndarray) -> None:
    """Around the tiles of the training region, half a tile outside of its outermost conditions."""
    box = training_box(findings)
    if box is None:
        return
    corners = []
    for (low, high), values in zip(box, (mach, altitude), strict=True):
        half = 0.5 * np.diff(np.unique(values)).min() if len(np.unique(values)) > 1 else 0.5
        corners.append((low - half, high + half))
    (left, right), (low, high) = corners
    for shade, width in (("white", 3.4), (TRAINING_EDGE, 1.7)):  # a light edge keeps it visible on dark tiles
        axis.add_patch(
            Rectangle((left, low), right - left, high - low, fill=False, edgecolor=shade, linewidth=width, zorder=3)
        )


def learning_curve_figure(findings: Findings) -> Figure | None:
    """Error against the number of training runs, for models that were trained on several numbers of them."""
    labels = [label for label in findings.labels if len(findings.runs(label)) > 1]
    if not labels:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 4.2), layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for axis, domain in zip(axes, BOTH, strict=True):
            for label in labels:
                points = [(n, findings.value("mae", label, domain, runs=n)) for n in findings.runs(label)]
                known = [(n, mae) for n, mae in points if mae is not None]
                if known:
                    x, y = zip(*known, strict=True)
                    axis.loglog(x, y, "o-", markersize=4, color=color(findings, label), label=findings.name(label))
            axis.set_title(DOMAIN_NAMES[domain], loc="left")
            axis.set_xlabel("training runs")
            axis.grid(color="0.92", linewidth=0.6, which="both")
            axis.set_axisbelow(True)
        ticks = sorted({n for label in labels for n in findings.runs(label)})
        axes[0].set_xticks(ticks, [str(n) for n in ticks])
        axes[0].xaxis.set_minor_formatter(NullFormatter())
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes[0].yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes[0].yaxis.set_minor_formatter(NullFormatter())
        axes[0].set_ylabel("mean absolute error")
        printed = paper.TABLE["ensemble"]["in_domain"].mae
        axes[0].axhline(printed, color="0.45", linewidth=0.9, dashes=(4, 3))
        axes[0].annotate(
            f"the paper's ensemble, {paper.TRAINING_RUNS} runs, its data", (1.0, printed),
            xycoords=("axes fraction", "data"), xytext=(-3, 3), textcoords="offset points", ha="right", fontsize=7,
            color="0.35",
        )  # fmt: skip
        handles = {
            name: handle for axis in axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def epochs_figure(findings: Findings, label: str = "evidential") -> Figure | None:
    """Mean and, where it was evaluated, largest evidential standard deviation as training goes on."""
    rows = findings.history(label)
    titles = {"mean_std": "mean standard deviation", "largest_std": "largest standard deviation"}
    shown = {key: title for key, title in titles.items() if any(row.get(key) for row in rows)}
    if not shown:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 3.8), layout="constrained")
        axes = figure.subplots(1, len(shown), sharex=True, squeeze=False)[0]
        for axis, (key, title) in zip(axes, shown.items(), strict=True):
            for name, shade in zip(variables(), (BLUE, ORANGE, GREEN, RED), strict=True):
                points = sorted((row["epoch"], row[key]) for row in rows if row["variable"] == name and row.get(key))
                if points:
                    axis.semilogy(*zip(*points, strict=True), color=shade, label=SYMBOLS[name])
            axis.axhline(1.0, color="0.5", linewidth=0.8, dashes=(4, 3))
            axis.set_title(title, loc="left")
            axis.set_xlabel("epoch")
            axis.grid(color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
        where = "on training points" if rows[0]["domain"] == "train" else "on the in-domain test runs"
        axes[0].set_ylabel(f"normalized std {where}")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def draw_study(findings: Findings) -> dict[str, Figure | None]:
    """Every figure by the stem of its file; None where the results cannot fill it."""
    mapped = next((label for label in ("ensemble", *findings.labels) if findings.has_map(label)), "")
    default = findings.default if findings.default and findings.default != mapped else ""
    return {
        "fields": fields_figure(findings),
        "relative_errors": errors_figure(findings),
        "miscalibration": miscalibration_figure(findings),
        "spatial_u1": spatial_figure(findings, mapped, ["u1"]),
        "evidential_std": histogram_figure(findings),
        "calibration_curves": calibration_figure(findings),
        "calibration_curves_disturbed": calibration_figure(findings, "disturbed"),
        "error_plane": error_plane_figure(findings),
        "coverage_plane": coverage_plane_figure(findings),
        "spatial": spatial_figure(findings, mapped),
        "spatial_default": spatial_figure(findings, default),
        "learning_curves": learning_curve_figure(findings),
        "evidential_epochs": epochs_figure(findings),
    }
