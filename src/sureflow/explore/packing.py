"""Arrays of a page: small ones as they are, rows of fields in levels of 16 bits, all in one compressed block."""

import base64
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

LEVELS = 65535
# Rows whose relative size counts, such as variances, are kept by this root of theirs: small ones keep their digits.
COMPANDED = 4
DTYPES = {"float64": "f8", "float32": "f4", "int32": "i4"}


@dataclass
class Packing:
    """What a page is given: a description, which goes into its header, and bytes."""

    arrays: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)
    content: dict[str, np.ndarray] = field(default_factory=dict)
    size: int = 0

    def add(self, name: str, array: np.ndarray) -> None:
        kept = self.content[name] = np.ascontiguousarray(array)
        self.arrays[name] = {
            "offset": self._append(kept.tobytes()),
            "shape": kept.shape,
            "dtype": DTYPES[str(kept.dtype)],
        }

    def add_rows(self, name: str, rows: Float[np.ndarray, "row variable point"], *, relative: bool) -> None:
        levels, low, step = quantized(rows, relative=relative)
        self.add(f"{name}.ranges", np.stack([low, step], axis=-1).reshape(-1, 2))
        steps = np.diff(levels.astype(np.int32), axis=-1, prepend=0).astype(np.uint16)
        halves = np.stack([steps & 255, steps >> 8], axis=-2).astype(np.uint8)
        exponent = COMPANDED if relative else 1
        described = {"shape": rows.shape, "exponent": exponent, "ranges": f"{name}.ranges"}
        self.rows[name] = {"offset": self._append(halves.tobytes()), **described}

    def text(self) -> str:
        """All bytes, compressed, as text."""
        return base64.b64encode(zlib.compress(b"".join(self.parts), 9)).decode()

    def _append(self, content: bytes) -> int:
        self.parts += [content, bytes(-len(content) % 8)]
        offset, self.size = self.size, self.size + len(content) + -len(content) % 8
        return offset


def quantized(
    rows: Float[np.ndarray, "row variable point"], *, relative: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levels, and value = low + step * level of every row and variable, of the root where relative sizes count."""
    values = np.maximum(rows, 0.0) ** (1 / COMPANDED) if relative else np.asarray(rows, float)
    low, high = (np.zeros(values.shape[:2]) if relative else values.min(axis=2)), values.max(axis=2)
    step = np.where(high > low, (high - low) / LEVELS, 1.0)
    levels = np.rint((values - low[:, :, None]) / step[:, :, None]).astype(np.uint16)
    return levels, low, step


def restored(
    rows: Float[np.ndarray, "row variable point"], *, relative: bool
) -> Float[np.ndarray, "row variable point"]:
    """Rows as a page reads them, in single precision."""
    levels, low, step = quantized(rows, relative=relative)
    values = low[:, :, None] + step[:, :, None] * levels
    return (values**COMPANDED if relative else values).astype(np.float32).astype(float)
