"""Figures over the plane of Mach number and altitude: a tile for every test run."""

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from sureflow.report.figures import STYLE, draw_conditions
from sureflow.report.findings import Findings

COVERAGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.95, 1.0)  # classes of the share inside 90 % intervals
TRAINING_EDGE = "#C1121F"


def error_plane_figure(findings: Findings) -> Figure | None:
    """Mean absolute error of every test run over the Mach-altitude plane, on one scale for all models."""
    found = {label: case_means(findings, label, "mae") for label in findings.shown}
    found = {label: cases for label, cases in found.items() if cases}
    values = [value for cases in found.values() for value in cases.values() if value > 0]
    if not values:
        return None
    norm = LogNorm(min(values), max(values) if max(values) > min(values) else 2 * min(values))
    return _planes(findings, found, "mean absolute error, normalized", norm=norm, cmap="viridis")


def coverage_plane_figure(findings: Findings) -> Figure | None:
    """Share of points of every test run that lie inside their 90 % intervals, over the Mach-altitude plane."""
    found = {label: case_means(findings, label, "coverage90") for label in findings.shown}
    found = {label: cases for label, cases in found.items() if cases}
    if not found:
        return None
    bar = "share of points inside 90 % intervals"
    return _planes(findings, found, bar, norm=BoundaryNorm(COVERAGES, 256), cmap="cividis")


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
