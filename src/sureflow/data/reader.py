"""What can be read of a store of runs, whatever its version."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import zarr
from jaxtyping import Float, Int

from sureflow.data.checksums import SHARED, checksum, require_sum
from sureflow.data.disk import DamagedStoreError, explain_reading
from sureflow.data.header import Header
from sureflow.data.meshes import Geometry, Points, Topology
from sureflow.data.resampling import OwnValues, Resampling
from sureflow.data.schema import Status
from sureflow.data.sources import Run
from sureflow.errors import SureflowError


class StoreReader(ABC):
    """A store that is open. Its cases may be to do, converged, stalled or failed."""

    numbers_array: ClassVar[str] = "numbers"

    def __init__(self, path: Path, group: zarr.Group):
        self.path = path
        self.group = group
        self._folder = path.stat()
        self._arrays: dict[str, zarr.Array] = {}

    @cached_property
    def header(self) -> Header:
        """What the runs have in common."""
        return self.read_header()

    @cached_property
    def topology(self) -> Topology:
        """How the cells are connected."""
        return self.read_topology()

    @cached_property
    def described(self) -> Mapping[str, Points]:
        """Further coordinates of the points."""
        return self.read_described()

    def geometry(self, case: int = 0) -> Geometry:
        """Points and nodes of a case."""
        return self.read_geometry(case) if self.is_moving else self._shared

    @cached_property
    def _shared(self) -> Geometry:
        return self.read_geometry(None)

    def read_resampling(self) -> Resampling | None:
        """How well runs on different meshes were brought onto this one, if they were."""
        return None

    @property
    def has_own_values(self) -> bool:
        """Whether runs have fields at points of their own meshes besides."""
        return False

    def own_values(self, case: int) -> OwnValues:
        """Those fields, with their points."""
        raise SureflowError(f"run {case} has no fields at points of its own mesh")

    @property
    @abstractmethod
    def is_moving(self) -> bool:
        """Whether every case has points and nodes of its own."""

    @abstractmethod
    def read_header(self) -> Header: ...

    @abstractmethod
    def read_topology(self) -> Topology: ...

    @abstractmethod
    def read_described(self) -> Mapping[str, Points]: ...

    @abstractmethod
    def read_geometry(self, case: int | None) -> Geometry:
        """Of one case, or the one that all share."""

    @abstractmethod
    def parameters(self) -> Float[np.ndarray, "case parameter"]:
        """The condition of every case."""

    def numbers(self) -> Float[np.ndarray, "case number"]:
        """The numbers that are kept of every run; NaN where a case is to do."""
        if not self.header.numbers:
            return np.empty((len(self), 0))
        values = self.whole(self.numbers_array, len(self))
        for case in map(int, np.flatnonzero(self.status())):
            if np.isnan(values[case]).all():
                self._require_chunk(self.numbers_array, case)
            with explain_reading(self.path, f"the numbers of case {case}"):
                self.verify(case, "numbers", values[case])
        return values

    @abstractmethod
    def checksum(self) -> str:
        """SHA-256 of parameters, mesh, status and fields, independent of how they lie on disk."""

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the group."""
        return dict(self.group.attrs)

    @property
    def versions(self) -> dict[str, str]:
        """The software that the runs were made with."""
        return self.attributes["versions"]

    @property
    def n_points(self) -> int:
        return self.array("fields").shape[2]

    @property
    def dtype(self) -> np.dtype:
        """The precision of the fields."""
        return np.dtype(self.array("fields").dtype)

    def __len__(self) -> int:
        """The number of cases."""
        return self.array("status").shape[0]

    def status(self) -> Int[np.ndarray, " case"]:
        """The `Status` of every case."""
        return self.whole("status")

    def status_of(self, case: int) -> Status:
        """The status of one case, read again from disk."""
        with explain_reading(self.path, f"the status of case {case}"):
            return Status(int(self.array("status")[case]))  # type: ignore[arg-type]

    def fields(self, case: int) -> Run:
        """The fields of a finished case, in the precision in which they are kept."""
        with explain_reading(self.path, f"the fields of case {case}"):
            fields = np.asarray(self.array("fields")[case])
            if not np.isfinite(fields).all() and self.status_of(case) is Status.CONVERGED:
                raise ValueError("it is marked as converged but part of it is missing")
            self.verify(case, "fields", fields)
        return fields

    def verify(self, case: int, name: str, values: np.ndarray) -> None:  # noqa: B027 (older stores have nothing to compare with)
        """Refuse values of a finished case that are not those that were written for it, where the store can tell."""

    def unreadable(self) -> list[int]:
        """Finished cases that are damaged."""
        return [case for case in map(int, np.flatnonzero(self.status())) if not self.is_readable(case)]

    def is_readable(self, case: int) -> bool:
        """Whether all that is kept of a finished case can be read."""
        try:
            self.fields(case)
            self.geometry(case)
            self.numbers_of(case)
        except DamagedStoreError:
            return False
        return True

    def numbers_of(self, case: int) -> dict[str, float]:
        """The numbers of one case, by name."""
        if not self.header.numbers:
            return {}
        with explain_reading(self.path, f"the numbers of case {case}"):
            values = np.asarray(self.array(self.numbers_array)[case])
            self.verify(case, "numbers", values)
        if np.isnan(values).all():
            self._require_chunk(self.numbers_array, case)
        return dict(zip((number.name for number in self.header.numbers), values.tolist(), strict=True))

    def interrupted(self) -> list[int]:
        """Cases to do that have fields: something interrupted their writing, or removed their status since."""
        return [case for case in map(int, np.flatnonzero(self.status() == 0)) if self.chunk("fields", case).is_file()]

    def chunk(self, name: str, case: int) -> Path:
        """The file of one case in an array of cases."""
        return self.path.joinpath(name, "c", str(case), *["0"] * (self.array(name).ndim - 1))

    def _require_chunk(self, name: str, case: int) -> None:
        """Refuse values of a finished case that were never written, or were removed: they read as missing ones."""
        with explain_reading(self.path, f"the {name} of case {case}"):
            if not self.chunk(name, case).is_file():
                raise ValueError("they are missing")

    def is_replaced(self) -> bool:
        """Whether another store has taken this one's place since it was opened."""
        # Not the file of its marks, which is written again where runs are added that were drawn from other ranges.
        return not (self.path / "zarr.json").exists() or self.path.stat().st_ino != self._folder.st_ino

    def array(self, name: str) -> zarr.Array:
        """An array of the store, whose metadata are read once."""
        if name not in self._arrays:
            self._arrays[name] = self.group[name]  # type: ignore[assignment]
        return self._arrays[name]

    def whole(self, name: str, length: int | None = None) -> np.ndarray:
        """The values of an array, or the first of them."""
        with explain_reading(self.path, name):
            values = np.asarray(self.array(name)[:length])
            if SHARED in self.array(name).attrs:
                if not (np.isfinite(values) & (values != self.array(name).fill_value)).all():
                    raise ValueError("part of it is missing")
                require_sum(checksum(values), self.array(name).attrs[SHARED])  # type: ignore[arg-type]
            return values

    def complete(self, name: str, length: int | None = None) -> np.ndarray:
        """The same, of which none may be missing."""
        values = self.whole(name, length)
        with explain_reading(self.path, name):
            if not np.isfinite(values).all():
                raise ValueError("part of it is missing")
        return values
