"""Arrays of a page: small ones as they are, rows of fields in levels of some bits, all compressed."""

import base64
import zlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

HARMLESS = str.maketrans("<&", ".:")  # for characters of Python's base 85
DTYPES = {"float64": "f8", "float32": "f4", "int32": "i4"}

Rows = Float[np.ndarray, "row variable point"]


class Kind(StrEnum):
    """What rows of fields are, and so how they are kept."""

    MODES = "modes"  # with weights as large as they are small
    FINE = "fine"  # logarithms and what else needs more digits
    POSITIVE = (
        "positive"  # variances, whose relative size counts: by a root of theirs, so that small ones keep their digits
    )
    RUNS = "runs"  # with weights of one size: by their principal components, most of which are small and need few bits
    FRAME = "frame"  # the same of runs in a frame that is finer than the mesh
    LOST = "lost"  # the same of small corrections
    PLACES = "places"  # the same of nodes, whose distances from a wall are small


BITS = {
    Kind.MODES: 16,
    Kind.FINE: 20,
    Kind.POSITIVE: 12,
    Kind.RUNS: 19,
    Kind.FRAME: 19,
    Kind.LOST: 11.5,
    Kind.PLACES: 28,
}
COMPONENTS = (Kind.RUNS, Kind.FRAME, Kind.LOST)  # kept in as many bits as a page needs
RARE = 1e-6  # the least mean square of weights along a direction, over that of all
MOST_LEVELS = 2**31 - 1
MOST_PLANES = 4  # bytes of a level
# How often differences are taken from one stride to the next, and from one point to the next within a stride.
DIFFERENCES = ((1, 0), (2, 0), (1, 1), (2, 1))
ROOT = 4  # of rows that are positive


class Keeping(NamedTuple):
    """How rows are kept."""

    kind: Kind
    stride: int = 0  # points of a line, where lines differ little from one to the next; 0 is that of all fields
    spread: Float[np.ndarray, " variable"] | None = (
        None  # what digits are shares of, where it is not the reach of a row
    )


class Coded(NamedTuple):
    """Levels, and value = (low + step * level)^exponent; the rows are `mix` times these values where there is one."""

    levels: np.ndarray
    low: Float[np.ndarray, "row variable"]
    step: Float[np.ndarray, "row variable"]
    exponent: int = 1
    mix: Float[np.ndarray, "row component"] | None = None
    stride: int = 1  # see `Keeping`

    def values(self) -> Rows:
        """The rows as a page reads them, in single precision unless their levels are finer."""
        values = (self.low[:, :, None] + self.step[:, :, None] * self.levels) ** self.exponent
        if self.planes < MOST_PLANES:
            values = values.astype(np.float32).astype(float)
        return values if self.mix is None else np.einsum("rk,kvp->rvp", self.mix, values, optimize=True)

    @property
    def planes(self) -> int:
        """Bytes of a level."""
        return max(2, (int(self.levels.max(initial=0)).bit_length() + 7) // 8)


def coded(
    rows: Rows, keeping: Keeping, more_bits: float = 0, weights: Float[np.ndarray, "sum row"] | None = None
) -> Coded:
    """Rows in levels, as fine as the weights ask for that they are summed with, where these are known."""
    kind, stride, spread = keeping
    most = round(2 ** (BITS[kind] + (more_bits if kind in COMPONENTS else 0))) - 1
    if kind in COMPONENTS or kind is Kind.PLACES:
        typical = _typical_spread(rows)
        # A field that is the same everywhere has no spread.
        step = (typical if spread is None else np.where(spread > 0, spread, typical)) / most
        return _components(rows, step, weights)._replace(stride=max(stride, 1))
    exponent = ROOT if kind is Kind.POSITIVE else 1
    values = np.maximum(rows, 0.0) ** (1 / ROOT) if kind is Kind.POSITIVE else np.asarray(rows, float)
    low, high = (np.zeros(values.shape[:2]) if kind is Kind.POSITIVE else values.min(axis=2)), values.max(axis=2)
    step = np.where(high > low, (high - low) / most, 1.0)
    return Coded(_levels(values, low, step), low, step, exponent, stride=max(stride, 1))


def _components(
    rows: Rows, step: Float[np.ndarray, " variable"], weights: Float[np.ndarray, "sum row"] | None
) -> Coded:
    """Orthogonal components of the rows with one step for all of them.

    With C the mean of w w^T over the weights of n rows, w^T C^-1 w is n on average: (n C)^1/2 times the rows, in place of the
    rows, leaves every sum the error of one rounding. Far beyond the runs weights are large, but only in a few directions, which
    are all that needs more digits there.
    """
    root = np.eye(len(rows)) if weights is None else _root_of_products(weights)
    flat = (rows / step[:, None]).reshape(len(rows), -1)
    weighted = root @ flat
    mix = np.linalg.solve(root, np.linalg.eigh(weighted @ weighted.T)[1][:, ::-1]).astype(np.float32)
    values = np.linalg.solve(mix.astype(float), flat).reshape(rows.shape) * step[:, None]
    kept = np.asarray((np.abs(values) > 0.5 * step[:, None]).any(axis=(1, 2)))
    kept[0] = True
    low = values[kept].min(axis=2)
    steps = np.maximum(step, np.ptp(values[kept], axis=2) / MOST_LEVELS)
    return Coded(_levels(values[kept], low, steps), low, steps, mix=mix[:, kept])


def _root_of_products(weights: Float[np.ndarray, "sum row"]) -> Float[np.ndarray, "row row"]:
    """The square root of n times the mean of w w^T; directions that hardly occur count as rare ones."""
    squares, vectors = np.linalg.eigh(weights.T @ weights * (weights.shape[1] / len(weights)))
    return (vectors * np.sqrt(np.maximum(squares, RARE * squares.mean()))) @ vectors.T


def _typical_spread(rows: Rows) -> Float[np.ndarray, " variable"]:
    """How far the values of a run reach, of every variable: in the median over the runs in which it varies at all."""
    spreads = np.ptp(rows, axis=2)
    found = [np.median(some[some > 0]) if (some > 0).any() else 0.0 for some in spreads.T]
    return np.where(np.array(found) > 0, found, np.maximum(np.abs(rows).max(axis=(0, 2)), np.finfo(float).tiny))


def _levels(values: Rows, low: np.ndarray, step: np.ndarray) -> np.ndarray:
    return np.rint((values - low[:, :, None]) / step[:, :, None]).astype(np.int32)


@dataclass
class Packing:
    """What a page is given: a description, which goes into its header, and bytes."""

    arrays: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)
    content: dict[str, np.ndarray] = field(default_factory=dict)
    size: int = 0

    @property
    def description(self) -> dict[str, Any]:
        return {"arrays": self.arrays, "rows": self.rows}

    def add(self, name: str, array: np.ndarray) -> None:
        kept = self.content[name] = np.ascontiguousarray(array)
        half = kept.ndim == 2 and kept.shape[0] == kept.shape[1] > 1 and np.array_equal(kept, kept.T)
        content = kept[np.tril_indices(len(kept))] if half else kept
        described = {"offset": self._append(content.tobytes()), "shape": kept.shape, "dtype": DTYPES[str(kept.dtype)]}
        self.arrays[name] = {**described, "half": True} if half else described

    def add_rows(self, name: str, rows: Coded) -> None:
        """What is left of the levels when those of neighbors are known, the lowest bytes of a row before the next ones."""
        self.add(f"{name}.ranges", np.stack([rows.low, rows.step], axis=-1).reshape(-1, 2))
        mix = None
        if rows.mix is not None:
            mix = f"{name}.mix"
            self.add(mix, rows.mix)
        left, orders = _left_by_neighbors(rows.levels, rows.stride)
        self.add(f"{name}.orders", orders.astype(np.int32))
        folded = _folded(left, 8 * rows.planes)
        parts = np.stack([(folded >> 8 * plane) & 255 for plane in range(rows.planes)], axis=-2).astype(np.uint8)
        described = {"shape": rows.levels.shape, "planes": rows.planes, "exponent": rows.exponent, "mix": mix}
        described |= {"stride": rows.stride, "ranges": f"{name}.ranges", "orders": f"{name}.orders"}
        self.rows[name] = {"offset": self._append(parts.tobytes()), **described}

    def text(self) -> str:
        """All bytes, compressed, as text: four bytes in five characters that mean nothing to HTML."""
        return base64.b85encode(zlib.compress(b"".join(self.parts), 9)).decode().translate(HARMLESS)

    def _append(self, content: bytes) -> int:
        self.parts += [content, bytes(-len(content) % 8)]
        offset, self.size = self.size, self.size + len(content) + -len(content) % 8
        return offset


def _left_by_neighbors(levels: np.ndarray, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Differences, row by row those that are smallest; and which: 0 to 3, see DIFFERENCES."""
    count, n_variables, size = levels.shape
    blocks = levels.reshape(count, n_variables, size // stride, stride).astype(np.int64)
    least, left, orders = None, blocks, np.zeros((count, n_variables), int)
    for order, (along, across) in enumerate(DIFFERENCES):
        steps = blocks
        for axis in [2] * along + [3] * across:
            steps = np.diff(steps, axis=axis, prepend=0)
        bits = np.log2(1.0 + np.abs(steps)).sum(axis=(2, 3))
        better = np.ones_like(bits, bool) if least is None else bits < least
        least = bits if least is None else np.minimum(bits, least)
        left, orders = np.where(better[:, :, None, None], steps, left), np.where(better, order, orders)
    return left.reshape(levels.shape), orders


def _folded(steps: np.ndarray, bits: int) -> np.ndarray:
    """0, -1, 1, -2, ... as 0, 1, 2, 3, ...: small steps of either sign have small numbers. All is modulo 2^bits."""
    half = 1 << (bits - 1)
    wrapped = ((steps + half) & (2 * half - 1)) - half
    return np.where(wrapped < 0, -2 * wrapped - 1, 2 * wrapped)
