"""Answers in the form that is asked for: JSON, float32 numbers, netCDF or VTK."""

import struct
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import xarray

from sureflow.errors import SureflowError
from sureflow.export.exporters import EXPORTERS
from sureflow.surrogate.model import Surrogate

FORMATS = ("json", "binary", "netcdf", "vtk")
TYPES = {
    "application/json": "json",
    "application/octet-stream": "binary",
    "application/x-netcdf": "netcdf",
    "application/vnd.vtk": "vtk",
}
MEDIA = {name: media for media, name in TYPES.items()}


def chosen(format_: str | None, accept: str) -> str:
    """The format by name, or by what the client accepts."""
    if format_ is None:
        return next(
            (TYPES[one] for one in (a.partition(";")[0].strip() for a in accept.split(",")) if one in TYPES), "json"
        )
    if format_ not in FORMATS:
        raise SureflowError(f"format={format_[:100]!r} is not one of {', '.join(FORMATS)}")
    return format_


def json_body(values: Mapping[str, Any]) -> bytes:
    """Numbers that are not finite become null."""
    return orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)


def binary_body(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The length of a header (4 bytes), the header in JSON with the name and shape of every array, then float32 numbers."""
    described = [{"name": name, "shape": array.shape} for name, array in arrays.items()]
    head = json_body({**header, "arrays": described})
    head += b" " * (-len(head) % 4)  # so that the numbers are aligned
    numbers = (np.ascontiguousarray(array, "<f4").tobytes() for array in arrays.values())
    return b"".join([struct.pack("<I", len(head)), head, *numbers])


def file_body(dataset: xarray.Dataset, surrogate: Surrogate, format_: str) -> bytes:
    """The content of a file of this format."""
    if format_ == "netcdf":
        ending = ".nc"
    else:
        ending = ".vts" if surrogate.space.topology.shape is not None and "point" not in dataset.dims else ".vtu"
    write: Callable[[xarray.Dataset, Path], None] = EXPORTERS[ending]
    with tempfile.TemporaryDirectory(prefix="sureflow-") as folder:
        path = Path(folder) / f"answer{ending}"
        write(dataset, path)
        return path.read_bytes()
