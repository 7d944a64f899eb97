"""Meshes of runs: how cells are connected (shared by all runs), and where points and nodes lie (shared, or of each run)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

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
    offsets: Int[np.ndarray, " cell+1"]
    types: Int[np.ndarray, " cell"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cells) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("connectivity", "offsets", "types")
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Topology:
    """How points hang together: a structured block of so many cells (`shape`, slowest index first; the wall is first where
    there is one), unstructured cells, or nothing but points.
    """

    shape: tuple[int, ...] | None = None
    cells: Cells | None = None

    @property
    def kind(self) -> Literal["structured", "unstructured", "points"]:
        if self.shape is not None:
            return "structured"
        return "points" if self.cells is None else "unstructured"

    def n_nodes(self) -> int | None:
        """Nodes of a structured block; None where the topology does not tell."""
        return None if self.shape is None else int(np.prod([n + 1 for n in self.shape]))

    def values_shape(self, location: str) -> tuple[int, ...] | None:
        """How the values of one field lie in a structured block; None elsewhere."""
        if self.shape is None:
            return None
        return self.shape if location == "cells" else tuple(n + 1 for n in self.shape)


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
    def blocks(cls, points: Sequence[np.ndarray], nodes: Sequence[np.ndarray]) -> Self:
        """From one structured array for every axis."""
        return cls(*(np.stack([np.asarray(a, float).ravel() for a in arrays], axis=1) for arrays in (points, nodes)))


def index_coordinates(shape: Sequence[int]) -> Points:
    """Body-fitted coordinates of the values of a structured block: their place along every direction, 0..1, the last first.

    They count cells and not meters: a mesh is fine where the flow changes fast, so that fields are smooth in them. In two
    dimensions they are xi along the body and eta away from it.
    """
    along = np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")
    return np.column_stack([values.ravel() for values in reversed(along)])


def require_geometry(topology: Topology, geometry: Geometry, n_axes: int, n_points: int) -> None:
    """Refuse points, nodes and cells that do not fit together."""
    points, nodes = geometry.points, geometry.nodes
    if points.ndim != 2 or points.shape != (n_points, n_axes):
        raise SureflowError(
            f"coordinates must be (point, axis) = ({n_points}, {n_axes}) like the fields; their shape is {points.shape}"
        )
    if topology.kind != "points" and (nodes is None or nodes.ndim != 2 or nodes.shape[1] != n_axes):
        raise SureflowError(f"a {topology.kind} mesh needs its nodes as (node, {n_axes})")
    if nodes is None:
        return
    wanted = topology.n_nodes()
    if wanted is not None and len(nodes) != wanted:
        raise SureflowError(f"a block of {topology.shape} cells has {wanted} nodes, and {len(nodes)} are given")
    cells = topology.cells
    if cells is not None and cells.connectivity.size:
        low, high = int(cells.connectivity.min()), int(cells.connectivity.max())
        if low < 0 or high >= len(nodes) or cells.offsets[-1] != cells.connectivity.size:
            raise SureflowError(f"the cells name the nodes {low}..{high}, and there are {len(nodes)}")
