"""Runs in a NumPy archive (.npz), whose arrays are named after the arguments of `Runs.from_arrays`.

    parameters.<name>   (case)
    fields.<name>       (case, point)
    coordinates         (point, axis), or (case, point, axis) where the points move from run to run
    numbers.<name>      (case), units.<name>: text
    nodes, shape        of a structured mesh; nodes, connectivity, offsets and types of an unstructured one, as in VTK
    axes, location      text

Only the first three are needed. `np.savez("runs.npz", **{"parameters.mach": mach, "fields.p": p, "coordinates": points})`
writes such a file.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.meshes import Cells
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.importers.point_tables import read_npz_points
from sureflow.importers.reading import IMPORTERS
from sureflow.importers.snapshot import SnapshotReader

GROUPS = ("parameters", "fields", "numbers", "units")
SINGLE = ("coordinates", "nodes", "shape", "axes", "location")
CELLS = ("connectivity", "offsets", "types")


def read_npz(path: Path, **options: Any) -> Runs:
    """The runs of an archive, in memory. `options` are further arguments of `Runs.from_arrays`, such as `free_stream`."""
    arrays = _arrays(path)
    groups: dict[str, Any] = {"parameters": {}, "fields": {}}
    for name, values in arrays.items():
        group, dot, rest = name.partition(".")
        if dot and group in GROUPS:
            groups.setdefault(group, {})[rest] = str(values) if group == "units" else values
        elif name in SINGLE:
            groups[name] = (
                str(values) if name == "location" else values.tolist() if name in ("shape", "axes") else values
            )
        elif name not in CELLS:
            known = ", ".join((*(f"{group}.<name>" for group in GROUPS), *SINGLE, *CELLS))
            raise SureflowError(f"{path}: the array {name!r} is not one of {known}: rename it or leave it out")
    for needed in ("parameters", "fields", "coordinates"):
        if not len(groups.get(needed, ())):
            example = needed if needed == "coordinates" else f"{needed}.<name>"
            raise SureflowError(f"{path} has no array {example}: it has {', '.join(arrays) or 'none'}")
    try:
        return Runs.from_arrays(**{**groups, **_cells(arrays), **options})
    except SureflowError as error:
        raise SureflowError(f"{path}: {error}") from None


IMPORTERS.register(".npz", SnapshotReader(read_npz_points, runs=read_npz))


def _cells(arrays: Mapping[str, np.ndarray]) -> dict[str, Cells]:
    if not any(name in arrays for name in CELLS):
        return {}
    missing = next((name for name in CELLS if name not in arrays), None)
    if missing:
        raise SureflowError(f"unstructured cells need {', '.join(CELLS)}: {missing} is missing")
    return {"cells": Cells(*(np.asarray(arrays[name], int) for name in CELLS))}


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays; objects, which could execute code, are refused."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise SureflowError(f"{path} does not exist: give the path of a file or store of runs") from None
    except OSError as error:
        raise SureflowError(f"{path} cannot be read ({error.strerror or error})") from None
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".") or "it is damaged"
        raise SureflowError(f"{path} is not a NumPy archive of numbers ({reason})") from None
