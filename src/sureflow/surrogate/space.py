"""Where the values of a prediction are: at the points that the runs share, or at points that follow from the parameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from jaxtyping import Float
from scipy.ndimage import correlate1d, maximum_filter

from sureflow import scratch
from sureflow.data.locate import Stencil, locate
from sureflow.data.meshes import (
    PHYSICAL,
    Cells,
    Geometry,
    Points,
    Topology,
    index_coordinates,
    patch_arrays,
    patches_from,
    require_mesh,
)
from sureflow.data.normalize import Standard
from sureflow.data.resampling import RESAMPLING, Resampling
from sureflow.data.runs import Runs
from sureflow.data.wall_layer import Lines, lines_of
from sureflow.errors import SureflowError, Unanswerable
from sureflow.models.contract import Coordinates, View, require_enough_runs, require_fitting
from sureflow.models.interpolation import Interpolation, InterpolationSettings
from sureflow.remembered import once_for_each
from sureflow.uq.bars import NO_NEIGHBORS, Neighbors

Conditions = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]

# How many points away a neighbor is at most, along every index of a structured block.
NEIGHBORS = 3
# Of how many conditions the lines of the mesh are kept: a few numbers of each.
KEPT_LINES = 1 << 10


@dataclass(frozen=True)
class MovingGeometry:
    """Points, and the nodes after them, that move with the parameters: interpolated between those of the runs."""

    inputs: Standard
    places: Interpolation  # its fields are the axes
    n_points: int

    @staticmethod
    def of(runs: Runs) -> "MovingGeometry":
        return _moving_geometry(runs)

    def at(self, condition: Float[np.ndarray, " parameter"]) -> Geometry:
        """The last ones are kept: a prediction asks several times for the same, and so does a calibration for all runs."""
        return self._kept(np.asarray(condition, float).tobytes())

    @cached_property
    def _kept(self) -> Callable[[bytes], Geometry]:
        return lru_cache(max(2, scratch.BLOCK // self.places.fields[0].nbytes))(self._at)

    def _at(self, condition: bytes) -> Geometry:
        found = self.places.mean(self.inputs.forward(np.frombuffer(condition)[None]))
        found.flags.writeable = False
        points, nodes = np.split(found[0].T, [self.n_points])
        return Geometry(points, nodes if len(nodes) else None)

    def slope(self, condition: Float[np.ndarray, " parameter"], along: Float[np.ndarray, " parameter"]) -> Geometry:
        """Derivative of points and nodes along a change of the parameters."""
        nowhere = np.empty((0, 0))
        found = self.places.slope(self.inputs.forward(condition[None]), nowhere, along[None] / self.inputs.std, nowhere)
        points, nodes = np.split(found.T, [self.n_points])
        return Geometry(points, nodes if len(nodes) else None)


@once_for_each
def _moving_geometry(runs: Runs) -> MovingGeometry:
    """Every candidate of a comparison asks for it."""
    first = runs.geometry_of(0)
    n_places = sum(len(array) for array in first.arrays())
    places = scratch.empty((len(runs), first.points.shape[1], n_places))
    for case, place in enumerate(places):
        place[:] = np.concatenate(runs.geometry_of(case).arrays()).T
    inputs = Standard.fit(runs.parameters, axis=0)
    require_enough_runs(runs.parameters, "a mesh that moves")
    view = View(inputs.forward(runs.parameters), places, np.empty((n_places, 0)), runs.header.axes)
    return MovingGeometry(inputs, InterpolationSettings(scales="learned").fit(view), len(first.points))


@dataclass(frozen=True)
class Space:
    """The mesh of predictions. `described` are further descriptions of shared points by name, such as body-fitted ones."""

    axes: tuple[str, ...]
    topology: Topology
    location: str
    n_points: int
    geometry: Geometry | None
    moving: MovingGeometry | None = None
    described: Mapping[str, Points] = field(default_factory=dict)
    resampling: Resampling | None = None  # of training runs that were computed on other meshes
    parameters: tuple[str, ...] = ()  # their names

    @classmethod
    def of(cls, runs: Runs) -> Self:
        return cls(
            runs.header.axes,
            runs.topology,
            runs.header.location,
            runs.n_points,
            runs.geometry,
            None if runs.geometry is not None else MovingGeometry.of(runs),
            dict(runs.described),
            runs.resampling,
            runs.parameter_names,
        )

    @property
    def shape(self) -> tuple[int, ...] | None:
        """How the values of one field lie in a structured block, slowest index first."""
        return self.topology.values_shape(self.location)

    @property
    def is_plane_block(self) -> bool:
        """Whether values lie in the cells of a structured block in two dimensions, as quantities of a body need."""
        return self.topology.shape is not None and len(self.topology.shape) == 2 and self.location == "cells"

    def at(self, condition: Float[np.ndarray, " parameter"]) -> Geometry:
        """Points and nodes at a condition."""
        if self.geometry is not None:
            return self.geometry
        assert self.moving is not None
        return self.moving.at(condition)

    def coordinates(self, kind: str, conditions: Conditions) -> Coordinates:
        """Of the points: shared by all conditions, or of each."""
        if kind != PHYSICAL:
            assert self.shape is not None or kind in self.described
            return self.described[kind] if kind in self.described else index_coordinates(self.shape)  # type: ignore[arg-type]
        if self.geometry is not None:
            return self.geometry.points
        return np.stack([self.at(condition).points for condition in conditions])

    def lines(self, conditions: Conditions) -> list[Lines]:
        """The lines from the wall of a plane block at conditions, which has such lines at all runs."""
        if self.geometry is not None:
            return [self._shared_lines] * len(conditions)
        found = []
        for condition in np.asarray(conditions, float):
            lines = self._kept_lines(condition.tobytes())
            if lines is None:
                raise Unanswerable(f"refused: {self.without_lines(condition)}. Compute runs there")
            found.append(lines)
        return found

    def without_lines(self, condition: Float[np.ndarray, " parameter"]) -> str:
        """Why there are no lines from the wall at a condition, or nothing; the page says the same (`assets/verdict.js`)."""
        if self.geometry is not None or self._kept_lines(np.asarray(condition, float).tobytes()) is not None:
            return ""
        at = ", ".join(f"{name}={value:g}" for name, value in zip(self.parameters, condition, strict=True))
        return f"the mesh that the runs suggest at {at} folds, or its lines are not normal to the wall"

    @cached_property
    def _kept_lines(self) -> Callable[[bytes], Lines | None]:
        """Those of the last conditions: verdict and prediction ask for the same."""

        def found(condition: bytes) -> Lines | None:
            with np.errstate(over="ignore", invalid="ignore"):  # far from all runs
                return lines_of(self.at(np.frombuffer(condition)), self.topology)

        return lru_cache(KEPT_LINES)(found)

    @cached_property
    def _shared_lines(self) -> Lines:
        assert self.geometry is not None
        found = lines_of(self.geometry, self.topology)
        if found is None:
            raise SureflowError(
                "the model is damaged: the lines of its mesh are not normal to the wall; train it again"
            )
        return found

    def locate(self, condition: Float[np.ndarray, " parameter"], points: Points) -> Stencil:
        """What interpolates values of the mesh to physical points at a condition; points outside are refused."""
        return locate(points, self.at(condition), self.topology, self.location)

    @cached_property
    def neighbors(self) -> Neighbors:
        """Of a structured block; elsewhere points are told of themselves alone."""
        shape = self.shape
        if shape is None:
            return NO_NEIGHBORS
        width = 2 * NEIGHBORS + 1

        def largest(fields: Fields) -> Fields:
            block = fields.reshape(*fields.shape[:2], *shape)
            return maximum_filter(block, (1, 1, *(width for _ in shape))).reshape(fields.shape)

        def smoothed(fields: Fields) -> Fields:
            block = fields.reshape(*fields.shape[:2], *shape)
            for axis in range(2, block.ndim):
                # Sums that run along would leave rounding of large values at small ones.
                block = correlate1d(block, np.full(width, 1.0 / width), axis, mode="nearest")
            return block.reshape(fields.shape)

        return Neighbors(largest, smoothed)

    # On disk

    def arrays(self) -> dict[str, np.ndarray]:
        found = {f"described.{name}": points for name, points in self.described.items()}
        if self.geometry is not None:
            found["points"] = self.geometry.points
            if self.geometry.nodes is not None:
                found["nodes"] = self.geometry.nodes
        if self.moving is not None:
            moving = {**self.moving.places.arrays(), "mean": self.moving.inputs.mean, "std": self.moving.inputs.std}
            found |= {f"moving.{name}": array for name, array in moving.items()}
        if self.resampling is not None:
            found |= {f"resampling.{name}": np.asarray(array) for name, array in self.resampling._asdict().items()}
        found |= {f"patches.{name}": array for name, array in patch_arrays(self.topology.patches).items()}
        if self.topology.cells is not None:
            found |= {f"cells.{name}": np.asarray(array) for name, array in vars(self.topology.cells).items()}
        return found

    @classmethod
    def restore(
        cls,
        axes: tuple[str, ...],
        shape: tuple[int, ...] | None,
        location: str,
        n_points: int,
        arrays: Mapping[str, np.ndarray],
        parameters: tuple[str, ...],
    ) -> Self:
        """From what `arrays` gave and a manifest says."""
        groups: dict[str, dict[str, np.ndarray]] = {
            "described": {},
            "moving": {},
            "cells": {},
            RESAMPLING: {},
            "patches": {},
        }
        for name, array in arrays.items():
            group, dot, rest = name.partition(".")
            if dot:
                groups[group][rest] = array
        geometry, moving = None, None
        if groups["moving"]:
            inputs = Standard(groups["moving"].pop("mean"), groups["moving"].pop("std"))
            moving = MovingGeometry(inputs, Interpolation.from_arrays(groups["moving"]), n_points)
        else:
            _require_places(arrays, len(axes))
            geometry = Geometry(arrays["points"], arrays.get("nodes"))
        cells = Cells(**groups["cells"]) if groups["cells"] else None
        resampling = Resampling(**groups[RESAMPLING]) if groups[RESAMPLING] else None
        topology = Topology(shape, cells, patches_from(groups["patches"]))
        space = cls(axes, topology, location, n_points, geometry, moving, groups["described"], resampling, parameters)
        space.require_consistent()
        return space

    def require_consistent(self) -> None:
        """Refuse points, nodes and cells that do not fit together."""
        if self.geometry is not None:
            require_mesh(self.topology, self.geometry, self.location, len(self.axes), self.n_points)
        if self.moving is not None:
            n_axes, n_places = self.moving.places.fields.shape[1:]
            if n_axes != len(self.axes) or n_places < self.n_points:
                raise SureflowError(
                    f"a mesh of {self.n_points} points in {len(self.axes)} axes moves by {n_places} places in {n_axes} axes"
                )
        for kind, points in self.described.items():
            if len(points) != self.n_points:
                raise SureflowError(f"{len(points)} points have {kind} coordinates, and there are {self.n_points}")


def require_moving(arrays: Mapping[str, np.ndarray], n_parameters: int, n_axes: int) -> None:
    """Refuse arrays of a mesh that moves, named as in a file, which do not fit together."""
    own = {name.removeprefix("moving."): array for name, array in arrays.items() if name.startswith("moving.")}
    require_fitting(Standard, own, column=n_parameters)
    sizes = {"parameter": n_parameters, "variable": n_axes}
    if {"scales", "nodes"} <= set(own):
        varies = int(np.count_nonzero(own["scales"]))
        sizes |= {"varying": varies, "row": len(np.atleast_1d(own["nodes"])) + 1 + varies}
    require_fitting(Interpolation, own, **sizes)


def _require_places(arrays: Mapping[str, np.ndarray], n_axes: int) -> None:
    """Refuse points and nodes that are no coordinates: what counts them comes later."""
    for name in ("points", "nodes"):
        array = arrays.get(name, np.empty((0, n_axes)))
        if array.shape[1:] != (n_axes,) or array.dtype.kind != "f":
            raise SureflowError(
                f"coordinates must be (point, axis) = (any, {n_axes}) in floating point; the {name} have the shape "
                f"{array.shape} and the type {array.dtype}"
            )
