"""Runs to learn from: any parameters, any fields with units, on any mesh; read run by run, in the precision they are kept in."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from sureflow import scratch
from sureflow.data import arrays
from sureflow.data.checks import left_out_clause, require_apart, require_distinct, require_finite_values
from sureflow.data.drawn import of_parts, together
from sureflow.data.header import Header
from sureflow.data.meshes import (
    BODY_FITTED,
    PHYSICAL,
    Cells,
    Geometry,
    Points,
    Topology,
    index_coordinates,
    require_mesh,
)
from sureflow.data.resampling import Resampling
from sureflow.data.sources import ArrayFields, FieldSource, JoinedFields, OrderedFields, Run
from sureflow.data.streams import StreamSource
from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas
from sureflow.remembered import once_for_each

if TYPE_CHECKING:
    import xarray

FEWEST_RUNS = 3
SAME_CONDITION = 1e-9  # conditions that agree to this share of the ranges are one


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Converged runs in physical units.

    The cells are connected alike in all runs. Their geometry is one for all, or, where the body or the mesh changes with the
    parameters, one for each (`geometries`). Make runs with `Runs.from_arrays` or `sureflow.open_runs`.
    """

    header: Header
    parameters: Float[np.ndarray, "case parameter"]
    fields: FieldSource
    topology: Topology
    geometry: Geometry | None
    geometries: Callable[[int], Geometry] | None = None
    numbers: Float[np.ndarray, "case number"] | None = None
    described: Mapping[str, Points] = field(default_factory=dict)  # further coordinates, equal in all runs
    left_out: Mapping[str, int] = field(default_factory=dict)
    resampling: Resampling | None = None  # of runs that were computed on other meshes
    own: "Runs | None" = None  # the same runs at points of the meshes that they were computed on
    coarser: "Runs | None" = None  # runs on a mesh of merged cells, at these conditions and others

    def __post_init__(self) -> None:
        require_consistent(self)

    @classmethod
    def from_arrays(
        cls,
        parameters: Mapping[str, ArrayLike],
        coordinates: ArrayLike | Mapping[str, ArrayLike],
        fields: Mapping[str, ArrayLike],
        units: Mapping[str, str] | None = None,
        free_stream: Mapping[str, Any] | StreamSource | None = None,
        *,
        axes: Sequence[str] | None = None,
        shape: Sequence[int] | None = None,
        cells: Cells | None = None,
        nodes: ArrayLike | None = None,
        numbers: Mapping[str, ArrayLike] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        drawn_from: Mapping[str, tuple[float, float]] | None = None,
        logarithmic: Sequence[str] = (),
        location: str = "cells",
        gas: Gas | None = None,
        made_by: Mapping[str, Any] | None = None,
    ) -> "Runs":
        """Runs of your own: parameters (case), the points of the fields (point, axis) and fields (case, point), by name.

        Points that move with the parameters are (case, point, axis). `coordinates` may also be several descriptions of the
        same points by name ("physical", "body-fitted"). `units` are those of fields, parameters and numbers alike.
        `free_stream` says which parameters are its "velocity", "density" and "temperature", in SI units: with it, and with
        the units of the fields, the scaling "freestream" is offered. It may also be a `Flight`, for runs over "mach" and
        "altitude_km".

        A mesh has `nodes` (node, axis), or (case, node, axis), and either the `shape` of a structured block in cells,
        slowest index first, or unstructured `cells`. Fields live on its cells, or with location="points" on its nodes.
        `numbers` are kept for every run, such as its drag; `ranges` declare beyond what nothing is answered; `drawn_from` are
        the ranges that the conditions were sampled from, within which a condition may be inside although no run reaches as far;
        parameters that are `logarithmic` are seen by models as their logarithms. `gas` is what the runs were computed with, and
        `made_by` says in plain values how.

        >>> import numpy as np, sureflow as sf
        >>> x = np.linspace(0, 1, 50)[:, None]
        >>> angle = np.linspace(0, 4, 9)
        >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
        >>> runs
        9 runs over angle (0..4): p (Pa) at 50 points in x
        """
        units, ranges, numbers = units or {}, ranges or {}, numbers or {}
        arrays.refuse_strangers((*units, *ranges, *logarithmic), (*parameters, *fields, *numbers))
        arrays.refuse_strangers(drawn_from or (), parameters)
        points, described = arrays.physical_points(coordinates)
        on_nodes = nodes is None and location == "points" and (shape is not None or cells is not None)
        located = points if on_nodes else None if nodes is None else arrays.nodes_of(nodes, points.shape[-1])
        header = arrays.header_of(
            parameters=arrays.parameter_tables(parameters, units, ranges, logarithmic),
            fields=arrays.variable_tables(fields, units),
            numbers=arrays.variable_tables(numbers, units),
            axes=arrays.axes_of(axes, points.shape[-1]),
            location=location,
            stream=arrays.stream_of(free_stream, tuple(parameters)),
            made_by=arrays.made_with(made_by, gas),
            drawn_from=[{"ranges": dict(drawn_from)}] if drawn_from else [],
        )
        columns, values = arrays.columns_of(parameters, "parameter"), arrays.stacked(fields)
        kept = arrays.columns_of(numbers, "number") if numbers else None
        arrays.require_cases(len(values), parameters=columns, numbers=kept)
        geometry, geometries = arrays.geometries_of(points, located, len(values))
        topology = Topology(None if shape is None else tuple(int(n) for n in shape), cells)
        runs = cls(header, columns, ArrayFields(values), topology, geometry, geometries, kept, described)
        runs.require_mesh()
        return runs

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return self.header.parameter_names

    @property
    def names(self) -> tuple[str, ...]:
        return self.header.names

    @property
    def units(self) -> tuple[str, ...]:
        return self.header.units

    @property
    def gas(self) -> Gas | None:
        return self.header.gas

    @property
    def n_points(self) -> int:
        return self.fields.shape[2]

    @property
    def fits_in_memory(self) -> bool:
        """Whether all fields together, in float64, are small enough to be held at once."""
        return int(np.prod(self.fields.shape, dtype=np.int64)) * 8 <= scratch.IN_MEMORY

    @property
    def is_moving(self) -> bool:
        """Whether every run has points and nodes of its own."""
        return self.geometry is None

    def geometry_of(self, case: int) -> Geometry:
        """Points and nodes of one run."""
        if self.geometry is not None:
            return self.geometry
        assert self.geometries is not None
        return self.geometries(case)

    def each(self) -> Iterator[Run]:
        """The fields of one run after the other, in float64."""
        for case in range(len(self)):
            yield np.asarray(self.fields[case], float)

    def array(self) -> Float[np.ndarray, "case variable point"]:
        """All fields at once, in float64; for runs that fit into memory."""
        return self.fields.array()

    def coordinates(self, kind: str, case: int = 0) -> Points:
        """The points of the fields in `physical` coordinates, or `body-fitted` on a structured block."""
        if kind == PHYSICAL:
            return self.geometry_of(case).points
        if kind in self.described:
            return self.described[kind]
        shape = self.topology.values_shape(self.header.location)
        if kind != BODY_FITTED or shape is None:
            raise SureflowError(
                f"coordinates={kind!r}: these runs have {' and '.join(self.known_coordinates)} coordinates"
            )
        return index_coordinates(shape)

    @property
    def known_coordinates(self) -> tuple[str, ...]:
        structured = (BODY_FITTED,) if self.topology.shape is not None else ()
        return tuple(dict.fromkeys((PHYSICAL, *self.described, *structured)))

    def select(self, cases: Bool[np.ndarray, " case"] | Int[np.ndarray, " case"] | slice) -> "Runs":
        """Some of the runs, by mask, numbers or slice; coarser runs at the conditions of the others go with those."""
        try:
            chosen = np.arange(len(self))[cases]
        except IndexError:
            raise SureflowError(
                f"{len(self)} runs can be selected by a mask of that length, or by run numbers below it"
            ) from None
        geometries = self.geometries
        others = np.setdiff1d(np.arange(len(self)), chosen)
        numbers = None if self.numbers is None else self.numbers[chosen]
        return replace(
            self,
            header=of_parts(self.header, numbers),
            parameters=self.parameters[chosen],
            fields=self.fields.select(chosen),
            geometries=None if geometries is None else lambda case: geometries(int(chosen[case])),
            numbers=numbers,
            own=None if self.own is None else self.own.select(chosen),
            coarser=None if self.coarser is None else self.coarser.without(self.parameters[others]),
        )

    def without(self, conditions: Float[np.ndarray, "condition parameter"]) -> "Runs":
        """The runs that are at none of these conditions."""
        if not len(conditions) or not len(self):
            return self
        own, others = self._seen(self.parameters), self._seen(conditions)
        width = np.ptp(own, axis=0)
        scale = np.where(width > 0, width, 1.0)
        same = [(np.abs(others - one) <= SAME_CONDITION * scale).all(axis=1).any() for one in own]
        return self.select(~np.array(same))

    def require_apart(self) -> None:
        """Refuse runs at one condition, or next to each other as models see them."""
        require_distinct(self.parameters, self.parameter_names)
        require_apart(self._seen(self.parameters), self.parameters, self.parameter_names)

    def _seen(self, conditions: Float[np.ndarray, "condition parameter"]) -> Float[np.ndarray, "condition parameter"]:
        """With the logarithms of those that models see so."""
        found = np.array(conditions, float)
        for column in (column for column, item in enumerate(self.header.parameters) if item.scale == "log"):
            found[:, column] = np.log(found[:, column])
        return found

    def with_coarser(self, runs: "Runs") -> "Runs":
        """The same runs, with `runs` on a mesh of merged cells to learn from as well: see the model `levels`.

        They are at the conditions of these runs and at others, and may have coarser ones themselves.
        """
        from sureflow.data.nesting import require_levels

        require_levels(runs, self)
        require_distinct(runs.parameters, runs.parameter_names)
        return replace(self, coarser=runs.ordered_like(runs.header.ordered(self.header)))

    def split(self, test: float | int = 0.2, seed: int = 0) -> tuple["Runs", "Runs"]:
        """Training and test runs, drawn at random: `test` is a share of the runs, or a number of them."""
        count = test if isinstance(test, int) and not isinstance(test, bool) else round(test * len(self))
        if not 0 < count < len(self):
            raise SureflowError(
                f"test={test:g} of {len(self)} runs leaves nothing to test or to train on: give a fraction below 1, or a "
                "smaller number of runs"
            )
        drawn = np.zeros(len(self), bool)
        drawn[np.random.default_rng(seed).permutation(len(self))[:count]] = True
        return self.select(~drawn), self.select(drawn)

    @classmethod
    def join(cls, parts: Sequence["Runs"]) -> "Runs":
        """Several sets of runs as one; they must agree in names, units, mesh and how they were made."""
        if not parts:
            raise SureflowError("there are no runs to join: give a list of them")
        first = parts[0]
        for number, other in enumerate(parts[1:], 2):
            difference = disagreement(first, other)
            if difference:
                raise SureflowError(f"set {number} of the runs (there) does not match set 1 (here): {difference}")
        ordered = [part.ordered_like(first.header) for part in parts]
        fields = JoinedFields(tuple(part.fields for part in ordered))

        def geometry_of(case: int) -> Geometry:
            which, within = fields.place(case)
            return parts[which].geometry_of(within)

        numbers = [part.numbers for part in ordered if part.numbers is not None]
        joined = replace(
            first,
            header=replace(first.header, drawn_from=together(part.header.drawn_from for part in parts)),
            parameters=np.concatenate([part.parameters for part in ordered]),
            fields=fields,
            geometries=geometry_of if first.is_moving else None,
            numbers=np.concatenate(numbers) if numbers else None,
            left_out={},
            own=Runs.join([part.own for part in ordered if part.own]) if all(part.own for part in ordered) else None,
            coarser=_joined_levels([part.coarser for part in ordered if part.coarser is not None]),
        )
        require_distinct(joined.parameters, joined.parameter_names)
        return joined

    def ordered_like(self, header: Header) -> "Runs":
        """The same runs with parameters, fields and numbers in the order of another header."""

        def order(kind: str) -> Int[np.ndarray, " item"]:
            names = [item.name for item in getattr(self.header, kind)]
            return np.array([names.index(item.name) for item in getattr(header, kind)], int)

        by_field = order("fields")
        in_order = bool((by_field == np.arange(len(by_field))).all())
        return replace(
            self,
            header=header,
            parameters=self.parameters[:, order("parameters")],
            fields=self.fields if in_order else OrderedFields(self.fields, by_field),
            numbers=None if self.numbers is None else self.numbers[:, order("numbers")],
            own=None if self.own is None else self.own.ordered_like(replace(header, location="points", numbers=())),
            coarser=None if self.coarser is None else self.coarser.ordered_like(self.coarser.header.ordered(header)),
        )

    def free_streams(self, cases: Int[np.ndarray, " chosen"] | None = None) -> list[FreeStream] | None:
        """The free stream of all or some runs; None where it or the gas is unknown."""
        return self.header.free_streams(self.parameters if cases is None else self.parameters[cases])

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the runs as a store, which `sureflow.open_runs` and all commands read."""
        from sureflow.data.store import write_runs

        write_runs(self, Path(path), overwrite=overwrite)

    def to_xarray(self) -> "xarray.Dataset":
        """All runs with names, units and coordinates, in memory."""
        from sureflow.data.labels import labelled_runs

        return labelled_runs(self)

    def require_mesh(self) -> None:
        """Refuse points, nodes and cells that do not fit together, for those who make runs; a selection needs it not."""
        if len(self):
            geometry = self.geometry_of(0)
            require_mesh(self.topology, geometry, self.header.location, len(self.header.axes), self.n_points)

    def require_trainable(self) -> None:
        """Refuse too few runs and values that are missing."""
        if len(self) < FEWEST_RUNS:
            raise SureflowError(
                f"{len(self)} converged runs are too few to learn from: at least {FEWEST_RUNS} are needed"
                f"{left_out_clause(self.left_out)}"
            )
        self.require_finite()

    def require_finite(self) -> None:
        """Refuse values that are missing."""
        _require_finite(self)

    def condition(self, case: int) -> str:
        """'mach=25, altitude_km=46'."""
        pairs = zip(self.parameter_names, self.parameters[case], strict=True)
        return ", ".join(f"{name}={value:g}" for name, value in pairs)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 over the values of parameters, coordinates and fields."""
        digest = hashlib.sha256()
        digest.update(_bytes(self.parameters))
        for case in range(len(self) if self.is_moving else 1):
            for kind in self.known_coordinates:
                digest.update(_bytes(self.coordinates(kind, case)))
        for run in self.each():
            digest.update(_bytes(run))
        if self.coarser is not None:
            digest.update(self.coarser.checksum.encode())
        return digest.hexdigest()

    @property
    def mesh_sentence(self) -> str:
        """'4,096 cells of a block of 64 x 64 cells in x, r'."""
        shape = self.topology.shape
        kinds = {"structured": f" of a block of {' x '.join(map(str, shape or ()))} cells", "points": ""}
        kind = kinds.get(self.topology.kind, " of an unstructured mesh")
        places = "cells" if self.header.location == "cells" and kind else "points"
        moving = ", which move from run to run" if self.is_moving else ""
        return f"{self.n_points:,} {places}{kind} in {', '.join(self.header.axes)}{moving}"

    def __repr__(self) -> str:
        names = list(self.parameter_names)
        if len(self):
            bounds = zip(names, self.parameters.min(axis=0), self.parameters.max(axis=0), strict=True)
            names = [f"{name} ({low:g}..{high:g})" for name, low, high in bounds]
        fields = ", ".join(f"{item.name} ({item.unit})" if item.unit else item.name for item in self.header.fields)
        coarser = f"; coarser: {self.coarser}" if self.coarser is not None else ""
        left_out = left_out_clause(self.left_out)
        return f"{len(self)} runs over {', '.join(names)}: {fields} at {self.mesh_sentence}{left_out}{coarser}"

    def _repr_html_(self) -> str:
        from sureflow.data.labels import runs_html

        return runs_html(self)


@once_for_each
def _require_finite(runs: Runs) -> None:
    for case in range(len(runs) if runs.is_moving else 1):
        for values in runs.geometry_of(case).arrays():
            require_finite_values("coordinates", values)
    for case, run in enumerate(runs.each()):
        bad = (~np.isfinite(run)).sum(axis=1)
        if bad.any():
            worst = int(bad.argmax())
            raise SureflowError(
                f"{runs.names[worst]} of the run at {runs.condition(case)} has {bad[worst]} missing or non-finite "
                "values: compute it again or leave it out"
            )


def _joined_levels(parts: Sequence[Runs]) -> Runs | None:
    """Coarser runs of several sets, which may share some: each condition once."""
    if not parts:
        return None
    found = parts[0]
    for part in parts[1:]:
        found = Runs.join([found, part.without(found.parameters)])
    return found


def disagreement(one: Runs, other: Runs) -> str:
    """What keeps two sets of runs from being one, or nothing."""
    found = one.header.difference(other.header)
    if found:
        return found
    if one.n_points != other.n_points:
        return f"they have {one.n_points} and {other.n_points} points"
    if one.topology != other.topology:
        return "their cells are connected differently"
    if one.is_moving != other.is_moving:
        return "one has a mesh that all its runs share, the other does not"
    if one.known_coordinates != other.known_coordinates:
        return f"they have {' and '.join(one.known_coordinates)} against {' and '.join(other.known_coordinates)} coordinates"
    if one.geometry is not None and other.geometry is not None:
        here, there = one.geometry.arrays(), other.geometry.arrays()
        if [array.shape for array in here] != [array.shape for array in there]:
            return "their meshes have different numbers of nodes"
        away = max(float(np.abs(a - b).max()) for a, b in zip(here, there, strict=True))
        if away > 1e-6 * np.ptp(one.geometry.points, axis=0).max():
            return f"their meshes lie up to {away:.3g} apart"
    return ""


def require_consistent(runs: Runs) -> None:
    """Refuse arrays whose sizes do not fit together."""
    n_runs, n_fields, n_points = runs.fields.shape
    if (n_runs, n_fields) != (len(runs.parameters), len(runs.names)):
        raise SureflowError(
            f"parameters are given for {len(runs.parameters)} runs and names for {len(runs.names)} fields, but the fields have "
            f"the shape (run, field, point) = ({n_runs}, {n_fields}, {n_points})"
        )
    require_finite_values("parameters", runs.parameters)
    for parameter, values in zip(runs.header.parameters, runs.parameters.T, strict=True):
        parameter.refuse(values)
    for kind, points in runs.described.items():
        if len(points) != n_points:
            raise SureflowError(f"the {kind} coordinates describe {len(points)} points, but the fields have {n_points}")


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array, "<f8").data
