"""What can go wrong with files and folders of results, in one sentence each."""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sureflow.data.schema import SCHEMA, SCHEMA_VERSION
from sureflow.errors import SureflowError
from sureflow.failures import system_sentence

KEPT = ": finished cases are kept"


class DamagedStoreError(SureflowError):
    """What was read is not what was written, or is not there."""


def read_marks(path: Path) -> dict[str, Any]:
    """The attributes of a store; anything that does not carry its marks, or those of a newer version, is refused."""
    marks = path / "zarr.json"
    with explain_reading(path, "its zarr.json"):
        if not path.exists():
            raise SureflowError(f"{path} does not exist: give the path of a store of runs")
        if not path.is_dir() or not marks.is_file():
            raise SureflowError(f"{path} is not a store of runs (it has no zarr.json): choose another path")
        attributes = json.loads(marks.read_bytes()).get("attributes", {})
    if attributes.get("schema") != SCHEMA:
        raise SureflowError(f"{path} is a Zarr store, but not one of sureflow's runs: choose another path")
    version = attributes.get("schema_version")
    if version not in range(1, SCHEMA_VERSION + 1):
        raise SureflowError(
            f"{path} has schema version {version}, and this sureflow reads versions up to {SCHEMA_VERSION}: read it with "
            "the sureflow that made it"
        )
    return attributes


def remove_store(path: Path) -> None:
    """Delete a store of ours, and nothing else; it leaves its place at once."""
    read_marks(path)
    doomed = path.with_name(f".{path.name}.{uuid.uuid4().hex}.removing")
    with explain_writing(path):
        path.rename(doomed)
        shutil.rmtree(doomed)


def refuse_nameless(path: Path) -> None:
    """Refuse `.`, `..` and `/` as a place for results: files are made beside a place and renamed to it."""
    here = Path.cwd()
    if path.name in ("", "..") or path.resolve() in (here, *here.parents):
        raise SureflowError(
            f"{path} cannot hold results: give a new name, not the folder that you are in or one above it"
        )


def flush(file: Path) -> None:
    """Bring a file to the disk, with its name; a chunk that holds nothing but fill values has no file."""
    if file.exists():
        for path in (file, file.parent):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def explain_reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a damaged file raises (checksum, codec, JSON, a missing array) into one sentence.

    A file that the system does not let us read is not damaged.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise SureflowError(
                f"{path}: {what} cannot be read ({error.strerror or error}): check its permissions and its disk"
            ) from error
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise DamagedStoreError(
            f"{path} is damaged: {what} cannot be read ({reason}): compute it again, or restore it from a copy"
        ) from error


@contextlib.contextmanager
def explain_writing(path: Path, kept: str = "") -> Iterator[None]:
    """Turn a full disk or a forbidden folder into one sentence, which may end in what is kept."""
    try:
        yield
    except OSError as error:
        raise SureflowError(system_sentence(error, path, kept)) from error
