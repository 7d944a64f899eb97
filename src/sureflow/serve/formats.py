"""Answers in the form that is asked for: JSON, float32 numbers, netCDF or VTK."""

import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
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
PIECE = 16_384  # numbers, which are text within a millisecond


def chosen(format_: str | None, accept: str) -> str:
    """The format by name, or by what the client accepts."""
    if format_ is None:
        return next(
            (TYPES[one] for one in (a.partition(";")[0].strip() for a in accept.split(",")) if one in TYPES), "json"
        )
    if format_ not in FORMATS:
        raise SureflowError(f"format={format_[:100]!r} is not one of {', '.join(FORMATS)}")
    return format_


def json_body(values: Any) -> bytes:
    """Numbers that are not finite become null."""
    return orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)


def large_json_body(values: Mapping[str, Any]) -> bytes:
    """The same, a piece at a time: while one is written, no other thread of the process runs."""
    return b"".join(_pieces(values))


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, Mapping):
        yield b"{"
        for index, (name, one) in enumerate(value.items()):
            yield (b"," if index else b"") + json_body(str(name)) + b":"
            yield from _pieces(one)
        yield b"}"
    elif isinstance(value, np.ndarray) and value.size > PIECE:
        # Rows of one case each, or parts of one long row, whose brackets go.
        parts = value if value.ndim > 1 else (value[at : at + PIECE] for at in range(0, len(value), PIECE))
        yield b"["
        for index, part in enumerate(parts):
            yield b"," if index else b""
            yield from (_pieces(part) if value.ndim > 1 else (json_body(part)[1:-1],))
        yield b"]"
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        yield b"["
        for index, one in enumerate(value):
            yield b"," if index else b""
            yield from _pieces(one)
        yield b"]"
    else:
        yield json_body(value)


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
