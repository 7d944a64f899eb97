"""Pictures of proposals: the plane of two parameters, or every pair of several."""

import itertools
import textwrap
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from sureflow.report.figures import RED, STYLE

Conditions = Float[np.ndarray, "_ parameter"]

SHOWN = 2000  # candidates
MOST_PAIRS = 15
LETTERS = 13  # of a title that fit into an inch
ROOM = 0.05  # around all conditions, in widths of their ranges, so that no marker is cut


def draw_proposals(
    runs: Conditions,
    proposed: Conditions,
    candidates: Conditions,
    gains: Float[np.ndarray, " candidate"],
    *,
    labels: Sequence[str],
    meaning: str,
    on_track: bool = False,
    failed: Conditions | None = None,
    coarse: Bool[np.ndarray, " proposal"] | None = None,
) -> Figure:
    """Runs, what a criterion expects of the candidates, and the proposals with their places in order.

    Candidates may lie on the track of a trajectory. `coarse` are the proposals on a coarser mesh than the finest.
    """
    coarse = np.zeros(len(proposed), bool) if coarse is None else coarse
    failed = proposed[:0] if failed is None else failed
    n_parameters = runs.shape[1]
    pairs = list(itertools.combinations(range(n_parameters), 2))[:MOST_PAIRS] or [(0, 0)]
    columns = min(len(pairs), 3)
    rows = -(-len(pairs) // columns)
    few = min(SHOWN, len(gains))  # the first ones fill the region as all do, but not a track
    some = np.linspace(0, len(gains) - 1, few).astype(int) if on_track else np.arange(few)
    shown = some[np.argsort(gains[some])]  # the best on top
    with rc_context(STYLE):
        wide, high = (4.9, 4.2) if len(pairs) == 1 else (3.4, 2.9)
        figure = Figure(figsize=(wide * columns + 1.0, high * rows + 0.4), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis in axes[len(pairs) :]:
            axis.remove()
        image = None
        for axis, (one, other) in zip(axes, pairs, strict=False):
            places = [_places(conditions, one, other) for conditions in (candidates[shown], runs, proposed)]
            image = _shade(axis, places[0], gains[shown], filled=n_parameters == 2 and not on_track)
            axis.plot(*places[1].T, "o", color="0.15", markersize=4, label="runs")
            if len(failed):
                axis.plot(*_places(failed, one, other).T, "x", color="0.4", markersize=6, label="did not converge")
            for mask, marker, label in ((~coarse, "o", "proposed"), (coarse, "s", "proposed, coarser mesh")):
                if mask.any():
                    axis.plot(*places[2][mask].T, marker, color=RED, markersize=11, label=label)
            _number(axis, places[2])
            _make_room(axis, np.concatenate([*places, _places(failed, one, other)]))
            axis.set_xlabel(labels[one])
            axis.set_ylabel(labels[other] if one != other else "")
            if one == other:
                axis.set_yticks([])
        words = textwrap.fill(f"gain: {meaning}", int(LETTERS * figure.get_figwidth()))
        figure.suptitle(words, fontsize=9, x=0.01, ha="left")
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower left", ncols=4, frameon=False)
        assert image is not None
        bar = figure.colorbar(image, ax=axes[: len(pairs)], pad=0.015, label="gain")
        bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


def _shade(
    axis: Axes, places: Float[np.ndarray, "case 2"], gains: Float[np.ndarray, " case"], *, filled: bool
) -> ScalarMappable:
    """Gains over a plane, or of scattered candidates where other parameters vary as well."""
    if filled and len(places) > 3 and np.linalg.matrix_rank(places - places[0]) == 2:
        return axis.tricontourf(places[:, 0], places[:, 1], gains, levels=12, cmap="Blues")
    return axis.scatter(*places.T, c=gains, s=14, cmap="Blues", linewidths=0)


def _make_room(axis: Axes, places: Float[np.ndarray, "case 2"]) -> None:
    for limit, column in zip((axis.set_xlim, axis.set_ylim), places.T, strict=True):
        room = ROOM * float(np.ptp(column)) or 1.0
        limit(float(column.min()) - room, float(column.max()) + room)


def _places(conditions: Conditions, one: int, other: int) -> Float[np.ndarray, "case 2"]:
    return np.column_stack([conditions[:, one], conditions[:, other] if one != other else np.zeros(len(conditions))])


def _number(axis: Axes, places: Float[np.ndarray, "case 2"]) -> None:
    for number, place in enumerate(places, 1):
        axis.annotate(str(number), place, color="white", ha="center", va="center", fontsize=7, fontweight="bold")
