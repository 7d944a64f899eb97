"""Formats of other programs that VTK reads: CGNS, Fluent, EnSight and Plot3D."""

from pathlib import Path
from typing import Any

import numpy as np

from sureflow.errors import SureflowError
from sureflow.importers.apart import Apart
from sureflow.importers.reading import IMPORTERS
from sureflow.importers.snapshot import Snapshot, SnapshotReader, Wanted
from sureflow.importers.vtk_files import choose_time, raising, require_pyvista, select_arrays, snapshot_of

MOST_BLOCKS, MOST_NODES = 10_000, 100_000  # of a mesh, and along one direction of a block
SOLUTIONS = (".q", ".Q")  # of Plot3D, beside the mesh


def read_through(path: Path, reader: Any, wanted: Wanted) -> Snapshot:
    times, time = choose_time(path, reader, wanted)
    select_arrays(reader, wanted)
    return snapshot_of(path, reader.read(), wanted, times, time)


def read_cgns(path: Path, wanted: Wanted) -> Snapshot:
    """CGNS in HDF5 or ADF. VTK's arrays are off until they are asked for."""
    require_pyvista(path)
    import pyvista

    with raising():
        return read_through(path, pyvista.CGNSReader(path), wanted)


def read_fluent(path: Path, wanted: Wanted) -> Snapshot:
    """A mesh (.cas.h5, or .cas in text) with its solution (.dat.h5, .dat) beside it."""
    require_pyvista(path)
    import pyvista

    ending = ".cas.h5" if path.name.lower().endswith(".cas.h5") else ".cas"
    solution = path.with_name(path.name[: -len(ending)] + ending.replace("cas", "dat"))
    if not solution.exists():
        raise SureflowError(f"{path} has no solution beside it: {solution.name} is missing")
    reader = pyvista.FLUENTCFFReader(path) if ending == ".cas.h5" else pyvista.FluentReader(path)
    with raising():
        return read_through(path, reader, wanted)


def read_ensight(path: Path, wanted: Wanted) -> Snapshot:
    require_pyvista(path)
    import pyvista

    with raising():
        found = read_through(path, pyvista.EnSightReader(path), wanted)
    require_complete_ensight(path, found)
    return found


def require_complete_ensight(path: Path, found: Snapshot) -> None:
    """Refuse files of one time that are too short for their numbers: VTK would fill up what is missing without a word."""
    counts = {"model": 3 * sum(len(block.nodes) for block in found.blocks)}
    for block in (*found.blocks, *found.patches):
        for name, array in {**block.on_cells, **block.on_nodes}.items():
            counts[name] = counts.get(name, 0) + array.size
    for line in path.read_text(errors="replace").splitlines():
        kind, _, words = line.partition(":")
        *before, file = words.split() or [""]
        name = "model" if kind.strip() == "model" else before[-1] if before and " per " in kind else None
        place = path.parent / file.strip('"')
        if name in counts and place.is_file():
            raw = place.read_bytes()
            is_text = b"\0" not in raw
            # A number a line after a title and the beginning of a part; or four bytes each.
            if raw.count(b"\n") < counts[name] + 4 if is_text else len(raw) < 4 * counts[name]:
                raise SureflowError(f"{place} is cut off: it is too short for the {counts[name]} numbers of {name}")


def read_plot3d(path: Path, wanted: Wanted) -> Snapshot:
    """A mesh (.xyz, .x, .g) and the solution of the same name (.q) beside it."""
    require_pyvista(path)
    import pyvista

    reader = pyvista.MultiBlockPlot3DReader(path)
    reader.auto_detect_format = True
    beside = [path.with_suffix(ending) for ending in SOLUTIONS if path.with_suffix(ending).exists()]
    if not beside:
        raise SureflowError(f"{path} has no solution beside it: {path.with_suffix('.q').name} is missing")
    require_plot3d(path)
    for file in beside:
        reader.add_q_files(file)
    with raising():
        return snapshot_of(path, reader.read(), wanted)


def require_plot3d(path: Path) -> None:
    """Refuse a binary file whose size does not follow from the sizes of its blocks: VTK would not survive it."""
    raw = path.read_bytes()[: 4 * (3 * MOST_BLOCKS + 4)]
    if not raw.strip(b" \t\r\n0123456789+-.eEdD"):
        return  # text
    for order in "<>":
        head = np.frombuffer(raw[: len(raw) // 4 * 4], f"{order}i4").astype(np.int64)
        for start in (0, 1):  # with Fortran's record marks, or without
            for axes in (2, 3):
                if path.stat().st_size in plot3d_sizes(head[start:], axes, marked=bool(start)):
                    return
    raise SureflowError(f"{path} is not a mesh of Plot3D, or is cut off: its size does not fit its blocks")


def plot3d_sizes(head: np.ndarray, axes: int, *, marked: bool) -> set[int]:
    """How large a binary file of several blocks, or of one, that begins like this may be: with and without blanking."""
    sizes = set()
    for count, begin in ((int(head[0]) if len(head) else 0, 3 if marked else 1), (1, 0)):
        if not 0 < count <= MOST_BLOCKS or len(head) < begin + axes * count:
            continue
        shapes = head[begin : begin + axes * count].reshape(count, axes)
        if (shapes < 1).any() or (shapes > MOST_NODES).any():
            continue
        values, marks = shapes.prod(axis=1), 8 * (count + 1 + (begin > 0)) * marked
        counted = 4 * (axes * count + (begin > 0)) + marks
        sizes |= {counted + int(values.sum()) * (axes * width + blank) for width in (4, 8) for blank in (0, 4)}
    return sizes


def apart(name: str) -> Apart:
    return Apart("sureflow.importers.foreign", name)


IMPORTERS.register(".cgns", SnapshotReader(apart("read_cgns")))
IMPORTERS.register(".cas.h5", SnapshotReader(apart("read_fluent"), companions=(".dat.h5",)))
IMPORTERS.register(".cas", SnapshotReader(apart("read_fluent"), companions=(".dat",)))
for ending in (".case", ".encas"):
    IMPORTERS.register(ending, SnapshotReader(apart("read_ensight")))
for ending in (".xyz", ".x", ".g", ".p3d"):
    IMPORTERS.register(ending, SnapshotReader(apart("read_plot3d"), companions=SOLUTIONS))
