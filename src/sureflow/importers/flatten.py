"""Meshes that are two-dimensional in truth: surfaces in a plane, slabs of one cell, and wedges around an axis of symmetry."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.meshes import Cells, Nodes, Patch, Topology

LINE = 3  # VTK's type
TOLERANCE = 1e-6  # of the size of the mesh: nodes this near to a plane are in it
STEEPEST_WEDGE = 0.18  # tangent of the half angle: 10 degrees
SOLID = (10, 11, 12, 13, 14, 24, 25, 26, 29, 41, 42)  # VTK's types of cells with a volume
NAMES = ("x", "y", "z")
# Nodes in the plane, the cells between them, and which of all nodes they are.
Side = tuple[Float[np.ndarray, "kept in_plane"], Topology, Int[np.ndarray, " kept"]]


@dataclass(frozen=True)
class Flat:
    """The mesh in its plane: which axes stay under which names, and which nodes of the whole mesh are its own."""

    nodes: Nodes
    topology: Topology
    kept: tuple[int, ...]
    axes: tuple[str, ...]
    chosen: Any  # index of the nodes that stay
    words: str  # what the mesh was


def flatten(nodes: Nodes, topology: Topology) -> Flat:
    """The mesh without directions in which nothing happens."""
    size = np.ptp(nodes, axis=0)
    used = tuple(int(axis) for axis in np.flatnonzero(size > TOLERANCE * size.max(initial=0.0)))
    if len(used) < 3:
        words = "" if nodes.shape[1] == len(used) else f"lies in the plane {', '.join(NAMES[n] for n in used)}"
        return Flat(
            np.ascontiguousarray(nodes[:, used]), topology, used, tuple(NAMES[n] for n in used), slice(None), words
        )
    if is_solid(topology):
        for thin in (2, 1, 0):
            low = slab(nodes[:, thin])
            kept, names = tuple(n for n in range(3) if n != thin), NAMES
            words = f"is one cell thick along {NAMES[thin]}"
            if low is None:
                low, radial = wedge(nodes, thin)
                if low is None:
                    continue
                axial = next(n for n in range(3) if n not in (thin, radial))
                kept, names = (axial, radial), tuple("r" if n == radial else NAMES[n] for n in range(3))
                words = f"is a wedge around the {NAMES[axial]} axis"
                nodes = nodes.copy()
                nodes[:, radial] = np.hypot(nodes[:, radial], nodes[:, thin])  # the sides are inclined
            found = side_of(nodes, topology, low, kept)
            if found is not None:
                return Flat(*found[:2], kept, tuple(names[n] for n in kept), found[2], words)
    return Flat(nodes, topology, used, NAMES, slice(None), "")


def flat_patch(patch: Patch, flat: Flat, n_nodes: int) -> Patch | None:
    """A patch of the whole mesh in its plane: of every face, the edge between nodes that stay. None if there is none."""
    if isinstance(flat.chosen, slice):
        return patch
    place = np.full(n_nodes, -1)
    place[flat.chosen] = np.arange(len(flat.chosen))
    kept = place[patch.faces.connectivity]
    owner = np.repeat(np.arange(len(patch.owners)), np.diff(patch.faces.offsets))[kept >= 0]
    if (np.bincount(owner, minlength=len(patch.owners)) != 2).any():
        return None
    lines = len(patch.owners)
    return Patch(Cells(kept[kept >= 0], np.arange(0, 2 * lines + 1, 2), np.full(lines, LINE)), patch.owners)


def is_solid(topology: Topology) -> bool:
    if topology.shape is not None:
        return len(topology.shape) == 3
    return topology.cells is not None and bool(np.isin(topology.cells.types, SOLID).all())


def slab(values: Float[np.ndarray, " node"]) -> Bool[np.ndarray, " node"] | None:
    """The nodes of the lower of two planes, if all nodes lie in two."""
    low, high = values.min(), values.max()
    below, above = values - low <= TOLERANCE * (high - low), high - values <= TOLERANCE * (high - low)
    return below if (below | above).all() else None


def wedge(nodes: Nodes, thin: int) -> tuple[Bool[np.ndarray, " node"] | None, int]:
    """The nodes on one side of a wedge and on its axis, and the radial direction, if all nodes lie on two sides."""
    away = nodes[:, thin]
    for radial in (n for n in (1, 2, 0) if n != thin):
        radius = nodes[:, radial]
        near = TOLERANCE * np.ptp(radius)
        slope = np.abs(away).max() / max(float(radius.max()), 1e-300)
        if radius.min() < -near or not 0 < slope < STEEPEST_WEDGE:
            continue
        if np.abs(np.abs(away) - slope * radius).max() <= near and (away > near).any() and (away < -near).any():
            return away <= near * slope, radial
    return None, -1


def side_of(nodes: Nodes, topology: Topology, low: Bool[np.ndarray, " node"], kept: tuple[int, ...]) -> Side | None:
    """Nodes and cells of the chosen side of a mesh of one cell thickness; None if it is none."""
    if topology.shape is not None:
        return side_of_block(nodes, topology.shape, low, kept)
    assert topology.cells is not None
    chosen = np.flatnonzero(low)
    plane = np.ascontiguousarray(nodes[chosen][:, kept])
    cells = side_cells(topology.cells, low, nodes[:, kept])
    return None if cells is None else (plane, Topology(cells=cells), chosen)


def side_of_block(
    nodes: Nodes, shape: tuple[int, ...], low: Bool[np.ndarray, " node"], kept: tuple[int, ...]
) -> Side | None:
    numbers = np.arange(len(nodes)).reshape([n + 1 for n in shape])
    for direction, count in enumerate(shape):
        for side in (0, 1):
            chosen = numbers.take(side, axis=direction).ravel()
            if count == 1 and low[chosen].all():
                left = tuple(n for place, n in enumerate(shape) if place != direction)
                return np.ascontiguousarray(nodes[chosen][:, kept]), Topology(left), chosen
    return None


def side_cells(cells: Cells, low: Bool[np.ndarray, " node"], plane: Float[np.ndarray, "node 2"]) -> Cells | None:
    """The face of every cell in the plane, its corners in order around their middle."""
    number = np.repeat(np.arange(len(cells.types)), np.diff(cells.offsets))
    on_side = low[cells.connectivity]
    owner, corner = number[on_side], cells.connectivity[on_side]
    counts = np.bincount(owner, minlength=len(cells.types))
    if counts.min(initial=3) < 3:
        return None
    middle = np.stack([np.bincount(owner, plane[corner, n], len(counts)) / counts for n in (0, 1)], axis=1)
    angle = np.arctan2(*(plane[corner] - middle[owner]).T[::-1])
    order = np.lexsort((angle, owner))
    renumbered = np.cumsum(low) - 1
    types = np.select([counts == 3, counts == 4], [5, 9], 7)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Cells(renumbered[corner[order]].astype(np.int64), offsets.astype(np.int64), types.astype(np.int64))
