"""Cases of OpenFOAM, serial or decomposed, through the optional foamlib: in double precision, with units and patches."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.meshes import Cells, Patch, Topology
from sureflow.errors import SureflowError
from sureflow.importers.foam_mesh import FoamMesh, cells_of_faces, existing, read_mesh
from sureflow.importers.reading import IMPORTERS, OPENFOAM
from sureflow.importers.snapshot import LAST, Block, Snapshot, SnapshotReader, Wanted

CLASS = re.compile(rb"class\s+(\w+)\s*;")
FIELDS = (b"volScalarField", b"volVectorField", b"volSymmTensorField", b"volTensorField")
VIRTUAL = ("empty", "wedge", "processor", "cyclic", "cyclicAMI", "processorCyclic", "symmetryPlane", "symmetry")
# Units with a name, by the exponents of mass, length, time, temperature, amount, current and luminous intensity.
UNITS: dict[tuple[int, ...], str] = {
    (1, -1, -2, 0, 0, 0, 0): "Pa",
    (0, 0, 0, 1, 0, 0, 0): "K",
    (1, 2, -2, 0, 0, 0, 0): "J",
    (1, 1, -2, 0, 0, 0, 0): "N",
    (1, 2, -3, 0, 0, 0, 0): "W",
    (1, 0, -3, 0, 0, 0, 0): "W/m2",
}
BASE = ("kg", "m", "s", "K", "mol", "A", "cd")


def require_foamlib(path: Path) -> None:
    try:
        import foamlib  # noqa: F401
    except ImportError as error:
        raise SureflowError(
            f"{path} needs foamlib to be read, which is not installed: pip install 'sureflow[cfd]' (in a clone, -e '.[cfd]')"
        ) from error


def read_case(path: Path, wanted: Wanted) -> Snapshot:
    """One time of a case; `path` is its folder, or an (often empty) file such as case.foam in it."""
    require_foamlib(path)
    case = path if path.is_dir() else path.parent
    time, times, is_decomposed = choose_time_folder(case, wanted)
    parts = processors(case) if is_decomposed else [case]
    if is_decomposed and not existing(case / "constant/polyMesh/points"):
        blocks = [part_of(part, time, wanted)[0] for part in parts]
        return Snapshot(path, tuple(blocks), (), units_of(parts[0] / time), time=float(time), times=times)
    block, patches = part_of(case, time, wanted, parts)
    found = Snapshot(path, (block,), tuple(patches), units_of(parts[0] / time), {}, time=float(time), times=times)
    return replace(found, boundary=boundary_of(case, time))


IMPORTERS.register(OPENFOAM, SnapshotReader(read_case))


def processors(case: Path) -> list[Path]:
    found = [path for path in case.glob("processor*") if path.name[9:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[9:]))


def time_folders(case: Path) -> dict[float, str]:
    """Folders whose names are numbers, with a field in them."""
    found = {}
    for folder in case.iterdir():
        if folder.is_dir() and re.fullmatch(r"[0-9.]+(?:[eE][-+]?[0-9]+)?", folder.name) and any(field_files(folder)):
            found[float(folder.name)] = folder.name
    return dict(sorted(found.items()))


def choose_time_folder(case: Path, wanted: Wanted) -> tuple[str, tuple[float, ...], bool]:
    """The folder of the wanted time, all times, and whether it is to be read from the parts of a decomposed case."""
    whole, parts = time_folders(case), [time_folders(part) for part in processors(case)]
    common = {time: name for time, name in parts[0].items() if all(time in part for part in parts)} if parts else {}
    times = tuple(sorted({*whole, *common}))
    if wanted.time != LAST:
        time = next((one for one in times if abs(one - float(wanted.time)) <= 1e-6 * abs(one)), None)
        if time is None:
            raise SureflowError(
                f"{case} has no time {wanted.time}: its times are {', '.join(f'{one:g}' for one in times) or 'none'}"
            )
        return (whole[time], times, False) if time in whole else (common[time], times, True)
    for part, folder in zip(parts, processors(case), strict=True):
        if parts and max(part, default=0) != max(parts[0], default=0):
            raise SureflowError(
                f"{case} is decomposed, and {folder.name} ends at {max(part, default=0):g} while processor0 ends at "
                f"{max(parts[0], default=0):g}: complete it, or choose a time that all have"
            )
    if whole and common and 0 < max(whole) < max(common):
        raise SureflowError(
            f"{case} is reconstructed up to {max(whole):g} and decomposed up to {max(common):g}: reconstruct it, or choose "
            "one of these times"
        )
    latest = max(times, default=0.0)
    if latest == 0.0:
        raise SureflowError(f"{case} has no computed time, only its start: run it first, or choose time 0")
    return (whole[latest], times, False) if latest in whole else (common[latest], times, True)


def field_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The fields on cells in the folder of a time, by name."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            kind = CLASS.search(opening(path))
            if kind and kind[1] in FIELDS:
                yield path.name.removesuffix(".gz"), path


def opening(path: Path) -> bytes:
    import gzip

    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return file.read(2000)


def units_of(folder: Path) -> dict[str, str]:
    """The units of all fields from their dimensions."""
    from foamlib import FoamFieldFile

    return {name: unit_of(FoamFieldFile(path).dimensions) for name, path in field_files(folder)}


def unit_of(dimensions: Any) -> str:
    """Such as Pa; kg/m3 and m2/s2, the unit of a pressure over density, are spelled out."""
    exponents = tuple(float(one) for one in dimensions)
    named = UNITS.get(tuple(int(one) for one in exponents))
    if named is not None and all(one == int(one) for one in exponents):
        return named
    pairs = [(unit, exponent) for unit, exponent in zip(BASE, exponents, strict=True) if exponent]
    above = " ".join(f"{unit}{power(exponent)}" for unit, exponent in pairs if exponent > 0)
    below = "".join(f"/{unit}{power(-exponent)}" for unit, exponent in pairs if exponent < 0)
    return f"{above or '1'}{below}"


def power(exponent: float) -> str:
    return "" if exponent == 1 else f"{exponent:g}"


def part_of(case: Path, time: str, wanted: Wanted, parts: list[Path] | None = None) -> tuple[Block, list[Block]]:
    """The flow and the patches of a case, whose fields may lie in parts."""
    folder = case / "constant/polyMesh"
    moved = latest_points(case, float(time))
    mesh, cells = cached_mesh(folder, moved, stamp(folder, moved))
    parts = parts or [case]
    if parts == [case]:
        arrays, boundary = read_fields(case / time, mesh, wanted)
    else:
        arrays, boundary = joined_fields(parts, time, mesh, wanted), {}
    block = Block("internalMesh", mesh.points, Topology(cells=cells), on_cells=arrays)
    return block, [
        patch_block(mesh, name, arrays, boundary)
        for name, (kind, _, count) in mesh.patches.items()
        if count and kind not in VIRTUAL
    ]


def boundary_of(case: Path, time: str) -> dict[str, Patch]:
    """The patches as faces between nodes of the whole mesh, with the cells behind them."""
    folder, moved = case / "constant/polyMesh", latest_points(case, float(time))
    mesh, _ = cached_mesh(folder, moved, stamp(folder, moved))
    found = {}
    for name, (kind, first, count) in mesh.patches.items():
        if count and kind not in VIRTUAL:
            offsets = mesh.offsets[first : first + count + 1]
            corners, sizes = mesh.corners[offsets[0] : offsets[-1]], np.diff(offsets)
            types = np.select([sizes == 3, sizes == 4], [5, 9], 7).astype(np.int64)
            found[name] = Patch(Cells(corners, offsets - offsets[0], types), mesh.owner[first : first + count])
    return found


def latest_points(case: Path, time: float) -> Path | None:
    """The points of a mesh that moves, at the latest time that has any."""
    times = {number: name for number, name in time_folders(case).items() if number <= time * (1 + 1e-9)}
    folders = [case / name / "polyMesh" for name in times.values()]
    for folder in reversed(folders):
        if existing(folder / "faces"):
            raise SureflowError(f"{folder} changes the cells of the mesh: import the case as VTK files (foamToVTK)")
        if existing(folder / "points"):
            return folder / "points"
    return None


def stamp(folder: Path, moved: Path | None) -> tuple:
    files = [existing(folder / name) for name in ("points", "faces", "owner")] + [existing(moved) if moved else None]
    return tuple((file.stat().st_size, file.stat().st_mtime_ns) for file in files if file is not None)


@lru_cache(maxsize=2)
def cached_mesh(folder: Path, moved: Path | None, stamp: tuple) -> tuple[FoamMesh, Cells]:
    """The mesh of a case, which several readings share."""
    mesh = read_mesh(folder, moved)
    return mesh, cells_of_faces(mesh)


def read_fields(
    folder: Path, mesh: FoamMesh, wanted: Wanted
) -> tuple[dict[str, np.ndarray], dict[str, Mapping[str, Any]]]:
    """Values in cells, and what the boundary has, of the wanted fields."""
    from foamlib import FoamFieldFile

    arrays, boundary = {}, {}
    for name, path in field_files(folder):
        if wanted.array(name):
            file = FoamFieldFile(path)
            arrays[name] = spread(file.internal_field, mesh.n_cells, path)
            boundary[name] = {str(key): value for key, value in file.boundary_field.items()}
    return arrays, boundary


def spread(values: Any, count: int, path: Path) -> np.ndarray:
    """A uniform value repeated; a list as it is."""
    array = np.asarray(values, float)
    if array.ndim == 0 or (array.ndim == 1 and array.size in (3, 6, 9) and array.size != count):
        return np.broadcast_to(array, (count, *array.shape)).copy()
    if len(array) != count:
        raise SureflowError(f"{path} has {len(array)} values, but the mesh has {count} cells: the case is not complete")
    return array


def joined_fields(parts: list[Path], time: str, mesh: FoamMesh, wanted: Wanted) -> dict[str, np.ndarray]:
    """The fields of a decomposed case in the order of the whole mesh."""
    from foamlib import FoamFile

    joined: dict[str, np.ndarray] = {}
    for part in parts:
        address = existing(part / "constant/polyMesh/cellProcAddressing")
        if address is None:
            raise SureflowError(f"{part} has no cellProcAddressing: reconstruct the case (reconstructPar) first")
        cells = np.asarray(FoamFile(address)[None], np.int64)  # type: ignore[index]
        for name, path in field_files(part / time):
            if wanted.array(name):
                values = read_internal(path, len(cells))
                whole = joined.setdefault(name, np.full((mesh.n_cells, *values.shape[1:]), np.nan))
                whole[cells] = values
    return joined


def read_internal(path: Path, count: int) -> np.ndarray:
    from foamlib import FoamFieldFile

    return spread(FoamFieldFile(path).internal_field, count, path)


def patch_block(mesh: FoamMesh, name: str, arrays: Mapping[str, np.ndarray], boundary: Mapping[str, Mapping]) -> Block:
    """A patch as a surface: the values that the boundary condition has, or those of the cells behind the faces."""
    _, first, count = mesh.patches[name]
    corners = mesh.corners[mesh.offsets[first] : mesh.offsets[first + count]]
    nodes, numbers = np.unique(corners, return_inverse=True)
    offsets = mesh.offsets[first : first + count + 1] - mesh.offsets[first]
    sizes = np.diff(offsets)
    types = np.select([sizes == 3, sizes == 4], [5, 9], 7).astype(np.int64)
    owners = mesh.owner[first : first + count]
    values = {key: boundary_values(boundary.get(key, {}).get(name, {}), array[owners]) for key, array in arrays.items()}
    return Block(name, mesh.points[nodes], Topology(cells=Cells(numbers.astype(np.int64), offsets, types)), values)


def boundary_values(entry: Any, behind: np.ndarray) -> np.ndarray:
    value = entry.get("value") if hasattr(entry, "get") else None
    if value is None or isinstance(value, str):
        return behind
    array = np.asarray(value, float)
    return array if array.shape == behind.shape else np.broadcast_to(array, behind.shape).copy()
