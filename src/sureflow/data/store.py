"""Runs on disk: a Zarr v3 group with one chunk a case in every array, so that no case is ever half there.

Zarr writes a chunk beside its place and renames it, and a case's status is written last: whatever interrupts a write, a
case is either finished or still to do. Every chunk carries a CRC32C, so that a damaged file is noticed on reading.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from jaxtyping import Float, Int
from zarr.codecs import Crc32cCodec, ZstdCodec

from sureflow.data.schema import (
    FREE_STREAM,
    MADE_BY,
    NODES,
    PARAMETERS,
    POINTS,
    SCHEMA,
    SCHEMA_VERSION,
    VARIABLES,
    Contents,
    Status,
    first_difference,
    gas_from,
)
from sureflow.errors import SureflowError

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KEPT = ": finished cases are kept"


class DamagedStoreError(SureflowError):
    """What was read is not what was written, or is not there."""


class RunStore:
    """One store of runs, open for reading, or for writing whole cases."""

    def __init__(self, path: Path, group: zarr.Group):
        self.path = path
        self.group = group

    @classmethod
    def create(cls, path: Path, contents: Contents) -> "RunStore":
        """Make the store beside its place and move it there whole; what is at `path` already is never touched."""
        making = path.with_name(f".{path.name}.{uuid.uuid4().hex}.making")
        try:
            with explain_writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_contents(making, contents)
                making.rename(path)
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
        return cls.open(path, writable=True)

    @classmethod
    def open(cls, path: Path, *, writable: bool = False) -> "RunStore":
        """Open an existing store after looking at its marks and the shape of its arrays."""
        check_is_ours(path)
        with explain_reading(path, "its metadata"):
            store = cls(path, zarr.open_group(path, mode="r+" if writable else "r"))
            store.check_attributes()
            store.check_arrays()
        return store

    # What is in it

    @property
    def attributes(self) -> dict[str, Any]:
        """The group's attributes: how the runs were made."""
        return dict(self.group.attrs)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of cells (nj, ni)."""
        nj, ni = self.attributes["shape"]
        return nj, ni

    @property
    def record_names(self) -> list[str]:
        """Names of the columns of `record`."""
        return list(self.group["record"].attrs["names"])  # type: ignore[arg-type]

    def array(self, name: str) -> np.ndarray:
        """A whole array."""
        with explain_reading(self.path, name):
            return np.asarray(self.group[name][...])  # type: ignore[index]

    def conditions(self) -> Float[np.ndarray, "case 2"]:
        """Mach number and altitude in km of every case."""
        return np.stack([self.array(name) for name in PARAMETERS], axis=1)

    def status(self) -> Int[np.ndarray, " case"]:
        """The `Status` of every case."""
        return self.array("status")

    def status_of(self, case: int) -> Status:
        """The status of one case, read again from disk."""
        with explain_reading(self.path, f"the status of case {case}"):
            return Status(int(self.group["status"][case]))  # type: ignore[index]

    def fields(self, case: int) -> Float[np.ndarray, "4 nj ni"]:
        """The fields of a finished case."""
        with explain_reading(self.path, f"the fields of case {case}"):
            fields = np.asarray(self.group["fields"][case])  # type: ignore[index]
            if self.status_of(case) is Status.CONVERGED and not np.isfinite(fields).all():
                raise ValueError("it is marked as converged but part of it is missing")
        return fields.reshape(len(VARIABLES), *self.shape)

    def records(self) -> dict[str, Float[np.ndarray, " case"]]:
        """The numbers kept of every run, by name; NaN where a case is to do."""
        return dict(zip(self.record_names, self.array("record").T, strict=True))

    def checksum(self) -> str:
        """SHA-256 of parameters, mesh, status and fields, independent of how they lie on disk."""
        digest = hashlib.sha256()
        for name in [*PARAMETERS, *NODES, "status"]:
            digest.update(name.encode() + np.ascontiguousarray(self.array(name)).tobytes())
        for case in np.flatnonzero(self.status()):
            digest.update(np.ascontiguousarray(self.fields(int(case))).tobytes())
        return digest.hexdigest()

    def unreadable(self) -> list[int]:
        """Finished cases whose fields or record are damaged."""
        return [case for case in map(int, np.flatnonzero(self.status())) if not self.is_readable(case)]

    def is_readable(self, case: int) -> bool:
        try:
            self.fields(case)
            with explain_reading(self.path, f"the record of case {case}"):
                self.group["record"][case]  # type: ignore[index]
        except DamagedStoreError:
            return False
        return True

    # Writing

    def write(
        self, case: int, fields: Float[np.ndarray, "4 nj ni"], record: Mapping[str, float], status: Status
    ) -> None:
        """Keep a finished case; its status goes last."""
        if list(record) != self.record_names:
            raise ValueError(f"the record of case {case} has {list(record)}, the store has {self.record_names}")
        with explain_writing(self.path, KEPT):
            self.group["fields"][case] = np.asarray(fields, float).reshape(len(VARIABLES), -1)  # type: ignore[index]
            self.group["record"][case] = np.array(list(record.values()), float)  # type: ignore[index]
            for chunk in (f"fields/c/{case}/0/0", f"record/c/{case}/0"):
                flush(self.path / chunk)
            self.group["status"][case] = int(status)  # type: ignore[index]

    def forget(self, case: int) -> None:
        """Make a case one to do again; its status goes first."""
        with explain_writing(self.path, KEPT):
            for name, value in (("status", 0), ("fields", np.nan), ("record", np.nan)):
                self.group[name][case] = value  # type: ignore[index]

    def sweep(self, cases: Iterable[int]) -> None:
        """Remove what interrupted writes of these cases left beside their chunks."""
        with explain_writing(self.path, KEPT):
            for case in cases:
                for folder in (f"fields/c/{case}/0", f"record/c/{case}"):
                    for leftover in (self.path / folder).glob("*.partial"):
                        leftover.unlink(missing_ok=True)
                for leftover in (self.path / "status/c").glob(f"{case}.*.partial"):
                    leftover.unlink(missing_ok=True)

    # Checks

    def check_attributes(self) -> None:
        missing = [name for name in (*MADE_BY, "versions") if not isinstance(self.attributes.get(name), dict)]
        if missing:
            raise ValueError(f"it does not say its {missing[0]}")

    def check_arrays(self) -> None:
        nj, ni = self.shape
        cases = self.group["mach"].shape[0]  # type: ignore[union-attr]
        expected = {
            "fields": (cases, len(VARIABLES), nj * ni),
            "free_stream": (cases, len(FREE_STREAM)),
            "record": (cases, len(self.record_names)),
            "status": (cases,),
            **dict.fromkeys(PARAMETERS, (cases,)),
            **dict.fromkeys(POINTS, (nj * ni,)),
            **dict.fromkeys(NODES, (nj + 1, ni + 1)),
        }
        for name, shape in expected.items():
            found = self.group[name].shape  # type: ignore[union-attr]
            if found != shape:
                raise ValueError(f"{name} has the shape {found} instead of {shape}")

    def refuse_other_contents(self, contents: Contents) -> None:
        """Refuse to add runs that were made otherwise than those that are here."""
        difference = self.difference(contents)
        if difference:
            raise SureflowError(
                f"{self.path} was made with other settings: {difference}; choose another path, or --overwrite to delete it."
            )

    def difference(self, contents: Contents) -> str | None:
        """What first distinguishes these runs from others; None if nothing does."""
        return next(filter(None, self._differences(contents)), None)

    def _differences(self, contents: Contents) -> Iterator[str | None]:
        for name in MADE_BY:
            # Through JSON, so that a tuple and the list it was stored as are equal.
            wanted = json.loads(json.dumps(contents.made_by[name]))
            yield first_difference(wanted, self.attributes.get(name), name)
        yield first_difference(list(contents.record), self.record_names, "record")
        conditions = self.conditions().tolist(), contents.conditions.tolist()
        if len(conditions[0]) != len(conditions[1]):
            yield "the number of conditions is {} there and {} here".format(*map(len, conditions))
        for case, (there, here) in enumerate(zip(*conditions, strict=True)):
            yield first_difference(here, there, f"condition {case} (Mach, km)")
        for name in NODES:
            if not np.array_equal(self.array(name), contents.nodes[name]):
                yield f"the mesh nodes ({name}) are not the same"


def open_runs(path: str | Path) -> xr.Dataset:
    """Labelled, lazy view of a store, with pressure and Mach number beside the four stored fields."""
    store = RunStore.open(Path(path))
    runs = xr.open_zarr(path, consolidated=False).set_coords([*PARAMETERS, *POINTS, *NODES])
    runs = runs.assign_coords(variable=list(VARIABLES))
    gas = gas_from(store.attributes["gas"])

    def pressure(density, temperature):
        return np.asarray(gas.pressure(density, gas.energy_from_temperature(density, temperature)))

    def mach_number(u1, u2, density, temperature):
        sound = np.asarray(gas.sound_speed(density, gas.energy_from_temperature(density, temperature)))
        return np.hypot(u1, u2) / sound

    u1, u2, density, temperature = (runs["fields"].sel(variable=name, drop=True) for name in VARIABLES)
    lazy = {"dask": "parallelized", "output_dtypes": [float]}
    runs["pressure"] = xr.apply_ufunc(pressure, density, temperature, **lazy).assign_attrs(units="Pa")
    runs["mach_number"] = xr.apply_ufunc(mach_number, u1, u2, density, temperature, **lazy).assign_attrs(units="1")
    return runs


def write_contents(path: Path, contents: Contents) -> None:
    """A store whose cases are all to do."""
    cases, points = len(contents.conditions), contents.points["x"].size
    group = zarr.create_group(path, zarr_format=3, attributes=group_attributes(contents))

    def array(name: str, dims: tuple[str, ...], shape: tuple[int, ...], **attributes: Any) -> zarr.Array:
        is_status = name == "status"
        return group.create_array(
            name,
            shape=shape,
            chunks=(1, *shape[1:]) if name in ("fields", "record", "status") else shape,
            dtype="int8" if is_status else "float64",
            fill_value=0 if is_status else np.nan,
            dimension_names=dims,
            compressors=[ZstdCodec(level=3), Crc32cCodec()],
            attributes=attributes,
        )

    for column, (name, unit) in enumerate(PARAMETERS.items()):
        array(name, ("case",), (cases,), units=unit)[:] = contents.conditions[:, column]
    for name, unit in POINTS.items():
        array(name, ("point",), (points,), units=unit)[:] = contents.points[name].ravel()
    for name, unit in NODES.items():
        array(name, ("node_j", "node_i"), contents.nodes[name].shape, units=unit)[:] = contents.nodes[name]
    free_stream = {"names": list(FREE_STREAM), "units": list(FREE_STREAM.values())}
    array("free_stream", ("case", "state"), (cases, len(FREE_STREAM)), **free_stream)[:] = contents.free_stream

    fields = {"variables": list(VARIABLES), "units": list(VARIABLES.values())}
    array("fields", ("case", "variable", "point"), (cases, len(VARIABLES), points), **fields)
    array("record", ("case", "quantity"), (cases, len(contents.record)), names=list(contents.record))
    meaning = {str(int(status)): status.name.lower().replace("_", " ") for status in Status}
    array("status", ("case",), (cases,), meaning=meaning)


def group_attributes(contents: Contents) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "parameters": list(PARAMETERS),
        "shape": list(contents.shape),
        **{name: contents.made_by[name] for name in MADE_BY},
        "versions": dict(contents.versions),
    }


def check_is_ours(path: Path) -> None:
    """Refuse anything that does not carry this schema's mark, in one sentence."""
    marks = path / "zarr.json"
    with explain_reading(path, "its zarr.json"):
        if not path.exists():
            raise SureflowError(
                f"{path} does not exist; `sureflow generate {path} --preset quick` makes a store of runs."
            )
        if not path.is_dir() or not marks.is_file():
            raise SureflowError(f"{path} is not a store of runs (it has no zarr.json); choose another path.")
        try:
            attributes = json.loads(marks.read_bytes()).get("attributes", {})
        except (ValueError, AttributeError) as error:
            raise DamagedStoreError(f"{path} is damaged: its zarr.json cannot be read ({error}).") from error
    if attributes.get("schema") != SCHEMA:
        raise SureflowError(f"{path} is a Zarr store, but not one of sureflow's runs; choose another path.")
    version = attributes.get("schema_version")
    if version != SCHEMA_VERSION:
        raise SureflowError(
            f"{path} has schema version {version}, this sureflow reads {SCHEMA_VERSION}; read it with the sureflow "
            "that made it."
        )


def remove_store(path: Path) -> None:
    """Delete a store of ours, and nothing else; it leaves its place at once."""
    check_is_ours(path)
    doomed = path.with_name(f".{path.name}.{uuid.uuid4().hex}.removing")
    with explain_writing(path):
        path.rename(doomed)
        shutil.rmtree(doomed)


def refuse_nameless(path: Path) -> None:
    """Refuse `.`, `..` and `/` as a place for results: files are made beside a place and renamed to it."""
    here = Path.cwd()
    if path.name in ("", "..") or path.resolve() in (here, *here.parents):
        raise SureflowError(f"{path} is no place for results: give a name of their own, not the folder you are in.")


def flush(chunk: Path) -> None:
    """Bring a chunk to the disk, with its name; one that holds nothing but fill values has no file."""
    if chunk.exists():
        for path in (chunk, chunk.parent):
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
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            raise SureflowError(
                f"{path}: {what} cannot be read ({error.strerror or error}); look at its permissions and its disk."
            ) from error
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise DamagedStoreError(
            f"{path} is damaged: {what} cannot be read ({reason}); `sureflow generate --retry-failed` computes "
            "unreadable cases again, --overwrite starts afresh."
        ) from error


@contextlib.contextmanager
def explain_writing(path: Path, kept: str = "") -> Iterator[None]:
    """Turn a full disk or a forbidden folder into one sentence, which may end in what is kept."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_IS_FULL:
            raise SureflowError(
                f"The disk of {path} is full; make room and run the same command again{kept}."
            ) from error
        raise SureflowError(f"{path} cannot be written ({error.strerror or error}); choose another path.") from error
