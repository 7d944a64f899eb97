"""Quantities of interest: the solver's own functions, applied to predicted fields and to samples of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.physics import quantities as physics
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall
from sureflow.surrogate.space import Space

Conditions = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]
Samples = Float[np.ndarray, "sample case variable point"]
Values = Float[np.ndarray, "case quantity"]

FLOW_FIELDS = ("u1", "u2", "rho", "T")
SURFACE_ANGLES = (20, 40, 60)  # degrees from the stagnation point


@dataclass(frozen=True)
class Quantity:
    """A number that is read off a flow field, with its unit."""

    name: str
    unit: str
    read: Callable[[FlowField], float]


def _surface_pressure(angle: int) -> Quantity:
    return Quantity(f"cp_over_cpmax_{angle}", "1", lambda field: physics.pressure_over_stagnation(field, angle))


QUANTITIES = (
    Quantity("stand_off", "nose radii", physics.stand_off),
    Quantity("stagnation_pressure", "Pa", physics.stagnation_pressure),
    *map(_surface_pressure, SURFACE_ANGLES),
    Quantity("drag_coefficient_pressure", "1", lambda field: physics.drag_coefficients(field)[0]),
)


@dataclass(frozen=True)
class Observer:
    """Reads quantities off the fields of a flow around a body, whose mesh may follow from the condition."""

    header: Header
    gas: Gas
    space: Space
    quantities: tuple[Quantity, ...] = QUANTITIES

    @classmethod
    def of(cls, header: Header, space: Space) -> Self | None:
        """None where the fields are not those of a flow around a body, or gas and free stream are not known."""
        gas = header.gas
        if gas is None or header.stream is None or header.names != FLOW_FIELDS or not space.is_plane_block:
            return None
        return cls(header, gas, space)

    def __call__(self, fields: Fields, conditions: Conditions) -> Values:
        """Every quantity of every case; NaN where the fields are too far from a flow to tell."""
        streams = self.header.free_streams(conditions)
        assert streams is not None
        rows = [self._row(*one) for one in zip(fields, conditions, streams, strict=True)]
        return np.array(rows).reshape(len(fields), len(self.quantities))

    def spread(self, values: Values, samples: Samples, conditions: Conditions) -> Values:
        """Standard deviation of the quantities: the rms distance of those of samples from the values of the mean field.

        Whole fields are sampled because the points of a field err together: bars of single points say nothing about a sum.
        """
        away = np.stack([self(sample, conditions) for sample in samples]) - values
        return np.sqrt(np.nanmean(away**2, axis=0))

    def _row(
        self,
        run: Float[np.ndarray, "variable point"],
        condition: Float[np.ndarray, " parameter"],
        free_stream: FreeStream,
    ) -> list[float]:
        shape = self.space.topology.shape
        assert shape is not None
        geometry = self.space.at(condition)
        node_x, node_r = (geometry.grid(axis, shape) for axis in (0, 1))
        # The nose is a sphere through the axis: x^2 + r^2 = 2 R x at the wall.
        x, r = node_x[0, 1] - node_x[0, 0], node_r[0, 1]
        nose_radius = float((x**2 + r**2) / (2.0 * x))
        fields = np.asarray(run, float).reshape(-1, *shape)
        flow = FlowField(node_x, node_r, fields, self.gas, free_stream, Wall("slip"), nose_radius)
        with np.errstate(all="ignore"):
            return [float(quantity.read(flow)) for quantity in self.quantities]
