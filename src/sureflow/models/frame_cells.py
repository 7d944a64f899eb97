"""Bars are kept on cells of a frame, as many as a mesh has, and brought to the cells of meshes."""

from typing import NamedTuple, Self

import numpy as np
from jaxtyping import Float

from sureflow.models.shock_frame import FINENESS, places_of_rows

Fields = Float[np.ndarray, "*some variable point"]


class CellPlaces(NamedTuple):
    """Where the cells of one block lie among those of another one, as fractions of rows and lines."""

    rows: Float[np.ndarray, "row line"]
    lines: Float[np.ndarray, " line"]

    @classmethod
    def in_frame(cls, rows: Float[np.ndarray, "place line"], lines: Float[np.ndarray, " line"]) -> Self:
        """Of a mesh, among those of a frame at whose places the mesh has these rows."""
        return cls(places_of_rows(rows, (len(rows) - 1) // FINENESS) / FINENESS - 0.5, lines)

    def between(self, fields: Fields) -> Fields:
        """Values there, linear between cells: what is positive stays positive."""
        (row, up), (line, on), block = *self._below, self._block(fields)
        lower, upper = (
            (1.0 - up) * block[..., row, at] + up * block[..., np.minimum(row + 1, len(up) - 1), at]
            for at in (line, np.minimum(line + 1, len(on) - 1))
        )
        return ((1.0 - on) * lower + on * upper).reshape(fields.shape)

    def drawn(self, fields: Fields, rng: np.random.Generator) -> Fields:
        """Values of one of the cells around, each as often as it counts in `between`, so that mean squares are interpolated.

        For all cells the same draw decides, so that fields stay as smooth as they are.
        """
        (row, up), (line, on), block = *self._below, self._block(fields)
        return block[..., row + (rng.uniform() < up), line + (rng.uniform() < on)].reshape(fields.shape)

    @property
    def _below(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """The cells before, and the shares of the way to the next ones; those at the ends hold beyond them."""
        inside = (np.clip(at, 0.0, size - 1.0) for at, size in zip(self, self.rows.shape, strict=True))
        return tuple((at.astype(int), at - at.astype(int)) for at in inside)

    def _block(self, fields: Fields) -> Float[np.ndarray, "*some variable row line"]:
        return fields.reshape(*fields.shape[:-1], *self.rows.shape)
