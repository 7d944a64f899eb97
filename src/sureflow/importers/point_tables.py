"""Tables of points: CSV, NumPy archives, netCDF and HDF5 with columns for coordinates and fields; nothing else is needed."""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.meshes import Topology
from sureflow.errors import SureflowError
from sureflow.importers.naming import simplified, without_unit
from sureflow.importers.reading import IMPORTERS
from sureflow.importers.snapshot import Block, Snapshot, SnapshotReader, Wanted

# What programs call the coordinates, without case, spaces and signs.
AXES = (
    ("x", "xcoordinate", "coordinatex", "points0", "xm", "cx", "coordinates0"),
    ("y", "r", "ycoordinate", "coordinatey", "points1", "ym", "cy", "coordinates1"),
    ("z", "zcoordinate", "coordinatez", "points2", "zm", "cz", "coordinates2"),
)
COUNTERS = ("pointid", "cellid", "id", "nodeid", "nodenumber", "cellnumber", "index", "zone")  # columns that only count


def read_csv(path: Path, wanted: Wanted) -> Snapshot:
    """A table of text with a line of titles. Rows may end in a comma, as SU2 writes them."""
    import pandas

    from sureflow.importers.conditions import separator_of

    separator = separator_of(path)
    # Without index_col=False a comma at the end of rows shifts every column by one without a word.
    frame = pandas.read_csv(
        path,
        sep=separator,
        decimal="," if separator == ";" and has_decimal_commas(path) else ".",
        index_col=False,
        skipinitialspace=True,
        encoding="utf-8-sig",
        comment="#",
    )
    frame.columns = [str(title).strip().strip('"') for title in frame.columns]
    columns = {}
    for title in frame.columns:
        if title.startswith("Unnamed:"):
            continue
        numbers = np.asarray(pandas.to_numeric(frame[title], errors="coerce"), float)
        words = np.flatnonzero(np.isnan(numbers) & frame[title].notna().to_numpy())
        if len(words) and np.isnan(numbers).all():
            continue  # a column of words, some of which may be missing
        if len(words) and (wanted.array(title) or title in coordinate_names(list(frame.columns))):
            raise SureflowError(
                f"{path}: {title} is {frame[title].iloc[words[0]]!r} in row {words[0] + 1}, which is not a number: correct "
                "it, or leave the run out"
            )
        columns[title] = numbers
    return snapshot_of_columns(path, columns, wanted)


def has_decimal_commas(path: Path) -> bool:
    """Whether numbers are written like 1,5, as spreadsheets of some countries do."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        return any(re.search(r"\d,\d", line) for line in itertools.islice(lines, 1, 100))


def read_npz_points(path: Path, wanted: Wanted) -> Snapshot:
    """A NumPy archive of one run: x, y, z (or `points`) and fields, all of one length."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return snapshot_of_columns(path, {name: archive[name] for name in archive.files}, wanted)


def read_hdf5(path: Path, wanted: Wanted) -> Snapshot:
    """The data sets of an HDF5 file that are as long as its coordinates, in whatever group."""
    import h5py

    columns: dict[str, Any] = {}
    units: dict[str, str] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
            short = name.rpartition("/")[2]
            columns[short] = np.asarray(item)
            unit = item.attrs.get("units", "")
            if len(unit):
                units[short] = unit.decode() if isinstance(unit, bytes) else str(unit)

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return snapshot_of_columns(path, columns, wanted, units)


def read_netcdf(path: Path, wanted: Wanted) -> Snapshot:
    """A netCDF file: columns over points, or fields on a grid whose axes, or whose points, are coordinates."""
    import xarray

    with path.open("rb") as file:
        engine = "scipy" if file.read(3) == b"CDF" else "h5netcdf"  # netCDF 3, or 4
    with xarray.open_dataset(path, engine=engine, decode_times=False) as dataset:
        found = dataset.load()
    units = {str(name): str(array.attrs["units"]) for name, array in found.variables.items() if "units" in array.attrs}
    names = coordinate_names([str(name) for name in found.variables])
    located = [found[name] for name in names]
    dims = max((array.dims for array in located), key=len, default=())
    if located and len(dims) == 1 and len({array.dims for array in located}) == len(located) > 1:
        dims = tuple(array.dims[0] for array in reversed(located))  # axes of a grid, the first fastest
    if len(dims) < 2:
        columns = {str(name): array.values for name, array in found.variables.items() if array.dims == dims}
        return snapshot_of_columns(path, columns, wanted, units)
    grid = [array.broadcast_like(found[dims_of(found, dims)]).transpose(*dims).values for array in located]
    nodes = np.stack([values.ravel() for values in grid], axis=1).astype(float)
    arrays = {
        str(name): array.transpose(*dims).values.ravel()
        for name, array in found.data_vars.items()
        if set(array.dims) == set(dims) and name not in names and wanted.array(str(name))
    }
    shape = tuple(found.sizes[dim] - 1 for dim in dims)
    return Snapshot(path, (Block("grid", nodes, Topology(shape), on_nodes=arrays),), units=units)


def dims_of(dataset: Any, dims: tuple) -> str:
    """The name of a field over all of these dimensions."""
    name = next((name for name, array in dataset.data_vars.items() if set(array.dims) == set(dims)), None)
    if name is None:
        raise ValueError(f"no field lies on the grid of {', '.join(map(str, dims))}")
    return str(name)


def snapshot_of_columns(
    path: Path, columns: Mapping[str, np.ndarray], wanted: Wanted, units: Mapping[str, str] | None = None
) -> Snapshot:
    """Points and arrays from columns by name."""
    names = coordinate_names(list(columns))
    together = next((name for name in columns if simplified(name) in ("points", "coordinates", "xyz", "xy")), None)
    if not names and together is not None and np.ndim(columns[together]) == 2:
        nodes, names = np.asarray(columns[together], float), [together]
    elif names:
        nodes = np.stack([np.asarray(columns[name], float).ravel() for name in names], axis=1)
    else:
        raise SureflowError(
            f"{path} has no columns for coordinates, such as x and y: it has {', '.join(columns) or 'none'}"
        )
    arrays = {
        name: np.asarray(values)
        for name, values in columns.items()
        if name not in names
        and simplified(name) not in COUNTERS
        and wanted.array(name)
        and np.ndim(values) in (1, 2)
        and len(values) == len(nodes)
        and np.asarray(values).dtype.kind in "fiu"
    }
    numbers = {name: float(values) for name, values in columns.items() if np.ndim(values) == 0}
    return Snapshot(path, (Block("points", nodes, Topology(), on_nodes=arrays),), units=units or {}, values=numbers)


def coordinate_names(names: list[str]) -> list[str]:
    """The columns of x, y and z, as far as there are any."""
    simple = {simplified(without_unit(name)[0]): name for name in reversed(names)}
    found = [next((simple[alias] for alias in aliases if alias in simple), None) for aliases in AXES]
    return [name for name in found if name is not None]


IMPORTERS.register(".csv", SnapshotReader(read_csv))
IMPORTERS.register(".nc", SnapshotReader(read_netcdf))
for ending in (".h5", ".hdf5"):
    IMPORTERS.register(ending, SnapshotReader(read_hdf5))
