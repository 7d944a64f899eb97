"""Meshes of runs: how cells are connected (shared by all runs), and where points and nodes lie (shared, or of each run)."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from sureflow.errors import SureflowError

Points = Float[np.ndarray, "point axis"]
Nodes = Float[np.ndarray, "node axis"]

PHYSICAL = "physical"
BODY_FITTED = "body-fitted"
COORDINATES = (PHYSICAL, BODY_FITTED)


@dataclass(frozen=True)
class Cells:
    """Cells of an unstructured mesh as VTK has them: cell c has the nodes connectivity[offsets[c]:offsets[c + 1]]."""

    connectivity: Int[np.ndarray, " corner"]
    offsets: Int[np.ndarray, " cell_edge"]
    types: Int[np.ndarray, " cell"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cells) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("connectivity", "offsets", "types")
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Patch:
    """A part of the boundary: its faces between nodes of the mesh, and the cell behind each of them."""

    faces: Cells
    owners: Int[np.ndarray, " cell"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Patch) and self.faces == other.faces and np.array_equal(self.owners, other.owners)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Topology:
    """How points hang together: a structured block of so many cells (`shape`, slowest index first; the wall is first where
    there is one), unstructured cells, or nothing but points. `patches` are named parts of the boundary, where known.
    """

    shape: tuple[int, ...] | None = None
    cells: Cells | None = None
    patches: Mapping[str, Patch] = field(default_factory=dict)

    @property
    def kind(self) -> Literal["structured", "unstructured", "points"]:
        if self.shape is not None:
            return "structured"
        return "points" if self.cells is None else "unstructured"

    def n_values(self, location: str, n_nodes: int) -> int | None:
        """Values of one field; None where nothing but points is known."""
        if location == "points" or self.kind == "points":
            return n_nodes if self.kind != "points" else None
        return len(self.cells.types) if self.cells is not None else int(np.prod(self.shape or ()))

    def values_shape(self, location: str) -> tuple[int, ...] | None:
        """How the values of one field lie in a structured block; None elsewhere."""
        if self.shape is None:
            return None
        return self.shape if location == "cells" else tuple(n + 1 for n in self.shape)


def patch_arrays(patches: Mapping[str, Patch]) -> dict[str, np.ndarray]:
    """The arrays of patches by the name of the patch and what they are, as files keep them."""
    return {
        f"{name}.{part}": np.asarray(array)
        for name, patch in patches.items()
        for part, array in (*vars(patch.faces).items(), ("owners", patch.owners))
    }


def patches_from(arrays: Mapping[str, np.ndarray]) -> dict[str, Patch]:
    """Patches from what `patch_arrays` gave."""
    grouped: dict[str, dict[str, np.ndarray]] = {}
    for key, array in arrays.items():
        name, _, part = key.rpartition(".")
        grouped.setdefault(name, {})[part] = array
    return {name: Patch(owners=parts.pop("owners"), faces=Cells(**parts)) for name, parts in grouped.items()}


@dataclass(frozen=True)
class Geometry:
    """Where the values of the fields are, and the nodes of the mesh around them; without a mesh there are no nodes."""

    points: Points
    nodes: Nodes | None = None

    def arrays(self) -> tuple[np.ndarray, ...]:
        return (self.points,) if self.nodes is None else (self.points, self.nodes)

    def grid(self, axis: int, shape: Sequence[int]) -> np.ndarray:
        """The nodes of a structured block along one axis, as an array of nodes."""
        assert self.nodes is not None
        return self.nodes[:, axis].reshape([n + 1 for n in shape])

    @classmethod
    def blocks(cls, points: Sequence[np.ndarray], nodes: Sequence[np.ndarray]) -> "Geometry":
        """From one structured array for every axis."""
        return cls(*(np.stack([np.asarray(a, float).ravel() for a in arrays], axis=1) for arrays in (points, nodes)))


def index_coordinates(shape: Sequence[int]) -> Points:
    """Body-fitted coordinates of the values of a structured block: their place along every direction, 0..1, the last first.

    They count cells and not meters: a mesh is fine where the flow changes fast, so that fields are smooth in them. In two
    dimensions they are xi along the body and eta away from it.
    """
    along = np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")
    return np.column_stack([values.ravel() for values in reversed(along)])


def block_cells(shape: Sequence[int]) -> Cells:
    """The cells of a structured block of any dimension as cells with corners; their order among themselves is not VTK's."""
    node = np.arange(np.prod([n + 1 for n in shape])).reshape([n + 1 for n in shape])
    sides = itertools.product(*[(slice(None, -1), slice(1, None))] * len(shape))
    corners = np.stack([node[side].ravel() for side in sides], axis=1)
    offsets = np.arange(0, corners.size + 1, corners.shape[1])
    return Cells(corners.ravel(), offsets, np.zeros(len(corners), int))


def require_mesh(topology: Topology, geometry: Geometry, location: str, n_axes: int, n_points: int) -> None:
    """Refuse points, nodes and cells that do not fit together."""
    points, nodes = geometry.points, geometry.nodes
    if points.shape != (n_points, n_axes):
        raise SureflowError(
            f"coordinates must be (point, axis) = ({n_points}, {n_axes}) like the fields; their shape is {points.shape}"
        )
    if topology.shape is not None and topology.cells is not None:
        raise SureflowError("a mesh has either the shape of a structured block or unstructured cells: give one of them")
    if topology.kind != "points" and nodes is None:
        raise SureflowError(f"a {topology.kind} mesh needs its nodes as (node, {n_axes})")
    if nodes is None:
        return
    if topology.shape is not None:
        _require_block(topology.shape, len(nodes))
    if topology.cells is not None:
        _require_cells(topology.cells, len(nodes))
    wanted = topology.n_values(location, len(nodes))
    if wanted is not None and wanted != n_points:
        raise SureflowError(
            f"the mesh has {wanted} {'cells' if location == 'cells' else 'nodes'}, but the fields have {n_points} values"
        )


def _require_block(shape: Sequence[int], n_nodes: int) -> None:
    wanted = int(np.prod([n + 1 for n in shape]))
    if min(shape, default=0) < 1 or n_nodes != wanted:
        raise SureflowError(f"a block of {tuple(shape)} cells has {wanted} nodes, but {n_nodes} are given")


def _require_cells(cells: Cells, n_nodes: int) -> None:
    offsets, count = cells.offsets, cells.connectivity.size
    if len(offsets) != len(cells.types) + 1 or offsets[0] != 0 or offsets[-1] != count or (np.diff(offsets) < 1).any():
        raise SureflowError(
            f"the offsets of {len(cells.types)} cells must begin with 0, increase, and end with {count}, the number of corners"
        )
    low, high = int(cells.connectivity.min(initial=0)), int(cells.connectivity.max(initial=0))
    if low < 0 or high >= n_nodes:
        raise SureflowError(f"the cells refer to the nodes {low}..{high}, but there are only {n_nodes}")
