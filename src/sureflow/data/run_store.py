"""Runs on disk: a Zarr v3 group with one chunk a case in every array of cases, so that no run is ever half there.

Zarr writes a chunk beside its place and renames it, and a case's status is written last: whatever interrupts a write, a
case is either finished or still to do. There are as many cases as `status` is long, which grows last of all arrays when
cases are added. Every chunk carries a CRC32C, what is missing is read as NaN, and every case has checksums of its arrays, so
that damage and chunks in the wrong place are noticed on reading.
"""

import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import zarr
from jaxtyping import Float, Int

from sureflow.data.checksums import CHECKSUMS, COLUMNS, NONE, STATUS, case_sums, checksum, require_sum
from sureflow.data.disk import KEPT, explain_reading, explain_writing, flush, read_marks
from sureflow.data.drawn import DrawnFrom, together
from sureflow.data.header import Header
from sureflow.data.layout import BODY_FITTED_ARRAY, CELLS, PATCH, Contents, create_array, create_status, write_contents
from sureflow.data.meshes import BODY_FITTED, Cells, Geometry, Patch, Points, Topology, patches_from
from sureflow.data.reader import StoreReader
from sureflow.data.resampling import RESAMPLING, OwnValues, Resampling, RunValues
from sureflow.data.schema import SCHEMA_VERSION, Status, first_difference
from sureflow.errors import Exists, SureflowError
from sureflow.files import write_atomically
from sureflow.validation import plain, validated

Fields = Float[np.ndarray, "variable *point"]
# Status, which is written last, is not among them.
PER_CASE = ("parameters", "fields", "numbers", "points", "nodes", "own_points", "own_fields", CHECKSUMS)


class RunStore(StoreReader):
    """One store of runs, open for reading, or for writing whole cases."""

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
        """Open a store of this version after looking at its marks and the shape of its arrays."""
        version = read_marks(path)["schema_version"]
        if version != SCHEMA_VERSION:
            raise SureflowError(
                f"{path} has schema version {version} and cannot be added to: save its runs as another store first"
            )
        with explain_reading(path, "its metadata"):
            store = cls(path, zarr.open_group(path, mode="r+" if writable else "r"))
            store.check()
        return store

    def check(self) -> None:
        """Refuse metadata that do not fit together; arrays of cases may be longer than `status` after a kill."""
        cases, header = len(self), self.header
        shape, kind = (self.attributes["topology"][name] for name in ("shape", "kind"))
        if (kind == "structured") != (shape is not None):
            raise ValueError(f"a {kind} mesh has the shape {shape}")
        n_axes = len(header.axes)
        expected: dict[str, tuple[int, ...]] = {
            "parameters": (cases, len(header.parameters)),
            "fields": (cases, len(header.fields), self.n_points),
            "points": (*([cases] if self.is_moving else []), self.n_points, n_axes),
        }
        if header.numbers:
            expected["numbers"] = (cases, len(header.numbers))
        if self.has_checksums:
            expected[CHECKSUMS] = (cases, len(COLUMNS))
        for name, wanted in expected.items():
            found = self.array(name).shape
            if found[1:] != wanted[1:] or found[0] < wanted[0]:
                raise ValueError(f"{name} has the shape {found} instead of {wanted}")
        if kind != "points" and "nodes" not in self.group:
            raise ValueError(f"the nodes of its {kind} mesh are missing")
        if not isinstance(self.attributes.get("versions"), dict):
            raise ValueError("it does not say its versions")

    # What is in it

    def read_header(self) -> Header:
        return validated(Header, self.attributes["header"], f"the header of {self.path}")

    def read_topology(self) -> Topology:
        topology, patches = self.attributes["topology"], self._read_patches()
        if topology["kind"] != "unstructured":
            return Topology(None if topology["shape"] is None else tuple(topology["shape"]), patches=patches)
        arrays = [self.whole(name) for name in CELLS]
        with explain_reading(self.path, "cells"):
            if any((array < 0).any() for array in arrays):
                raise ValueError("part of them is missing")
        return Topology(cells=Cells(*arrays), patches=patches)

    def _read_patches(self) -> dict[str, Patch]:
        names = [name for name in self.group.array_keys() if name.startswith(PATCH)]
        with explain_reading(self.path, "its patches"):
            return patches_from({name.removeprefix(PATCH): self.whole(name) for name in sorted(names)})

    @property
    def is_moving(self) -> bool:
        return self.array("points").ndim == 3

    def read_described(self) -> dict[str, Points]:
        return {BODY_FITTED: self.complete(BODY_FITTED_ARRAY)} if BODY_FITTED_ARRAY in self.group else {}

    def parameters(self) -> Float[np.ndarray, "case parameter"]:
        self._conditions = self.complete("parameters", len(self))
        return self._conditions.copy()

    def read_geometry(self, case: int | None) -> Geometry:
        found: dict[str, np.ndarray] = {}
        for name in ("points", "nodes"):
            if name in self.group:
                with explain_reading(self.path, name if case is None else f"the {name} of case {case}"):
                    found[name] = self.whole(name) if case is None else np.asarray(self.array(name)[case])
                    if not np.isfinite(found[name]).all():
                        raise ValueError("part of them is missing")
                    if case is not None:
                        self.verify(case, name, found[name])
        return Geometry(**found)

    def read_resampling(self) -> Resampling | None:
        if RESAMPLING not in self.group:
            return None
        return Resampling(self.complete(RESAMPLING), self.complete("coverage"))

    def keep_resampling(self, resampling: Resampling) -> None:
        """Say how well the runs were brought onto their mesh."""
        for name, dims in ((RESAMPLING, ("variable", "point")), ("coverage", ("point",))):
            values = resampling.std if name == RESAMPLING else resampling.coverage
            with explain_writing(self.path, KEPT):
                array = (
                    self.array(name)
                    if name in self.group
                    else create_array(self.group, name, dims, values.shape, "float64")
                )
                array[:] = values

    @property
    def has_own_values(self) -> bool:
        return "own_fields" in self.group

    def own_values(self, case: int) -> OwnValues:
        """Fields and points of a case on its own mesh."""
        with explain_reading(self.path, f"the own points of case {case}"):
            names = ("own_fields", "own_points")
            values = [np.asarray(self.array(name)[case]) for name in names]
            for name, array in zip(names, values, strict=True):
                self.verify(case, name, array)
            return OwnValues(*values)

    def checksum(self) -> str:
        digest = hashlib.sha256()
        status = self.status()
        digest.update(_bytes(self.parameters()) + _bytes(status))
        finished = [int(case) for case in np.flatnonzero(status)]
        for case in finished if self.is_moving else [0]:
            for values in self.geometry(case).arrays():
                digest.update(_bytes(values))
        for case in finished:
            digest.update(_bytes(self.fields(case)))
        return digest.hexdigest()

    # Checksums

    @cached_property
    def has_checksums(self) -> bool:
        """Stores of earlier versions have none; those that have say so, so that a loss is noticed."""
        return bool(self.attributes.get(CHECKSUMS))

    @cached_property
    def _sums(self) -> Int[np.ndarray, "case checksum"]:
        """Those of all cases when they were first asked for; a copy, since others may write meanwhile."""
        return self.whole(CHECKSUMS, len(self)).copy()

    @cached_property
    def _conditions(self) -> Float[np.ndarray, "case parameter"]:
        """The parameters of all cases when they were last read, which do not change."""
        return self.parameters()

    def _condition(self, case: int) -> Float[np.ndarray, " parameter"]:
        return self._conditions[case] if case < len(self._conditions) else np.asarray(self.array("parameters")[case])

    def status(self) -> Int[np.ndarray, " case"]:
        status = super().status()
        for case in map(int, np.flatnonzero(status)) if self.has_checksums else ():
            with explain_reading(self.path, f"the status of case {case}"):
                self._require(case, STATUS, int(status[case]))
        return status

    def verify(self, case: int, name: str, values: np.ndarray) -> None:
        if self.has_checksums:
            self._require(case, name, checksum(values, checksum(self._condition(case))))

    def _require(self, case: int, name: str, found: int) -> None:
        """Compare with what is written; who wrote the case since then wrote that as well."""
        column = COLUMNS.index(name)
        if case >= len(self._sums):
            del self._sums
        if self._sums[case, column] != found:
            self._sums[case] = self.array(CHECKSUMS)[case]
        require_sum(found, int(self._sums[case, column]))

    # Writing

    def write(
        self,
        case: int,
        fields: Fields,
        numbers: Mapping[str, float],
        status: Status,
        geometry: Geometry | None = None,
        own: OwnValues | None = None,
    ) -> None:
        """Keep a finished case; its status goes last."""
        self._write_values(case, fields, numbers, status, geometry, own)
        with explain_writing(self.path, KEPT):
            self.array("status")[case] = int(status)

    def forget(self, case: int) -> None:
        """Make a case one to do again; its status goes first."""
        with explain_writing(self.path, KEPT):
            self.array("status")[case] = 0
            for name in self._of_cases:
                if name != "parameters":
                    self.array(name)[case] = NONE if name == CHECKSUMS else np.nan

    def append(self, parameters: Float[np.ndarray, "case parameter"]) -> range:
        """Add cases that are to do, and say which they are. Nobody else may write to the store meanwhile."""
        cases = self._make_room(parameters)
        with explain_writing(self.path, KEPT):
            self._grow("status", cases.stop)
        return cases

    def add(
        self,
        parameters: Float[np.ndarray, "case parameter"],
        runs: Iterable[RunValues],
    ) -> range:
        """Add converged runs: all of them, or none if something interrupts. Nobody else may write to the store meanwhile."""
        cases = self._make_room(parameters)
        for case, run in zip(cases, runs, strict=True):
            self._write_values(case, run.fields, run.numbers, Status.CONVERGED, run.geometry, run.own)
        with explain_writing(self.path, KEPT):
            converged = _status_chunk(Status.CONVERGED)
            (self.path / "status/c").mkdir(exist_ok=True)
            for case in cases:
                write_atomically(self.path / f"status/c/{case}", converged)
            self._grow("status", cases.stop)
        return cases

    def lacks_designs(self, designs: Sequence[DrawnFrom]) -> bool:
        """Whether the store does not say of all of these that conditions were drawn from them."""
        return any(one not in self.header.drawn_from for one in designs)

    def keep_designs(self, designs: Sequence[DrawnFrom]) -> None:
        """Say from which ranges further conditions are drawn. Nobody else may write to the store meanwhile."""
        header = replace(self.header, drawn_from=together([self.header.drawn_from, designs]))
        with explain_writing(self.path, KEPT):
            self.group.attrs["header"] = plain(header)
            flush(self.path / "zarr.json")
        vars(self).pop("header", None)

    def sweep(self, cases: Iterable[int]) -> None:
        """Remove what interrupted writes of these cases left beside their chunks."""
        names = self._of_cases
        with explain_writing(self.path, KEPT):
            for case in cases:
                folders = [self.path / name / "c" / str(case) for name in names]
                leftovers = [file for folder in folders for file in folder.rglob("*.partial")]
                for file in [*leftovers, *(self.path / "status/c").glob(f"{case}.*.partial")]:
                    file.unlink(missing_ok=True)

    @property
    def _of_cases(self) -> list[str]:
        """The arrays that have a chunk for every case, without `status`."""
        shared = () if self.is_moving else ("points", "nodes")
        return [name for name in PER_CASE if name in self.group and name not in shared]

    def _write_values(
        self,
        case: int,
        fields: Fields,
        numbers: Mapping[str, float],
        status: Status,
        geometry: Geometry | None,
        own: OwnValues | None,
    ) -> None:
        names = [number.name for number in self.header.numbers]
        if sorted(numbers) != sorted(names):
            raise SureflowError(f"case {case} has the numbers {list(numbers)}, but the store has {names}: give those")
        values = {"fields": np.asarray(fields).reshape(len(self.header.fields), -1)}
        if names:
            values["numbers"] = np.array([numbers[name] for name in names], float)
        if geometry is not None:
            values |= {"points": geometry.points} | ({} if geometry.nodes is None else {"nodes": geometry.nodes})
        if own is not None:
            values |= {"own_points": own.points, "own_fields": own.fields}
        if status is Status.CONVERGED:
            self._require_complete(case, values)
        if self.has_checksums:
            stored = {name: np.asarray(array, self.array(name).dtype) for name, array in values.items()}
            values[CHECKSUMS] = case_sums(self._condition(case), int(status), stored)
        with explain_writing(self.path, KEPT):
            for name, array in values.items():
                # Missing numbers are values too: they are written, so that their absence means damage.
                self.array(name).with_config({"write_empty_chunks": name == "numbers"})[case] = array
                self._flush(name, case)

    def _require_complete(self, case: int, values: Mapping[str, np.ndarray]) -> None:
        for name in ["fields", *(["points"] if self.is_moving else [])]:
            if name not in values or not np.isfinite(values[name]).all():
                raise SureflowError(
                    f"case {case} has missing or non-finite {name}, so it cannot be stored as converged"
                )

    def _make_room(self, parameters: Float[np.ndarray, "case parameter"]) -> range:
        """Lengthen all arrays of cases but `status`, and drop what a kill may have left where they grow."""
        cases = range(len(self), len(self) + len(parameters))
        with explain_writing(self.path, KEPT):
            for name in self._of_cases:
                self._grow(name, cases.start)
                self._grow(name, cases.stop)
            for chunk in (self.path / "status/c").glob("*"):
                if not chunk.name.isdigit() or int(chunk.name) >= cases.start:
                    chunk.unlink()
            self.array("parameters")[cases.start : cases.stop] = parameters
            for case in cases:
                self._flush("parameters", case)
        for cached in ("_sums", "_conditions"):
            vars(self).pop(cached, None)
        return cases

    def _grow(self, name: str, length: int) -> None:
        array = self.array(name)
        array.resize((length, *array.shape[1:]))
        flush(self.path / name / "zarr.json")

    def _flush(self, name: str, case: int) -> None:
        flush(self.chunk(name, case))

    # What may be added

    def refuse_other_contents(self, contents: Contents) -> None:
        """Refuse to add runs that were made otherwise than those that are here."""
        difference = self.difference(contents)
        if difference:
            raise Exists(f"{self.path} was made with other settings ({difference}): choose another path")

    def difference(self, contents: Contents) -> str | None:
        """What first distinguishes these runs from others; None if nothing does."""
        return next(filter(None, self._differences(contents)), None)

    def _differences(self, contents: Contents) -> Iterator[str | None]:
        yield first_difference(contents.header.made_by, self.header.made_by, "")
        apart = {"made_by": None, "drawn_from": None}
        wanted, stored = (header | apart for header in (plain(contents.header), plain(self.header)))
        yield first_difference(wanted, stored, "")
        there, here = self.parameters().tolist(), contents.parameters.tolist()
        if len(there) != len(here):
            yield f"the number of conditions is {len(there)} there and {len(here)} here"
        names = ", ".join(self.header.parameter_names)
        for case, (one, other) in enumerate(zip(there, here, strict=True)):
            yield first_difference(other, one, f"condition {case} ({names})")
        if self.topology != contents.topology or self.is_moving != contents.is_moving:
            yield "the cells are not connected alike"
        if not self.is_moving:
            pairs = zip(self.geometry().arrays(), contents.geometry.arrays(), strict=False)
            if not all(np.array_equal(one, other) for one, other in pairs):
                yield "the mesh nodes are not the same"


def _status_chunk(status: Status) -> bytes:
    """The file of one status, which is the same for every case."""
    with tempfile.TemporaryDirectory(prefix="sureflow-") as folder:
        create_status(zarr.create_group(folder, zarr_format=3), 1)[0] = int(status)
        return (Path(folder) / "status/c/0").read_bytes()


def _bytes(values: np.ndarray) -> bytes:
    return np.ascontiguousarray(values).tobytes()
