"""A prediction as files: netCDF, Zarr, CSV and a picture."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import xarray as xr
from matplotlib.figure import Figure

from sureflow.data.scaling import DENSITY_UNIT
from sureflow.data.store import explain_writing
from sureflow.errors import SureflowError
from sureflow.files import put_in_place, write_netcdf
from sureflow.report.figures import Panel, cell_areas, draw_fields, largest_seen, save

# What is added to the name of a field in a prediction.
BAR_SUFFIXES = ("_std", "_interval", "_band")


def write_zarr(fields: xr.Dataset, path: Path) -> None:
    fields.to_zarr(path, mode="w", zarr_format=3, consolidated=False)


def write_csv(fields: xr.Dataset, path: Path) -> None:
    """One row per case and point: parameters, coordinates, fields and their standard deviations."""
    columns = fields.drop_vars(["node_x", "node_r"], errors="ignore")
    if "case" in columns.dims:
        columns, *_ = xr.broadcast(columns)
    table = columns.to_dataframe().reset_index(drop=True)
    coordinates = [str(name) for name in columns.coords]
    table[[*coordinates, *(name for name in table.columns if name not in coordinates)]].to_csv(path, index=False)


def write_picture(fields: xr.Dataset, path: Path) -> None:
    save(prediction_figure(fields), path)


def prediction_figure(fields: xr.Dataset) -> Figure:
    """Every field beside its standard deviation, on the mesh."""
    if "node_x" not in fields or "case" in fields.dims:
        raise SureflowError("a picture shows one condition on the mesh of the runs; write .nc, .zarr or .csv instead")
    on_mesh = [str(name) for name in fields.data_vars if fields[name].dims == ("j", "i")]
    names = [name for name in on_mesh if not any(suffix in name for suffix in BAR_SUFFIXES)]
    areas = cell_areas(fields.node_x.values, fields.node_r.values)
    panels = []
    for name in names:
        unit, values = fields[name].attrs["units"], fields[name].values
        # Densities span decades between the free stream and a cold wall.
        dense = unit == DENSITY_UNIT and values.min() > 0
        panels.append(Panel(f"{name} ({unit})", values, logarithmic=dense, clipped=dense))
        if f"{name}_std" in fields:
            std = fields[f"{name}_std"].values
            # Zero everywhere at the condition of a training run, through which an interpolation passes.
            highest = largest_seen(std, areas) or 1.0
            panels.append(Panel(f"standard deviation of {name} ({unit})", std, "magma_r", highest=highest))
    condition = ", ".join(f"{name} {fields[name].item():g}" for name in fields.coords if fields[name].ndim == 0)
    return draw_fields(fields.node_x.values, fields.node_r.values, panels, title=f"{condition}: {fields.verdict}")


WRITERS: dict[str, Callable[[xr.Dataset, Path], None]] = {
    ".nc": write_netcdf,
    ".zarr": write_zarr,
    ".csv": write_csv,
    ".png": write_picture,
}


def writer(path: Path, *, overwrite: bool) -> Callable[[xr.Dataset], None]:
    """What writes a prediction to `path`, by its ending; refuses unknown endings and what is there already."""
    if path.suffix not in WRITERS:
        raise SureflowError(f"{path}: the ending must be one of {', '.join(WRITERS)}")
    refuse_to_overwrite(path, overwrite=overwrite)

    def write(fields: xr.Dataset) -> None:
        """Beside its place first, so that nothing is lost or half-written."""
        place = path.resolve()
        beside = place.with_name(f".{place.stem}.part{place.suffix}")
        with explain_writing(path):
            place.parent.mkdir(parents=True, exist_ok=True)
            _remove(beside)
            try:
                WRITERS[path.suffix](fields, beside)
                refuse_to_overwrite(path, overwrite=overwrite)
                put_in_place(beside, place, overwrite=overwrite)
            finally:
                _remove(beside)

    return write


def refuse_to_overwrite(path: Path, *, overwrite: bool) -> None:
    """Replace only what was asked to be, and of folders only predictions."""
    with explain_writing(path):
        if not path.exists():
            return
        if not overwrite:
            raise SureflowError(f"{path} exists: choose another name or pass --overwrite")
        if (path.is_dir() or path.suffix == ".zarr") and not is_prediction(path):
            raise SureflowError(f"{path} is not a prediction, and is not replaced: choose another name")


def is_prediction(store: Path) -> bool:
    """Whether a Zarr store says what `write_zarr` writes: the verdict on its conditions."""
    try:
        return "verdict" in json.loads((store / "zarr.json").read_bytes())["attributes"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return False


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
