"""Figures of the convergence of a flow, of the wall and of whole campaigns, and what all figures share.

Every function returns a matplotlib `Figure` of its own: no state is shared, and nothing needs a display.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from sureflow.data.schema import Status
from sureflow.wording import WORDS, with_unit, words_of

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "0.4",
    "axes.labelcolor": "0.15",
    "xtick.color": "0.3",
    "ytick.color": "0.3",
    "lines.linewidth": 1.6,
}
# Okabe and Ito's colors, which the color-blind can tell apart; the shades differ in gray as well.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
STATUS_COLORS = {Status.TO_DO: "0.88", Status.CONVERGED: "#1b7f79", Status.STALLED: "#f0b429", Status.FAILED: "#c0392b"}
DPI = 200
SYMBOLS = {"u1": "$u_1$", "u2": "$u_2$", "rho": "$\\rho$"}


def decimal_powers(axis: Axes, which: Literal["x", "y"] = "y") -> None:
    """A logarithmic scale of values that people read as they write them: 0.002, 0.005, 0.01."""
    axis.set(**{f"{which}scale": "log"})
    scale = axis.xaxis if which == "x" else axis.yaxis
    scale.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    scale.set_major_formatter(StrMethodFormatter("{x:g}"))
    scale.set_minor_formatter(NullFormatter())
    axis.grid(axis=which, color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)


class Curve(NamedTuple):
    """A line of a plot against x."""

    x: Float[np.ndarray, " point"]
    y: Float[np.ndarray, " point"]


def save(figure: Figure, path: Path) -> None:
    """Write a figure without a date or random names in it, so that the same figure is the same file."""
    date = {".pdf": "CreationDate", ".svg": "Date"}.get(path.suffix.lower())
    with rc_context({"svg.hashsalt": "sureflow"}):
        figure.savefig(path, dpi=DPI, metadata={date: None} if date else None)


def symbol(name: str) -> str:
    """How a variable or an axis is written in a figure."""
    return SYMBOLS.get(name) or (f"${name}$" if len(name) == 1 else written(name))


def written(name: str) -> str:
    """A user's name as it is, where matplotlib would see a formula."""
    return name.replace("$", r"\$")


def draw_residual(
    history: Float[np.ndarray, " step"],
    *,
    title: str = "",
    levels: Mapping[str, float] | None = None,
    first_order_steps: int = 0,
) -> Figure:
    """Residual over that of uniform free stream, step by step, with the levels that decide on convergence."""
    with rc_context(STYLE):
        figure = Figure(figsize=(7.0, 4.0), layout="constrained")
        axis = figure.subplots()
        axis.semilogy(np.arange(1, len(history) + 1), history, color=BLUE)
        for label, level in (levels or {}).items():
            axis.axhline(level, color="0.5", linewidth=0.8, dashes=(4, 3))
            axis.annotate(
                label, (0.0, level), xycoords=("axes fraction", "data"), xytext=(5, 3), textcoords="offset points",
                color="0.35", fontsize=8,
            )  # fmt: skip
        if first_order_steps:
            axis.axvline(first_order_steps, color="0.5", linewidth=0.8)
            axis.annotate(
                "second order", (first_order_steps, 1.0), xycoords=("data", "axes fraction"), xytext=(5, -12),
                textcoords="offset points", color="0.35", fontsize=8,
            )  # fmt: skip
        axis.set_xlim(0, max(len(history), 1))
        axis.set_xlabel("implicit step")
        axis.set_ylabel("residual / residual of uniform free stream")
        axis.grid(color="0.92", linewidth=0.6)
        axis.set_axisbelow(True)
        if title:
            axis.set_title(title, loc="left")
    return figure


def draw_surface(
    cp: Curve,
    newtonian: Curve,
    heat_flux: Curve,
    shear: Curve,
    *,
    title: str = "",
    joint: float | None = None,
    reference_heat: float | None = None,
) -> Figure:
    """Pressure coefficient against modified Newtonian theory, heat flux and shear along the body.

    `joint` is where sphere and cone meet, `reference_heat` the stagnation heat flux of a correlation.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(10.5, 3.6), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        left.plot(*cp, color=BLUE, label="computed")
        left.plot(*newtonian, color="0.35", linewidth=1.1, dashes=(5, 3), label="modified Newtonian")
        left.set_ylabel("pressure coefficient $C_p$")
        middle.plot(heat_flux.x, heat_flux.y / 1e6, color=RED, label="computed")
        middle.set_ylabel("heat flux into the wall (MW/m²)")
        if reference_heat is not None:
            middle.plot(
                [0.0], [reference_heat / 1e6], "o", color="0.25", markersize=5, clip_on=False, zorder=5,
                label="Fay–Riddell, stagnation point",
            )  # fmt: skip
        right.plot(shear.x, shear.y, color=GREEN)
        right.set_ylabel("wall shear stress (Pa)")
        for axis in (left, middle, right):
            axis.set_xlabel("arc length from the nose (m)")
            if joint is not None:
                axis.axvline(joint, color="0.6", linewidth=0.8, dashes=(1, 2))
            axis.set_xlim(0.0, cp.x.max())
            axis.set_ylim(min(0.0, axis.get_ylim()[0]), None)
            axis.grid(color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
        if joint is not None:
            right.annotate(
                "sphere | cone", (joint, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
                textcoords="offset points", ha="center", color="0.4", fontsize=8,
            )  # fmt: skip
        for axis in (left, middle) if reference_heat is not None else (left,):
            axis.legend(frameon=False, fontsize=8)
        if title:
            figure.suptitle(title, fontsize=12)
    return figure


def parameter_label(name: str, unit: str = "") -> str:
    """'Mach number', 'altitude (km)', and a user's own parameter by its name."""
    if name == "altitude_km":
        unit = "km"  # which stores of the first version do not say
    return with_unit(written(words_of(name, unit)), unit)


def draw_campaign(
    conditions: Float[np.ndarray, "case parameter"],
    status: Int[np.ndarray, " case"],
    steps: Float[np.ndarray, " case"] | None = None,
    *,
    labels: Sequence[str] = ("Mach number", "altitude (km)"),
    title: str = "",
) -> Figure:
    """How every run of a campaign ended over its parameters, the first against each other, and how many steps it took."""
    others = range(1, conditions.shape[1]) if len(labels) > 1 else [0]
    panels = len(others) + (steps is not None)
    columns = min(panels, 3)
    rows = -(-panels // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(5.5 * columns, 4.6 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
        for axis in axes[panels:]:
            axis.remove()
        colors = ListedColormap([STATUS_COLORS[kind] for kind in Status])
        norm = BoundaryNorm(np.arange(len(Status) + 1) - 0.5, len(Status))
        for axis, other in zip(axes, others, strict=False):
            _name_axes(axis, labels, other)
            draw_conditions(axis, _pair(conditions, other), status.astype(float), cmap=colors, norm=norm)
        _add_legend(axes[0], status)
        axes[0].set_title("how each run ended", loc="left")
        if steps is not None:
            _draw_steps(axes[panels - 1], _pair(conditions, others[0]), np.where(status > 0, steps, np.nan))
            _name_axes(axes[panels - 1], labels, others[0])
        if labels[0] == WORDS["mach"]:
            axes[0].xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        if title:
            figure.suptitle(title, fontsize=12)
    return figure


def _pair(conditions: np.ndarray, other: int) -> Float[np.ndarray, "case 2"]:
    """The first parameter with another one, or with nothing if it is the only one."""
    return np.column_stack([conditions[:, 0], conditions[:, other] if other else np.zeros(len(conditions))])


def _name_axes(axis: Axes, labels: Sequence[str], other: int) -> None:
    axis.set_xlabel(labels[0])
    if other:
        axis.set_ylabel(labels[other])
    else:
        axis.set_yticks([])


def _add_legend(axis: Axes, status: Int[np.ndarray, " case"]) -> None:
    for kind in Status:
        count = int((status == kind).sum())
        if count:
            axis.plot([], [], "s", color=STATUS_COLORS[kind], markersize=7, label=f"{kind.words}: {count}")
    axis.legend(
        frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(-0.02, 1.06), borderaxespad=0.0, handletextpad=0.0,
        columnspacing=1.0,
    )  # fmt: skip


def _draw_steps(axis: Axes, conditions: Float[np.ndarray, "case 2"], steps: Float[np.ndarray, " case"]) -> None:
    image = draw_conditions(axis, conditions, steps, cmap="cividis")
    bar = axis.figure.colorbar(image, ax=axis, pad=0.015, aspect=25)
    bar.outline.set_visible(False)  # type: ignore[operator]
    axis.set_title("implicit steps", loc="left")


def draw_conditions(
    axis: Axes, conditions: Float[np.ndarray, "case 2"], values: Float[np.ndarray, " case"], **colors: Any
) -> ScalarMappable:
    """A tile for every condition of a regular grid; squares for scattered conditions. NaN is left out."""
    across, up = (np.unique(column) for column in conditions.T)
    if len(across) * len(up) == len(conditions) and is_even(across) and is_even(up):
        grid = np.full((len(up), len(across)), np.nan)
        grid[np.searchsorted(up, conditions[:, 1]), np.searchsorted(across, conditions[:, 0])] = values
        grid = np.ma.masked_invalid(grid)
        return axis.pcolormesh(edges(across), edges(up), grid, edgecolors="white", linewidth=0.4, **colors)
    shown = np.isfinite(values)
    axis.grid(color="0.92", linewidth=0.6)
    axis.set_axisbelow(True)
    return axis.scatter(*conditions[shown].T, c=values[shown], marker="s", s=90.0, linewidths=0.0, **colors)


def is_even(centers: Float[np.ndarray, " tile"]) -> bool:
    """Whether values are equally spaced."""
    return len(centers) < 3 or bool(np.ptp(np.diff(centers)) < 1e-9 * np.ptp(centers))


def edges(centers: Float[np.ndarray, " tile"]) -> Float[np.ndarray, " edge"]:
    """Borders halfway between values, and as far outside the first and the last."""
    if len(centers) == 1:
        return centers[0] + np.array([-0.5, 0.5])
    between = 0.5 * (centers[1:] + centers[:-1])
    return np.concatenate([[2 * centers[0] - between[0]], between, [2 * centers[-1] - between[-1]]])
