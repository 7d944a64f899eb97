"""Files that are there in full or not at all."""

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def write_netcdf(dataset: "xr.Dataset", path: Path) -> None:
    """In memory first: the HDF5 library does not survive a disk that fills up while it writes."""
    path.write_bytes(dataset.to_netcdf(engine="h5netcdf"))


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, flush to the disk, rename: a reader, or a kill at any moment, meets the old file or the new one."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)  # a full disk needs its room
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def put_in_place(made: Path, place: Path, *, overwrite: bool) -> None:
    """Give a file or folder that was made beside `place` that name.

    A folder with something in it gives way only with `overwrite`; it is deleted once the other one is there, and comes back
    if that fails.
    """
    if not (overwrite and place.is_dir()):
        made.replace(place)
        return
    old = place.with_name(f".{place.name}.{uuid.uuid4().hex}.removing")
    place.rename(old)
    try:
        made.rename(place)
    except BaseException:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
