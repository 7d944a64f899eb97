"""Files of fields for other programs, one exporter for each ending: whole or not there at all."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sureflow.data.disk import explain_writing
from sureflow.errors import Exists, SureflowError
from sureflow.files import put_in_place, write_netcdf
from sureflow.registry import Registry

if TYPE_CHECKING:
    import xarray

    from sureflow.data.runs import Runs

Exporter = Callable[["xarray.Dataset", Path], None]

# A user's own exporter joins with EXPORTERS.register(".ending", write), where write(dataset, path) makes that file.
EXPORTERS: Registry[Exporter] = Registry("file ending")
EXPORTERS.register(".nc", write_netcdf)
EXPORTERS.later(".png", "sureflow.report.plot")
for ending in (".vts", ".vtu", ".vtkhdf", ".pvd"):
    EXPORTERS.later(ending, "sureflow.export.vtk")

WRITTEN_BY = "written_by"  # attribute of what may be replaced
MESH_DATA = ("connectivity", "offsets", "cell_types")


def write_zarr(dataset: "xarray.Dataset", path: Path) -> None:
    marked = dataset.assign_attrs({WRITTEN_BY: "sureflow"})
    marked.to_zarr(path, mode="w", zarr_format=3, consolidated=False)


def write_csv(dataset: "xarray.Dataset", path: Path) -> None:
    """One row for every case and point: parameters, coordinates, fields and their standard deviations."""
    mesh = [name for name in dataset.variables if str(name).startswith("node_") or name in MESH_DATA]
    columns = dataset.drop_vars(mesh)
    if "case" in columns.dims:
        import xarray

        columns, *_ = xarray.broadcast(columns)
    table = columns.to_dataframe().reset_index(drop=True)
    coordinates = [str(name) for name in columns.coords]
    table[[*coordinates, *(name for name in table.columns if name not in coordinates)]].to_csv(path, index=False)


EXPORTERS.register(".zarr", write_zarr)
EXPORTERS.register(".csv", write_csv)


def write_dataset(dataset: "xarray.Dataset", path: str | Path, *, overwrite: bool = False) -> None:
    """Write fields to a file; its ending says how."""
    writer(Path(path), overwrite=overwrite)(dataset)


def write_runs_to(
    runs: "Runs", path: str | Path, cases: Sequence[int] | None = None, *, overwrite: bool = False
) -> "Runs":
    """Write all runs, or some by number, as labelled fields; and say which they are."""
    import numpy as np

    write = writer(Path(path), overwrite=overwrite)
    if cases is not None:
        outside = [case for case in cases if not 0 <= case < len(runs)]
        if outside:
            raise SureflowError(f"run {outside[0]} is not there: there are {len(runs)}, counted from 0")
        runs = runs.select(np.array(cases, int))
    labelled = runs.to_xarray()
    write(labelled.isel(case=0) if len(runs) == 1 else labelled)
    return runs


def writer(path: Path, *, overwrite: bool = False) -> Callable[["xarray.Dataset"], None]:
    """What writes fields to `path`; refuses an unknown ending and an existing file before anything is computed."""
    if path.suffix not in EXPORTERS:
        raise SureflowError(f"{path}: the ending {path.suffix!r} {EXPORTERS.unknown(path.suffix)}")
    export = EXPORTERS[path.suffix]
    refuse_to_overwrite(path, overwrite=overwrite)

    def write(dataset: "xarray.Dataset") -> None:
        """In a folder beside its place first, so that nothing is lost or half-written; then with all that belongs to it."""
        place = path.resolve()
        making = place.with_name(f".{place.name}.part")
        with explain_writing(path):
            place.parent.mkdir(parents=True, exist_ok=True)
            _remove(making)
            try:
                making.mkdir()
                export(dataset, making / place.name)
                refuse_to_overwrite(path, overwrite=overwrite)
                others = [entry for entry in making.iterdir() if entry.name != place.name]
                for entry in others:
                    refuse_other_folder(place.with_name(entry.name), overwrite=overwrite)
                for entry in (*others, making / place.name):
                    put_in_place(entry, place.with_name(entry.name), overwrite=overwrite)
            finally:
                _remove(making)

    return write


def refuse_other_folder(folder: Path, *, overwrite: bool) -> None:
    """Of the folder that belongs to a list of files, replace only one that holds nothing else."""
    if not folder.exists():
        return
    if not overwrite:
        raise Exists(f"{folder} exists, where the files of the list go: choose another name, or replace it")
    if not folder.is_dir() or any(not entry.match("case*.vtu") for entry in folder.iterdir()):
        raise SureflowError(f"{folder} holds other files than predictions, and is not replaced: choose another name")


def refuse_to_overwrite(path: Path, *, overwrite: bool) -> None:
    """Replace only what was asked to be, and of folders only those that were written here."""
    with explain_writing(path):
        if not path.exists():
            return
        if not overwrite:
            raise Exists(f"{path} exists: choose another name, or replace it")
        if (path.is_dir() or path.suffix == ".zarr") and not is_exported(path):
            raise SureflowError(f"{path} is not a prediction, and is not replaced: choose another name")


def is_exported(store: Path) -> bool:
    """Whether `write_zarr` wrote a store: it says so, or, of earlier versions, holds the verdict on a prediction."""
    try:
        attributes = json.loads((store / "zarr.json").read_bytes())["attributes"]
        return WRITTEN_BY in attributes or "verdict" in attributes
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return False


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
