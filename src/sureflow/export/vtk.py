"""VTK files for ParaView, through the optional pyvista: structured blocks (.vts), all meshes (.vtu, .vtkhdf), and many conditions
in one list (.pvd).
"""

from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np
import xarray

from sureflow.data.measures import vtk_cells
from sureflow.errors import SureflowError
from sureflow.export.exporters import EXPORTERS
from sureflow.export.field_mesh import FieldMesh, mesh_of

if TYPE_CHECKING:
    import pyvista

VERTEX = 1  # VTK's type of a cell that is a single point
VELOCITY = ("u1", "u2", "u3")  # components that ParaView wants as one vector


def require_pyvista() -> None:
    """Say how to get pyvista before anything is computed."""
    try:
        import pyvista  # noqa: F401
    except ImportError as error:
        raise SureflowError(
            "VTK files need pyvista, which is not installed: pip install 'sureflow[cfd]' (in a clone, -e '.[cfd]')"
        ) from error


def write_structured(dataset: xarray.Dataset, path: Path) -> None:
    """A structured grid, in the plane z = 0 if it has two dimensions."""
    require_pyvista()
    import pyvista

    mesh = mesh_of(dataset)
    shape = mesh.topology.shape
    if shape is None or mesh.geometry.nodes is None:
        raise SureflowError("a .vts file holds structured meshes, and this one is not: write .vtu")
    grid = pyvista.StructuredGrid()
    grid.points = _in_space(mesh.geometry.nodes)
    # VTK counts the fastest index first.
    grid.dimensions = [*(n + 1 for n in reversed(shape)), *[1] * (3 - len(shape))]
    _add_fields(grid, dataset, mesh)
    grid.save(path)


def write_unstructured(dataset: xarray.Dataset, path: Path) -> None:
    """Cells of any mesh; bare points become vertices."""
    require_pyvista()
    import pyvista

    mesh = mesh_of(dataset)
    nodes, topology = mesh.geometry.nodes, mesh.topology
    if topology.kind == "points" or nodes is None:
        nodes = mesh.geometry.points
        connectivity, offsets = np.arange(len(nodes)), np.arange(len(nodes) + 1)
        types = np.full(len(nodes), VERTEX)
    else:
        cells = vtk_cells(topology)
        connectivity, offsets, types = cells.connectivity, cells.offsets, cells.types
    listed = np.insert(connectivity, offsets[:-1], np.diff(offsets))  # each cell begins with its number of nodes
    grid = pyvista.UnstructuredGrid(listed, types.astype(np.uint8), _in_space(nodes))
    _add_fields(grid, dataset, mesh)
    grid.save(path)


def write_collection(dataset: xarray.Dataset, path: Path) -> None:
    """One file for every condition in a folder beside, and the list of them, which ParaView plays as times.

    The time is the value of the parameter if there is one, else the number of the condition.
    """
    require_pyvista()
    many = dataset if "case" in dataset.dims else dataset.expand_dims("case")
    folder = path.with_suffix("")
    folder.mkdir()
    parameters = [name for name, values in many.coords.items() if values.dims == ("case",) and name != "case"]
    entries = []
    for case in range(many.sizes["case"]):
        one = many.isel(case=case)
        name = f"{folder.name}/case{case:04d}.vtu"
        write_unstructured(one, path.parent / name)
        time = float(one[parameters[0]]) if len(parameters) == 1 else case
        entries.append(f'    <DataSet timestep="{time!r}" part="0" file={quoteattr(name)}/>')
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "  <Collection>", *entries]
    path.write_text("\n".join([*lines, "  </Collection>", "</VTKFile>", ""]), encoding="utf-8")


EXPORTERS.register(".vts", write_structured)
for ending in (".vtu", ".vtkhdf"):
    EXPORTERS.register(ending, write_unstructured)
EXPORTERS.register(".pvd", write_collection)


def _in_space(nodes: np.ndarray) -> np.ndarray:
    """ParaView's points have three coordinates."""
    return np.pad(nodes, ((0, 0), (0, 3 - nodes.shape[1])))


def _add_fields(grid: "pyvista.DataSet", dataset: xarray.Dataset, mesh: FieldMesh) -> None:
    """Every field and its bars under their names, velocities as a vector as well, and what holds for the whole."""
    place = grid.cell_data if mesh.location == "cells" else grid.point_data
    for name in mesh.names:
        place[name] = np.ascontiguousarray(dataset[name].values.ravel())
    components = [name for name in VELOCITY if name in mesh.names]
    if components[:2] == ["u1", "u2"]:
        vector = np.stack([dataset[name].values.ravel() for name in components], axis=1)
        place["velocity"] = _in_space(vector)
    _add_facts(grid, dataset, mesh)


def _add_facts(grid: "pyvista.DataSet", dataset: xarray.Dataset, mesh: FieldMesh) -> None:
    """Units, the verdict, what the bars are worth, and the parameters, as data of the whole file."""
    units = {name: dataset[name].attrs.get("units", "") for name in mesh.names}
    grid.field_data["units"] = [f"{name}: {unit}" for name, unit in units.items() if unit] or ["unknown"]
    for name in ("verdict", "bars"):
        if name in dataset.attrs:
            grid.field_data[name] = [str(dataset.attrs[name])]
    for name, values in dataset.variables.items():
        if not values.dims and np.asarray(values.values).dtype.kind in "fiu":
            grid.field_data[str(name)] = np.array([float(values.values)])
