"""Which importer reads a file or folder: its ending says so."""

from collections.abc import Callable
from pathlib import Path

from sureflow.data.runs import Runs
from sureflow.data.store import open_runs
from sureflow.errors import SureflowError
from sureflow.importers.snapshot import SnapshotReader
from sureflow.registry import Registry

Importer = Callable[..., Runs]  # read(path, **options)

# An importer of your own joins with IMPORTERS.register(".ending", read), where read(path, **options) gives runs; or with
# a SnapshotReader, where a file holds one run.
IMPORTERS: Registry[Importer | SnapshotReader] = Registry("file ending")
IMPORTERS.register(".zarr", open_runs)
IMPORTERS.later(".npz", "sureflow.importers.npz")
MODULES = {
    "vtk_files": ".vtu .vts .vtp .vti .vtr .pvtu .pvts .pvtp .pvti .pvtr .vtm .vtmb .vtpd .vtk .vtkhdf .pvd",
    "foreign": ".cgns .cas.h5 .cas .case .encas .xyz .x .g .p3d",
    "su2": ".dat .tec .plt .szplt",
    "point_tables": ".csv .nc .h5 .hdf5",
    "openfoam": ".foam",
}
for module, endings in MODULES.items():
    for ending in endings.split():
        IMPORTERS.later(ending, f"sureflow.importers.{module}")
OPENFOAM = ".foam"


def open_file(path: str | Path, **options: object) -> Runs:
    """The converged runs of a store, or the runs of another file; `options` are those of the importer of its ending.

    The runs of a store are read when they are needed; those that did not converge are left out and counted.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 50)[:, None], np.linspace(0, 4, 9)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
    >>> runs.save("runs.zarr")
    >>> sf.open_runs("runs.zarr")
    9 runs over angle (0..4): p (Pa) at 50 points in x
    """
    path = Path(path)
    reader = importer_for(path)
    read = reader.runs if isinstance(reader, SnapshotReader) else reader
    if read is None:
        raise SureflowError(f"{path} holds a single run: read a folder of such files with sureflow.read_runs")
    try:
        return read(path, **options)
    except TypeError as error:
        if options and "unexpected keyword" in str(error):
            raise SureflowError(f"{path} cannot be read with {', '.join(options)}: {error}") from None
        raise


def importer_for(path: Path) -> Importer | SnapshotReader:
    """What reads this file or folder. What has no ending, or is a folder with an unknown one, is taken for a store."""
    ending = ending_of(path)
    if is_openfoam_case(path):
        return IMPORTERS[OPENFOAM]
    if ending in IMPORTERS:
        return IMPORTERS[ending]
    if path.is_file():
        raise SureflowError(f"{path}: the ending {path.suffix!r} {IMPORTERS.unknown(ending)}")
    return open_runs


def ending_of(path: Path) -> str:
    """The ending of a name, with two dots where an importer is known by two, as in .cas.h5."""
    double = "".join(path.suffixes[-2:]).lower()
    return double if double in IMPORTERS else path.suffix.lower()


def is_openfoam_case(path: Path) -> bool:
    return OPENFOAM in IMPORTERS and (path / "system/controlDict").is_file()
