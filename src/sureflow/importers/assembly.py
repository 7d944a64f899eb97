"""From a file's blocks and arrays to the mesh and fields of a run: the same selection from every file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sureflow.data.measures import vtk_cells
from sureflow.data.meshes import Cells, Geometry, Nodes, Patch, Topology
from sureflow.errors import SureflowError
from sureflow.importers.flatten import Flat, flat_patch, flatten
from sureflow.importers.import_settings import ImportSettings
from sureflow.importers.naming import Choice, chosen_fields, guess_fields, looks_dimensionless
from sureflow.importers.snapshot import Block, Snapshot, Wanted

Fields = Float[np.ndarray, "variable point"]
POLYHEDRON, CONVEX = 42, 41  # VTK's; a convex set of points needs no list of faces


@dataclass(frozen=True)
class RunMesh:
    """The mesh of one file: as it is there, and as it is for the runs."""

    nodes: Nodes
    topology: Topology
    flat: Flat
    geometry: Geometry

    def fits(self, block: Block) -> bool:
        """Whether a block has this very mesh."""
        return self.nodes.shape == block.nodes.shape and self.is_near(block.nodes) and self.topology == block.topology

    def is_near(self, nodes: Nodes) -> bool:
        """Whether nodes are the same up to the digits that files of text have."""
        if np.array_equal(self.nodes, nodes):
            return True
        return bool(np.abs(self.nodes - nodes).max() <= 1e-9 * np.ptp(self.nodes, axis=0).max())


@dataclass(frozen=True)
class Taken:
    """What is taken from every file."""

    choices: tuple[Choice, ...]
    location: str
    blocks: tuple[str, ...] | None
    flat: bool
    left_out: tuple[str, ...] = ()

    @property
    def wanted_arrays(self) -> frozenset[str]:
        return frozenset(choice.array for choice in self.choices)

    def wanted(self, settings: ImportSettings) -> Wanted:
        return Wanted(settings.time, self.wanted_arrays, self.blocks)


def select(snapshot: Snapshot, settings: ImportSettings) -> Taken:
    """What to take from files like this one: fields as the user names them, or as they are guessed."""
    blocks = snapshot.named(settings.blocks)
    found = {location: common_arrays(blocks, location) for location in ("cells", "points")}
    everything = found["points"] | found["cells"]
    if not everything:
        raise SureflowError(f"{snapshot.path} has a mesh but no arrays on it: leave it out, or write its fields")
    if settings.fields:
        choices, missing = chosen_fields(settings.fields, everything, snapshot.units)
        if missing:
            raise SureflowError(f"{snapshot.path} has no array {missing!r}: its arrays are {', '.join(everything)}")
        left_out = [name for name in everything if name not in {choice.array for choice in choices}]
    else:
        choices, left_out = guess_fields(everything, snapshot.units)
    location = settings.location
    if all(block.topology.kind == "points" for block in blocks):
        location = "points"
    elif location == "auto":
        location = natural_location(found, choices)
    flat = flatten_block(merged(blocks), settings.flat)
    choices = [choice for choice in choices if is_kept(choice, choices, flat, snapshot, settings)]
    selection = Taken(tuple(choices), location, settings.blocks, settings.flat, tuple(left_out))
    return with_units(selection, snapshot, settings)


def natural_location(found: Mapping[str, Mapping[str, int]], choices: Sequence[Choice]) -> str:
    """Where all fields are. Where some are on cells and others on points it is the cells: averages over the corners of a
    cell stay inside of it, and averages over the cells around a point would smear shocks.
    """
    on_cells, on_points = (
        all(choice.array in found[location] for choice in choices) for location in ("cells", "points")
    )
    return "points" if on_points and not on_cells else "cells"


def is_kept(
    choice: Choice, choices: Sequence[Choice], flat: Flat, snapshot: Snapshot, settings: ImportSettings
) -> bool:
    """Whether a component is kept: that of a vector across the plane of a flat mesh is, only if it is not zero."""
    vector = [other for other in choices if other.array == choice.array]
    if choice.component is None or len(vector) != 3 or choice.component in flat.kept or not flat.words:
        return True
    values = [array for block in snapshot.named(settings.blocks) for array in arrays_named(block, choice.array)]
    across = max(float(np.abs(array[:, choice.component]).max(initial=0.0)) for array in values)
    return across > 1e-9 * max(float(np.abs(array).max(initial=0.0)) for array in values)


def with_units(selection: Taken, snapshot: Snapshot, settings: ImportSettings) -> Taken:
    """Units as the user gives them; guessed ones are dropped where the numbers contradict them."""
    blocks = snapshot.named(settings.blocks)
    middle = {choice.name: values_of(blocks, choice, selection.location, snapshot) for choice in selection.choices}
    bare = looks_dimensionless(middle)
    choices = []
    for choice in selection.choices:
        if choice.name in settings.units:
            choice = replace(choice, unit=settings.units[choice.name], guessed=False)
        elif choice.guessed and bare:
            choice = replace(choice, unit="")
        choices.append(choice)
    return replace(selection, choices=tuple(choices))


def assemble(snapshot: Snapshot, selection: Taken, known: RunMesh | None = None) -> tuple[RunMesh, Fields]:
    """Mesh and fields of a run. A mesh that equals a `known` one is that one."""
    blocks = snapshot.named(selection.blocks)
    block = merged(blocks)
    mesh = known if known is not None and known.fits(block) else mesh_of_block(block, selection, snapshot.boundary)
    rows = [values_of(blocks, choice, selection.location, snapshot) for choice in selection.choices]
    if selection.location == "points":
        rows = [row[mesh.flat.chosen] for row in rows]
    for choice, row in zip(selection.choices, rows, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            is_well = np.isfinite(row.sum(dtype=float))  # one pass, mostly
        bad = 0 if is_well else int((~np.isfinite(row)).sum())
        if bad:
            raise SureflowError(
                f"{snapshot.path}: {choice.source} has {bad} values that are not finite numbers (of {row.size}): compute the "
                "run again, or leave it out"
            )
    return mesh, np.stack(rows)


def mesh_of_block(block: Block, selection: Taken, boundary: Mapping[str, Patch] | None = None) -> RunMesh:
    flat = flatten_block(block, selection.flat)
    if boundary and selection.blocks is None:
        patches = {name: flat_patch(patch, flat, len(block.nodes)) for name, patch in boundary.items()}
        kept = {name: patch for name, patch in patches.items() if patch is not None}
        flat = replace(flat, topology=replace(flat.topology, patches=kept))
    on_nodes = selection.location == "points" or flat.topology.kind == "points"
    points = flat.nodes if on_nodes else centers(flat.nodes, flat.topology)
    nodes = None if flat.topology.kind == "points" else flat.nodes
    return RunMesh(block.nodes, block.topology, flat, Geometry(points, nodes))


def flatten_block(block: Block, wanted: bool) -> Flat:
    if wanted:
        return flatten(block.nodes, block.topology)
    return Flat(
        block.nodes,
        block.topology,
        (0, 1, 2)[: block.nodes.shape[1]],
        ("x", "y", "z")[: block.nodes.shape[1]],
        slice(None),
        "",
    )


def common_arrays(blocks: Iterable[Block], location: str) -> dict[str, int]:
    """The arrays that all blocks have, with their numbers of components."""
    widths = [
        {name: 1 if array.ndim == 1 else array.shape[1] for name, array in block.arrays(location).items()}
        for block in blocks
    ]
    first, *others = widths
    return {name: width for name, width in first.items() if all(other.get(name) == width for other in others)}


def arrays_named(block: Block, name: str) -> list[np.ndarray]:
    return [arrays[name] for arrays in (block.on_cells, block.on_nodes) if name in arrays]


def values_of(blocks: Sequence[Block], choice: Choice, location: str, snapshot: Snapshot) -> np.ndarray:
    """The values of a field over all blocks, brought to the location of the others where they are not there."""
    parts = []
    for block in blocks:
        array = block.arrays(location).get(choice.array)
        if array is None:
            array = moved_array(block, choice.array, location)
        if array is None:
            known = sorted({*block.on_cells, *block.on_nodes})
            raise SureflowError(
                f"{snapshot.path} has no array {choice.array!r}, which other runs have: its arrays are "
                f"{', '.join(known) or 'none'}"
            )
        component = choice.component
        if component is not None and (array.ndim != 2 or component >= array.shape[1]):
            raise SureflowError(f"{snapshot.path}: {choice.array} has no component {component}")
        parts.append(array if component is None else array[:, component])
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return values if values.dtype in (np.float32, np.float64) else values.astype(float)


def moved_array(block: Block, name: str, location: str) -> np.ndarray | None:
    """An array from nodes to cells, or from cells to nodes, by averages over corners; None if there is none."""
    other = block.on_nodes if location == "cells" else block.on_cells
    if name not in other or block.topology.kind == "points":
        return None
    cells, values = vtk_cells(block.topology), np.asarray(other[name], float)
    counts = np.diff(cells.offsets)
    if location == "cells":
        sums = np.add.reduceat(values[cells.connectivity], cells.offsets[:-1], axis=0)
        return sums / (counts if values.ndim == 1 else counts[:, None])
    owner = np.repeat(np.arange(len(counts)), counts)
    sums = np.zeros((len(block.nodes), *values.shape[1:]))
    np.add.at(sums, cells.connectivity, values[owner])
    touched = np.maximum(np.bincount(cells.connectivity, minlength=len(sums)), 1)
    return sums / (touched if values.ndim == 1 else touched[:, None])


def centers(nodes: Nodes, topology: Topology) -> np.ndarray:
    """The mean of the corners of every cell."""
    if topology.shape is not None:
        grid = nodes.reshape(*(n + 1 for n in topology.shape), -1)
        for axis in range(len(topology.shape)):
            low, high = (
                grid.take(range(*ends), axis=axis) for ends in ((0, grid.shape[axis] - 1), (1, grid.shape[axis]))
            )
            grid = 0.5 * (low + high)
        return grid.reshape(-1, nodes.shape[1])
    cells = topology.cells
    assert cells is not None
    counts = np.diff(cells.offsets)
    # Axis by axis: the corners of all cells at once take more memory than the mesh.
    sums = [np.add.reduceat(along[cells.connectivity], cells.offsets[:-1]) for along in nodes.T]
    return np.stack([one / counts for one in sums], axis=1)


def merged(blocks: Sequence[Block]) -> Block:
    """Several blocks as one of unstructured cells; one stays as it is."""
    blocks = [with_plain_cells(block) for block in blocks]
    if len(blocks) == 1:
        return blocks[0]
    kinds = {block.topology.kind == "points" for block in blocks}
    nodes = np.concatenate([block.nodes for block in blocks])
    if kinds == {True}:
        return Block("all", nodes, Topology())
    cells = [vtk_cells(block.topology) for block in blocks]
    firsts = np.cumsum([0, *(len(block.nodes) for block in blocks)])
    ends = np.cumsum([0, *(len(one.connectivity) for one in cells)])
    joined = Cells(
        np.concatenate([one.connectivity + first for one, first in zip(cells, firsts, strict=False)]),
        np.concatenate([[0], *(one.offsets[1:] + end for one, end in zip(cells, ends, strict=False))]),
        np.concatenate([one.types for one in cells]),
    )
    return Block("all", nodes, Topology(cells=joined))


def with_plain_cells(block: Block) -> Block:
    """Polyhedra as convex sets of points, which are stored without their faces."""
    cells = block.topology.cells
    if cells is None or not (cells.types == POLYHEDRON).any():
        return block
    types = np.where(cells.types == POLYHEDRON, CONVEX, cells.types)
    return replace(block, topology=Topology(cells=replace(cells, types=types)))
