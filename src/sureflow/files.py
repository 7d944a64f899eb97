"""Files that are there in full or not at all."""

import ctypes
import os
import shutil
import sys
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

    A folder with something in it gives way only with `overwrite`; the two change places in one step where the system can do
    that, and the old one is deleted then.
    """
    if not (overwrite and place.is_dir()):
        made.replace(place)
        return
    old = place.with_name(f".{place.name}.{uuid.uuid4().hex}.removing")
    if exchange(made, place):
        made.rename(old)
    else:
        place.rename(old)
        try:
            made.rename(place)
        except BaseException:
            old.rename(place)
            raise
    shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; whether the system and the file system can do that."""
    function, folder = {"linux": ("renameat2", -100), "darwin": ("renameatx_np", -2)}.get(sys.platform, ("", 0))
    call = getattr(ctypes.CDLL(None), function, None) if function else None
    # Both systems number the flag for it 2, and their AT_FDCWD is the folder we are in.
    return call is not None and call(folder, os.fsencode(one), folder, os.fsencode(other), ctypes.c_uint(2)) == 0
