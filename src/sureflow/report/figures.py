"""Figures of flow fields, of their convergence, of the wall and of whole campaigns.

Every function returns a matplotlib `Figure` of its own: no state is shared, and nothing needs a display.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from sureflow.data.schema import Status

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


class Panel(NamedTuple):
    """A scalar field with its label, such as 'temperature (K)'."""

    label: str
    values: Float[np.ndarray, "nj ni"]
    colors: str = "viridis"
    logarithmic: bool = False
    clipped: bool = False  # the color scale leaves out what fills less than 0.5 % of the area, as a thin wall layer
    highest: float | None = None  # end of the color scale, which begins at 0; what lies above is black


class Curve(NamedTuple):
    """A line of a plot against x."""

    x: Float[np.ndarray, " point"]
    y: Float[np.ndarray, " point"]


def save(figure: Figure, path: Path) -> None:
    """Write a figure without a date or random names in it, so that the same figure is the same file."""
    date = {".pdf": "CreationDate", ".svg": "Date"}.get(path.suffix.lower())
    with rc_context({"svg.hashsalt": "sureflow"}):
        figure.savefig(path, dpi=DPI, metadata={date: None} if date else None)


def flow_panels(fields: Float[np.ndarray, "4 nj ni"]) -> list[Panel]:
    """The four state variables as the study shows them."""
    u1, u2, rho, temperature = fields
    return [
        Panel("axial velocity $u_1$ (km/s)", u1 / 1e3, "viridis"),
        Panel("radial velocity $u_2$ (km/s)", u2 / 1e3, "viridis"),
        Panel("density $\\rho$ (g/m³)", 1e3 * rho, "magma", logarithmic=True, clipped=True),
        Panel("temperature $T$ (kK)", temperature / 1e3, "inferno"),
    ]


def draw_fields(
    node_x: Float[np.ndarray, "nj+1 ni+1"],
    node_r: Float[np.ndarray, "nj+1 ni+1"],
    panels: Sequence[Panel],
    *,
    title: str = "",
    mirror: bool = False,
) -> Figure:
    """Fields side by side on the cells of their mesh, two in a row, with equal axes and the body in gray."""
    node_x, node_r = np.asarray(node_x), np.asarray(node_r)
    rows = (len(panels) + 1) // 2
    with rc_context(STYLE):
        aspect = (2.0 if mirror else 1.0) * node_r.max() / np.ptp(node_x)
        figure = Figure(figsize=(10.5, rows * (4.2 * aspect + 0.45) + 0.6), layout="constrained")
        axes = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            draw_panel(axis, node_x, node_r, panel, mirror=mirror)
        for axis in axes[len(panels) :]:
            axis.remove()
        for axis in axes[-2:]:
            axis.set_xlabel("$x$ (m)")
        for axis in axes[::2]:
            axis.set_ylabel("$r$ (m)")
        if title:
            figure.suptitle(title, fontsize=12)
    return figure


def draw_panel(axis: Axes, node_x: np.ndarray, node_r: np.ndarray, panel: Panel, *, mirror: bool) -> None:
    """One field; cells are drawn as they are, without smoothing."""
    values = np.ma.masked_invalid(panel.values)
    low, high = values.min(), values.max()
    if panel.clipped:
        high = largest_seen(values, cell_areas(node_x, node_r))
    colors = colormaps[panel.colors]
    if panel.highest is not None:
        low, high, colors = 0.0, panel.highest, colors.with_extremes(over="black")
    norm = (LogNorm if panel.logarithmic else Normalize)(low, high)
    image = axis.pcolormesh(node_x, node_r, values, cmap=colors, norm=norm, rasterized=True)
    if mirror:
        axis.pcolormesh(node_x, -node_r, values, cmap=colors, norm=norm, rasterized=True)
    wall_x, wall_r = node_x[0], node_r[0]
    axis.fill_between(wall_x, -wall_r if mirror else 0.0 * wall_r, wall_r, color="0.85", linewidth=0)
    axis.plot(wall_x, wall_r, color="0.25", linewidth=0.7)
    if mirror:
        axis.plot(wall_x, -wall_r, color="0.25", linewidth=0.7)
        axis.axhline(0.0, color="0.5", linewidth=0.5, dashes=(12, 3, 2, 3))
    axis.set_aspect("equal")
    margin = 0.02 * np.ptp(node_x)
    axis.set_xlim(node_x.min() - margin, node_x.max())
    axis.set_ylim(-node_r.max() if mirror else 0.0, node_r.max())
    axis.set_title(panel.label, loc="left")
    # A color bar as high as its panel, which equal axes would otherwise leave lower than the bar.
    beside = axis.inset_axes((1.025, 0.0, 0.03, 1.0))
    bar = axis.figure.colorbar(image, cax=beside, extend="max" if high < values.max() else "neither")
    if panel.logarithmic:
        beside.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        beside.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        beside.yaxis.set_minor_formatter(NullFormatter())
    bar.outline.set_visible(False)  # type: ignore[operator]


def cell_areas(node_x: np.ndarray, node_r: np.ndarray) -> Float[np.ndarray, "nj ni"]:
    """Areas of the cells in the plane, from their diagonals."""
    rising = node_x[1:, 1:] - node_x[:-1, :-1], node_r[1:, 1:] - node_r[:-1, :-1]
    falling = node_x[1:, :-1] - node_x[:-1, 1:], node_r[1:, :-1] - node_r[:-1, 1:]
    return 0.5 * np.abs(rising[0] * falling[1] - rising[1] * falling[0])


def largest_seen(values: np.ndarray, areas: np.ndarray, unseen: float = 0.005) -> float:
    """The value that is exceeded on this share of the area."""
    order = np.argsort(values, axis=None)
    below = np.cumsum(areas.ravel()[order])
    return float(values.ravel()[order][np.searchsorted(below, (1.0 - unseen) * below[-1])])


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


def draw_campaign(
    conditions: Float[np.ndarray, "case 2"],
    status: Int[np.ndarray, " case"],
    steps: Float[np.ndarray, " case"],
    *,
    title: str = "",
) -> Figure:
    """How every run of a campaign ended, and how many steps it took, over the Mach-altitude plane."""
    with rc_context(STYLE):
        figure = Figure(figsize=(11.0, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        colors = ListedColormap([STATUS_COLORS[kind] for kind in Status])
        norm = BoundaryNorm(np.arange(len(Status) + 1) - 0.5, len(Status))
        draw_conditions(left, conditions, status.astype(float), cmap=colors, norm=norm)
        for kind in Status:
            count = int((status == kind).sum())
            if count:
                label = f"{kind.name.lower().replace('_', ' ')}: {count}"
                left.plot([], [], "s", color=STATUS_COLORS[kind], markersize=7, label=label)
        left.legend(
            frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(-0.02, 1.06), borderaxespad=0.0,
            handletextpad=0.0, columnspacing=1.0,
        )  # fmt: skip
        left.set_title("how each run ended", loc="left")

        image = draw_conditions(right, conditions, np.where(status > 0, steps, np.nan), cmap="cividis")
        bar = figure.colorbar(image, ax=right, pad=0.015, aspect=25)
        bar.outline.set_visible(False)  # type: ignore[operator]
        right.set_title("implicit steps", loc="left")
        left.set_ylabel("altitude (km)")
        for axis in (left, right):
            axis.set_xlabel("Mach number")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        if title:
            figure.suptitle(title, fontsize=12)
    return figure


def draw_conditions(
    axis: Axes, conditions: Float[np.ndarray, "case 2"], values: Float[np.ndarray, " case"], **colors: Any
) -> ScalarMappable:
    """A tile for every condition of a regular grid; squares for scattered conditions. NaN is left out."""
    mach, altitude = (np.unique(column) for column in conditions.T)
    if len(mach) * len(altitude) == len(conditions) and is_even(mach) and is_even(altitude):
        grid = np.full((len(altitude), len(mach)), np.nan)
        grid[np.searchsorted(altitude, conditions[:, 1]), np.searchsorted(mach, conditions[:, 0])] = values
        grid = np.ma.masked_invalid(grid)
        return axis.pcolormesh(edges(mach), edges(altitude), grid, edgecolors="white", linewidth=0.4, **colors)
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
