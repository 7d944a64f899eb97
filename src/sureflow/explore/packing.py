"""Arrays of a page: small ones as they are, rows of fields in levels of some bits, all compressed."""

import base64
import zlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

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


BITS = {Kind.MODES: 16, Kind.FINE: 20, Kind.POSITIVE: 11, Kind.RUNS: 19, Kind.FRAME: 19, Kind.LOST: 12, Kind.PLACES: 25}
COMPONENTS = (Kind.RUNS, Kind.FRAME, Kind.LOST, Kind.PLACES)
MOST_LEVELS = 2**31 - 1
MOST_PLANES = 4  # bytes of a level
ROOT = 4  # of rows that are positive


class Coded(NamedTuple):
    """Levels, and value = (low + step * level)^exponent; the rows are `mix` times these values where there is one."""

    levels: np.ndarray
    low: Float[np.ndarray, "row variable"]
    step: Float[np.ndarray, "row variable"]
    exponent: int = 1
    mix: Float[np.ndarray, "row component"] | None = None
    stride: int = 1  # from a point to that from which it differs least

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


def coded(rows: Rows, kind: Kind, stride: int = 1, more_bits: int = 0) -> Coded:
    """Rows in levels; those of runs in more of them, where their weights are large."""
    most = 2 ** (BITS[kind] + (more_bits if kind in COMPONENTS else 0)) - 1
    if kind in COMPONENTS:
        return _components(rows, most)._replace(stride=stride)
    exponent = ROOT if kind is Kind.POSITIVE else 1
    values = np.maximum(rows, 0.0) ** (1 / ROOT) if kind is Kind.POSITIVE else np.asarray(rows, float)
    low, high = (np.zeros(values.shape[:2]) if kind is Kind.POSITIVE else values.min(axis=2)), values.max(axis=2)
    step = np.where(high > low, (high - low) / most, 1.0)
    return Coded(_levels(values, low, step), low, step, exponent, stride=stride)


def _components(rows: Rows, most: int) -> Coded:
    """Orthogonal components of the rows, with one step for all of them: weights of rows and of components are equally large."""
    step = _typical_spread(rows) / most
    flat = (rows / step[:, None]).reshape(len(rows), -1)
    mix = np.linalg.eigh(flat @ flat.T)[1][:, ::-1].astype(np.float32)
    values = np.linalg.solve(mix.astype(float), flat).reshape(rows.shape) * step[:, None]
    kept = np.asarray((np.abs(values) > 0.5 * step[:, None]).any(axis=(1, 2)))
    kept[0] = True
    low = values[kept].min(axis=2)
    steps = np.maximum(step, np.ptp(values[kept], axis=2) / MOST_LEVELS)
    return Coded(_levels(values[kept], low, steps), low, steps, mix=mix[:, kept])


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
        self.arrays[name] = {
            "offset": self._append(kept.tobytes()),
            "shape": kept.shape,
            "dtype": DTYPES[str(kept.dtype)],
        }

    def add_rows(self, name: str, rows: Coded) -> None:
        """Differences of the levels along the points, the lowest bytes of a row before the next ones."""
        self.add(f"{name}.ranges", np.stack([rows.low, rows.step], axis=-1).reshape(-1, 2))
        mix = None
        if rows.mix is not None:
            mix = f"{name}.mix"
            self.add(mix, rows.mix)
        steps = _differences(rows.levels, rows.stride)
        parts = np.stack([(steps >> 8 * plane) & 255 for plane in range(rows.planes)], axis=-2).astype(np.uint8)
        described = {"shape": rows.levels.shape, "planes": rows.planes, "exponent": rows.exponent, "mix": mix}
        described |= {"stride": rows.stride, "ranges": f"{name}.ranges"}
        self.rows[name] = {"offset": self._append(parts.tobytes()), **described}

    def text(self) -> str:
        """All bytes, compressed, as text."""
        return base64.b64encode(zlib.compress(b"".join(self.parts), 6)).decode()

    def _append(self, content: bytes) -> int:
        self.parts += [content, bytes(-len(content) % 8)]
        offset, self.size = self.size, self.size + len(content) + -len(content) % 8
        return offset


def _differences(levels: np.ndarray, stride: int) -> np.ndarray:
    """From the point before; and from the point one stride before, where there is one."""
    steps = np.diff(levels, axis=-1, prepend=0)
    if stride > 1:
        steps[..., stride:] = levels[..., stride:] - levels[..., :-stride]
    return steps
