"""VTK's own files, and those of other programs that VTK reads, through the optional pyvista."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sureflow.data.meshes import Cells, Topology
from sureflow.errors import SureflowError
from sureflow.importers.apart import Apart
from sureflow.importers.legacy_vtk import require_whole
from sureflow.importers.reading import IMPORTERS
from sureflow.importers.snapshot import LAST, Block, Snapshot, SnapshotReader, Wanted

if TYPE_CHECKING:
    import pyvista

XML = (".vtu", ".vts", ".vtp", ".vti", ".vtr", ".pvtu", ".pvti", ".vtm", ".vtmb", ".vtpd")
# Of several pieces, by ending: pyvista has no reader for some, and others do not survive a piece that is cut off.
PIECEWISE = {
    ".pvts": "vtkXMLPStructuredGridReader",
    ".pvtr": "vtkXMLPRectilinearGridReader",
    ".pvtp": "vtkXMLPPolyDataReader",
}
GHOSTS = "vtkGhostType"  # not zero in cells that another piece has as well
# What an error of VTK says, after the places in its source and in memory.
VTK_ERROR = re.compile(r"(?:ERROR: In [^\n]*\n(?:\w+ \(0x\w+\): )?|Generic Warning: In [^\n]*\n(?=Error))([^\n]*)")
SKIPPED = (GHOSTS, "vtkOriginalCellIds", "vtkOriginalPointIds", "vtkValidPointMask")


def require_pyvista(path: Path) -> None:
    try:
        import pyvista  # noqa: F401
    except ImportError as error:
        raise SureflowError(
            f"{path} needs pyvista to be read, which is not installed: pip install 'sureflow[cfd]' (in a clone, -e '.[cfd]')"
        ) from error


def read_with_pyvista(path: Path, wanted: Wanted) -> Snapshot:
    """A file of any format that pyvista has a reader for."""
    require_pyvista(path)
    import pyvista

    if path.suffix.lower() == ".vtk":
        require_whole(path)
    with raising():
        reader = pyvista.get_reader(path)
        times, time = choose_time(path, reader, wanted)
        select_arrays(reader, wanted)
        found = reader.read()
    return snapshot_of(path, found, wanted, times, time)


def read_piecewise(path: Path, wanted: Wanted) -> Snapshot:
    """A file of several pieces, with VTK alone."""
    require_pyvista(path)
    import pyvista
    from vtkmodules import vtkIOXML

    reader = getattr(vtkIOXML, PIECEWISE[path.suffix.lower()])()
    reader.SetFileName(str(path))
    with raising():
        reader.Update()
    return snapshot_of(path, pyvista.wrap(reader.GetOutput()), wanted)


for ending in (*XML, ".vtk", ".vtkhdf", ".pvd"):
    IMPORTERS.register(ending, SnapshotReader(read_with_pyvista))
for ending in PIECEWISE:
    IMPORTERS.register(ending, SnapshotReader(Apart("sureflow.importers.vtk_files", "read_piecewise")))


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """VTK's errors as exceptions: it prints them and goes on with what it has, which may be nothing.

    Of several errors the first counts; those that follow from it, and the log of pyvista, would only hide it.
    """
    import logging

    from vtkmodules.vtkCommonCore import vtkLogger, vtkOutputWindow, vtkStringOutputWindow

    def not_of_pyvista(record: logging.LogRecord) -> bool:
        return "pyvista" not in Path(record.pathname).parts

    before, window = vtkOutputWindow.GetInstance(), vtkStringOutputWindow()
    verbosity = vtkLogger.GetCurrentVerbosityCutoff()
    vtkOutputWindow.SetInstance(window)
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    logging.root.addFilter(not_of_pyvista)  # pyvista speaks through the root logger
    failed: Exception | None = None
    try:
        yield
    except Exception as error:
        failed = error
    finally:
        logging.root.removeFilter(not_of_pyvista)
        vtkLogger.SetStderrVerbosity(vtkLogger.ConvertToVerbosity(verbosity))
        vtkOutputWindow.SetInstance(before)
    said = VTK_ERROR.search(window.GetOutput())
    if said:
        raise ValueError(" ".join(said[1].split())) from failed
    if failed is not None:
        raise failed


def choose_time(path: Path, reader: Any, wanted: Wanted) -> tuple[tuple[float, ...], float | None]:
    """Set the reader to the wanted time; all times, and that one."""
    times = tuple(float(time) for time in getattr(reader, "time_values", None) or ())
    if not times:
        return (), None
    time = times[-1] if wanted.time == LAST else nearest_time(path, times, float(wanted.time))
    reader.set_active_time_value(time)
    return times, time


def nearest_time(path: Path, times: tuple[float, ...], time: float) -> float:
    """The time of a file that a user means."""
    nearest = min(times, key=lambda one: abs(one - time))
    if abs(nearest - time) > 1e-6 * max(abs(time), abs(nearest)):
        raise SureflowError(f"{path} has no time {time:g}: its times are {', '.join(f'{one:g}' for one in times[:20])}")
    return nearest


def select_arrays(reader: Any, wanted: Wanted) -> None:
    """Read nothing but the wanted arrays, where the reader knows them beforehand."""
    for location in ("cell", "point"):
        names = getattr(reader, f"{location}_array_names", None) or ()
        for name in names:
            is_needed = wanted.array(name) or name == GHOSTS
            getattr(reader, f"{'enable' if is_needed else 'disable'}_{location}_array")(name)


def snapshot_of(
    path: Path, found: Any, wanted: Wanted, times: tuple[float, ...] = (), time: float | None = None
) -> Snapshot:
    """Everything that VTK read, as blocks; cells of the highest dimension are the flow, all others patches."""
    leaves = [(name, leaf) for name, leaf in leaves_of(found) if leaf.n_points]
    blocks = [block_of(name, leaf, wanted) for name, leaf in leaves]
    depths = [dimension(leaf) for _, leaf in leaves]
    deepest = max(depths, default=0)
    return Snapshot(
        path,
        tuple(block for block, depth in zip(blocks, depths, strict=True) if depth == deepest),
        tuple(block for block, depth in zip(blocks, depths, strict=True) if depth < deepest),
        values=field_numbers(found, leaves),
        times=times,
        time=time,
    )


def leaves_of(found: Any, name: str = "") -> Iterator[tuple[str, "pyvista.DataSet"]]:
    """Data sets by name, through blocks of blocks; those without a name are counted."""
    if found is None:
        return
    if hasattr(found, "n_partitions"):
        for number in range(found.n_partitions):
            yield from leaves_of(found[number], f"{name}/{number}" if name else f"part{number}")
        return
    if not hasattr(found, "n_blocks") or not hasattr(found, "keys"):
        yield name or "mesh", found
        return
    for number in range(found.n_blocks):
        own = found.get_block_name(number) or f"block{number}"
        yield from leaves_of(found[number], f"{name}/{own}" if name else own)


def dimension(leaf: "pyvista.DataSet") -> int:
    """Of the cells: 3, 2, 1, or 0 where there are points alone."""
    if not leaf.n_cells:
        return 0
    return int(max(leaf.GetCell(number).GetCellDimension() for number in {0, leaf.n_cells - 1}))


def block_of(name: str, leaf: Any, wanted: Wanted) -> Block:
    if GHOSTS in leaf.cell_data and np.any(leaf.cell_data[GHOSTS]) and hasattr(leaf, "celltypes"):
        leaf = leaf.copy(deep=False)
        leaf.RemoveGhostCells()
    if hasattr(leaf, "faces") and leaf.GetNumberOfStrips():
        leaf = leaf.triangulate()
    topology, order = topology_of(leaf)
    return Block(
        name,
        np.asarray(leaf.points, float),
        topology,
        {key: np.asarray(leaf.cell_data[key])[order] for key in kept_names(leaf.cell_data, wanted)},
        {key: np.asarray(leaf.point_data[key]) for key in kept_names(leaf.point_data, wanted)},
    )


def kept_names(data: Any, wanted: Wanted) -> list[str]:
    """Arrays of numbers, without those that VTK adds for itself."""
    return [
        key for key in data if key not in SKIPPED and wanted.array(key) and np.asarray(data[key]).dtype.kind in "fiu"
    ]


def topology_of(leaf: Any) -> tuple[Topology, Any]:
    """How the points of a data set hang together, and the order of its cells there."""
    from vtkmodules.util.numpy_support import vtk_to_numpy

    everything = slice(None)
    if hasattr(leaf, "dimensions") and not hasattr(leaf, "faces"):
        shape = tuple(int(n) - 1 for n in reversed(leaf.dimensions) if n > 1)
        return (Topology(shape) if shape else Topology()), everything
    if hasattr(leaf, "celltypes"):
        types = np.asarray(leaf.celltypes)
        if not len(types) or (types == 1).all():
            return Topology(), everything
        parts = (leaf.GetCells().GetConnectivityArray(), leaf.GetCells().GetOffsetsArray())
        connectivity, offsets = (as_int64(vtk_to_numpy(part)) for part in parts)
        return Topology(cells=Cells(connectivity, offsets, types.astype(np.int64))), everything
    return surface_topology(leaf)


def as_int64(numbers: np.ndarray) -> np.ndarray:
    """The same memory where it holds such integers already: VTK's are of C's long long, which Zarr does not know."""
    return numbers.view(np.int64) if numbers.dtype.itemsize == 8 else numbers.astype(np.int64)


def surface_topology(leaf: Any) -> tuple[Topology, Any]:
    """The lines or polygons of a surface; vertices are left to their points."""
    if leaf.GetNumberOfPolys():
        listed, kind = np.asarray(leaf.faces), None
    elif leaf.GetNumberOfLines():
        listed, kind = np.asarray(leaf.lines), 4
    else:
        return Topology(), slice(None)
    offsets, connectivity = unlisted(listed)
    counts = np.diff(offsets)
    types = np.full(len(counts), kind) if kind else np.select([counts == 3, counts == 4], [5, 9], 7)
    first = leaf.GetNumberOfVerts() + (leaf.GetNumberOfLines() if not kind else 0)
    return Topology(cells=Cells(connectivity, offsets, types.astype(np.int64))), slice(first, first + len(counts))


def unlisted(listed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and connectivity of VTK's list of cells, each of which begins with its number of nodes."""
    if not listed.size:
        return np.zeros(1, np.int64), np.zeros(0, np.int64)
    width = int(listed[0]) + 1
    if listed.size % width == 0 and (listed[::width] == width - 1).all():
        table = listed.reshape(-1, width)[:, 1:]
        return np.arange(0, table.size + 1, width - 1, dtype=np.int64), table.astype(np.int64).ravel()
    starts, place = [], 0
    while place < listed.size:
        starts.append(place)
        place += int(listed[place]) + 1
    counts = listed[starts]
    keep = np.ones(listed.size, bool)
    keep[starts] = False
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), listed[keep].astype(np.int64)


def field_numbers(found: Any, leaves: list) -> dict[str, float]:
    """Single numbers that the file has of the whole run."""
    values: dict[str, float] = {}
    for data in (found, *(leaf for _, leaf in leaves)):
        fields: Any = getattr(data, "field_data", {})
        for key in fields:
            numbers = np.asarray(fields[key])
            if numbers.size == 1 and numbers.dtype.kind in "fiu":
                values.setdefault(key, float(numbers.ravel()[0]))
    return values
