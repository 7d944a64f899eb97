"""Runs to learn from: any parameters, any fields with units, on any mesh; read run by run, in the precision they are kept in."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from sureflow.data.header import Header, Parameter, Variable
from sureflow.data.meshes import (
    BODY_FITTED,
    COORDINATES,
    PHYSICAL,
    Cells,
    Geometry,
    Points,
    Topology,
    index_coordinates,
    require_geometry,
)
from sureflow.data.streams import named_columns
from sureflow.errors import SureflowError
from sureflow.physics.gases import Gas

if TYPE_CHECKING:
    import xarray

FEWEST_RUNS = 3
AXES = ("x", "y", "z")
Run = Float[np.ndarray, "variable point"]


class FieldSource(Protocol):
    """The fields of runs, read one run at a time."""

    shape: tuple[int, int, int]  # case, variable, point
    dtype: np.dtype

    def __getitem__(self, case: int) -> Run: ...

    def select(self, cases: Int[np.ndarray, " case"]) -> "FieldSource": ...


@dataclass(frozen=True)
class InMemory:
    """Fields that are an array."""

    array: Float[np.ndarray, "case variable point"]

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.array.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def __getitem__(self, case: int) -> Run:
        return self.array[case]

    def select(self, cases: Int[np.ndarray, " case"]) -> "InMemory":
        return InMemory(self.array[cases])


@dataclass(frozen=True)
class Selected:
    """Some of the fields of another source, in an order of their own."""

    source: FieldSource
    cases: Int[np.ndarray, " case"]

    @property
    def shape(self) -> tuple[int, int, int]:
        return (len(self.cases), *self.source.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.source.dtype

    def __getitem__(self, case: int) -> Run:
        return self.source[int(self.cases[case])]

    def select(self, cases: Int[np.ndarray, " case"]) -> "Selected":
        return Selected(self.source, self.cases[cases])


@dataclass(frozen=True)
class Joined:
    """The fields of several sources, one after the other."""

    sources: tuple[FieldSource, ...]

    @cached_property
    def _starts(self) -> Int[np.ndarray, " source+1"]:
        return np.cumsum([0, *(source.shape[0] for source in self.sources)])

    @property
    def shape(self) -> tuple[int, int, int]:
        return (int(self._starts[-1]), *self.sources[0].shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(*(source.dtype for source in self.sources))

    def __getitem__(self, case: int) -> Run:
        which = int(np.searchsorted(self._starts, case, side="right")) - 1
        return self.sources[which][case - int(self._starts[which])]

    def select(self, cases: Int[np.ndarray, " case"]) -> Selected:
        return Selected(self, cases)


@dataclass(frozen=True)
class Runs:
    """Converged runs in physical units.

    The cells are connected alike in all runs. Their geometry is one for all, or, where the body or the mesh changes with the
    parameters, one for each (`geometries`). `stream` holds velocity, density, pressure and temperature of the free stream
    of every run, where they are known. Make runs with `Runs.from_arrays` or `sureflow.open_runs`.
    """

    header: Header
    parameters: Float[np.ndarray, "case parameter"]
    fields: FieldSource
    topology: Topology
    geometry: Geometry | None
    geometries: Callable[[int], Geometry] | None = None
    numbers: Float[np.ndarray, "case number"] | None = None
    stream: Float[np.ndarray, "case 4"] | None = None
    described: Mapping[str, Points] = field(default_factory=dict)  # further descriptions of shared points, by name
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_consistent(self)

    @classmethod
    def from_arrays(
        cls,
        parameters: Mapping[str, ArrayLike],
        coordinates: ArrayLike | Mapping[str, ArrayLike],
        fields: Mapping[str, ArrayLike],
        units: Mapping[str, str] | None = None,
        free_stream: Mapping[str, Any] | None = None,
        *,
        axes: Sequence[str] | None = None,
        shape: Sequence[int] | None = None,
        cells: Cells | None = None,
        nodes: ArrayLike | None = None,
        numbers: Mapping[str, ArrayLike] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        logarithmic: Sequence[str] = (),
        location: str = "cells",
    ) -> Self:
        """Runs of your own: parameters (case), the points of the fields (point, axis) and fields (case, point), by name.

        Points that move with the parameters are (case, point, axis). `coordinates` may also be several descriptions of the
        same points by name ("physical", "body-fitted"). `units` are those of fields, parameters and numbers alike.
        `free_stream` says which parameters are its "velocity", "density" and "temperature", in SI units: with it, and with
        the units of the fields, the scaling "freestream" is offered.

        A mesh has `nodes` (node, axis), or (case, node, axis), and either the `shape` of a structured block in cells,
        slowest index first, or unstructured `cells`. Fields live on its cells, or with location="points" on its nodes.
        `numbers` are kept for every run, such as its drag; `ranges` declare beyond what nothing is answered; parameters
        that are `logarithmic` are seen by models as their logarithms.

        >>> import numpy as np, sureflow as sf
        >>> x = np.linspace(0, 1, 50)[:, None]
        >>> angle = np.linspace(0, 4, 9)
        >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
        >>> runs
        9 runs over angle (0..4): p (Pa) at 50 points in x
        """
        points, described = _points(coordinates)
        per_case = points.ndim == 3
        located = None if nodes is None else np.asarray(nodes, float)
        units, ranges = units or {}, ranges or {}
        known = {*parameters, *fields, *(numbers or {})}
        stranger = next((name for name in (*units, *ranges, *logarithmic) if name not in known), None)
        if stranger is not None:
            raise SureflowError(f"{stranger!r} is given a unit, range or scale, but is not among {', '.join(sorted(known))}")
        header = Header(
            parameters=tuple(_parameter(name, units, ranges, logarithmic) for name in parameters),
            fields=tuple(Variable(name, units.get(name, "")) for name in fields),
            numbers=tuple(Variable(name, units.get(name, "")) for name in numbers or {}),
            axes=tuple(axes or _default_axes(points.shape[-1])),
            location=location,  # type: ignore[arg-type]
            stream=None if free_stream is None else named_columns(free_stream, tuple(parameters)),
        )

        def geometry_of(case: int) -> Geometry:
            at = located[case] if located is not None and located.ndim == 3 else located
            return Geometry(points[case], at)

        return cls(
            header=header,
            parameters=_columns(parameters, "parameter"),
            fields=InMemory(_stacked(fields)),
            topology=Topology(None if shape is None else tuple(int(n) for n in shape), cells),
            geometry=None if per_case else Geometry(points, located),
            geometries=geometry_of if per_case else None,
            numbers=_columns(numbers, "number") if numbers else None,
            described=described,
        )

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
        if isinstance(self.fields, InMemory):
            return np.asarray(self.fields.array, float)
        return np.stack(list(self.each())) if len(self) else np.empty(self.fields.shape)

    def coordinates(self, kind: str, case: int = 0) -> Points:
        """The points of the fields in `physical` coordinates, or `body-fitted` on a structured block."""
        if kind == PHYSICAL:
            return self.geometry_of(case).points
        if kind in self.described:
            return self.described[kind]
        shape = self.topology.values_shape(self.header.location)
        if kind != BODY_FITTED or shape is None:
            raise SureflowError(f"coordinates={kind!r}: these runs have {' and '.join(self.known_coordinates)} coordinates")
        return index_coordinates(shape)

    @property
    def known_coordinates(self) -> tuple[str, ...]:
        structured = (BODY_FITTED,) if self.topology.shape is not None else ()
        return tuple(dict.fromkeys((PHYSICAL, *self.described, *structured)))

    def select(self, cases: Bool[np.ndarray, " case"] | Int[np.ndarray, " case"] | slice) -> Self:
        """Some of the runs, by mask, numbers or slice."""
        chosen = np.arange(len(self))[cases]
        geometries = self.geometries
        return replace(
            self,
            parameters=self.parameters[chosen],
            fields=self.fields.select(chosen),
            geometries=None if geometries is None else lambda case: geometries(int(chosen[case])),
            numbers=None if self.numbers is None else self.numbers[chosen],
            stream=None if self.stream is None else self.stream[chosen],
        )

    def split(self, test: float | int = 0.2, seed: int = 0) -> tuple[Self, Self]:
        """Training and test runs, drawn at random: `test` is a share of the runs, or a number of them."""
        count = test if isinstance(test, int) and not isinstance(test, bool) else round(test * len(self))
        if not 0 < count < len(self):
            raise SureflowError(f"test={test:g} of {len(self)} runs leaves nothing to test or to train on: choose between")
        drawn = np.zeros(len(self), bool)
        drawn[np.random.default_rng(seed).permutation(len(self))[:count]] = True
        return self.select(~drawn), self.select(drawn)

    @classmethod
    def join(cls, parts: Sequence["Runs"]) -> "Runs":
        """Several sets of runs as one; they must agree in names, units, mesh and how they were made."""
        first = parts[0]
        for number, other in enumerate(parts[1:], 2):
            difference = disagreement(first, other)
            if difference:
                raise SureflowError(f"set {number} of the runs does not fit the first: {difference}")
        starts = np.cumsum([0, *(len(part) for part in parts)])

        def geometry_of(case: int) -> Geometry:
            which = int(np.searchsorted(starts, case, side="right")) - 1
            return parts[which].geometry_of(case - int(starts[which]))

        orders = [[part.parameter_names.index(name) for name in first.parameter_names] for part in parts]
        joined = replace(
            first,
            parameters=np.concatenate([part.parameters[:, order] for part, order in zip(parts, orders, strict=True)]),
            fields=Joined(tuple(part.fields for part in parts)),
            geometries=None if first.geometries is None else geometry_of,
            numbers=None if first.numbers is None else np.concatenate([part.numbers for part in parts]),  # type: ignore[arg-type]
            stream=None if first.stream is None else np.concatenate([part.stream for part in parts]),  # type: ignore[arg-type]
            left_out={},
        )
        require_distinct(joined.parameters, joined.parameter_names)
        return joined

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the runs as a store, which `sureflow.open_runs` and all commands read."""
        from sureflow.data.store import write_runs

        write_runs(self, Path(path), overwrite=overwrite)

    def to_xarray(self) -> "xarray.Dataset":
        """All runs with names, units and coordinates, in memory."""
        from sureflow.data.labels import labelled_runs

        return labelled_runs(self)

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
        for case in range(len(self) if self.is_moving else 1):
            for values in self.geometry_of(case).arrays():
                _require_finite("coordinates", values)
        for case, run in enumerate(self.each()):
            bad = (~np.isfinite(run)).sum(axis=1)
            if bad.any():
                worst = int(bad.argmax())
                raise SureflowError(
                    f"{self.names[worst]} of the run at {self.condition(case)} has {bad[worst]} missing or non-finite "
                    "values: compute it again or leave it out"
                )

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
        return digest.hexdigest()

    def __repr__(self) -> str:
        ranges = ", ".join(
            f"{name} ({low:g}..{high:g})"
            for name, low, high in zip(
                self.parameter_names, self.parameters.min(axis=0), self.parameters.max(axis=0), strict=True
            )
        )
        fields = ", ".join(f"{item.name} ({item.unit})" if item.unit else item.name for item in self.header.fields)
        place = {"structured": f"a block of {self.topology.shape} cells", "unstructured": "an unstructured mesh"}
        where = f" of {place[self.topology.kind]}" if self.topology.kind in place else ""
        moving = ", which move from run to run" if self.is_moving else ""
        at = "cells" if self.header.location == "cells" and where else "points"
        count = f"{self.n_points:,} {at}{where} in {', '.join(self.header.axes)}"
        return f"{len(self)} runs over {ranges}: {fields} at {count}{moving}"

    def _repr_html_(self) -> str:
        from sureflow.data.labels import runs_html

        return runs_html(self)


def disagreement(one: Runs, other: Runs) -> str:
    """What keeps two sets of runs from being one, or nothing."""
    found = one.header.difference(other.header)
    if found:
        return found
    if one.n_points != other.n_points:
        return f"they have {one.n_points} and {other.n_points} points"
    if one.topology != other.topology:
        return "their cells are not connected alike"
    if one.is_moving != other.is_moving:
        return "the mesh of one is shared by its runs, that of the other is not"
    if one.geometry is not None and other.geometry is not None:
        size = np.ptp(one.geometry.points, axis=0).max()
        away = float(np.abs(one.geometry.points - other.geometry.points).max())
        if away > 1e-6 * size:
            return f"their points lie up to {away:.3g} apart"
    if (one.stream is None) != (other.stream is None):
        return "only one of them knows its free stream"
    return ""


def require_consistent(runs: Runs) -> None:
    """Refuse arrays whose sizes do not fit together."""
    n_runs, n_fields, n_points = runs.fields.shape
    if runs.parameters.shape != (n_runs, len(runs.header.parameters)):
        raise SureflowError(
            f"there are {len(runs.parameters)} rows of {len(runs.header.parameters)} parameters for {n_runs} runs"
        )
    if n_fields != len(runs.header.fields):
        raise SureflowError(f"{len(runs.header.fields)} fields are named and {n_fields} are given")
    if runs.numbers is not None and runs.numbers.shape != (n_runs, len(runs.header.numbers)):
        raise SureflowError(f"there are numbers of {len(runs.numbers)} runs for {n_runs} runs")
    _require_finite("parameters", runs.parameters)
    for parameter, values in zip(runs.header.parameters, runs.parameters.T, strict=True):
        parameter.refuse(values)
    if n_runs:
        require_geometry(runs.topology, runs.geometry_of(0), len(runs.header.axes), n_points)
    for kind, points in runs.described.items():
        if len(points) != n_points:
            raise SureflowError(f"the {kind} coordinates describe {len(points)} points, and the fields have {n_points}")


def require_distinct(parameters: Float[np.ndarray, "case parameter"], names: Sequence[str]) -> None:
    """Two runs at one condition leave no model that passes through both."""
    distinct, first = np.unique(parameters, axis=0, return_index=True)
    if len(distinct) < len(parameters):
        again = np.setdiff1d(np.arange(len(parameters)), first)
        at = ", ".join(f"{name}={value:g}" for name, value in zip(names, parameters[again[0]], strict=True))
        raise SureflowError(
            f"{len(again)} of {len(parameters)} runs repeat the condition of another, the first of them is run {again[0]} at "
            f"{at}: leave one of each out"
        )


def left_out_clause(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
    return f" (left out: {counts})" if counts else ""


def _points(coordinates: ArrayLike | Mapping[str, ArrayLike]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Physical points, and further descriptions of them. "xr" is what the physical ones were called once."""
    if not isinstance(coordinates, Mapping):
        return np.asarray(coordinates, float), {}
    given = {PHYSICAL if name == "xr" else name: np.asarray(points, float) for name, points in coordinates.items()}
    unknown = next((name for name in given if name not in COORDINATES), None)
    if unknown is not None or PHYSICAL not in given:
        raise SureflowError(
            f"coordinates are given as {', '.join(given)}: give {PHYSICAL}, and {BODY_FITTED} ones if there are any"
        )
    return given.pop(PHYSICAL), given


def _default_axes(count: int) -> tuple[str, ...]:
    return AXES[:count] if count <= len(AXES) else tuple(f"x{axis}" for axis in range(1, count + 1))


def _parameter(
    name: str, units: Mapping[str, str], ranges: Mapping[str, tuple[float, float]], logarithmic: Iterable[str]
) -> Parameter:
    low, high = ranges.get(name, (None, None))
    return Parameter(name, units.get(name, ""), "log" if name in logarithmic else "linear", low, high)


def _columns(values: Mapping[str, ArrayLike], kind: str) -> Float[np.ndarray, "case column"]:
    arrays = {name: np.asarray(column, float) for name, column in values.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 1:
        raise SureflowError(f"every {kind} needs one value for each run; their shapes are {shapes}")
    return np.column_stack(list(arrays.values()))


def _stacked(fields: Mapping[str, ArrayLike]) -> Float[np.ndarray, "case variable point"]:
    """In single precision if all fields are, else in double."""
    arrays = {name: np.asarray(values) for name, values in fields.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 2:
        raise SureflowError(f"fields must share one shape (case, point); they have {shapes}")
    single = all(array.dtype == np.float32 for array in arrays.values())
    return np.stack([np.asarray(array, np.float32 if single else float) for array in arrays.values()], axis=1)


def _require_finite(name: str, values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise SureflowError(f"{name} have {np.sum(~np.isfinite(values))} missing or non-finite values")


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array, "<f8").data
