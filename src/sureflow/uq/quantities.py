"""Quantities of interest with bars: the solver's own functions, applied to predicted fields and to samples of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.data.dataset import Mesh
from sureflow.physics import quantities as read_off
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gas import Gas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall

Fields = Float[np.ndarray, "case variable point"]
Samples = Float[np.ndarray, "sample case variable point"]
Values = Float[np.ndarray, "case quantity"]

SURFACE_ANGLES = (20, 40, 60)  # degrees from the stagnation point


@dataclass(frozen=True)
class Quantity:
    """A number that is read off a flow field, with its unit."""

    name: str
    unit: str
    of: Callable[[FlowField], float]


def _surface_pressure(angle: int) -> Quantity:
    def of(field: FlowField) -> float:
        return read_off.pressure_over_stagnation(field, angle)

    return Quantity(f"cp_over_cpmax_{angle}", "1", of)


QUANTITIES = (
    Quantity("stand_off", "nose radii", read_off.stand_off),
    Quantity("stagnation_pressure", "Pa", read_off.stagnation_pressure),
    *map(_surface_pressure, SURFACE_ANGLES),
    Quantity("drag_coefficient_pressure", "1", lambda field: read_off.drag_coefficients(field)[0]),
)
# Friction is known where the wall is.
TOTAL_DRAG = Quantity("drag_coefficient", "1", lambda field: sum(read_off.drag_coefficients(field)))


@dataclass(frozen=True)
class Body:
    """What turns fields on a mesh into quantities: the mesh, the gas and, where it is known, the wall."""

    mesh: Mesh
    gas: Gas
    nose_radius: float
    wall: Wall | None = None

    @classmethod
    def on(cls, mesh: Mesh, gas: Gas, wall: Wall | None = None) -> Self:
        """The body that a mesh is fitted to. Its nose is a sphere through the axis: x^2 + r^2 = 2 R x at the wall."""
        x, r = mesh.node_x[0, 1] - mesh.node_x[0, 0], mesh.node_r[0, 1]
        return cls(mesh, gas, float((x**2 + r**2) / (2.0 * x)), wall)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return QUANTITIES if self.wall is None else (*QUANTITIES, TOTAL_DRAG)

    def values(self, fields: Fields, free_streams: Sequence[FreeStream]) -> Values:
        """Every quantity of every case; NaN where the fields are too far from a flow to tell."""
        rows = [self._row(run, free) for run, free in zip(fields, free_streams, strict=True)]
        return np.array(rows).reshape(len(fields), len(self.quantities))

    def _row(self, run: Float[np.ndarray, "variable point"], free_stream: FreeStream) -> list[float]:
        field = FlowField(
            self.mesh.node_x,
            self.mesh.node_r,
            np.asarray(run, float).reshape(-1, *self.mesh.shape),
            self.gas,
            free_stream,
            self.wall or Wall("slip"),
            self.nose_radius,
        )
        with np.errstate(all="ignore"):
            return [float(quantity.of(field)) for quantity in self.quantities]


def propagated(body: Body, mean: Fields, samples: Samples, free_streams: Sequence[FreeStream]) -> tuple[Values, Values]:
    """Quantities of the mean field, and their standard deviation: the rms distance of the samples' from it.

    Whole fields are sampled because the points of a field err together: bars of single points say nothing about a sum.
    """
    value = body.values(mean, free_streams)
    away = np.stack([body.values(sample, free_streams) for sample in samples]) - value
    return value, np.sqrt(np.nanmean(away**2, axis=0))


def widened(samples: Samples, mean: Fields, own: Fields, std: Fields) -> Samples:
    """Samples about the mean with calibrated bars: each deviation times calibrated over own standard deviation.

    Where the model's own is zero its samples do not deviate, and stay.
    """
    ratio = np.divide(std, own, out=np.ones_like(std), where=own > 0)
    return mean + (samples - mean) * ratio
