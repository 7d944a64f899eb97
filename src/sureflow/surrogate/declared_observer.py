"""Reads the quantities that users declare off fields, with weights that follow from the mesh at each condition.

Everything is written for NumPy and JAX alike (`xp`), so that derivatives are exact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from jaxtyping import Float

from sureflow.data.declared import ON_PATCHES, DeclaredQuantity
from sureflow.data.header import Header
from sureflow.data.locate import locate
from sureflow.data.measures import face_normals, measures, vtk_cells
from sureflow.data.meshes import Cells, Geometry, Patch
from sureflow.errors import SureflowError
from sureflow.runtime import double_precision
from sureflow.surrogate.space import Space

Conditions = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]
Samples = Float[np.ndarray, "sample case variable point"]
Values = Float[np.ndarray, "case quantity"]
Reading = Callable[[Any, Any, Any, Any], Any]  # of xp, the values of a field, points and nodes
ALONG_LINE = 201  # points over which the mean along a line is taken


@dataclass(frozen=True)
class DeclaredObserver:
    """The declared quantities of runs on any mesh."""

    header: Header
    space: Space
    gas: None = None

    @classmethod
    def of(cls, header: Header, space: Space) -> Self | None:
        return cls(header, space) if header.quantities else None

    @property
    def quantities(self) -> tuple[DeclaredQuantity, ...]:
        return self.header.quantities

    def __call__(self, fields: Fields, conditions: Conditions, geometries: Sequence[Geometry] | None = None) -> Values:
        """Every quantity of every case, on the mesh of its condition, or on the given ones."""
        at = [self.space.at(condition) for condition in conditions] if geometries is None else geometries
        rows = []
        for run, geometry in zip(np.asarray(fields, float), at, strict=True):
            rows.append([read(np, run[v], geometry.points, geometry.nodes) for v, read in self.readings(geometry)])
        return np.array(rows, float).reshape(len(fields), len(self.quantities))

    def spread(self, values: Values, samples: Samples, conditions: Conditions) -> Values:
        """Standard deviation of the quantities: the rms distance of those of samples from the values of the mean field."""
        away = np.stack([self(sample, conditions) for sample in samples]) - values
        return np.sqrt(np.nanmean(away**2, axis=0))

    def slopes(
        self,
        run: Float[np.ndarray, "variable point"],
        geometry: Geometry,
        d_run: Float[np.ndarray, "parameter variable point"],
        d_geometry: list[Geometry] | None,
    ) -> Float[np.ndarray, "quantity parameter"]:
        """Derivatives of the quantities, from those of fields and mesh; exact."""
        moved: list[Geometry | None] = [None] * len(d_run) if d_geometry is None else [*d_geometry]
        for quantity in self.quantities if d_geometry is not None else ():
            if quantity.kind in ("value", "line"):
                raise SureflowError(
                    f"the quantity {quantity.name} is at a fixed place of a mesh that moves: it has no exact derivative"
                )
        rows = []
        with double_precision():
            for variable, read in self.readings(geometry):
                along = zip(d_run[:, variable], moved, strict=True)
                rows.append([_slope(read, run[variable], geometry, *one) for one in along])
        return np.array(rows, float).reshape(len(self.quantities), len(d_run))

    def readings(self, geometry: Geometry) -> list[tuple[int, Reading]]:
        """The variable of every quantity, and what reads it off."""
        fixed = self._fixed if self.space.geometry is not None else None
        return fixed if fixed is not None else [self._reading(one, geometry) for one in self.quantities]

    @cached_property
    def _fixed(self) -> list[tuple[int, Reading]]:
        geometry = self.space.geometry
        assert geometry is not None
        return [self._reading(one, geometry) for one in self.quantities]

    def _reading(self, quantity: DeclaredQuantity, geometry: Geometry) -> tuple[int, Reading]:
        quantity.require_fit(self.header.names, len(self.space.axes))
        variable = self.header.names.index(quantity.field)
        if quantity.kind in ("value", "line"):
            return variable, self._at_places(quantity, geometry)
        if quantity.patch is None and quantity.kind not in ON_PATCHES:
            return variable, self._over_mesh(quantity)
        return variable, self._over_patch(quantity)

    def _at_places(self, quantity: DeclaredQuantity, geometry: Geometry) -> Reading:
        """At one point, or at points along a line, each end of which counts half."""
        share = np.linspace(0.0, 1.0, ALONG_LINE)[:, None] if quantity.kind == "line" else np.zeros((1, 1))
        start, end = np.array(quantity.at), np.array(quantity.to or quantity.at)
        stencil = locate(start + share * (end - start), geometry, self.space.topology, self.space.location)
        counts = np.ones(len(share))
        counts[[0, -1]] = 0.5 if len(share) > 1 else 1.0
        weight = stencil.weight * (counts / counts.sum())[:, None] * quantity.factor
        return lambda xp, field, points, nodes: xp.sum(field[stencil.index] * weight)

    def _over_mesh(self, quantity: DeclaredQuantity) -> Reading:
        space = self.space
        if quantity.kind in ("maximum", "minimum"):
            return lambda xp, field, points, nodes: (
                quantity.factor * (field.max() if quantity.kind == "maximum" else field.min())
            )
        if space.topology.kind == "points":
            raise SureflowError(
                f"the quantity {quantity.name} needs a mesh with cells ({quantity.kind}), and these runs have only points"
            )
        cells = vtk_cells(space.topology)

        def read(xp: Any, field: Any, points: Any, nodes: Any) -> Any:
            values = field if space.location == "cells" else corner_means(xp, field, cells)
            weight = measures(nodes, cells, xp) * self._around(xp, corner_means(xp, nodes, cells))
            total = xp.sum(values * weight)
            return quantity.factor * (total / xp.sum(weight) if quantity.kind == "mean" else total)

        return read

    def _over_patch(self, quantity: DeclaredQuantity) -> Reading:
        space, patch = self.space, self._patch(quantity)
        faces, owners = patch.faces, patch.owners

        def behind(xp: Any, points: Any, nodes: Any) -> Any:
            """The middles of the cells behind the faces."""
            return (
                points[owners]
                if space.location == "cells"
                else corner_means(xp, nodes, vtk_cells(space.topology))[owners]
            )

        def read(xp: Any, field: Any, points: Any, nodes: Any) -> Any:
            on_faces = field[owners] if space.location == "cells" else corner_means(xp, field, faces)
            if quantity.kind in ("maximum", "minimum"):
                return quantity.factor * (on_faces.max() if quantity.kind == "maximum" else on_faces.min())
            middle = corner_means(xp, nodes, faces)
            around = self._around(xp, middle)
            if quantity.kind in ON_PATCHES:
                inside = behind(xp, points, nodes)
                normal = face_normals(nodes, faces, xp)
                if quantity.patch is not None:  # a surface by itself has the normals that its cells say
                    normal = xp.where(xp.sum(normal * (middle - inside), axis=1)[:, None] < 0, -normal, normal)
                force = normal * (on_faces * around)[:, None]
                return quantity.factor * self._projected(xp, quantity, force, middle)
            weight = measures(nodes, faces, xp) * around
            total = xp.sum(on_faces * weight)
            return quantity.factor * (total / xp.sum(weight) if quantity.kind == "mean" else total)

        return read

    def _projected(self, xp: Any, quantity: DeclaredQuantity, force: Any, middle: Any) -> Any:
        if quantity.kind == "force":
            return xp.sum(force @ xp.asarray(quantity.direction))
        arm = middle - xp.asarray(quantity.about)
        turning = arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]  # about z
        return xp.sum(turning)

    def _around(self, xp: Any, middle: Any) -> Any:
        """The circumference at a place of an axisymmetric mesh, whose second axis is r; else 1."""
        return 2.0 * np.pi * middle[:, 1] if self.space.axes[1:2] == ("r",) else xp.ones(len(middle))

    def _patch(self, quantity: DeclaredQuantity) -> Patch:
        """A patch of the boundary; runs on a surface are their own patch."""
        known = self.space.topology.patches
        if quantity.patch is None:
            cells = vtk_cells(self.space.topology)
            return Patch(cells, np.arange(len(cells.types)))
        if quantity.patch not in known:
            raise SureflowError(
                f"the quantity {quantity.name} is over the patch {quantity.patch!r}: the patches are "
                f"{', '.join(known) or 'not known, since the files have none'}"
            )
        return known[quantity.patch]


def _slope(
    read: Reading,
    field: Float[np.ndarray, " point"],
    geometry: Geometry,
    d_field: Float[np.ndarray, " point"],
    moved: Geometry | None,
) -> float:
    """The derivative of one quantity along one change of its field and of the mesh."""
    nodes = geometry.points if geometry.nodes is None else geometry.nodes
    along = Geometry(np.zeros_like(geometry.points), np.zeros_like(nodes)) if moved is None else moved
    d_nodes = along.points if along.nodes is None else along.nodes
    import jax
    import jax.numpy as jnp

    primal = tuple(map(jnp.asarray, (field, geometry.points, nodes)))
    tangent = tuple(map(jnp.asarray, (d_field, along.points, d_nodes)))
    return float(jax.jvp(lambda values, points, at: read(jnp, values, points, at), primal, tangent)[1])


def corner_means(xp: Any, values: Any, cells: Cells) -> Any:
    """The mean of values at the corners of every cell."""
    counts = np.diff(cells.offsets)
    width = int(counts.max())
    index = cells.connectivity[np.minimum(cells.offsets[:-1, None] + np.arange(width), cells.offsets[1:, None] - 1)]
    share = (np.arange(width) < counts[:, None]) / counts[:, None]
    gathered = values[index]
    return xp.sum(gathered * (share if gathered.ndim == 2 else share[..., None]), axis=1)
