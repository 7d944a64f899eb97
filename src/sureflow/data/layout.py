"""The arrays of a store of schema version 2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from jaxtyping import Float
from numpy.typing import DTypeLike
from zarr.codecs import Crc32cCodec, ZstdCodec

from sureflow.data.checksums import CHECKSUMS, COLUMNS, SHARED, checksum
from sureflow.data.header import Header
from sureflow.data.meshes import Geometry, Points, Topology, patch_arrays
from sureflow.data.schema import SCHEMA, SCHEMA_VERSION, Status
from sureflow.validation import plain

CELLS = ("connectivity", "offsets", "types")
BODY_FITTED_ARRAY = "body_fitted"
COARSER = "coarser"  # the store, in the store, of runs on a mesh of merged cells
PATCH = "patch."  # what the names of arrays of patches begin with


def level_path(store: Path, level: int) -> Path:
    """The store of a level: that of the next coarser mesh lies in the store."""
    return store.joinpath(*[COARSER] * level)


def beside(store: Path) -> Path:
    """What files beside a store are named after: of runs.zarr/coarser, runs.coarser.zarr, since Zarr has the inside."""
    levels = 0
    while store.name == COARSER and (store.parent / "zarr.json").exists():
        store, levels = store.parent, levels + 1
    return store.with_name(store.name.removesuffix(".zarr") + f".{COARSER}" * levels + ".zarr") if levels else store


@dataclass(frozen=True)
class Contents:
    """All of a store that is settled before its first run. With `is_moving`, every run brings a geometry like this one."""

    header: Header
    parameters: Float[np.ndarray, "case parameter"]
    topology: Topology
    geometry: Geometry
    is_moving: bool = False
    described: Mapping[str, Points] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    dtype: DTypeLike = "float64"
    own_points: int = 0  # points of its own mesh that every run brings besides


def create_array(
    group: zarr.Group, name: str, dims: Sequence[str], shape: Sequence[int], dtype: DTypeLike, **attributes: Any
) -> zarr.Array:
    """An array of fill values; what has a case has one chunk for each."""
    kind = np.dtype(dtype)
    return group.create_array(
        name,
        shape=tuple(shape),
        chunks=(1, *shape[1:]) if dims[0] == "case" else tuple(shape),
        dtype=kind,
        # NaN and -1 tell what is missing from what was written.
        fill_value=np.nan if kind.kind == "f" else 0 if name == "status" else -1,
        dimension_names=tuple(dims),
        compressors=[ZstdCodec(level=3), Crc32cCodec()],
        attributes=attributes,
    )


def create_status(group: zarr.Group, cases: int) -> zarr.Array:
    """Cases that are all to do."""
    meaning = {str(int(status)): status.words for status in Status}
    return create_array(group, "status", ("case",), (cases,), "int8", meaning=meaning)


def write_contents(path: Path, contents: Contents) -> None:
    """A store whose cases are all to do."""
    header, geometry = contents.header, contents.geometry
    cases, n_points = len(contents.parameters), len(geometry.points)
    group = zarr.create_group(path, zarr_format=3, attributes=group_attributes(contents))

    def array(name: str, dims: Sequence[str], shape: Sequence[int], dtype: DTypeLike = "float64", **attributes: Any):
        return create_array(group, name, dims, shape, dtype, **attributes)

    def shared(name: str, dims: Sequence[str], values: np.ndarray, **attributes: Any) -> None:
        """What all cases share, with its checksum."""
        attributes |= {SHARED: checksum(values)}
        array(name, dims, values.shape, values.dtype, **attributes)[...] = values

    def named(items: Sequence[Any]) -> dict[str, list[str]]:
        return {"names": [item.name for item in items], "units": [item.unit for item in items]}

    parameters = named(header.parameters)
    array("parameters", ("case", "parameter"), contents.parameters.shape, **parameters)[:] = contents.parameters
    for name, values in (("points", geometry.points), ("nodes", geometry.nodes)):
        if values is None:
            continue
        dims = ("point" if name == "points" else "node", "axis")
        if contents.is_moving:
            array(name, ("case", *dims), (cases, *values.shape), names=list(header.axes))
        else:
            shared(name, dims, np.asarray(values, float), names=list(header.axes))
    if contents.topology.cells is not None:
        for name in CELLS:
            values = getattr(contents.topology.cells, name)
            shared(name, ("corner" if name == "connectivity" else name,), values)
    for name, values in patch_arrays(contents.topology.patches).items():
        shared(f"{PATCH}{name}", (f"{PATCH}{name}",), values)
    for points in contents.described.values():
        shared(BODY_FITTED_ARRAY, ("point", "coordinate"), np.asarray(points, float))
    fields = named(header.fields)
    array("fields", ("case", "variable", "point"), (cases, len(header.fields), n_points), contents.dtype, **fields)
    if contents.own_points:
        array("own_points", ("case", "sample", "axis"), (cases, contents.own_points, len(header.axes)))
        shape = (cases, len(header.fields), contents.own_points)
        array("own_fields", ("case", "variable", "sample"), shape, contents.dtype)
    if header.numbers:
        array("numbers", ("case", "number"), (cases, len(header.numbers)), **named(header.numbers))
    array(CHECKSUMS, ("case", "checksum"), (cases, len(COLUMNS)), "int64", names=list(COLUMNS))
    create_status(group, cases)


def group_attributes(contents: Contents) -> dict[str, Any]:
    topology = contents.topology
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "header": plain(contents.header),
        "topology": {"kind": topology.kind, "shape": None if topology.shape is None else list(topology.shape)},
        "versions": dict(contents.versions),
        CHECKSUMS: True,
    }
