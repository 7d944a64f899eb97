"""Runs on nested meshes: every cell of the one is made of whole cells of the other."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sureflow.data.meshes import Geometry
from sureflow.data.runs import Runs
from sureflow.data.sources import FieldSource, Run
from sureflow.errors import SureflowError
from sureflow.physics.gases import Gas

Block = Float[np.ndarray, "variable nj ni"]
Nodes = Float[np.ndarray, "node_j node_i"]

SAME_NODES = 1e-6  # of the size of the mesh
FLOW = ("u1", "u2", "rho", "T")


def refinement(coarse: Runs, fine: Runs) -> int:
    """By how much the cells of the fine runs are smaller, or a sentence about why their meshes are not nested."""
    ours, theirs = coarse.topology.shape, fine.topology.shape
    if ours is None or theirs is None or len(ours) != 2 or coarse.header.location != "cells":
        raise SureflowError("levels need runs on the cells of two-dimensional structured blocks")
    factors = {there / here for here, there in zip(ours, theirs, strict=True)}
    factor = factors.pop()
    if not factors and factor < 1 and (1 / factor).is_integer():
        raise SureflowError(
            f"runs on {_size(theirs)} cells were given as the finer ones of those on {_size(ours)}: exchange the two stores"
        )
    if factors or factor != int(factor) or factor < 2:
        raise SureflowError(
            f"meshes of {_size(ours)} and {_size(theirs)} cells are not nested: give runs with twice as many cells, or "
            "three times, in both directions"
        )
    if coarse.is_moving or fine.is_moving:
        return int(factor)  # nodes of each run are compared when it is restricted
    require_nested(coarse.geometry_of(0), fine.geometry_of(0), ours, int(factor))
    return int(factor)


def require_nested(coarse: Geometry, fine: Geometry, shape: tuple[int, ...], factor: int) -> None:
    """Refuse nodes of which the coarse ones are not among the fine ones at even steps."""
    if coarse.nodes is None or fine.nodes is None:
        raise SureflowError("levels need runs whose mesh has nodes")
    finer = tuple(factor * n for n in shape)
    away = 0.0
    for axis in (0, 1):
        here, there = coarse.grid(axis, shape), fine.grid(axis, finer)
        away = max(away, float(np.abs(here - there[::factor, ::factor]).max()))
    if away > SAME_NODES * float(np.ptp(coarse.points, axis=0).max()):
        raise SureflowError(
            f"the meshes are not nested: nodes lie up to {away:.3g} apart; compute the finer runs on a refined mesh of the "
            "coarser ones"
        )


def restricted(runs: Runs, case: int, factor: int) -> Block:
    """The fields of one fine run on the cells of the coarse mesh: means over volumes, conservative for a flow of a gas."""
    shape = runs.topology.shape
    assert shape is not None
    geometry = runs.geometry_of(case)
    volume = cell_volumes(geometry.grid(0, shape), geometry.grid(1, shape))
    fields = np.asarray(runs.fields[case], float).reshape(-1, *shape)
    if runs.gas is None or runs.names != FLOW:
        return merged(fields * volume, factor) / merged(volume[None], factor)
    return restricted_flow(fields, volume, factor, runs.gas)


def restricted_flow(
    fields: Float[np.ndarray, "4 nj ni"], volume: Float[np.ndarray, "nj ni"], factor: int, gas: Gas
) -> Float[np.ndarray, "4 coarse_j coarse_i"]:
    """u1, u2, rho and T of the cells that hold the same mass, momentum and energy."""
    u1, u2, rho, temperature = fields
    energy = np.asarray(gas.energy_from_temperature(rho, temperature))
    kept = np.stack([rho, rho * u1, rho * u2, rho * (energy + 0.5 * (u1**2 + u2**2))]) * volume
    mass, along, out, total = merged(kept, factor)
    density = mass / merged(volume[None], factor)[0]
    u1, u2 = along / mass, out / mass
    inner = total / mass - 0.5 * (u1**2 + u2**2)
    return np.stack([u1, u2, density, np.asarray(gas.temperature(density, inner))])


def require_levels(coarse: Runs, fine: Runs) -> None:
    """Refuse runs that cannot be a coarser level of others."""
    if set(coarse.parameter_names) != set(fine.parameter_names) or set(coarse.names) != set(fine.names):
        raise SureflowError("levels must have the same parameters and fields")
    factor, shape = refinement(coarse, fine), coarse.topology.shape
    assert shape is not None
    if coarse.is_moving != fine.is_moving:
        raise SureflowError("meshes must move from run to run on all levels, or on none")
    ordered = coarse.ordered_like(coarse.header.ordered(fine.header)) if fine.is_moving else coarse
    for case, condition in enumerate(fine.parameters if fine.is_moving else ()):
        for same in np.flatnonzero((ordered.parameters == condition).all(axis=1)):
            require_nested(ordered.geometry_of(int(same)), fine.geometry_of(case), shape, factor)


def prolonged(coarse: Runs, fine: Runs) -> Runs:
    """Coarse runs in the cells of the fine mesh, with the fields in their order."""
    factor, shape = refinement(coarse, fine), coarse.topology.shape
    assert shape is not None
    ordered = coarse.ordered_like(coarse.header.ordered(fine.header))
    header = replace(fine.header, numbers=())
    cells = (shape[0], shape[1])
    return replace(
        fine,
        header=header,
        parameters=ordered.parameters,
        fields=ProlongedFields(ordered.fields, cells, factor),
        geometries=(lambda case: finer_geometry(ordered.geometry_of(case), cells, factor)) if fine.is_moving else None,
        numbers=None,
        own=None,
        coarser=None,
    )


@dataclass(frozen=True)
class ProlongedFields(FieldSource):
    """Fields on finer cells: linear in the indices of the cells, and constant beyond the centers of the outermost.

    So nothing leaves the range of its neighbors: what is positive stays so.
    """

    source: FieldSource
    cells: tuple[int, int]
    factor: int

    @property
    def shape(self) -> tuple[int, int, int]:
        cases, variables, points = self.source.shape
        return cases, variables, points * self.factor**2

    @property
    def dtype(self) -> np.dtype:
        return self.source.dtype

    def __getitem__(self, case: int) -> Run:
        block = np.asarray(self.source[case], float).reshape(-1, *self.cells)
        down, along = (finer_cells(n, self.factor) for n in self.cells)
        return (down @ block @ along.T).reshape(len(block), -1).astype(self.dtype, copy=False)


def finer_cells(cells: int, factor: int) -> Float[np.ndarray, "fine coarse"]:
    """Weights of coarse cells in fine ones, by linear interpolation between centers."""
    places = np.clip((np.arange(factor * cells) + 0.5) / factor - 0.5, 0.0, cells - 1.0)
    return np.maximum(0.0, 1.0 - np.abs(places[:, None] - np.arange(cells)))


def finer_geometry(coarse: Geometry, cells: tuple[int, int], factor: int) -> Geometry:
    """Nodes of the divided cells of one run, evenly spaced between those of the coarse ones, and their centers."""
    weights = []
    for count in cells:
        places = np.arange(factor * count + 1) / factor
        weights.append(np.maximum(0.0, 1.0 - np.abs(places[:, None] - np.arange(count + 1))))
    down, along = weights
    grids = tuple(down @ coarse.grid(axis, cells) @ along.T for axis in (0, 1))
    centers = tuple(0.25 * (one[1:, 1:] + one[1:, :-1] + one[:-1, 1:] + one[:-1, :-1]) for one in grids)
    return Geometry.blocks(centers, grids)


def merged(values: Block, factor: int) -> Float[np.ndarray, "variable coarse_j coarse_i"]:
    """Sums over the fine cells of every coarse one."""
    count, nj, ni = values.shape
    return values.reshape(count, nj // factor, factor, ni // factor, factor).sum(axis=(2, 4))


def cell_volumes(x: Nodes, r: Nodes) -> Float[np.ndarray, "nj ni"]:
    """Of cells about the axis, over 2 pi; of a plane mesh that reaches below the axis, their areas."""
    diagonal = (x[1:, 1:] - x[:-1, :-1]) * (r[1:, :-1] - r[:-1, 1:]) - (x[1:, :-1] - x[:-1, 1:]) * (
        r[1:, 1:] - r[:-1, :-1]
    )
    radius = 0.25 * (r[1:, 1:] + r[1:, :-1] + r[:-1, 1:] + r[:-1, :-1])
    return 0.5 * np.abs(diagonal) * (radius if r.min() >= 0 else 1.0)


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape[::-1]))
