"""An import from its plan to its end: runs one by one, into memory or a store."""

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.disk import explain_writing, read_marks, refuse_nameless
from sureflow.data.layout import Contents
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.resampling import OwnValues, Resampling, RunValues
from sureflow.data.run_store import RunStore
from sureflow.data.runs import Runs, disagreement
from sureflow.data.sources import ArrayFields
from sureflow.data.store import add_runs, open_runs
from sureflow.errors import Exists, SureflowError
from sureflow.files import put_in_place, write_atomically
from sureflow.importers.assembly import Fields, RunMesh, assemble
from sureflow.importers.import_settings import ImportSettings
from sureflow.importers.magnitudes import Magnitudes
from sureflow.importers.planning import Plan, plan_import, read_snapshot, require_same_cells
from sureflow.importers.resample import Resampled, ValuePlaces, resample
from sureflow.importers.snapshot import Snapshot
from sureflow.validation import plain, to_toml, validated

Progress = Callable[[int, int, str], None]  # runs done, in all, the next file


def unwatched(done: int, total: int, name: str) -> None:
    """Progress that nobody follows."""


@dataclass
class Imported:
    """What came of an import."""

    store: Path
    runs: int
    found: int = 0  # that were there already
    bad: list[str] = field(default_factory=list)  # sentences about files that were left out
    remarks: list[str] = field(default_factory=list)  # about runs that may be in other units


@dataclass(frozen=True)
class ReadRun:
    """One run as it goes into memory or a store; `geometry` is its own where nodes differ from run to run."""

    fields: Fields
    geometry: Geometry | None = None
    own: OwnValues | None = None
    lost: Resampled | None = None  # in bringing it onto the mesh of the others


def each_run(plan: Plan, cases: Sequence[int], opened: list[Snapshot]) -> Iterator[tuple[int, ReadRun | SureflowError]]:
    """Runs one by one, or what is wrong with them. What was read of one is forgotten before the next is read.

    `opened` holds what planning has read already, and is emptied.
    """
    wanted = plan.selection.wanted(plan.settings)
    by_file = {opened[0].path: opened.pop()} if opened else {}
    for case in cases:
        try:
            found = read_run(plan, case, by_file.pop(plan.files[case], None) or read_snapshot(plan.files[case], wanted))
        except SureflowError as error:
            found = error
        by_file.clear()
        yield case, found
        del found


def read_run(plan: Plan, case: int, snapshot: Snapshot) -> ReadRun:
    """One run, as it goes into memory or a store."""
    mesh, fields = assemble(snapshot, plan.selection, plan.mesh)
    require_fitting(plan, mesh, snapshot)
    run = ReadRun(fields, mesh.geometry if plan.is_moving else None)
    if plan.is_resampled:
        run = brought(plan, case, mesh, fields)
    return replace(run, fields=np.asarray(run.fields, plan.dtype))


def brought(plan: Plan, case: int, mesh: RunMesh, fields: Fields) -> ReadRun:
    """A run on the mesh of the reference, with some of its values on its own mesh."""
    location = plan.selection.location
    source, target = (ValuePlaces(one.geometry, one.flat.topology, location) for one in (mesh, plan.mesh))
    n_values = fields.shape[1]
    rng = np.random.default_rng(case)
    chosen = rng.choice(n_values, plan.own_points, replace=n_values < plan.own_points)
    own = OwnValues(fields[:, chosen], mesh.geometry.points[chosen]) if plan.own_points else None
    if mesh is plan.mesh:
        exact = Resampled(fields, np.ones(n_values, bool), np.zeros(fields.shape))
        return ReadRun(fields, own=own, lost=exact)
    if mesh.flat.axes != plan.mesh.flat.axes:
        raise SureflowError(
            f"{plan.files[case]} has the axes {', '.join(mesh.flat.axes)}, but the reference has "
            f"{', '.join(plan.mesh.flat.axes)}: leave it out"
        )
    found = resample(np.asarray(fields, float), source, target, plan.settings.interpolation)
    if not found.inside.any():
        raise SureflowError(
            f"no point of the reference lies inside the mesh of {plan.files[case]}: their units may differ"
        )
    return ReadRun(found.fields, own=own, lost=found)


@dataclass
class Losses:
    """The resampling error of several runs: its mean square, and how often a point lay inside."""

    squares: np.ndarray | float = 0.0
    inside: np.ndarray | float = 0.0
    runs: int = 0

    @classmethod
    def kept(cls, store: RunStore) -> "Losses":
        """Those of the runs that a store has already."""
        there = store.read_resampling()
        return cls() if there is None else cls(len(store) * there.std**2, len(store) * there.coverage, len(store))

    def add(self, lost: Resampled) -> None:
        self.squares, self.inside, self.runs = self.squares + lost.std**2, self.inside + lost.inside, self.runs + 1

    def resampling(self) -> Resampling | None:
        if not self.runs:
            return None
        return Resampling(np.sqrt(np.asarray(self.squares) / self.runs), np.asarray(self.inside, float) / self.runs)


def require_fitting(plan: Plan, mesh: RunMesh, snapshot: Snapshot) -> None:
    if not plan.is_resampled:
        require_same_cells(plan.mesh, mesh, snapshot.path, plan.first.path)
    if not plan.is_resampled and not plan.is_moving and mesh is not plan.mesh:
        raise SureflowError(
            f"the nodes of {snapshot.path} are not those of {plan.first.path}: import them as a moving mesh (mesh=moving)"
        )
    for array, unit in snapshot.units.items():
        expected = plan.first.units.get(array)
        if array in plan.selection.wanted_arrays and expected is not None and unit != expected:
            raise SureflowError(
                f"{snapshot.path}: {array} is in {unit or 'no unit'}, but in {expected or 'no unit'} in {plan.first.path}: "
                "convert one of them"
            )


def read_into_memory(plan: Plan, *, skip_bad: bool, progress: Progress) -> Runs:
    """All runs of a plan, in memory."""
    read: dict[int, ReadRun] = {}
    magnitudes = Magnitudes(plan)
    for case, run in each_run(plan, range(len(plan.files)), [plan.first]):
        progress(len(read), len(plan.files), plan.files[case].name)
        if isinstance(run, ReadRun):
            read[case] = run
            magnitudes.add(case, run.fields, run.geometry)
        elif not skip_bad:
            raise run
    for remark in magnitudes.remarks():
        warnings.warn(remark, stacklevel=3)
    cases, found = list(read), list(read.values())
    if not found:
        raise SureflowError(f"none of the {len(plan.files)} files could be imported")

    def geometry_of(case: int) -> Geometry:
        return found[case].geometry or plan.mesh.geometry

    losses = Losses()
    for run in found:
        if run.lost is not None:
            losses.add(run.lost)
    runs = Runs(
        plan.header,
        plan.parameters[cases],
        ArrayFields(np.stack([run.fields for run in found])),
        plan.mesh.flat.topology,
        None if plan.is_moving else plan.mesh.geometry,
        geometry_of if plan.is_moving else None,
        left_out={} if len(cases) == len(plan.files) else {"unreadable": len(plan.files) - len(cases)},
        resampling=losses.resampling(),
        own=own_runs(plan, plan.parameters[cases], [run.own for run in found if run.own is not None]),
    )
    runs.require_mesh()
    return runs


def own_runs(plan: Plan, parameters: np.ndarray, own: Sequence[OwnValues]) -> Runs | None:
    """The runs at points of their own meshes."""
    if not own:
        return None
    header = replace(plan.header, location="points")
    fields = ArrayFields(np.stack([values.fields for values in own]))
    return Runs(header, parameters, fields, Topology(), None, lambda case: Geometry(own[case].points))


def read_runs(
    source: str | Path | Sequence[str | Path],
    *,
    skip_bad: bool = False,
    progress: Progress = unwatched,
    **options: Any,
) -> Runs:
    """Runs of your own from files of a CFD program: a folder, a pattern such as "cases/*.vtu", or a list of files.

    The options are those of `sureflow import`: `table`, `pattern` or `entries` for the parameters, and `fields`, `units`,
    `time`, `blocks`, `location`, `mesh`. A file that cannot be read is an error, or left out with `skip_bad`. The runs are
    held in memory; `sureflow import` writes them to a store one by one.
    """
    plan = plan_import(validated(ImportSettings, {"source": source, **options}), skip_bad=skip_bad)
    return read_into_memory(plan, skip_bad=skip_bad, progress=progress)


def import_runs(
    settings: ImportSettings,
    output: str | Path,
    *,
    overwrite: bool = False,
    append: bool = False,
    skip_bad: bool = False,
    progress: Progress = unwatched,
) -> Imported:
    """Import into a store, with a TOML file beside it that repeats the import.

    Runs are written one by one beside the store's place, and the store takes its place whole. What an interrupted import
    left is continued by the same one. With `append`, runs at conditions that the store lacks are added to it.
    """
    output = Path(output)
    refuse_nameless(output)
    if append:
        return append_runs(settings, output, skip_bad=skip_bad, progress=progress)
    if output.exists():
        if not overwrite:
            raise Exists(f"{output} exists already: choose another path, or ask for it to be overwritten")
        read_marks(output)
    plan = plan_import(settings, skip_bad=skip_bad)
    opened = [plan.first]
    plan = replace(plan, first=plan.first.without_arrays())
    making = output.with_name(f".{output.name}.importing")
    store = continued(making, plan) or created(making, plan)
    imported = write_each(store, plan, output, opened, skip_bad=skip_bad, progress=progress)
    with explain_writing(output):
        put_in_place(making, output, overwrite=overwrite)
        write_atomically(recipe_beside(output), to_toml(plan.settings).encode())
    return imported


def recipe_beside(output: Path) -> Path:
    return output.with_name(f"{output.stem}.import.toml")


def append_runs(settings: ImportSettings, output: Path, *, skip_bad: bool, progress: Progress) -> Imported:
    """Add the runs at conditions that a store lacks: all of them, or none if something interrupts."""
    there = open_runs(output)
    plan = plan_import(settings, skip_bad=skip_bad)
    missing = [case for case in range(len(plan.files)) if not is_there(plan, case, there.parameters)]
    if not missing:
        return Imported(output, 0, len(plan.files))
    chosen = replace(
        plan,
        files=tuple(plan.files[case] for case in missing),
        columns={name: values[missing] for name, values in plan.columns.items()},
    )
    imported = Imported(output, 0, len(plan.files) - len(missing))
    added = read_into_memory(chosen, skip_bad=skip_bad, progress=progress)
    difference = disagreement(there, added)
    if difference:
        raise SureflowError(f"the runs (there) do not match those of {output} (here): {difference}")

    add_runs(output, added)
    return replace(imported, runs=len(added))


def is_there(plan: Plan, case: int, parameters: np.ndarray) -> bool:
    return bool(len(parameters)) and bool((parameters == plan.parameters[case]).all(axis=1).any())


def fingerprint_of_plan(plan: Plan) -> str:
    """Equal for the same settings and files: what a half-finished import must match to be continued."""
    files = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in plan.files]
    content = json.dumps([plain(plan.settings), files, plan.parameters.tolist(), str(plan.dtype)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def created(making: Path, plan: Plan) -> RunStore:
    """A store without runs."""
    with explain_writing(making):
        if making.exists():
            shutil.rmtree(making)
    contents = Contents(
        header=plan.header,
        parameters=np.empty((0, len(plan.columns))),
        topology=plan.mesh.flat.topology,
        geometry=plan.mesh.geometry,
        is_moving=plan.is_moving,
        versions={"import": fingerprint_of_plan(plan)},
        dtype=plan.dtype,
        own_points=plan.own_points,
    )
    return RunStore.create(making, contents)


def continued(making: Path, plan: Plan) -> RunStore | None:
    """What an interrupted import of the same files left, if anything."""
    try:
        store = RunStore.open(making, writable=True)
        return store if store.attributes["versions"].get("import") == fingerprint_of_plan(plan) else None
    except SureflowError:
        return None


def keep(store: RunStore, parameters: np.ndarray, run: RunValues, resampling: Resampling | None) -> None:
    if resampling is not None:
        store.keep_resampling(resampling)
    store.add(parameters, [run])


def write_each(
    store: RunStore, plan: Plan, output: Path, opened: list[Snapshot], *, skip_bad: bool, progress: Progress
) -> Imported:
    """Read run after run, while the one before is written."""
    there = store.parameters() if len(store) else np.empty((0, len(plan.columns)))
    cases = [case for case in range(len(plan.files)) if not is_there(plan, case, there)]
    found = len(plan.files) - len(cases)
    imported = Imported(output, found, found)
    with ThreadPoolExecutor(1) as writer:
        writing: Future | None = None
        losses, magnitudes = Losses.kept(store), Magnitudes(plan)
        for case, run in each_run(plan, cases, opened):
            if isinstance(run, ReadRun):
                if writing is not None:
                    writing.result()
                if run.lost is not None:
                    losses.add(run.lost)
                magnitudes.add(case, run.fields, run.geometry)
                values = RunValues(run.fields, {}, run.geometry, run.own)
                writing = writer.submit(keep, store, plan.parameters[[case]], values, losses.resampling())
                imported.runs += 1
            elif skip_bad:
                imported.bad.append(str(run))
            else:
                raise run
            progress(imported.runs + len(imported.bad), len(plan.files), plan.files[case].name)
        if writing is not None:
            writing.result()
    if not imported.runs:
        raise SureflowError(f"none of the {len(plan.files)} files could be imported; the first: {imported.bad[0]}")
    imported.remarks += magnitudes.remarks()
    return imported
