"""Named arrays in one safetensors file, written without a copy in memory and read by mapping the file.

The library writes from bytes that it first gathers; arrays of gigabytes are written here piece by piece, in its format: the
length of the header in eight bytes, the header (JSON: name -> dtype, shape, place), then the arrays as they lie in memory.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from sureflow.errors import SureflowError

FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
INTEGERS = {"I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1"}
DTYPES = {name: np.dtype(code) for name, code in {**FLOATS, **INTEGERS, "BOOL": "?"}.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
ALIGNED = 64  # bytes that the first array's place is a multiple of
PIECE = 1 << 24  # bytes that are written at once
# Files up to this many bytes are read once more to compare their checksum; of larger ones so many pages, evenly spread.
CHECKED_WHOLE = 1 << 28
PAGE, PAGES = 1 << 12, 1 << 10


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> str:
    """Write the arrays beside `path`, flush and rename; the checksum by which `map_tensors` knows the file again."""
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            for piece in _pieces(tensors):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        found = checksum(beside)
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return found


def map_tensors(path: Path, expected: str) -> dict[str, np.ndarray]:
    """The arrays of a file, mapped and not to be changed; a file that is damaged or another one is refused."""
    if not path.is_file():
        raise SureflowError(f"{path} is missing: restore it, or train the model again")
    try:
        with safe_open(path, "numpy"):  # the library's own look at header, shapes and places
            header, begin = _header(path)
    except (SafetensorError, ValueError) as error:
        raise SureflowError(f"{path} is damaged or truncated: {error}") from None
    if checksum(path) != expected:
        raise SureflowError(f"{path} is not the file that model.json was written with: its checksum differs")
    header.pop("__metadata__", None)
    for name, form in header.items():
        if form["dtype"] not in DTYPES:
            raise SureflowError(f"{path}: the array {name!r} has the type {form['dtype']}, which is not read here")
    return {name: _mapped(path, begin, form) for name, form in header.items()}


def checksum(path: Path) -> str:
    """SHA-256 of a file; of a large one, of its size and of pages from its first to its last."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= CHECKED_WHOLE:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256(str(size).encode())
        for start in np.linspace(0, size - PAGE, PAGES).astype(int).tolist():
            file.seek(start)
            digest.update(file.read(PAGE))
        return digest.hexdigest()


def _pieces(tensors: Mapping[str, np.ndarray]) -> Iterator[bytes | memoryview]:
    header, place = {}, 0
    arrays = {
        name: np.asarray(array, np.asarray(array).dtype.newbyteorder("<"), order="C") for name, array in tensors.items()
    }
    for name, array in arrays.items():
        if array.dtype not in NAMES:
            known = ", ".join(sorted(dtype.name for dtype in NAMES))
            raise SureflowError(f"the array {name!r} has the type {array.dtype}; a file holds arrays of {known}")
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % ALIGNED)
    yield len(text).to_bytes(8, "little")
    yield text
    for array in arrays.values():
        flat = array.reshape(-1)
        step = PIECE // array.itemsize
        for start in range(0, flat.size, step):
            yield flat[start : start + step].tobytes()


def _header(path: Path) -> tuple[dict, int]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length)), 8 + length


def _mapped(path: Path, begin: int, form: Mapping) -> np.ndarray:
    dtype, shape = DTYPES[form["dtype"]], tuple(form["shape"])
    start, end = form["data_offsets"]
    if start == end:
        return np.empty(shape, dtype)
    # As a plain array: every view of the other kind costs microseconds.
    return np.asarray(np.memmap(path, dtype, "r", begin + start, shape))
