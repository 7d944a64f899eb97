"""The mesh of a file alone, to predict on."""

from pathlib import Path

from sureflow.data.meshes import Geometry, Topology
from sureflow.errors import SureflowError
from sureflow.importers.assembly import Taken, merged, mesh_of_block
from sureflow.importers.reading import importer_for
from sureflow.importers.snapshot import SnapshotReader, Wanted


def read_mesh_file(path: Path) -> tuple[tuple[str, ...], Topology, Geometry]:
    """Axes, cells and places of the mesh in a file of any format that holds one run."""
    reader = importer_for(path)
    if not isinstance(reader, SnapshotReader):
        raise SureflowError(f"{path} holds runs, not just a mesh: give a mesh, such as a .vtu file")
    block = merged(reader(path, Wanted(arrays=frozenset())).blocks)
    mesh = mesh_of_block(block, Taken((), "cells", None, True))
    return mesh.flat.axes, mesh.flat.topology, mesh.geometry
