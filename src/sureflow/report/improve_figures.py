"""The figure of a closed loop: error bars against runs."""

from collections.abc import Sequence

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sureflow.report.figures import BLUE, ORANGE, STYLE, decimal_powers


def draw_rounds(rounds: Sequence[tuple[int, float, float]], target: float | None = None) -> Figure:
    """Mean and largest bar of every round over its number of runs."""
    runs, mean, largest = zip(*rounds, strict=True)
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axis = figure.subplots()
        axis.plot(runs, largest, "o-", color=ORANGE, markersize=4, label="largest bar in the region of use")
        axis.plot(runs, mean, "o-", color=BLUE, markersize=4, label="mean bar")
        if target is not None:
            axis.axhline(target, color="0.4", linestyle="--", linewidth=1.0, label=f"target {target:g}")
        decimal_powers(axis)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel("runs")
        axis.set_ylabel("standard deviation, normalized")
        axis.legend(frameon=False)
    return figure
