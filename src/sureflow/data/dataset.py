"""Runs to learn from: any parameters, any fields with units, on a mesh that all runs share."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from sureflow.data.free_stream import Columns, Flight, named_columns
from sureflow.data.schema import PARAMETERS, VARIABLES, Status, gas_from
from sureflow.data.store import RunStore
from sureflow.errors import SureflowError
from sureflow.physics.gas import Gas, PerfectGas

FEWEST_RUNS = 3
PHYSICAL = "xr"
BODY_FITTED = "body-fitted"


@dataclass(frozen=True)
class Mesh:
    """A structured mesh: `shape` (nj, ni) of its cells, wall first, and its (nj + 1, ni + 1) nodes in meters."""

    shape: tuple[int, int]
    node_x: Float[np.ndarray, "nj+1 ni+1"]
    node_r: Float[np.ndarray, "nj+1 ni+1"]


@dataclass(frozen=True)
class Dataset:
    """Converged runs in physical units, in float64. `coordinates` holds one or more descriptions of the same points."""

    parameters: Float[np.ndarray, "case parameter"]
    parameter_names: tuple[str, ...]
    coordinates: dict[str, Float[np.ndarray, "point coordinate"]]
    fields: Float[np.ndarray, "case variable point"]
    names: tuple[str, ...]
    units: tuple[str, ...]
    free_stream: Float[np.ndarray, "case quantity"] | None = None
    mesh: Mesh | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    gas: Gas | None = None
    free_stream_source: Flight | Columns | None = None  # the free stream of any condition, not of the runs alone

    def __post_init__(self) -> None:
        _check_shapes(self)

    @classmethod
    def from_arrays(
        cls,
        parameters: Mapping[str, ArrayLike],
        coordinates: ArrayLike | Mapping[str, ArrayLike],
        fields: Mapping[str, ArrayLike],
        units: Mapping[str, str] | None = None,
        free_stream: Mapping[str, Any] | None = None,
    ) -> Self:
        """Runs of your own: parameters (case), the mesh (point, coordinate) and fields (case, point), by name.

        `coordinates` may also be several descriptions of the same points by name ("xr" is the physical one).
        `free_stream` says which parameters are its "velocity", "density" and "temperature", in SI units: with it, and
        with the units of the fields, the freestream scaling is offered.
        """
        described = coordinates if isinstance(coordinates, Mapping) else {PHYSICAL: coordinates}
        shapes = {name: np.shape(values) for name, values in fields.items()}
        if len(set(shapes.values())) != 1:
            raise SureflowError(f"fields must share one shape (case, point); they have {shapes}")
        units = units or {}
        return cls(
            parameters=np.column_stack([np.asarray(values, float) for values in parameters.values()]),
            parameter_names=tuple(parameters),
            coordinates={name: np.asarray(points, float) for name, points in described.items()},
            fields=np.stack([np.asarray(values, float) for values in fields.values()], axis=1),
            names=tuple(fields),
            units=tuple(units.get(name, "") for name in fields),
            free_stream_source=None if free_stream is None else named_columns(free_stream, tuple(parameters)),
        )

    @classmethod
    def from_store(cls, path: str | Path) -> Self:
        """The converged runs of a store; the others are left out and counted."""
        store = RunStore.open(Path(path))
        status = store.status()
        used = np.flatnonzero(status == Status.CONVERGED)
        n_points = store.array("x").size
        fields = np.empty((used.size, len(VARIABLES), n_points))
        for run, case in zip(fields, used, strict=True):
            run[:] = store.fields(int(case)).reshape(run.shape)
        return cls(
            parameters=store.conditions()[used],
            parameter_names=tuple(PARAMETERS),
            coordinates={
                PHYSICAL: np.column_stack([store.array("x"), store.array("r")]),
                BODY_FITTED: np.column_stack([store.array("xi"), store.array("eta")]),
            },
            fields=fields,
            names=tuple(VARIABLES),
            units=tuple(VARIABLES.values()),
            free_stream=store.array("free_stream")[used],
            mesh=Mesh(store.shape, store.array("node_x"), store.array("node_r")),
            left_out=_count_left_out(status),
            gas=gas_from(store.attributes["gas"]),
            free_stream_source=_flight(gas_from(store.attributes["gas"])),
        )

    def select(self, runs: Bool[np.ndarray, " case"]) -> Self:
        """The dataset of some of the runs (a mask)."""
        free_stream = None if self.free_stream is None else self.free_stream[runs]
        return replace(self, parameters=self.parameters[runs], fields=self.fields[runs], free_stream=free_stream)

    def require_trainable(self) -> None:
        """Refuse too few runs and values that are missing. Runs that are not selected may be anything."""
        if len(self.parameters) < FEWEST_RUNS:
            raise SureflowError(
                f"{len(self.parameters)} converged runs are too few to learn from: at least {FEWEST_RUNS} are needed"
                f"{_left_out_clause(self.left_out)}"
            )
        self.require_finite()

    def require_finite(self) -> None:
        """Refuse values that are missing."""
        _check_finite(self)

    def points(self, coordinates: str) -> Float[np.ndarray, "point coordinate"]:
        """The mesh in the named coordinates."""
        if coordinates not in self.coordinates:
            raise SureflowError(f"coordinates={coordinates!r}: these runs have {' and '.join(self.coordinates)}")
        return self.coordinates[coordinates]

    @property
    def n_points(self) -> int:
        return self.fields.shape[2]

    @property
    def checksum(self) -> str:
        """SHA-256 over the values of parameters, coordinates and fields."""
        digest = hashlib.sha256()
        for array in (self.parameters, *self.coordinates.values(), self.fields):
            digest.update(np.ascontiguousarray(array, "<f8").data)
        return digest.hexdigest()


def _flight(gas: Gas) -> Flight | None:
    """The free stream follows from Mach number and altitude, with the gas that the runs were computed with."""
    return Flight(gamma=gas.gamma, gas_constant=gas.gas_constant) if isinstance(gas, PerfectGas) else None


def _count_left_out(status: Int[np.ndarray, " case"]) -> dict[str, int]:
    others = (kind for kind in Status if kind is not Status.CONVERGED)
    counts = {kind.name.lower().replace("_", " "): int((status == kind).sum()) for kind in others}
    return {name: count for name, count in counts.items() if count}


def _left_out_clause(left_out: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
    return f" (left out: {counts})" if counts else ""


def _check_shapes(data: Dataset) -> None:
    n_points = {name: points.shape[0] if points.ndim == 2 else None for name, points in data.coordinates.items()}
    if data.fields.ndim != 3:
        raise SureflowError(f"fields must be (case, variable, point); their shape is {data.fields.shape}")
    if len(data.parameters) != len(data.fields):
        raise SureflowError(f"there are {len(data.parameters)} rows of parameters for {len(data.fields)} runs")
    if set(n_points.values()) != {data.n_points}:
        raise SureflowError(f"coordinates must be (point, coordinate) for {data.n_points} points; they have {n_points}")


def _check_finite(data: Dataset) -> None:
    named = {"parameters": data.parameters, **{f"coordinates {name}": v for name, v in data.coordinates.items()}}
    for name, values in named.items():
        if not np.isfinite(values).all():
            raise SureflowError(f"{name} have {np.sum(~np.isfinite(values))} missing or non-finite values")
    for case, run in enumerate(data.fields):
        bad = (~np.isfinite(run)).sum(axis=1)
        if bad.any():
            condition = ", ".join(
                f"{n}={v:g}" for n, v in zip(data.parameter_names, data.parameters[case], strict=True)
            )
            worst = int(bad.argmax())
            raise SureflowError(
                f"{data.names[worst]} of the run at {condition} has {bad[worst]} missing or non-finite values: "
                "compute it again or leave it out"
            )
