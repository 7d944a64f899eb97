"""Stores of runs: open, write and add to them as runs."""

import shutil
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from sureflow import scratch
from sureflow.data.checks import require_distinct
from sureflow.data.disk import DamagedStoreError, explain_reading, explain_writing, read_marks, refuse_nameless
from sureflow.data.layout import COARSER, Contents
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.reader import StoreReader
from sureflow.data.resampling import OwnValues, RunValues
from sureflow.data.run_store import RunStore
from sureflow.data.runs import Runs, disagreement
from sureflow.data.schema import Status
from sureflow.data.sources import FieldSource, Run
from sureflow.data.version1 import VersionOne
from sureflow.errors import Exists, SureflowError
from sureflow.files import put_in_place


@dataclass(frozen=True)
class StoredFields(FieldSource):
    """The fields of all cases of a store; kept once they are read, where all of them fit into memory."""

    store: StoreReader
    kept: dict[int, Run] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.store), len(self.store.header.fields), self.store.n_points

    @property
    def dtype(self) -> np.dtype:
        return self.store.dtype

    def __getitem__(self, case: int) -> Run:
        if case in self.kept:
            return self.kept[case]
        if self.store.is_replaced():
            raise SureflowError(f"{self.store.path} was replaced or removed since it was opened: open it again")
        run = self.store.fields(case)
        if int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize <= scratch.IN_MEMORY:
            run.flags.writeable = False
            self.kept[case] = run
        return run


def open_store(path: str | Path) -> StoreReader:
    """A store of any version, for reading."""
    path = Path(path)
    if read_marks(path)["schema_version"] > 1:
        return RunStore.open(path)
    with explain_reading(path, "its metadata"):
        return VersionOne.open(path)


def open_runs(path: str | Path) -> Runs:
    """The converged runs of a store, which are read when they are needed; the others are left out and counted.

    >>> import sureflow as sf
    >>> runs = sf.open_runs("runs.zarr")  # doctest: +SKIP
    """
    path = Path(path)
    runs = converged_runs(open_store(path))
    if not (path / COARSER).exists():
        return runs
    coarser = open_runs(path / COARSER)
    return runs.with_coarser(coarser) if len(coarser) else runs


def converged_runs(store: StoreReader) -> Runs:
    """The converged runs of a store that is open."""
    status = store.status()
    used = np.flatnonzero(status == Status.CONVERGED)

    kept: dict[int, Geometry] = {}

    def geometry_of(case: int) -> Geometry:
        """Kept once it is read, as fields are: models, scalings and wall layers all ask for it."""
        if case in kept:
            return kept[case]
        found = store.geometry(int(used[case]))
        if len(used) * sum(array.nbytes for array in found.arrays()) <= scratch.IN_MEMORY:
            for array in found.arrays():
                array.flags.writeable = False
            kept[case] = found
        return found

    runs = Runs(
        header=store.header,
        parameters=store.parameters()[used],
        fields=StoredFields(store).select(used),
        topology=store.topology,
        geometry=None if store.is_moving else store.geometry(),
        geometries=geometry_of if store.is_moving else None,
        numbers=store.numbers()[used] if store.header.numbers else None,
        described=store.described,
        left_out=_count_left_out(store, status),
        resampling=store.read_resampling(),
        own=_own_runs(store, used) if store.has_own_values else None,
    )
    try:
        runs.require_mesh()
    except DamagedStoreError:
        raise
    except SureflowError as error:
        raise DamagedStoreError(f"{store.path} is damaged: {error}") from None
    return runs


def write_runs(
    runs: Runs, path: str | Path, *, overwrite: bool = False, versions: Mapping[str, str] | None = None
) -> None:
    """Write runs as a store. It is made beside its place and moved there whole; only a store is ever overwritten."""
    path = Path(path)
    refuse_nameless(path)
    if path.exists():
        if not overwrite:
            raise Exists(f"{path} exists already: choose another path, or ask for it to be overwritten")
        read_marks(path)
    if not len(runs):
        raise SureflowError(f"there are no runs to write to {path}")
    runs.require_finite()
    require_distinct(runs.parameters, runs.parameter_names)
    making = path.with_name(f".{path.name}.{uuid.uuid4().hex}.making")
    try:
        store = RunStore.create(making, contents_of(runs, versions or {}))
        for case, run in enumerate(_each_run(runs)):
            store.write(case, run.fields, run.numbers, Status.CONVERGED, run.geometry, run.own)
        if runs.resampling is not None:
            store.keep_resampling(runs.resampling)
        if runs.coarser is not None:
            write_runs(runs.coarser, making / COARSER, versions=versions)
        with explain_writing(path):
            put_in_place(making, path, overwrite=overwrite)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise


def add_runs(path: str | Path, runs: Runs) -> None:
    """Add runs to a store, in its precision: all of them, or none if something interrupts.

    Runs that do not fit those of the store, or that repeat one of its conditions, are refused.
    """
    store = RunStore.open(Path(path), writable=True)
    there = converged_runs(store)
    difference = disagreement(there, runs)
    if difference:
        raise SureflowError(f"the runs (there) do not match those of {path} (here): {difference}")
    added = runs.ordered_like(there.header)
    added.require_finite()
    require_distinct(np.concatenate([store.parameters(), added.parameters]), added.parameter_names)
    if added.coarser is not None:
        add_coarser(Path(path), added.coarser)
    store.add(added.parameters, _each_run(added))
    if store.lacks_designs(runs.header.drawn_from):
        store.keep_designs(runs.header.drawn_from)


def add_coarser(path: Path, runs: Runs) -> None:
    """Add those runs of the coarser level that a store does not have yet."""
    if not (path / COARSER).exists():
        write_runs(runs, path / COARSER)
        return
    new = runs.without(open_store(path / COARSER).parameters())
    if len(new):
        add_runs(path / COARSER, new)


def contents_of(runs: Runs, versions: Mapping[str, str]) -> Contents:
    """What a store says of these runs before it has their fields."""
    return Contents(
        header=runs.header,
        parameters=runs.parameters,
        topology=runs.topology,
        geometry=runs.geometry_of(0),
        is_moving=runs.is_moving,
        described=runs.described,
        versions=versions,
        dtype=runs.fields.dtype,
        own_points=0 if runs.own is None else runs.own.n_points,
    )


def _each_run(runs: Runs) -> Iterator[RunValues]:
    names = [number.name for number in runs.header.numbers]
    for case in range(len(runs)):
        numbers = [] if runs.numbers is None else runs.numbers[case].tolist()
        geometry = runs.geometry_of(case) if runs.is_moving else None
        own = None if runs.own is None else OwnValues(runs.own.fields[case], runs.own.geometry_of(case).points)
        yield RunValues(runs.fields[case], dict(zip(names, numbers, strict=True)), geometry, own)


@dataclass(frozen=True)
class OwnFields(FieldSource):
    """The fields of all cases of a store at points of their own meshes."""

    store: StoreReader

    @property
    def shape(self) -> tuple[int, int, int]:
        first = self.store.own_values(0).fields.shape
        return len(self.store), first[0], first[1]

    @property
    def dtype(self) -> np.dtype:
        return self.store.dtype

    def __getitem__(self, case: int) -> Run:
        return self.store.own_values(case).fields


def _own_runs(store: StoreReader, used: Int[np.ndarray, " case"]) -> Runs | None:
    if not len(used):
        return None

    def geometry_of(case: int) -> Geometry:
        return Geometry(store.own_values(int(used[case])).points)

    header = replace(store.header, location="points", numbers=())
    fields = OwnFields(store).select(used)
    return Runs(header, store.parameters()[used], fields, Topology(), None, geometry_of)


def _count_left_out(store: StoreReader, status: Int[np.ndarray, " case"]) -> dict[str, int]:
    others = (kind for kind in Status if kind is not Status.CONVERGED)
    counts = {kind.words: int((status == kind).sum()) for kind in others}
    counts["interrupted"] = len(store.interrupted()) if counts[Status.TO_DO.words] else 0
    counts[Status.TO_DO.words] -= counts["interrupted"]
    return {name: count for name, count in counts.items() if count}
