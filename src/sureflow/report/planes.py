"""Figures over the parameters of the test runs: a tile for every run where there are two of them, else dots."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from sureflow.report.figures import STYLE, draw_conditions, parameter_label
from sureflow.report.findings import MEAN, Findings
from sureflow.report.model_styles import MARKERS, color

COVERAGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.95, 1.0)  # classes of the share inside 90 % intervals
TRAINING_EDGE = "#C1121F"
LEAST_FILLED = 0.2  # share of tiles below which dots show more

Place = tuple[float, ...]


def error_plane_figure(findings: Findings) -> Figure | None:
    """Mean absolute error of every test run over the parameters, on one scale for all models."""
    found = _found(findings, "mae")
    values = [value for cases in found.values() for value in cases.values() if value > 0]
    if not values:
        return None
    label = "mean absolute error, normalized"
    if len(findings.parameters) != 2:
        return _against_each(findings, found, label, logarithmic=True)
    norm = LogNorm(min(values), max(values) if max(values) > min(values) else 2 * min(values))
    return _planes(findings, found, label, norm=norm, cmap="viridis")


def coverage_plane_figure(findings: Findings) -> Figure | None:
    """Share of points of every test run that lie inside their 90 % intervals, over the parameters."""
    found = _found(findings, "coverage90")
    if not found:
        return None
    label = "share of points inside 90 % intervals"
    if len(findings.parameters) != 2:
        return _against_each(findings, found, label, target=0.9)
    return _planes(findings, found, label, norm=BoundaryNorm(COVERAGES, 256), cmap="cividis")


def _found(findings: Findings, key: str) -> dict[str, dict[Place, float]]:
    found = {label: case_means(findings, label, key) for label in findings.shown}
    return {label: cases for label, cases in found.items() if cases}


def case_means(findings: Findings, label: str, key: str) -> dict[Place, float]:
    """A number of every test run by its parameters, averaged over the variables; a run of two domains counts once."""
    runs = max(findings.runs(label), default=None)
    found: dict[Place, dict[str, float]] = {}
    for row in findings.results.cases:
        if row["label"] == label and row["runs"] == runs and row.get(key) is not None:
            place = tuple(row[name] for name in findings.parameters)
            found.setdefault(place, {})[row["variable"]] = row[key]
    return {
        place: by_name[MEAN] if MEAN in by_name else float(np.mean(list(by_name.values())))
        for place, by_name in found.items()
    }


def _planes(findings: Findings, found: Mapping[str, Mapping[Place, float]], bar_label: str, **colors: Any) -> Figure:
    columns = min(len(found), 2)
    rows = -(-len(found) // columns)
    across, up = (parameter_label(name, findings.unit(name)) for name in findings.parameters)
    with rc_context(STYLE):
        figure = Figure(figsize=(3.7 * columns + 0.8, 2.9 * rows + 0.3), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        image = None
        for axis, (label, cases) in zip(axes.ravel(), found.items(), strict=False):
            conditions, values = _filled(cases)
            image = draw_conditions(axis, conditions, values, **colors)
            _outline_training(axis, findings, *conditions.T)
            axis.set_title(findings.name(label), loc="left")
            if findings.parameters[0] == "mach":
                axis.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        for axis in axes.ravel()[len(found) :]:
            axis.set_axis_off()
        for axis in axes.ravel()[: len(found)][-columns:]:
            axis.set_xlabel(across)
            axis.tick_params(labelbottom=True)
        for axis in axes[:, 0]:
            axis.set_ylabel(up)
        assert image is not None
        bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=12 * rows + 8, label=bar_label)
        bar.outline.set_visible(False)  # type: ignore[operator]
        if training_box(findings):
            outline = Rectangle((0, 0), 1, 1, fill=False, edgecolor=TRAINING_EDGE, linewidth=1.7)
            words = "training region; what is blank in it was trained on"
            figure.legend([outline], [words], loc="outside upper left", frameon=False, fontsize=8)
    return figure


def _filled(cases: Mapping[Place, float]) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of the values that occur, with NaN where no run was tested, so that they make tiles; if those are few, none."""
    across, up = (sorted({place[axis] for place in cases}) for axis in (0, 1))
    places: list[Place] = [(one, other) for one in across for other in up]
    if len(cases) < LEAST_FILLED * len(places):
        places = list(cases)
    return np.array(places, float), np.array([cases.get(place, np.nan) for place in places])


def training_box(findings: Findings) -> list[tuple[float, float]] | None:
    """Values of the two parameters between which the training runs lie, where the split says so."""
    split = findings.results.configuration.get("split") or {}
    box = [split.get(name) for name in findings.parameters]
    return [(float(low), float(high)) for low, high in box] if all(box) else None  # type: ignore[misc]


def _outline_training(axis: Axes, findings: Findings, across: np.ndarray, up: np.ndarray) -> None:
    """Around the tiles of the training region, half a tile outside of its outermost conditions."""
    box = training_box(findings)
    if box is None:
        return
    corners = []
    for (low, high), values in zip(box, (across, up), strict=True):
        half = 0.5 * np.diff(np.unique(values)).min() if len(np.unique(values)) > 1 else 0.5
        corners.append((low - half, high + half))
    (left, right), (low, high) = corners
    for shade, width in (("white", 3.4), (TRAINING_EDGE, 1.7)):  # a light edge keeps it visible on dark tiles
        axis.add_patch(
            Rectangle((left, low), right - left, high - low, fill=False, edgecolor=shade, linewidth=width, zorder=3)
        )


def _against_each(
    findings: Findings,
    found: Mapping[str, Mapping[Place, float]],
    label: str,
    *,
    logarithmic: bool = False,
    target: float | None = None,
) -> Figure:
    """A number of every test run against each parameter, a panel for each."""
    columns = min(3, len(findings.parameters))
    rows = -(-len(findings.parameters) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(max(7.4, 2.9 * columns + 0.8), 2.8 * rows + 0.6), layout="constrained")
        axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for place, name in enumerate(findings.parameters):
            axis = axes.ravel()[place]
            for marker, (model, cases) in zip(itertools.cycle(MARKERS), found.items(), strict=False):
                x = [condition[place] for condition in cases]
                style = {
                    "color": color(findings, model),
                    "marker": marker,
                    "markersize": 3.5,
                    "alpha": 0.7,
                    "linestyle": "none",
                }
                axis.plot(x, list(cases.values()), **style, label=findings.name(model))
            if target is not None:
                axis.axhline(target, color="0.4", linewidth=0.9, dashes=(4, 3))
            if logarithmic:
                axis.set_yscale("log")
                axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axis.yaxis.set_minor_formatter(NullFormatter())
            axis.set_xlabel(parameter_label(name, findings.unit(name)))
            axis.grid(color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
        for axis in axes.ravel()[len(findings.parameters) :]:
            axis.set_axis_off()
        for axis in axes[:, 0]:
            axis.set_ylabel(label)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    return figure
