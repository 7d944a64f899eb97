"""Numeric programs: what a browser has to compute for a prediction, as a short list of steps on arrays.

A program leads from the parameters of one condition to small vectors (inputs, weights, bars of quantities) and from these to
fields. Steps are recorded by writing the formula once with `Value`s, which behave like arrays:

    weights, power = x.interpolant(nodes, inverse, "cubic")
    mean = weights.rows(fields)

`Program.run` evaluates the steps with NumPy, for many conditions at once; `assets/program.js` does so in the browser. Small
values are (case, n) here; fields are (case, variable, point), and a small value that meets a field holds one number for all
variables or one for each.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.data.wall_layer import ALONG, LANDMARKS, LEAST_TURN, MOST_OBLIQUE
from sureflow.data.wall_layer import FREE as WALL_FREE
from sureflow.explore.operations import OPERATIONS, Small, of_one_kind
from sureflow.explore.packing import Coded, Keeping, Kind, Rows, coded
from sureflow.models.body_frame import BETWEEN, END, FINENESS_ALONG, FREE, LEAST_SHARE
from sureflow.models.shock_frame import FINENESS, LEAST_GAP

Numbers = Float[np.ndarray, "..."]
AT_ONCE = 50  # conditions that are evaluated together


@dataclass(frozen=True)
class Step:
    """One operation on the results of earlier steps, with constant arrays and settings of its own."""

    op: str
    inputs: tuple[int, ...] = ()
    arrays: Mapping[str, str] = field(default_factory=dict)  # argument -> name of an array of the program
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> list[str]:
        """The names of the rows of fields that it reads."""
        named = self.settings.get("rows", [])
        return [named] if isinstance(named, str) else list(named)


class Program:
    """Steps in order, the arrays they use, and the steps whose results have names."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.rows: dict[str, Rows] = {}
        self.keeping: dict[str, Keeping] = {}  # of rows
        self.strides: dict[int, int] = {}  # points of a line, by how many there are in all: of fields on a block
        self.outputs: dict[str, int] = {}
        self._names: dict[bytes, str] = {}
        self._indices: dict[str, int] = {}  # of steps

    def add(self, op: str, *inputs: "Value", arrays: Mapping[str, Numbers] | None = None, **settings: Any) -> "Value":
        """The result of a step."""
        named = {key: self._keep(self.arrays, array, "array") for key, array in (arrays or {}).items()}
        return Value(self, self.put(Step(op, tuple(value.index for value in inputs), named, settings)))

    def put(self, step: Step) -> int:
        """The number of a step; equal ones are taken once."""
        index = self._indices.setdefault(repr(step), len(self.steps))
        if index == len(self.steps):
            self.steps.append(step)
        return index

    def parameters(self) -> "Value":
        return self.add("parameters")

    def constant(self, numbers: Numbers) -> "Value":
        return self.add("constant", arrays={"values": np.atleast_1d(np.asarray(numbers, float)).ravel()})

    def keep_rows(self, rows: Rows, keeping: Keeping) -> str:
        """The name of rows of fields."""
        name = self._keep(self.rows, rows, f"rows_{keeping.kind}")
        self.keeping[name] = keeping
        return name

    def coded(self, more_bits: float = 0, weights: Mapping[str, np.ndarray] | None = None) -> dict[str, Coded]:
        """The rows as a page keeps them; `weights` are those that they are summed with."""
        found = {}
        for name, rows in self.rows.items():
            keeping = self.keeping[name]
            stride = keeping.stride or self.strides.get(rows.shape[2], 1)
            found[name] = coded(rows, keeping._replace(stride=stride), more_bits, (weights or {}).get(name))
        return found

    def weights(self, conditions: Small) -> dict[str, np.ndarray]:
        """What rows are multiplied with at conditions, by their names: (sum, row)."""
        used: dict[str, list[int]] = {}
        for step in self.steps:
            if step.op == "combine":
                used.setdefault(step.settings["rows"], []).append(step.inputs[0])
            elif step.op == "frame":
                for name, index in zip(step.settings["rows"], step.inputs, strict=False):
                    used.setdefault(name, []).append(index)
        found: dict[str, list[np.ndarray]] = {name: [] for name in used}
        for first in range(0, len(conditions), AT_ONCE):
            values = self._evaluated({index for some in used.values() for index in some}, conditions[first:][:AT_ONCE])
            for name, some in used.items():
                found[name] += [values[index] for index in some]
        return {name: np.concatenate(some) for name, some in found.items()}

    def name(self, **outputs: "Value") -> None:
        self.outputs |= {name: value.index for name, value in outputs.items()}

    def _keep(self, place: dict[str, np.ndarray], array: np.ndarray, kind: str) -> str:
        """The name of an array; equal ones are kept once."""
        kept = np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else float)
        key = hashlib.sha256(kept.tobytes()).digest() + repr((kind, kept.shape)).encode()
        if key not in self._names:
            self._names[key] = f"{kind}{len(place)}"
            place[self._names[key]] = kept
        return self._names[key]

    def reading(self, rows: Mapping[str, Coded]) -> "Program":
        """The same program with rows as a page reads them."""
        read = Program()
        read.__dict__.update(self.__dict__)
        read.rows = {name: one.values() for name, one in rows.items()}
        return read

    def run(self, conditions: Small) -> dict[str, np.ndarray]:
        """Every named output at conditions (case, parameter)."""
        found = self._evaluated(set(self.outputs.values()), conditions)
        return {name: found[index] for name, index in self.outputs.items()}

    def _evaluated(self, wanted: set[int], conditions: Small) -> dict[int, np.ndarray]:
        """The results of some steps, and of those that they need."""
        needed = set(wanted)
        for index in reversed(range(len(self.steps))):
            if index in needed:
                needed.update(self.steps[index].inputs)
        found: dict[int, np.ndarray] = {}
        for index in sorted(needed):
            found[index] = self._result(self.steps[index], found, np.asarray(conditions, float))
        return found

    def _result(self, step: Step, found: Mapping[int, np.ndarray], conditions: Small) -> np.ndarray:
        arrays: dict[str, Any] = {key: self.arrays[name] for key, name in step.arrays.items()}
        if step.op == "parameters":
            return conditions
        if step.op == "constant":
            return np.broadcast_to(arrays["values"], (len(conditions), arrays["values"].size))
        named = step.settings.get("rows")
        if named is not None:
            arrays["rows"] = self.rows[named] if isinstance(named, str) else [self.rows[name] for name in named]
        others = {key: value for key, value in step.settings.items() if key != "rows"}
        arguments = of_one_kind(step.op, [found[index] for index in step.inputs])
        return OPERATIONS[step.op](*arguments, **arrays, **others)


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

    def distance(self, nodes: Float[np.ndarray, "node number"]) -> "Value":
        return self.program.add("distance", self, arrays={"nodes": nodes})

    def table(self, at: Float[np.ndarray, " entry"], values: Float[np.ndarray, "entry column"]) -> "Value":
        """Columns of a table, linear between its entries and beyond them."""
        return self.program.add("table", self, arrays={"at": at, "values": values})

    def lattice(self, ranges: Sequence[tuple[float, float]], values: Float[np.ndarray, "entry column"]) -> "Value":
        """Columns given over a lattice with as many entries along every number, by cubics through the four nearest ones."""
        return self.program.add("lattice", self, arrays={"ranges": np.array(ranges), "values": values})

    def interpolant(
        self,
        nodes: Float[np.ndarray, "run number"],
        inverse: Float[np.ndarray, "row row"],
        kernel: str,
        edge: "Value | None" = None,
    ) -> tuple["Value", "Value"]:
        """Weights of runs that are interpolated, straight on from an edge, and the power function (`models.kernels.System`)."""
        # Symmetric but for rounding: a page keeps half of it, and computes the matrix itself from the nodes.
        arrays = {"nodes": nodes, "inverse": 0.5 * (inverse + inverse.T)}
        inputs = (self,) if edge is None else (self, edge)
        both = self.program.add("interpolant", *inputs, arrays=arrays, kernel=kernel)
        return both.pick(*range(len(nodes))), both.pick(len(nodes))

    def process(self, nodes: Numbers, targets: Numbers, logarithms: Numbers, wide: float) -> tuple["Value", "Value"]:
        """Mean and variance of Gaussian processes with Matern-5/2 kernels, one for every row of the targets."""
        arrays = {"nodes": nodes, "targets": targets, "logarithms": logarithms}
        both = self.program.add("process", self, arrays=arrays, wide=float(wide))
        count = len(targets)
        return both.pick(*range(count)), both.pick(*range(count, 2 * count))

    def rows(self, rows: Float[np.ndarray, "row variable point"], kind: Kind = Kind.MODES) -> "Value":
        """The field sum_k x_k row_k."""
        return self.program.add("combine", self, rows=self.program.keep_rows(rows, Keeping(kind)))

    def squares(self, rows: Float[np.ndarray, "row variable point"]) -> "Value":
        """The field sum_k x_k row_k^2."""
        return self.program.add("squares", self, rows=self.program.keep_rows(rows, Keeping(Kind.MODES)))

    def spread(self, rows: Float[np.ndarray, "row variable point"]) -> "Value":
        """The field sqrt(mean over m of (sum_k x_mk row_k)^2), of numbers (m, k) in one vector."""
        return self.program.add("spread", self, rows=self.program.keep_rows(rows, Keeping(Kind.MODES)))

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
        kept = self.program.keep_rows(levels.reshape(*levels.shape[:2], -1), Keeping(Kind.FINE))
        settings = {"last": float(layer[0]), "end": float(layer[1]), "levels": n_levels, "shape": [n_rows, n_lines]}
        return self.program.add("warp", self, landmarks, arrays={"runs": runs}, rows=kept, **settings)

    def frame_nodes(self, shock: "Value", n_rows: int) -> "Value":
        """Of landmarks and shocks of lines: the nodes of maps from a frame to a mesh, line by line (`models.shock_frame`)."""
        return self.program.add("frame_nodes", self, shock, n_rows=n_rows, gap=LEAST_GAP)

    def body_nodes(self, shock: "Value", n_rows: int, held: float) -> "Value":
        """Of what is told of lines, and their shocks: the same as `models.body_frame` has them."""
        settings = {"landmarks": LANDMARKS, "between": BETWEEN, "free": FREE, "end": END, "first": len(ALONG)}
        settings |= {"held": held, "least": LEAST_SHARE}
        return self.program.add("body_nodes", self, shock, n_rows=n_rows, gap=LEAST_GAP, **settings)

    def stations(self, usual: Float[np.ndarray, " place"], lines: int, stations: int) -> "Value":
        """Of places along a wall: the stations of a frame, as fractions, at the lines of the mesh (`models.body_frame`)."""
        return self.program.add("stations", self, arrays={"usual": usual}, lines=lines, stations=stations)

    def from_cells(
        self, nodes: "Value", given: Float[np.ndarray, " node"], shape: tuple[int, int], at: "Value | None" = None
    ) -> "Value":
        """A field over the cells of a frame, brought to those of the mesh (`models.frame_cells`); see `framed`."""
        settings = {"fineness": FINENESS, "along": FINENESS_ALONG, "shape": list(shape)}
        inputs = (self, nodes) if at is None else (self, nodes, at)
        return self.program.add("from_cells", *inputs, arrays={"given": given}, **settings)

    def between(self, at: "Value") -> "Value":
        """Numbers at 0, 1, ... brought to places between them, by Hermite's cubics (`models.shock_frame.at_places`)."""
        return self.program.add("between", self, at)

    def below(self, shares: tuple[float, float], n_rows: int) -> "Value":
        """The field that is 1 in rows up to the first share of a row on every line, 0 from the second on, smooth between."""
        return self.program.add("below", self, shares=list(shares), n_rows=n_rows)

    def lines(self, shape: Sequence[int]) -> "Value":
        """Of nodes, a field over the axes: the harmonic mean of the lengths of lines from the wall of a block, where the cells
        lie along them in shares, on average over the lines, and the lines at places along the wall (`data.wall_layer.lines_of`);
        and 1 where they fold or are not normal to it.
        """
        settings = {"along": ALONG, "least_turn": LEAST_TURN, "free": WALL_FREE, "most_oblique": MOST_OBLIQUE}
        return self.program.add("lines", self, shape=[int(n) for n in shape], **settings)

    def read(self, at: "Value", values: Float[np.ndarray, " entry"]) -> "Value":
        """Numbers of a table, linear between its entries and beyond them, where the entries are values themselves."""
        return self.program.add("read", self, at, arrays={"values": values})

    def only(self, variable: int | np.integer) -> "Value":
        """One variable of a field, for all variables."""
        return self.program.add("only", self, variable=int(variable))


class FramePart(NamedTuple):
    """Rows of values over a part of a frame, and the weights they are summed with."""

    weights: Value
    rows: Float[np.ndarray, "row value place station"]
    place: int = 0
    station: int = 0
    spread: Float[np.ndarray, " value"] | None = None  # see `Keeping`


def framed(
    parts: Sequence[FramePart],
    nodes: Value,
    given: Float[np.ndarray, " node"],
    shape: tuple[int, int],
    *,
    at: Value | None = None,
) -> Value:
    """Values that are summed part by part in a frame, and brought to the rows and lines of a mesh.

    `nodes` are those of the mesh, line by line, and `given` those of the frame; `at` are the stations of the lines, where these
    are not the same.
    """
    program, names, ends = nodes.program, [], []
    for part in parts:
        count, n_values, n_places, n_stations = part.rows.shape
        keeping = Keeping(Kind.FRAME, n_stations, part.spread)
        names.append(program.keep_rows(part.rows.reshape(count, n_values, -1), keeping))
        ends.append([part.place, part.place + n_places, part.station, part.station + n_stations])
    _, places, _, stations = np.max(ends, axis=0).tolist()
    settings = {"parts": ends, "places": places, "stations": stations, "shape": list(shape)}
    inputs = (*(part.weights for part in parts), nodes, *(() if at is None else (at,)))
    return program.add("frame", *inputs, arrays={"given": given}, rows=names, **settings)


def select(which: Sequence[int] | np.ndarray, *fields: Value) -> Value:
    """For every variable that of one of the fields."""
    return fields[0].program.add("select", *fields, which=[int(one) for one in which])


def join(*values: Value) -> Value:
    """Small values one after the other."""
    return values[0].program.add("join", *values)
