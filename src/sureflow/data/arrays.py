"""Arrays of a user's own as runs: what they say together, or what does not fit in them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from sureflow.data.header import Header
from sureflow.data.meshes import BODY_FITTED, COORDINATES, PHYSICAL, Geometry, Points
from sureflow.data.streams import StreamSource, named_columns
from sureflow.errors import SureflowError
from sureflow.physics.gases import Gas, describe_gas
from sureflow.validation import validated

AXES = ("x", "y", "z")
Ranges = Mapping[str, tuple[float, float]]


def physical_points(coordinates: ArrayLike | Mapping[str, ArrayLike]) -> tuple[np.ndarray, dict[str, Points]]:
    """Physical points, and further descriptions of them. "xr" is what the physical ones were called once."""
    if not isinstance(coordinates, Mapping):
        coordinates = {PHYSICAL: coordinates}
    given = {
        PHYSICAL if name == "xr" else name: np.asarray(numbers_of(name, points), float)
        for name, points in coordinates.items()
    }
    if PHYSICAL not in given or not given.keys() <= set(COORDINATES):
        raise SureflowError(
            f"coordinates are given as {', '.join(given) or 'nothing'}: give {PHYSICAL}, and {BODY_FITTED} ones if there "
            "are any"
        )
    for name, points in given.items():
        if points.ndim not in ((2, 3) if name == PHYSICAL else (2,)):
            raise SureflowError(f"{name} coordinates must be (point, axis); their shape is {points.shape}")
    return given.pop(PHYSICAL), given


def numbers_of(name: str, values: ArrayLike) -> np.ndarray:
    """An array in single precision if the values are, else in double."""
    try:
        array = np.asarray(values)
        return array if array.dtype == np.float32 else np.asarray(array, float)
    except (ValueError, TypeError):
        raise SureflowError(f"{name!r} is not an array of numbers: give one number for every run and point") from None


def nodes_of(nodes: ArrayLike, n_axes: int) -> np.ndarray:
    """Nodes (node, axis) of all runs, or (case, node, axis)."""
    array = np.asarray(numbers_of("nodes", nodes), float)
    if array.ndim not in (2, 3) or array.shape[-1] != n_axes:
        raise SureflowError(f"nodes must be (node, {n_axes}) like the coordinates; their shape is {array.shape}")
    return array


def geometries_of(
    points: np.ndarray, nodes: np.ndarray | None, n_runs: int
) -> tuple[Geometry | None, Callable[[int], Geometry] | None]:
    """The geometry that all runs share, or that of each of them where points or nodes are (case, ..., axis)."""
    moving = {name: at for name, at in (("coordinates", points), ("nodes", nodes)) if at is not None and at.ndim == 3}
    require_cases(n_runs, **moving)

    def geometry_of(case: int) -> Geometry:
        at = nodes if nodes is None or nodes.ndim == 2 else nodes[case]
        return Geometry(points if points.ndim == 2 else points[case], at)

    return (None, geometry_of) if moving else (geometry_of(0), None)


def columns_of(values: Mapping[str, ArrayLike], kind: str) -> Float[np.ndarray, "case column"]:
    """One column for every name."""
    arrays = {name: numbers_of(name, column) for name, column in values.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 1:
        raise SureflowError(f"every {kind} needs one value for each run; their shapes are {shapes}")
    return np.column_stack([np.asarray(array, float) for array in arrays.values()])


def require_cases(n_runs: int, **arrays: np.ndarray | None) -> None:
    """Refuse arrays of cases that are not as long as there are runs."""
    for name, array in arrays.items():
        if array is not None and len(array) != n_runs:
            raise SureflowError(
                f"{name} are given for {len(array)} runs and fields for {n_runs}: give both for the same runs"
            )


def stacked(fields: Mapping[str, ArrayLike]) -> Float[np.ndarray, "case variable point"]:
    """A copy that nobody changes; in single precision if all fields are, else in double."""
    arrays = {name: numbers_of(name, values) for name, values in fields.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 2:
        raise SureflowError(f"fields must share one shape (case, point); they have {shapes}")
    single = all(array.dtype == np.float32 for array in arrays.values())
    values = np.stack([np.asarray(array, np.float32 if single else float) for array in arrays.values()], axis=1)
    values.flags.writeable = False
    return values


def parameter_tables(
    names: Iterable[str], units: Mapping[str, str], ranges: Ranges, logarithmic: Sequence[str]
) -> list[dict[str, Any]]:
    """The parameters of a header in plain values."""
    tables = []
    for name in names:
        low, high = ranges.get(name, (None, None))
        scale = "log" if name in logarithmic else "linear"
        tables.append({"name": name, "unit": units.get(name, ""), "scale": scale, "low": low, "high": high})
    return tables


def variable_tables(names: Iterable[str], units: Mapping[str, str]) -> list[dict[str, str]]:
    """Fields or numbers of a header in plain values."""
    return [{"name": name, "unit": units.get(name, "")} for name in names]


def refuse_strangers(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a unit, range or scale of something that is not there."""
    known = list(known)
    for name in given:
        if name not in known:
            raise SureflowError(f"{name!r} has a unit, range or scale but no values: the names are {', '.join(known)}")


def axes_of(axes: Sequence[str] | None, count: int) -> list[str]:
    """The names of the coordinates, x, y and z by default."""
    return list(axes) if axes else [*AXES[:count]] if count <= len(AXES) else [f"x{n}" for n in range(1, count + 1)]


def stream_of(free_stream: Mapping[str, Any] | StreamSource | None, names: Sequence[str]) -> StreamSource | None:
    """Where the free stream comes from, as a user says it."""
    return named_columns(free_stream, names) if isinstance(free_stream, Mapping) else free_stream


def made_with(made_by: Mapping[str, Any] | None, gas: Gas | None) -> dict[str, Any]:
    """How runs were made, with their gas."""
    return {**(made_by or {}), **({} if gas is None else {"gas": describe_gas(gas)})}


def header_of(**values: Any) -> Header:
    """A header of plain values, or what is wrong with them."""
    return validated(Header, values)
