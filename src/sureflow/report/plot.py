"""A picture of a prediction or of a solution: every field beside its standard deviation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rc_context

from sureflow.data.header import ADDED
from sureflow.errors import SureflowError
from sureflow.export.exporters import EXPORTERS
from sureflow.export.field_mesh import FieldMesh, mesh_of
from sureflow.report.canvas import Panel, Picture, Plane, axis_label, draw_fields, largest_seen
from sureflow.report.figures import BLUE, STYLE, save, written
from sureflow.wording import condition_words, with_unit

if TYPE_CHECKING:
    import xarray

DENSITY_UNIT = "kg/m3"  # densities span decades between the free stream and a cold wall
WITHIN = 1.6449  # standard deviations within which 90 % of a normal distribution lies


def plot(dataset: "xarray.Dataset", variable: str | None = None) -> Picture:
    """Draw a prediction or solution with units and equal axes; `variable` is the field to draw, by default all are.

    Fields with a standard deviation have it beside them. Fields over a line are drawn as curves with 90 % intervals.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 50)[:, None], np.linspace(0, 4, 15)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
    >>> field = sf.fit(runs, "interpolation").predict(angle=1.2)
    >>> sf.plot(field, "p").savefig("pressure.png")
    """
    mesh = mesh_of(dataset)
    names = field_names(mesh.names)
    if variable is not None:
        if variable not in names:
            raise SureflowError(f"variable={variable!r} is not one of {', '.join(names)}")
        names = [variable]
    if len(mesh.axes) == 1:
        return _curves(dataset, mesh, names)
    plane = Plane(mesh)
    panels = [panel for name in names for panel in _panels(dataset, plane, name)]
    return draw_fields(plane, panels, title=_title(dataset))


def write_picture(dataset: "xarray.Dataset", path: Path) -> None:
    save(plot(dataset), path)


EXPORTERS.register(".png", write_picture)


def field_names(names: Sequence[str]) -> list[str]:
    """The names of fields without those of their error bars."""
    bars = tuple(name + ending for name in names for ending in ADDED)
    return [name for name in names if not name.startswith(bars)]


def titled(name: str, unit: str) -> str:
    """'T (K)'."""
    return with_unit(written(name), unit)


def field_panel(name: str, unit: str, values: np.ndarray) -> Panel:
    """A field as it is drawn where nothing is known but its unit."""
    dense = unit == DENSITY_UNIT and bool(np.nanmin(values) > 0)
    return Panel(titled(name, unit), values, logarithmic=dense, clipped=dense)


def flow_panel(name: str, unit: str, values: np.ndarray) -> Panel:
    """Fields of our own solver in the units that people use; any other field as it is."""
    match name, unit:
        case "u1", "m/s":
            return Panel("axial velocity $u_1$ (km/s)", values / 1e3)
        case "u2", "m/s":
            return Panel("radial velocity $u_2$ (km/s)", values / 1e3)
        case "rho", "kg/m3":
            return Panel("density $\\rho$ (g/m³)", 1e3 * values, "magma", logarithmic=True, clipped=True)
        case "T", "K":
            return Panel("temperature $T$ (kK)", values / 1e3, "inferno")
    return field_panel(name, unit, values)


def _panels(dataset: "xarray.Dataset", plane: Plane, name: str) -> list[Panel]:
    unit, panel = dataset[name].attrs.get("units", ""), flow_panel if plane.is_revolved else field_panel
    found = [panel(name, unit, dataset[name].values)]
    if f"{name}_std" in dataset:
        bars = panel(name, unit, dataset[f"{name}_std"].values)
        # Zero everywhere at the condition of a training run, through which an interpolation passes.
        highest = largest_seen(bars.values, plane.areas) or 1.0
        found.append(Panel(f"standard deviation of {bars.label}", bars.values, "magma_r", highest=highest))
    return found


def _title(dataset: "xarray.Dataset") -> str:
    """The condition with the verdict on it, or what the dataset says of itself."""
    if "title" in dataset.attrs:
        return dataset.attrs["title"]
    parameters = {str(name): value for name, value in dataset.coords.items() if value.ndim == 0}
    verdict = dataset.attrs.get("verdict", "")
    return ": ".join(
        filter(
            None, (_condition(parameters), "inside the training domain" if verdict.startswith("inside") else verdict)
        )
    )


def _condition(parameters: "Mapping[str, xarray.DataArray]") -> str:
    """'Mach 25 at 46 km' as solutions have it, 'nose radius 0.2 m, angle 9 deg' in general."""
    if parameters.keys() == {"mach", "altitude_km"}:
        return f"Mach {parameters['mach'].item():g} at {parameters['altitude_km'].item():g} km"
    units = {name: value.attrs.get("units", "") for name, value in parameters.items()}
    return written(condition_words({name: value.item() for name, value in parameters.items()}, units))


def _half_width(dataset: "xarray.Dataset", name: str) -> np.ndarray:
    """Of 90 % intervals: calibrated where they are, else those of a normal distribution."""
    calibrated = f"{name}_interval90"
    return (dataset[calibrated] if calibrated in dataset else WITHIN * dataset[f"{name}_std"]).values.ravel()


def _curves(dataset: "xarray.Dataset", mesh: FieldMesh, names: Sequence[str]) -> Picture:
    """Fields along a line, one below the other."""
    order = np.argsort(mesh.geometry.points[:, 0])
    x = mesh.geometry.points[order, 0]
    with rc_context(STYLE):
        figure = Picture(figsize=(7.0, 2.3 * len(names) + 0.7), layout="constrained")
        axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for axis, name in zip(axes, names, strict=True):
            values = dataset[name].values.ravel()[order]
            if f"{name}_std" in dataset:
                half = _half_width(dataset, name)[order]
                axis.fill_between(x, values - half, values + half, color="0.82", linewidth=0, label="90 % interval")
                axis.legend(frameon=False, fontsize=8)
            axis.plot(x, values, color=BLUE)
            axis.set_title(titled(name, dataset[name].attrs.get("units", "")), loc="left")
            axis.grid(color="0.92", linewidth=0.6)
            axis.set_axisbelow(True)
        axes[-1].set_xlabel(axis_label(mesh, 0))
        figure.suptitle(_title(dataset), fontsize=12)
    return figure
