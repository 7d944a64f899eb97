"""Fields on their mesh: structured cells, triangles or bare points of a plane, with equal axes.

Every function returns a matplotlib `Figure` of its own: no state is shared, and nothing needs a display.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from matplotlib.tri import Triangulation
from scipy.spatial import KDTree

from sureflow.errors import SureflowError
from sureflow.export.field_mesh import FieldMesh
from sureflow.report.figures import STYLE, symbol

RADIUS = "r"  # an axis of this name is the distance from an axis of symmetry
POLYGONS = (5, 7, 9)  # VTK's triangle, polygon and quadrilateral
TITLE_LETTERS = 11  # that an inch of the title of a figure has room for
LOWEST_ASPECT, HIGHEST_ASPECT = 0.12, 2.5  # of the panels of a figure


class Panel(NamedTuple):
    """A scalar field with its label, such as 'temperature (K)'."""

    label: str
    values: Float[np.ndarray, "..."]
    colors: str = "viridis"
    logarithmic: bool = False
    clipped: bool = False  # the color scale leaves out what fills less than 0.5 % of the area, as a thin wall layer
    highest: float | None = None  # end of the color scale, which begins at 0; what lies above is black


@dataclass(frozen=True)
class Plane:
    """A mesh of two dimensions as it is drawn."""

    mesh: FieldMesh

    def __post_init__(self) -> None:
        axes, cells = self.mesh.axes, self.mesh.topology.cells
        if len(axes) != 2:
            raise SureflowError(
                f"a picture shows a plane, and these fields have the axes {', '.join(axes)}: write .vts, .vtu or .nc instead"
            )
        if cells is not None and not np.isin(cells.types, POLYGONS).all():
            raise SureflowError("a picture shows triangles, quadrilaterals and polygons: write .vtu for other cells")

    @property
    def is_revolved(self) -> bool:
        return self.mesh.axes[1] == RADIUS

    @cached_property
    def nodes(self) -> Float[np.ndarray, "axis ..."]:
        """The corners of what is drawn, as a grid if the mesh is structured."""
        geometry, shape = self.mesh.geometry, self.mesh.topology.shape
        nodes = geometry.points if geometry.nodes is None else geometry.nodes
        return nodes.T if shape is None else nodes.T.reshape(2, *(n + 1 for n in shape))

    @property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        (x, y), low = self.nodes, 0.0 if self.is_revolved else self.nodes[1].min()
        return (float(x.min()), float(x.max())), (float(low), float(y.max()))

    @cached_property
    def triangles(self) -> tuple[Int[np.ndarray, "triangle 3"], Int[np.ndarray, " triangle"]]:
        """Corners of the triangles that polygons consist of, and the cell of each."""
        cells = self.mesh.topology.cells
        assert cells is not None
        corners = np.diff(cells.offsets)
        found, owners = [], []
        for count in np.unique(corners):
            (owner,) = np.nonzero(corners == count)
            polygons = cells.connectivity[cells.offsets[owner][:, None] + np.arange(count)]
            found += [polygons[:, [0, k, k + 1]] for k in range(1, count - 1)]
            owners += [owner] * (count - 2)
        return np.concatenate(found), np.concatenate(owners)

    @cached_property
    def areas(self) -> Float[np.ndarray, "..."]:
        """How much of the plane every value stands for; alike where values are at points."""
        mesh = self.mesh
        if mesh.location == "points":
            return np.ones(len(mesh.geometry.points))
        if mesh.topology.shape is not None:
            return cell_areas(*self.nodes)
        triangles, owner = self.triangles
        one, two = (self.nodes[:, triangles[:, k]] - self.nodes[:, triangles[:, 0]] for k in (1, 2))
        return np.bincount(owner, 0.5 * np.abs(one[0] * two[1] - one[1] * two[0]))

    def draw(self, axis: Axes, values: np.ma.MaskedArray, *, flip: bool = False, **colors: Any) -> ScalarMappable:
        """Cells as they are, without smoothing; values at nodes shaded between them; bare points as dots."""
        x, y = self.nodes[0], -self.nodes[1] if flip else self.nodes[1]
        at_nodes = self.mesh.location == "points"
        if self.mesh.topology.shape is not None:
            shading = {"shading": "gouraud"} if at_nodes else {}
            values = values.reshape(x.shape if at_nodes else self.mesh.topology.shape)
            return axis.pcolormesh(x, y, values, rasterized=True, **shading, **colors)
        if self.mesh.topology.cells is None:
            dots = {"s": _dot_size(self.nodes), "linewidths": 0.0, "clip_on": False}
            return axis.scatter(x, y, c=values.ravel(), rasterized=True, **dots, **colors)
        triangles, owner = self.triangles
        if at_nodes:
            shown = Triangulation(x, y, triangles)
            return axis.tripcolor(shown, values.ravel(), shading="gouraud", rasterized=True, **colors)
        return axis.tripcolor(
            Triangulation(x, y, triangles), facecolors=values.ravel()[owner], rasterized=True, **colors
        )


def _dot_size(points: Float[np.ndarray, "axis point"]) -> float:
    """Area of a dot, in points squared, that leaves little between neighbors."""
    if points.shape[1] < 2:
        return 40.0
    nearest = np.median(KDTree(points.T).query(points.T, 2)[0][:, 1])
    # The panel is some 4 inches wide, of 72 points each.
    return float(np.clip(1.2 * nearest / np.ptp(points[0]) * 4 * 72, 1.5, 12.0)) ** 2 if np.ptp(points[0]) else 40.0


class Picture(Figure):
    """A figure that notebooks show, whether pyplot is imported or not."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def draw_fields(plane: Plane, panels: Sequence[Panel], *, title: str = "", mirror: bool = False) -> Picture:
    """Fields side by side on their mesh, two in a row, with equal axes; of a body of revolution, the body in gray."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    (left, right), (low, high) = plane.limits
    aspect = (2.0 if mirror else 1.0) * (high - low) / ((right - left) or 1.0)
    with rc_context(STYLE):
        tall = 4.2 * float(np.clip(aspect, LOWEST_ASPECT, HIGHEST_ASPECT))
        figure = Picture(figsize=(5.25 * columns, rows * (tall + 0.45) + 0.6), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            draw_panel(axis, plane, panel, mirror=mirror)
        for axis in axes[len(panels) :]:
            axis.remove()
        for axis in axes[-columns:]:
            axis.set_xlabel(axis_label(plane.mesh, 0))
        for axis in axes[::columns]:
            axis.set_ylabel(axis_label(plane.mesh, 1))
        if title:
            figure.suptitle(fill(title, int(TITLE_LETTERS * figure.get_figwidth())), fontsize=12)
    return figure


def axis_label(mesh: FieldMesh, place: int) -> str:
    """'$x$ (m)'."""
    name, unit = mesh.axes[place], mesh.units[place]
    return symbol(name) + (f" ({unit})" if unit else "")


def draw_panel(axis: Axes, plane: Plane, panel: Panel, *, mirror: bool) -> None:
    """One field with its color bar."""
    values = np.ma.masked_invalid(panel.values)
    low, high = values.min(), values.max()
    if panel.clipped:
        high = largest_seen(values, plane.areas)
    colors = colormaps[panel.colors]
    if panel.highest is not None:
        low, high, colors = 0.0, panel.highest, colors.with_extremes(over="black")
    norm = (LogNorm if panel.logarithmic else Normalize)(low, high)
    image = plane.draw(axis, values, cmap=colors, norm=norm)
    if mirror:
        plane.draw(axis, values, flip=True, cmap=colors, norm=norm)
    if plane.is_revolved and plane.mesh.topology.shape is not None:
        _draw_body(axis, plane, mirror=mirror)
    axis.set_aspect("equal")
    _set_limits(axis, plane, mirror=mirror)
    is_cut = high < values.max()
    largest = f"{values.max():,.0f}" if 100 <= values.max() < 1e6 else f"{values.max():.2g}"
    axis.set_title(f"{panel.label}, largest {largest}" if is_cut else panel.label, loc="left")
    # A color bar as high as its panel, which equal axes would otherwise leave lower than the bar.
    beside = axis.inset_axes((1.025, 0.0, 0.03, 1.0))
    bar = axis.figure.colorbar(image, cax=beside, extend="max" if is_cut else "neither")
    if panel.logarithmic:
        beside.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        beside.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        beside.yaxis.set_minor_formatter(NullFormatter())
    bar.outline.set_visible(False)  # type: ignore[operator]


def _draw_body(axis: Axes, plane: Plane, *, mirror: bool) -> None:
    """What the first line of nodes, the wall, encloses with the axis of symmetry."""
    wall_x, wall_r = plane.nodes[:, 0]
    axis.fill_between(wall_x, -wall_r if mirror else 0.0 * wall_r, wall_r, color="0.85", linewidth=0)
    axis.plot(wall_x, wall_r, color="0.25", linewidth=0.7)
    if mirror:
        axis.plot(wall_x, -wall_r, color="0.25", linewidth=0.7)
        axis.axhline(0.0, color="0.5", linewidth=0.5, dashes=(12, 3, 2, 3))


def _set_limits(axis: Axes, plane: Plane, *, mirror: bool) -> None:
    (left, right), (low, high) = plane.limits
    margin = 0.02 * (right - left)
    if plane.is_revolved:
        axis.set_xlim(left - margin, right)
        axis.set_ylim(-high if mirror else low, high)
    else:
        axis.set_xlim(left - margin, right + margin)
        axis.set_ylim(low - margin, high + margin)


def cell_areas(node_x: np.ndarray, node_y: np.ndarray) -> Float[np.ndarray, "nj ni"]:
    """Areas of the cells in the plane, from their diagonals."""
    rising = node_x[1:, 1:] - node_x[:-1, :-1], node_y[1:, 1:] - node_y[:-1, :-1]
    falling = node_x[1:, :-1] - node_x[:-1, 1:], node_y[1:, :-1] - node_y[:-1, 1:]
    return 0.5 * np.abs(rising[0] * falling[1] - rising[1] * falling[0])


def largest_seen(values: np.ndarray, areas: np.ndarray, unseen: float = 0.005) -> float:
    """The value that is exceeded on this share of the area."""
    order = np.argsort(values, axis=None)
    below = np.cumsum(areas.ravel()[order])
    return float(values.ravel()[order][np.searchsorted(below, (1.0 - unseen) * below[-1])])
