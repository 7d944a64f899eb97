"""SU2's binary restart files, and Tecplot's text files, which share the ending .dat."""

from pathlib import Path

import numpy as np

from sureflow.errors import SureflowError
from sureflow.importers.apart import Apart
from sureflow.importers.point_tables import snapshot_of_columns
from sureflow.importers.reading import IMPORTERS
from sureflow.importers.snapshot import Snapshot, SnapshotReader, Wanted
from sureflow.importers.vtk_files import raising, require_pyvista, snapshot_of

MAGIC = 535532  # the first number of a restart file
NAME_LENGTH = 33  # bytes of the name of a column
BINARY_TECPLOT = b"#!TDV"


def read_dat(path: Path, wanted: Wanted) -> Snapshot:
    """SU2 or Tecplot: the first bytes say which."""
    with path.open("rb") as file:
        start = file.read(8)
    if len(start) >= 4 and int(np.frombuffer(start[:4], "<i4")[0]) == MAGIC:
        return read_restart(path, wanted)
    return read_tecplot(path, wanted)


def read_restart(path: Path, wanted: Wanted) -> Snapshot:
    """int32[5] (magic, columns, points, ...), names of 33 bytes, then a row of float64 for every point, x and y among them."""
    raw = path.read_bytes()
    n_columns, n_points = (int(number) for number in np.frombuffer(raw[4:12], "<i4"))
    begin = 20 + n_columns * NAME_LENGTH
    needed = begin + 8 * n_columns * n_points
    if n_columns < 1 or n_points < 1 or len(raw) < needed:
        raise SureflowError(f"{path} is cut off: it has {len(raw)} bytes, but its header announces {needed}")
    names = [
        raw[20 + NAME_LENGTH * n : 20 + NAME_LENGTH * (n + 1)].split(b"\0")[0].decode("latin-1").strip().strip('"')
        for n in range(n_columns)
    ]
    rows = np.frombuffer(raw, "<f8", n_columns * n_points, begin).reshape(n_points, n_columns)
    return snapshot_of_columns(path, dict(zip(names, rows.T, strict=True)), wanted)


def read_tecplot(path: Path, wanted: Wanted) -> Snapshot:
    """Tecplot's text format; its binary formats have no open reader."""
    refuse_binary_tecplot(path, wanted)
    return Apart("sureflow.importers.su2", "read_tecplot_text")(path, wanted)


def read_tecplot_text(path: Path, wanted: Wanted) -> Snapshot:
    """Through VTK."""
    require_pyvista(path)
    import pyvista

    with raising():
        found = pyvista.TecplotReader(path).read()
    return snapshot_of(path, found, wanted)


def refuse_binary_tecplot(path: Path, wanted: Wanted) -> Snapshot | None:
    with path.open("rb") as file:
        start = file.read(4096)
    if path.suffix.lower() == ".szplt" or start.startswith(BINARY_TECPLOT) or b"\0" in start:
        raise SureflowError(
            f"{path} is a binary Tecplot file, for which there is no open reader: export it as CGNS, VTK or Tecplot ASCII, and "
            "import that"
        )
    return None


IMPORTERS.register(".dat", SnapshotReader(read_dat))
for ending in (".tec", ".plt", ".szplt"):
    IMPORTERS.register(ending, SnapshotReader(read_tecplot))
