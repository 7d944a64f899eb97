"""The figure of a replay: errors against numbers of runs, with quartiles over the starts."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sureflow.report.figures import BLUE, GREEN, ORANGE, RED, STYLE, decimal_powers

COLORS = (RED, BLUE, GREEN, ORANGE, "#CC79A7", "#56B4E9")


def draw_replay(
    sizes: Float[np.ndarray, " size"],
    errors: Mapping[str, Float[np.ndarray, "start size"]],
    *,
    plain: tuple[str, ...] = (),
    title: str = "",
) -> Figure:
    """Medians, and quartiles as bands; ways of choosing named in `plain`, which ask no model, are gray."""
    with rc_context(STYLE):
        figure = Figure(figsize=(7.4, 4.6), layout="constrained")
        axis = figure.subplots()
        colors = iter(COLORS)
        dashes = iter(["-", "--", ":", "-."])
        for way, values in errors.items():
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
            if way in plain:
                axis.plot(sizes, middle, color="0.45", linestyle=next(dashes, "-"), label=way)
            else:
                color = next(colors, "0.2")
                axis.plot(sizes, middle, color=color, label=way)
                axis.fill_between(sizes, low, high, color=color, alpha=0.12, linewidth=0)
        decimal_powers(axis)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel("runs")
        axis.set_ylabel("mean absolute error, normalized")
        axis.legend(frameon=False, ncols=2)
        axis.set_title(title, loc="left")
    return figure
