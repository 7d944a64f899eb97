"""VTK files for ParaView, through the optional pyvista: structured blocks (.vts) and everything else (.vtu)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray

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
        raise SureflowError("VTK files need pyvista, which is not installed: pip install 'sureflow[cfd]'") from error


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
    """Unstructured cells; bare points become vertices."""
    require_pyvista()
    import pyvista

    mesh = mesh_of(dataset)
    cells, nodes = mesh.topology.cells, mesh.geometry.nodes
    if mesh.topology.shape is not None:
        raise SureflowError("a .vtu file holds unstructured meshes, and this one is structured: write .vts")
    if cells is None or nodes is None:
        nodes = mesh.geometry.points
        connectivity, offsets = np.arange(len(nodes)), np.arange(len(nodes) + 1)
        types = np.full(len(nodes), VERTEX)
    else:
        connectivity, offsets, types = cells.connectivity, cells.offsets, cells.types
    listed = np.insert(connectivity, offsets[:-1], np.diff(offsets))  # each cell begins with its number of nodes
    grid = pyvista.UnstructuredGrid(listed, types.astype(np.uint8), _in_space(nodes))
    _add_fields(grid, dataset, mesh)
    grid.save(path)


EXPORTERS.register(".vts", write_structured)
EXPORTERS.register(".vtu", write_unstructured)


def _in_space(nodes: np.ndarray) -> np.ndarray:
    """ParaView's points have three coordinates."""
    return np.pad(nodes, ((0, 0), (0, 3 - nodes.shape[1])))


def _add_fields(grid: "pyvista.DataSet", dataset: xarray.Dataset, mesh: FieldMesh) -> None:
    """Every field under its name with its unit, and velocities as a vector as well."""
    place = grid.cell_data if mesh.location == "cells" else grid.point_data
    for name in mesh.names:
        field = dataset[name]
        place[_titled(field.attrs.get("long_name", name), field)] = field.values.ravel()
    components = [name for name in VELOCITY if name in mesh.names]
    if components[:2] == ["u1", "u2"]:
        vector = np.stack([dataset[name].values.ravel() for name in components], axis=1)
        place[_titled("velocity", dataset["u1"])] = _in_space(vector)


def _titled(name: str, field: xarray.DataArray) -> str:
    unit = field.attrs.get("units", "")
    return name if unit in ("", "1") else f"{name} ({unit})"
