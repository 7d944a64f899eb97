"""What an import will do: files and their parameters, the fields to take, the mesh, and the header of the runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sureflow.data.header import Header, Parameter, Variable
from sureflow.errors import SureflowError
from sureflow.importers.assembly import RunMesh, Taken, assemble, merged, mesh_of_block, select
from sureflow.importers.conditions import (
    Columns,
    from_entries,
    from_pattern,
    from_table,
    joined_columns,
    require_distinct_files,
)
from sureflow.importers.import_settings import ImportSettings
from sureflow.importers.listing import list_files
from sureflow.importers.reading import importer_for
from sureflow.importers.snapshot import Snapshot, SnapshotReader, Wanted
from sureflow.validation import plain, validated


@dataclass(frozen=True)
class Plan:
    """What an import will do: settled by the list of files, their parameters, and the first and the last of them."""

    settings: ImportSettings  # with nothing left to guess
    files: tuple[Path, ...]
    columns: Columns
    selection: Taken
    first: Snapshot
    mesh: RunMesh
    is_moving: bool
    header: Header
    dtype: np.dtype
    own_points: int = 0

    @property
    def is_resampled(self) -> bool:
        return self.settings.mesh == "resampled"

    @property
    def parameters(self) -> np.ndarray:
        return np.column_stack(list(self.columns.values()))


def plan_import(settings: ImportSettings, *, skip_bad: bool = False) -> Plan:
    """Look at the files: nothing is written."""
    table = None if settings.table is None else Path(settings.table)
    files = list_files(settings.source, besides=[] if table is None else [table])
    columns, units = parameters_of(settings, files, table)
    require_distinct_files(columns, files)
    first, last = ends(files, settings, skip_bad=skip_bad)
    selection = select(first, settings)
    mesh, fields = assemble(first, selection)
    is_moving = settings.mesh == "moving"
    if settings.mesh == "resampled" and settings.reference is not None:
        mesh = reference_mesh(Path(settings.reference), selection)
    elif settings.mesh == "auto" and last is not None:
        other, _ = assemble(last, selection, mesh)
        require_same_cells(mesh, other, last.path, first.path)
        is_moving = other is not mesh
    settled = replace(
        settings,
        fields={choice.name: choice.source for choice in selection.choices},
        units=units | {choice.name: choice.unit for choice in selection.choices} | dict(settings.units),
        location=selection.location,
        mesh="moving" if is_moving else settings.mesh if settings.mesh == "resampled" else "shared",
    )
    return Plan(
        settled,
        tuple(files),
        columns,
        selection,
        first,
        mesh,
        is_moving,
        header_of_runs(columns, settled, selection, mesh),
        np.dtype(fields.dtype if settings.precision == "auto" else settings.precision),
        min(settings.own_points, fields.shape[1]) if settings.mesh == "resampled" else 0,
    )


def reference_mesh(file: Path, taken: Taken) -> RunMesh:
    """The mesh of a file, whatever its arrays."""
    blocks = read_snapshot(file, Wanted(arrays=frozenset())).named(taken.blocks)
    return mesh_of_block(merged(blocks), taken)


def parameters_of(
    settings: ImportSettings, files: Sequence[Path], table: Path | None
) -> tuple[Columns, dict[str, str]]:
    """Parameters and their units from wherever the settings say they are."""
    parts, units = [], {}
    if table is not None:
        columns, units = from_table(table, files)
        parts.append(columns)
    if settings.pattern is not None:
        parts.append(from_pattern(settings.pattern, files))
    if settings.entries:
        bare = Wanted(settings.time, arrays=frozenset())
        parts.append(from_entries(settings.entries, files, lambda file: read_snapshot(file, bare).values))
    return joined_columns(parts), units


def ends(files: Sequence[Path], settings: ImportSettings, *, skip_bad: bool) -> tuple[Snapshot, Snapshot | None]:
    """The first and the last run that can be read."""
    wanted, errors = Wanted(time=settings.time), []

    def first_of(candidates: Sequence[Path]) -> Snapshot | None:
        for file in candidates:
            try:
                return read_snapshot(file, wanted)
            except SureflowError as error:
                if not skip_bad:
                    raise
                errors.append(error)
        return None

    first = first_of(files)
    if first is None:
        raise SureflowError(f"none of the {len(files)} files can be read; the first: {errors[0]}")
    rest = [file for file in reversed(files) if file != first.path]
    return first, first_of(rest) if settings.mesh == "auto" else None


def read_snapshot(file: Path, wanted: Wanted) -> Snapshot:
    reader = importer_for(file)
    if not isinstance(reader, SnapshotReader):
        raise SureflowError(f"{file} already holds several runs: open it directly")
    return reader(file, wanted)


def require_same_cells(mesh: RunMesh, other: RunMesh, file: Path, first: Path) -> None:
    """Refuse a mesh whose cells are not those of the others."""
    if mesh is other:
        return
    here, there = len(mesh.geometry.points), len(other.geometry.points)
    if here != there or mesh.flat.topology != other.flat.topology:
        counted = f"{there} instead of {here} values" if here != there else "cells that are connected otherwise"
        cut_off = ", unless the file is cut off" * (there < here)
        raise SureflowError(
            f"the mesh of {file} is not that of {first} ({counted}): bring all runs onto one mesh (mesh=resampled){cut_off}, or "
            "leave it out"
        )


def header_of_runs(columns: Columns, settings: ImportSettings, selection: Taken, mesh: RunMesh) -> Header:
    units = settings.units
    known = {*columns, *(choice.name for choice in selection.choices)}
    for name in units:
        if name not in known:
            raise SureflowError(
                f"{name!r} has a unit but is neither a field nor a parameter: they are {', '.join(sorted(known))}"
            )
    header = {
        "parameters": [plain(Parameter(name, units.get(name, ""))) for name in columns],
        "fields": [plain(Variable(choice.name, units.get(choice.name, ""))) for choice in selection.choices],
        "axes": list(mesh.flat.axes),
        "location": selection.location,
        "quantities": [plain(quantity) for quantity in settings.declared()],
    }
    for quantity in settings.declared():
        patches = mesh.flat.topology.patches
        if quantity.patch is not None and quantity.patch not in patches:
            raise SureflowError(
                f"the quantity {quantity.name} is over the patch {quantity.patch!r}: the patches of the flow are "
                f"{', '.join(patches) or 'not known from these files'}"
            )
    return validated(Header, header)
