"""Numeric programs: what a browser has to compute for a prediction, as a short list of steps on arrays.

A program leads from the parameters of one condition to small vectors (inputs, weights, bars of quantities) and from these to
fields. Steps are recorded by writing the formula once with `Value`s, which behave like arrays:

    distance = x.distance(nodes)
    weights = join(distance**3, one, x).times(inverse)
    mean = weights.rows(fields)

`Program.run` evaluates the steps with NumPy, for many conditions at once; `assets/program.js` does so in the browser. Small
values are (case, n) here; fields are (case, variable, point), and a small value that meets a field holds one number for all
variables or one for each.
"""

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.ndimage import maximum_filter
from scipy.spatial.distance import cdist

from sureflow.explore.packing import Kind
from sureflow.models.shock_frame import LEAST_GAP, between, places_of_rows, rows_of_places
from sureflow.models.warps import monotone, taps

Small = Float[np.ndarray, "case _"]
Numbers = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class Step:
    """One operation on the results of earlier steps, with constant arrays and settings of its own."""

    op: str
    inputs: tuple[int, ...] = ()
    arrays: Mapping[str, str] = field(default_factory=dict)  # argument -> name of an array of the program
    settings: Mapping[str, Any] = field(default_factory=dict)


class Program:
    """Steps in order, the arrays they use, and the steps whose results have names."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.rows: dict[str, Float[np.ndarray, "row variable point"]] = {}
        self.kinds: dict[str, Kind] = {}  # of rows
        self.strides: dict[str, int] = {}  # of rows that vary least from one point to another so many points on
        self.outputs: dict[str, int] = {}
        self._names: dict[bytes, str] = {}

    def add(self, op: str, *inputs: "Value", arrays: Mapping[str, Numbers] | None = None, **settings: Any) -> "Value":
        named = {key: self._keep(self.arrays, array, "array") for key, array in (arrays or {}).items()}
        self.steps.append(Step(op, tuple(value.index for value in inputs), named, settings))
        return Value(self, len(self.steps) - 1)

    def parameters(self) -> "Value":
        return self.add("parameters")

    def constant(self, numbers: Numbers) -> "Value":
        return self.add("constant", arrays={"values": np.atleast_1d(np.asarray(numbers, float)).ravel()})

    def keep_rows(self, rows: Float[np.ndarray, "row variable point"], kind: Kind) -> str:
        """The name of rows of fields."""
        name = self._keep(self.rows, rows, f"rows_{kind}")
        self.kinds[name] = kind
        return name

    def name(self, **outputs: "Value") -> None:
        self.outputs |= {name: value.index for name, value in outputs.items()}

    def _keep(self, place: dict[str, np.ndarray], array: np.ndarray, kind: str) -> str:
        """The name of an array; equal ones are kept once."""
        kept = np.ascontiguousarray(array, float)
        key = hashlib.sha256(kept.tobytes()).digest() + repr((kind, kept.shape)).encode()
        if key not in self._names:
            self._names[key] = f"{kind}{len(place)}"
            place[self._names[key]] = kept
        return self._names[key]

    def reading(self, rows: dict[str, Float[np.ndarray, "row variable point"]]) -> "Program":
        """The same program with rows as a page reads them."""
        read = Program()
        read.__dict__.update(self.__dict__)
        read.rows = rows
        return read

    def run(self, conditions: Small) -> dict[str, np.ndarray]:
        """Every named output at conditions (case, parameter)."""
        found: list[np.ndarray] = []
        for step in self.steps:
            arguments = [found[index] for index in step.inputs]
            arrays = {key: self.arrays[name] for key, name in step.arrays.items()}
            if "rows" in step.settings:
                arrays["rows"] = self.rows[step.settings["rows"]]
            others = {key: value for key, value in step.settings.items() if key != "rows"}
            if step.op == "parameters":
                found.append(np.asarray(conditions, float))
            elif step.op == "constant":
                found.append(np.broadcast_to(arrays["values"], (len(conditions), arrays["values"].size)))
            else:
                found.append(OPERATIONS[step.op](*_of_one_kind(step.op, arguments), **arrays, **others))
        return {name: found[index] for name, index in self.outputs.items()}


@dataclass(frozen=True, eq=False)
class Value:
    """The result of a step, in a formula."""

    program: Program
    index: int

    def _with(self, op: str, other: "Value | float", *, turned: bool = False) -> "Value":
        second = other if isinstance(other, Value) else self.program.constant(np.array([other]))
        return self.program.add(op, *((second, self) if turned else (self, second)))

    def __add__(self, other: "Value | float") -> "Value":
        return self._with("add", other)

    def __sub__(self, other: "Value | float") -> "Value":
        return self._with("subtract", other)

    def __mul__(self, other: "Value | float") -> "Value":
        return self._with("multiply", other)

    def __truediv__(self, other: "Value | float") -> "Value":
        return self._with("divide", other)

    def __rsub__(self, other: float) -> "Value":
        return self._with("subtract", other, turned=True)

    def __rtruediv__(self, other: float) -> "Value":
        return self._with("divide", other, turned=True)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Value":
        return self * -1.0

    def __pow__(self, exponent: float) -> "Value":
        return self.program.add("power", self, exponent=float(exponent))

    def to_the(self, exponent: "Value") -> "Value":
        """The power with an exponent that is a value itself."""
        return self.program.add("raise", self, exponent)

    def around(self, shape: Sequence[int], neighbors: int) -> "Value":
        """At every point of a block the largest value of a field among so many neighbors to each side, and itself."""
        return self.program.add("around", self, shape=[int(n) for n in shape], neighbors=int(neighbors))

    def exponential(self) -> "Value":
        return self.program.add("exp", self)

    def logarithm(self) -> "Value":
        return self.program.add("log", self)

    def root(self) -> "Value":
        """The square root; 0 where rounding made the value negative."""
        return self.program.add("sqrt", self)

    def tanh(self) -> "Value":
        return self.program.add("tanh", self)

    def at_least(self, other: "Value | float") -> "Value":
        return self._with("maximum", other)

    def at_most(self, other: "Value | float") -> "Value":
        return self._with("minimum", other)

    def sum(self) -> "Value":
        return self.program.add("sum", self)

    def smallest(self, rank: int = 0) -> "Value":
        """The number with this rank, from the smallest on."""
        return self.program.add("smallest", self, rank=int(rank))

    def pick(self, *columns: int | np.integer) -> "Value":
        return self.program.add("pick", self, columns=[int(column) for column in columns])

    def times(self, matrix: Float[np.ndarray, "number column"]) -> "Value":
        return self.program.add("times", self, arrays={"matrix": matrix})

    def quadratic(self, matrix: Float[np.ndarray, "number number"]) -> "Value":
        """x' A x."""
        return self.program.add("quadratic", self, arrays={"matrix": matrix})

    def distance(self, nodes: Float[np.ndarray, "node number"]) -> "Value":
        return self.program.add("distance", self, arrays={"nodes": nodes})

    def table(self, at: Float[np.ndarray, " entry"], values: Float[np.ndarray, "entry column"]) -> "Value":
        """Columns of a table, linear between its entries and beyond them."""
        return self.program.add("table", self, arrays={"at": at, "values": values})

    def lattice(self, ranges: Sequence[tuple[float, float]], values: Float[np.ndarray, "entry column"]) -> "Value":
        """Columns given over a lattice with as many entries along every number, by cubics through the four nearest ones."""
        return self.program.add("lattice", self, arrays={"ranges": np.array(ranges), "values": values})

    def process(self, nodes: Numbers, targets: Numbers, logarithms: Numbers, wide: float) -> tuple["Value", "Value"]:
        """Mean and variance of Gaussian processes with Matern-5/2 kernels, one for every row of the targets."""
        arrays = {"nodes": nodes, "targets": targets, "logarithms": logarithms}
        both = self.program.add("process", self, arrays=arrays, wide=float(wide))
        count = len(targets)
        return both.pick(*range(count)), both.pick(*range(count, 2 * count))

    def rows(self, rows: Float[np.ndarray, "row variable point"], kind: Kind = Kind.MODES) -> "Value":
        """The field sum_k x_k row_k."""
        return self.program.add("combine", self, rows=self.program.keep_rows(rows, kind))

    def squares(self, rows: Float[np.ndarray, "row variable point"]) -> "Value":
        """The field sum_k x_k row_k^2."""
        return self.program.add("squares", self, rows=self.program.keep_rows(rows, Kind.MODES))

    def spread(self, rows: Float[np.ndarray, "row variable point"]) -> "Value":
        """The field sqrt(mean over m of (sum_k x_mk row_k)^2), of numbers (m, k) in one vector."""
        return self.program.add("spread", self, rows=self.program.keep_rows(rows, Kind.MODES))

    def warped(
        self,
        landmarks: "Value",
        runs: Float[np.ndarray, "run landmark"],
        layer: Float[np.ndarray, " 2"],
        levels: Float[np.ndarray, "run variable level line"],
        n_rows: int,
    ) -> "Value":
        """The field sum_k x_k S_k g_k of runs that are moved along the lines from a wall (`models.warps`), 0 beyond the layer.

        `landmarks` are those asked for, `runs` those of the runs. `layer` says up to which row it is needed, and from which on
        nothing is moved; `levels` are values at the wall and in the cells; the mesh has `n_rows`.
        """
        *_, n_levels, n_lines = levels.shape
        kept = self.program.keep_rows(levels.reshape(*levels.shape[:2], -1), Kind.FINE)
        settings = {"last": float(layer[0]), "end": float(layer[1]), "levels": n_levels, "shape": [n_rows, n_lines]}
        return self.program.add("warp", self, landmarks, arrays={"runs": runs}, rows=kept, **settings)

    def framed(
        self,
        landmarks: "Value",
        shock: "Value",
        given: Float[np.ndarray, " node"],
        values: Float[np.ndarray, "run value place line"],
        n_rows: int,
    ) -> "Value":
        """The values sum_k x_k g_k of runs in a frame, brought to the rows of a mesh (`models.shock_frame`).

        `landmarks` and `shock` are those of the mesh, the latter of every line; `given` are the nodes of the frame.
        """
        n_places, n_lines = values.shape[2:]
        kept = self.program.keep_rows(values.reshape(*values.shape[:2], -1), Kind.FRAME)
        self.program.strides[kept] = n_lines
        settings = {"places": n_places, "shape": [n_rows, n_lines], "gap": LEAST_GAP}
        return self.program.add("frame", self, landmarks, shock, arrays={"given": given}, rows=kept, **settings)

    def below(self, shares: tuple[float, float], n_rows: int) -> "Value":
        """The field that is 1 in rows up to the first share of a row on every line, 0 from the second on, smooth between."""
        return self.program.add("below", self, shares=list(shares), n_rows=n_rows)

    def lines(self, shape: Sequence[int]) -> "Value":
        """Of nodes, a field over the axes: the harmonic mean of the lengths of lines from the wall of a block, and where
        the cells lie along them in shares, on average over the lines (`data.wall_layer.lines_of`)."""
        return self.program.add("lines", self, shape=[int(n) for n in shape])

    def read(self, at: "Value", values: Float[np.ndarray, " entry"]) -> "Value":
        """Numbers of a table, linear between its entries and beyond them, where the entries are values themselves."""
        return self.program.add("read", self, at, arrays={"values": values})

    def only(self, variable: int | np.integer) -> "Value":
        """One variable of a field, for all variables."""
        return self.program.add("only", self, variable=int(variable))


def select(which: Sequence[int] | np.ndarray, *fields: Value) -> Value:
    """For every variable that of one of the fields."""
    return fields[0].program.add("select", *fields, which=[int(one) for one in which])


def join(*values: Value) -> Value:
    """Small values one after the other."""
    return values[0].program.add("join", *values)


def _of_one_kind(op: str, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Small values that meet fields get an axis of points."""
    if op in FIELDS_OF_SMALL or not any(argument.ndim == 3 for argument in arguments):
        return arguments
    return [argument if argument.ndim == 3 else argument[:, :, None] for argument in arguments]


def _table(x: Small, at: np.ndarray, values: np.ndarray) -> Small:
    low = np.clip(np.searchsorted(at, x[:, 0], side="right") - 1, 0, len(at) - 2)
    share = ((x[:, 0] - at[low]) / (at[low + 1] - at[low]))[:, None]
    return (1 - share) * values[low] + share * values[low + 1]


def _lattice(x: Small, ranges: np.ndarray, values: np.ndarray) -> Small:
    count = round(len(values) ** (1 / len(ranges)))
    columns, shares = [], []
    for value, (low, high) in zip(x.T, ranges, strict=True):
        place = (value - low) / (high - low) * (count - 1)
        first = np.clip(np.floor(place).astype(int) - 1, 0, count - 4)
        t = (place - first)[:, None] - np.arange(4)
        # Lagrange's cubics through four entries one apart.
        shares.append(
            np.stack([np.prod(np.delete(t, k, axis=1), axis=1) / d for k, d in enumerate((-6, 2, -2, 6))], axis=1)
        )
        columns.append(first[:, None] + np.arange(4))
    found = np.zeros((len(x), values.shape[1]))
    for corner in itertools.product(range(4), repeat=len(ranges)):
        entry, weight = np.zeros(len(x), int), np.ones(len(x))
        for axis, k in enumerate(corner):
            entry, weight = entry * count + columns[axis][:, k], weight * shares[axis][:, k]
        found += weight[:, None] * values[entry]
    return found


def _matern(distance: np.ndarray) -> np.ndarray:
    scaled = np.sqrt(5.0) * distance
    return (1 + scaled + scaled**2 / 3) * np.exp(-scaled)


def _process(x: Small, nodes: np.ndarray, targets: np.ndarray, logarithms: np.ndarray, wide: float) -> Small:
    columns = []
    for target, (amplitude, noise, *lengths) in zip(targets, logarithms, strict=True):
        scale = np.exp(-np.asarray(lengths))

        def kernel(a: np.ndarray, b: np.ndarray, scale: np.ndarray = scale, amplitude: float = amplitude) -> np.ndarray:
            return np.exp(amplitude) * _matern(cdist(a * scale, b * scale)) + wide * (1 + a @ b.T)

        factor = cho_factor(kernel(nodes, nodes) + np.exp(noise) * np.eye(len(nodes)), lower=True)
        across = kernel(x, nodes)
        prior = np.exp(amplitude) + wide * (1 + (x**2).sum(axis=1))
        variance = prior - (across * cho_solve(factor, across.T).T).sum(axis=1)
        columns.append((across @ cho_solve(factor, target), np.maximum(variance, 0.0)))
    return np.concatenate([np.stack(kind, axis=1) for kind in zip(*columns, strict=True)], axis=1)


def _around(x: Float[np.ndarray, "case variable point"], shape: list[int], neighbors: int) -> np.ndarray:
    window = (1, 1, *(min(2 * neighbors + 1, size) for size in shape))
    return maximum_filter(x.reshape(*x.shape[:2], *shape), window).reshape(x.shape)


def _spread(x: Small, rows: Float[np.ndarray, "row variable point"]) -> Float[np.ndarray, "case variable point"]:
    weights = x.reshape(len(x), -1, len(rows))
    return np.sqrt((np.einsum("cmk,kvp->cmvp", weights, rows) ** 2).mean(axis=1))


def _warp(
    x: Small,
    landmarks: Small,
    rows: Float[np.ndarray, "run variable value"],
    runs: np.ndarray,
    last: float,
    end: float,
    levels: int,
    shape: list[int],
) -> Float[np.ndarray, "case variable point"]:
    n_rows, n_lines = shape
    fixed = np.column_stack([np.full(len(runs), -0.5), runs, np.full(len(runs), end)])
    at = np.arange(np.ceil(last))
    values = rows.reshape(*rows.shape[:2], levels, n_lines)
    found = np.zeros((len(x), rows.shape[1], n_rows, n_lines))
    for case, (weights, asked) in enumerate(zip(x, landmarks, strict=True)):
        first, shares = taps(monotone(np.concatenate([[-0.5], asked, [end]]), fixed, at), levels)
        for tap, share in enumerate(shares):
            moved = np.take_along_axis(values, (first + tap)[:, None, :, None], axis=2)
            found[case, :, : len(at)] += np.einsum("k,kr,kvrl->vrl", weights, share, moved)
    return found.reshape(len(x), rows.shape[1], -1)


def _select(*fields: Float[np.ndarray, "case _ point"], which: list[int]) -> Float[np.ndarray, "case variable point"]:
    return np.stack(
        [fields[one][:, variable if fields[one].shape[1] > 1 else 0] for variable, one in enumerate(which)], axis=1
    )


def _frame(
    x: Small,
    landmarks: Small,
    shock: Small,
    rows: Float[np.ndarray, "run value place_line"],
    given: Float[np.ndarray, " node"],
    places: int,
    shape: list[int],
    gap: float,
) -> Float[np.ndarray, "case value point"]:
    n_rows, n_lines = shape
    values = np.einsum("ck,kvp->cvp", x, rows).reshape(len(x), -1, places, n_lines).swapaxes(1, 2)
    found = []
    for one, nodes, line in zip(values, landmarks, shock, strict=True):
        at = places_of_rows(rows_of_places(given, nodes, line, places), n_rows)
        found.append(between(one, np.arange(places, dtype=float), at).swapaxes(0, 1).reshape(rows.shape[1], -1))
    return np.stack(found)


def _below(x: Small, shares: list[float], n_rows: int) -> Float[np.ndarray, "case 1 point"]:
    first, last = shares
    way = np.clip((np.arange(n_rows)[:, None] / np.maximum(x, 1.0)[:, None] - first) / (last - first), 0.0, 1.0)
    return (1.0 - way**2 * (3.0 - 2.0 * way)).reshape(len(x), 1, -1)


def _lines(nodes: Float[np.ndarray, "case 2 node"], shape: list[int]) -> Small:
    grid = nodes.reshape(*nodes.shape[:2], shape[0] + 1, shape[1] + 1)
    centers = 0.25 * (grid[..., 1:, 1:] + grid[..., 1:, :-1] + grid[..., :-1, 1:] + grid[..., :-1, :-1])
    wall, outer = (0.5 * (grid[:, :, row, 1:] + grid[:, :, row, :-1]) for row in (0, -1))
    length = np.linalg.norm(outer - wall, axis=1)
    share = np.linalg.norm(centers - wall[:, :, None], axis=1) / length[:, None]
    return np.column_stack([1.0 / np.mean(1.0 / length, axis=1), share.mean(axis=2)])


def _read(x: Small, at: Small, values: np.ndarray) -> Small:
    return np.concatenate([_table(x[[case]], at[case], values[:, None]) for case in range(len(x))])


FIELDS_OF_SMALL = ("combine", "squares", "spread", "warp", "frame", "below")
OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "raise": np.power,
    "around": _around,
    "power": lambda x, exponent: x**exponent,
    "exp": np.exp,
    "log": np.log,
    "sqrt": lambda x: np.sqrt(np.maximum(x, 0.0)),
    "tanh": np.tanh,
    "sum": lambda x: x.sum(axis=1, keepdims=True),
    "smallest": lambda x, rank: np.sort(x, axis=1)[:, rank : rank + 1],
    "pick": lambda x, columns: x[:, columns],
    "join": lambda *values: np.concatenate(values, axis=1),
    "times": lambda x, matrix: x @ matrix,
    "quadratic": lambda x, matrix: np.einsum("ci,ij,cj->c", x, matrix, x)[:, None],
    "distance": lambda x, nodes: cdist(x, nodes),
    "table": _table,
    "lattice": _lattice,
    "process": _process,
    "combine": lambda x, rows: np.einsum("ck,kvp->cvp", x, rows),
    "squares": lambda x, rows: np.einsum("ck,kvp->cvp", x, rows**2),
    "spread": _spread,
    "warp": _warp,
    "frame": _frame,
    "below": _below,
    "lines": _lines,
    "read": _read,
    "only": lambda x, variable: x[:, [variable]],
    "select": _select,
}
