"""Formats of other programs that VTK reads: CGNS, Fluent, EnSight and Plot3D."""

import re
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
NUMBER = re.compile(rb"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf", re.IGNORECASE)  # with or without spaces between
FROM_AXES = re.compile(rb"block[ \t]+(?:rectilinear|uniform)")  # blocks of EnSight Gold that do not list their nodes


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
    case = path.read_text(errors="replace")
    is_gold = re.search(r"^\s*type:\s*ensight\s+gold", case, re.MULTILINE) is not None
    sizes = {"model": [3 * len(block.nodes) for block in found.blocks]}
    for block in (*found.blocks, *found.patches):
        for name, array in {**block.on_cells, **block.on_nodes}.items():
            sizes.setdefault(name, []).append(array.size)
    # Parts have nodes of their own in EnSight Gold; in EnSight 6 they may share them.
    counts = {name: sum(of_parts) if is_gold else max(of_parts, default=0) for name, of_parts in sizes.items()}
    for line in case.splitlines():
        kind, _, words = line.partition(":")
        *before, file = words.split() or [""]
        name = "model" if kind.strip() == "model" else before[-1] if before and " per " in kind else None
        place = path.parent / file.strip('"')
        if name in counts and place.is_file():
            raw = place.read_bytes()
            if name == "model" and FROM_AXES.search(raw):
                continue
            if numbers_in(raw, is_gold=is_gold) < counts[name]:
                raise SureflowError(f"{place} is cut off: it is too short for the {counts[name]} numbers of {name}")


def numbers_in(raw: bytes, *, is_gold: bool) -> int:
    """How many numbers a file of EnSight has at most: four bytes each, or text."""
    if b"\0" in raw:
        return len(raw) // 4
    if is_gold:
        return raw.count(b"\n") - 4  # a number a line, after a title and the beginning of a part
    return sum(1 for _ in NUMBER.finditer(raw))


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
    raise SureflowError(f"{path} is not a Plot3D mesh, or is cut off: its size does not match its blocks")


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
