"""The fields of one test run, and where a model errs in them."""

from collections.abc import Sequence

import numpy as np
import xarray
from matplotlib.figure import Figure

from sureflow.errors import SureflowError
from sureflow.export.field_mesh import mesh_of
from sureflow.report.canvas import Panel, Plane, draw_fields, largest_seen
from sureflow.report.figures import symbol
from sureflow.report.findings import Findings
from sureflow.report.plot import field_panel, flow_panel
from sureflow.report.reproductions import FigureMaker

LARGE_ERROR = 0.5  # what lies above is black
SMALL = 0.01  # color scales that end below are given in a power of ten
DARKER_IS_HIGHER = "YlGnBu"
BLOCKS = {2: ("j", "i"), 3: ("k", "j", "i")}
MESH_DIMS = {"connectivity": "corner", "offsets": "cell_edge", "cell_types": "cell"}


def map_plane(findings: Findings) -> Plane:
    """The mesh of the stored maps; refused where it cannot be drawn."""
    if "truth" not in findings.maps:
        raise SureflowError("maps.npz is missing; run the study again")
    return Plane(mesh_of(_labelled(findings)))


def not_drawn(findings: Findings) -> str:
    """Why there are no pictures of the fields; nothing if there are."""
    try:
        map_plane(findings)
    except SureflowError as error:
        return f"{str(error).partition(':')[0]}."
    return ""


def _labelled(findings: Findings) -> xarray.Dataset:
    """The mesh of the maps with the names that predictions use."""
    maps = findings.maps
    values = maps["truth"][0]
    is_listed = "cell" if len(maps.get("cell_types", ())) == len(values) else "point"
    dims = BLOCKS.get(values.ndim) or (is_listed,)
    axes = findings.fact("axes") or [name.removeprefix("node_") for name in maps if name.startswith("node_")]
    nodes = tuple(f"node_{dim}" for dim in dims) if values.ndim > 1 else ("node",)
    unit = {"units": findings.fact("axis_unit") or ""}
    coordinates = {f"node_{axis}": (nodes, maps[f"node_{axis}"], unit) for axis in axes if f"node_{axis}" in maps}
    coordinates |= {axis: (dims, maps[axis], unit) for axis in axes if axis in maps}
    mesh = {name: (dim, maps[name]) for name, dim in MESH_DIMS.items() if name in maps}
    return xarray.Dataset({"truth": (dims, values), **mesh}, coordinates)


def fields_figure(findings: Findings) -> Figure | None:
    """The computed fields of the run that is shown."""
    if not_drawn(findings):
        return None
    plane, units = map_plane(findings), findings.fact("fields") or {}
    panel = flow_panel if plane.is_revolved else field_panel
    fields = zip(findings.variables, findings.maps["truth"], strict=True)
    panels = [panel(name, units.get(name, ""), values) for name, values in fields]
    return draw_fields(plane, panels, title=f"Computed flow, {findings.shown_condition}")


def spatial_figure(findings: Findings, label: str, names: Sequence[str] | None = None) -> Figure | None:
    """Absolute error of a model beside its standard deviation, in normalized space; darker is higher."""
    if not_drawn(findings) or not findings.has_map(label):
        return None
    plane = map_plane(findings)
    maps, chosen = findings.maps, findings.variables if names is None else names
    panels = []
    for name in chosen:
        place = findings.variables.index(name)
        scale = maps["space_std"][place]
        error = np.abs(maps[f"{label}__mean"][place] - maps["truth"][place]) / scale
        panels += _error_and_bar(symbol(name), error, maps[f"{label}__std"][place] / scale, plane.areas)
    title = f"{findings.name(label)}, {findings.shown_condition}, in standard deviations of the training runs"
    return draw_fields(plane, panels, title=title)


def _error_and_bar(name: str, error: np.ndarray, std: np.ndarray, areas: np.ndarray) -> list[Panel]:
    """Two panels on one color scale, so that they can be compared."""
    highest = min(LARGE_ERROR, max(largest_seen(values, areas) for values in (error, std))) or SMALL
    exponent = int(np.floor(np.log10(highest))) if highest < SMALL else 0
    unit = f" ($10^{{{exponent}}}$)" if exponent else ""
    shown = {f"|error| of {name}{unit}": error, f"standard deviation of {name}{unit}": std}
    return [
        Panel(words, values / 10.0**exponent, DARKER_IS_HIGHER, highest=highest / 10.0**exponent)
        for words, values in shown.items()
    ]


def mapped(findings: Findings, first: str = "") -> str:
    """The model whose errors are drawn: the one that is asked for, else the best with a standard deviation."""
    labels = [first, *sorted(findings.labels, key=findings.rank)]
    return next((label for label in labels if findings.has_map(label)), "")


def spatial_best_figure(findings: Findings) -> Figure | None:
    return spatial_figure(findings, mapped(findings))


def spatial_default_figure(findings: Findings, first: str = "") -> Figure | None:
    """The default model, where it is not the one that is drawn anyway."""
    default = findings.default
    return None if default is None or default == mapped(findings, first) else spatial_figure(findings, default)


MAP_MAKERS: dict[str, FigureMaker] = {
    "fields": fields_figure,
    "spatial": spatial_best_figure,
    "spatial_default": spatial_default_figure,
}
