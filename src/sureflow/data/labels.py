"""Runs and meshes with names: xarray datasets, and HTML for notebooks."""

import html
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from sureflow.data.checks import left_out_clause
from sureflow.data.header import Header
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.runs import Runs
from sureflow.physics.gases import Gas
from sureflow.physics.quantities import DERIVED_UNITS, LONG_NAMES
from sureflow.runtime import double_precision_of_gases

if TYPE_CHECKING:
    import xarray

Labels = dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]  # dimensions, values and attributes by name


def attributes_of(name: str, unit: str) -> dict[str, str]:
    """Unit and long name, where they are known."""
    return {**({"units": unit} if unit else {}), **({"long_name": LONG_NAMES[name]} if name in LONG_NAMES else {})}


def value_dims(topology: Topology, location: str) -> tuple[str, ...]:
    """The dimensions of one field: (k, j, i) or fewer in a structured block, else (cell) or (point)."""
    if topology.shape is not None and len(topology.shape) <= 3:
        return tuple(reversed("ijk"[: len(topology.shape)]))
    return ("cell",) if location == "cells" and topology.kind != "points" else ("point",)


def value_shape(topology: Topology, location: str) -> tuple[int, ...]:
    """The shape that belongs to `value_dims`; -1 is all values."""
    shape = topology.values_shape(location)
    return (-1,) if shape is None or len(shape) > 3 else shape


def mesh_labels(header: Header, topology: Topology, geometries: list[Geometry], *, of_cases: bool) -> Labels:
    """Where values and nodes are, by the names of the axes; with `of_cases` for every case, else of one geometry."""
    unit = {"units": header.axis_unit} if header.axis_unit else {}
    dims, shape = value_dims(topology, header.location), value_shape(topology, header.location)
    case = ("case",) if of_cases else ()
    found: Labels = {}

    def add(start: str, dims: tuple[str, ...], shape: tuple[int, ...], arrays: list[np.ndarray]) -> None:
        for axis, name in enumerate(header.axes):
            values = np.stack([array[:, axis].reshape(shape) for array in arrays])
            found[start + name] = (*case, *dims), values if of_cases else values[0], unit

    add("", dims, shape, [geometry.points for geometry in geometries])
    nodes = [geometry.nodes for geometry in geometries if geometry.nodes is not None]
    if nodes and header.location == "cells":
        structured = topology.shape is not None and len(topology.shape) <= 3
        at = tuple(f"node_{dim}" for dim in dims) if structured else ("node",)
        add("node_", at, tuple(n + 1 for n in topology.shape or ()) if structured else (-1,), nodes)
    if topology.cells is not None:
        found["connectivity"] = ("corner",), topology.cells.connectivity, {}
        found["offsets"] = ("cell_edge",), topology.cells.offsets, {}
        found["cell_types"] = ("cell" if header.location == "cells" else "cell_of_mesh",), topology.cells.types, {}
    return found


def labelled_runs(runs: Runs) -> "xarray.Dataset":
    """All runs in memory, in the precision in which they are kept, with what their gas lets us derive."""
    header, topology = runs.header, runs.topology
    dims, shape = ("case", *value_dims(topology, header.location)), value_shape(topology, header.location)
    values = np.stack([runs.fields[case] for case in range(len(runs))], axis=1)
    units = {**dict(zip(runs.names, runs.units, strict=True)), **DERIVED_UNITS}
    named = {**dict(zip(runs.names, values, strict=True)), **derived(header, values)}
    fields = {
        name: (dims, field.reshape(len(runs), *shape), attributes_of(name, units[name]))
        for name, field in named.items()
    }
    geometries = [runs.geometry_of(case) for case in (range(len(runs)) if runs.is_moving else [0])]
    columns = zip(header.parameters, runs.parameters.T, strict=True)
    parameters = {item.name: ("case", column, attributes_of(item.name, item.unit)) for item, column in columns}
    pairs = [] if runs.numbers is None else zip(header.numbers, runs.numbers.T, strict=True)
    numbers = {item.name: ("case", column, attributes_of(item.name, item.unit)) for item, column in pairs}
    coordinates = parameters | mesh_labels(header, topology, geometries, of_cases=runs.is_moving)
    made_by = {"made_by": json.dumps(header.made_by)} if header.made_by else {}
    import xarray

    return xarray.Dataset(fields | numbers, coordinates, made_by)


def derived(header: Header, values: Float[np.ndarray, "variable *any"]) -> dict[str, Float[np.ndarray, "*any"]]:
    """Pressure and Mach number, where the gas is known and the units tell density, temperature and all velocities."""
    by_unit = {unit: [n for n, other in enumerate(header.units) if other == unit] for unit in set(header.units)}
    density, temperature, velocity = (by_unit.get(unit, []) for unit in ("kg/m3", "K", "m/s"))
    if header.gas is None or len(density) != 1 or len(temperature) != 1:
        return {}
    found = {"pressure": _thermal(header.gas.pressure, header.gas, values[density[0]], values[temperature[0]])}
    if len(velocity) == len(header.axes):
        sound = _thermal(header.gas.sound_speed, header.gas, values[density[0]], values[temperature[0]])
        found["mach_number"] = np.sqrt(sum(values[n] ** 2 for n in velocity)) / sound
    taken = {*header.names, *header.parameter_names, *(number.name for number in header.numbers)}
    return {name: field for name, field in found.items() if name not in taken}


def _thermal(function: Callable[..., Any], gas: Gas, density: np.ndarray, temperature: np.ndarray) -> np.ndarray:
    with double_precision_of_gases():
        return np.asarray(function(density, gas.energy_from_temperature(density, temperature)))


def runs_html(runs: Runs) -> str:
    """Two small tables: what varies, and what is known of every run."""
    lows, highs = (bound(runs.parameters, axis=0) if len(runs) else [] for bound in (np.min, np.max))
    parameters = [
        (item.name, item.unit, f"{low:g}..{high:g}", item.scale)
        for item, low, high in zip(runs.header.parameters, lows, highs, strict=False)
    ]
    places = "cells" if runs.header.location == "cells" else "points"
    fields = [(item.name, item.unit, places) for item in runs.header.fields]
    numbers = ", ".join(item.name for item in runs.header.numbers)
    return (
        f"<p><b>{len(runs)} runs</b>{html.escape(left_out_clause(runs.left_out))} on {html.escape(runs.mesh_sentence)}</p>"
        + _table(("parameter", "unit", "range", "scale"), parameters)
        + _table(("field", "unit", "at"), fields)
        + (f"<p>and of every run: {html.escape(numbers)}</p>" if numbers else "")
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"


def facts_html(facts: Mapping[str, str]) -> str:
    """Names and values in two columns."""
    return _table((), facts.items())
