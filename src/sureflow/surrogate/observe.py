"""Quantities of interest: the solver's own functions, applied to predicted fields and to samples of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.meshes import Geometry
from sureflow.physics import quantities as physics
from sureflow.physics.estimates import ESTIMATES, BluntFlow
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import Gas, PerfectGas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import WALL_KINDS, Wall
from sureflow.surrogate.space import Space
from sureflow.validation import validated

Conditions = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]
Samples = Float[np.ndarray, "sample case variable point"]
Values = Float[np.ndarray, "case quantity"]
Distributions = Float[np.ndarray, "case distribution face"]

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
# Where the runs say what their wall does; after the others, which stored calibrations know by their place.
FRICTION = Quantity("drag_coefficient_friction", "1", lambda field: physics.drag_coefficients(field)[1])
HEAT_FLUX = Quantity("stagnation_heat_flux", "W/m2", physics.stagnation_heat_flux)

# What lies along the body: distributions with their units, and the words for them.
ALONG_BODY = {"wall_pressure": "Pa", "wall_heat_flux": "W/m2", "wall_shear": "Pa"}
ALONG_BODY_NAMES = {
    "wall_pressure": "pressure on the wall",
    "wall_heat_flux": "heat flux into the wall",
    "wall_shear": "shear stress on the wall, positive downstream",
}


@dataclass(frozen=True)
class WallSource:
    """The wall of a condition: what the runs were made with, but for what their parameters vary."""

    names: tuple[str, ...]
    common: Wall

    @classmethod
    def of(cls, header: Header) -> Self | None:
        """None where the runs do not say."""
        if "wall" not in header.made_by:
            return None
        return cls(header.parameter_names, validated(Wall, header.made_by["wall"], "wall"))

    def at(self, condition: Float[np.ndarray, " parameter"]) -> Wall:
        values = dict(zip(self.names, condition.tolist(), strict=True))
        kind = WALL_KINDS[round(values["wall_kind"])] if "wall_kind" in values else self.common.kind
        # A model may be asked beyond what a wall can be: that is its user's to judge.
        low, high = 10.0, 10_000.0
        return Wall(kind, min(max(values.get("wall_temperature", self.common.temperature), low), high))

    def quantities(self) -> tuple[Quantity, ...]:
        """What friction and heat conduction add to the numbers."""
        if "wall_kind" not in self.names and not self.common.viscous:
            return ()
        takes_heat = "wall_kind" in self.names or self.common.kind == "isothermal"
        return (FRICTION, HEAT_FLUX) if takes_heat else (FRICTION,)


def known_quantities(header: Header) -> tuple[Quantity, ...]:
    """What can be read off the fields of these runs."""
    wall = WallSource.of(header)
    return QUANTITIES + (wall.quantities() if wall else ())


@dataclass(frozen=True)
class Observer:
    """Reads quantities off the fields of a flow around a body, whose mesh may follow from the condition."""

    header: Header
    gas: Gas
    space: Space
    quantities: tuple[Quantity, ...] = QUANTITIES
    wall: WallSource | None = None

    @classmethod
    def of(cls, header: Header, space: Space) -> Self | None:
        """None where the fields are not those of a flow around a body, or gas and free stream are not known."""
        gas = header.gas
        if gas is None or header.stream is None or header.names != FLOW_FIELDS or not space.is_plane_block:
            return None
        return cls(header, gas, space, known_quantities(header), WallSource.of(header))

    def __call__(self, fields: Fields, conditions: Conditions, geometries: Sequence[Geometry] | None = None) -> Values:
        """Every quantity of every case; NaN where the fields are too far from a flow to tell.

        `geometries` are the meshes of the cases, where these are not the model's.
        """
        with np.errstate(all="ignore"):
            rows = [self._numbers(flow) for flow in self._flows(fields, conditions, geometries)]
        return np.array(rows).reshape(len(fields), len(self.quantities))

    def with_walls(
        self, fields: Fields, conditions: Conditions, geometries: Sequence[Geometry] | None = None
    ) -> tuple[Values, Distributions]:
        """Every quantity of every case, and what acts on the faces of its wall."""
        with np.errstate(all="ignore"):
            flows = [
                (self._numbers(flow), _distributions(flow)) for flow in self._flows(fields, conditions, geometries)
            ]
        values, walls = (np.array(rows) for rows in zip(*flows, strict=True))
        return values, walls

    def spread(self, values: Values, samples: Samples, conditions: Conditions) -> Values:
        """Standard deviation of the quantities: the rms distance of those of samples from the values of the mean field.

        Whole fields are sampled because the points of a field err together: bars of single points say nothing about a sum.
        """
        away = np.stack([self(sample, conditions) for sample in samples]) - values
        return np.sqrt(np.nanmean(away**2, axis=0))

    def along_body(
        self, fields: Fields, conditions: Conditions, geometries: Sequence[Geometry] | None = None
    ) -> Distributions:
        """Pressure, heat flux and shear at the wall faces of every case, on the model's meshes or on given ones."""
        with np.errstate(all="ignore"):
            return np.array([_distributions(flow) for flow in self._flows(fields, conditions, geometries)])

    @property
    def distributions(self) -> dict[str, str]:
        """What is known along the body, with units: pressure, shear where there is friction, heat flux where walls take heat."""
        told = {FRICTION: "wall_shear", HEAT_FLUX: "wall_heat_flux"}
        known = {"wall_pressure", *(told[quantity] for quantity in (self.wall.quantities() if self.wall else ()))}
        return {name: unit for name, unit in ALONG_BODY.items() if name in known}

    def places(self, conditions: Conditions) -> tuple[Float[np.ndarray, "case face"], Float[np.ndarray, "case face"]]:
        """x of the wall faces, and how far along the body they lie, in m."""
        places = []
        for condition in conditions:
            node_x, node_r = self._nodes(self.space.at(condition))
            x, r = node_x[0], node_r[0]
            arc = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(r)))])
            places.append([0.5 * (x[1:] + x[:-1]), 0.5 * (arc[1:] + arc[:-1])])
        x, arc = np.moveaxis(np.array(places), 1, 0)
        return x, arc

    def estimates(self, names: Iterable[str], conditions: Conditions) -> dict[str, Float[np.ndarray, " case"]]:
        """What hand calculations say of some numbers, without any field: of those for which there is one, in a perfect gas."""
        known, streams = [name for name in names if name in ESTIMATES], self.header.free_streams(conditions)
        if not isinstance(self.gas, PerfectGas) or self.wall is None or streams is None or not known:
            return {}
        rows = []
        for condition, stream in zip(conditions, streams, strict=True):
            node_x, node_r = (nodes[0] for nodes in self._nodes(self.space.at(condition)))
            flow = BluntFlow(node_x, node_r, self.gas, stream, self.wall.at(condition), nose_radius(node_x, node_r))
            rows.append([ESTIMATES[name](flow) for name in known])
        return dict(zip(known, np.array(rows).reshape(len(conditions), -1).T, strict=True))

    def _numbers(self, flow: FlowField) -> list[float]:
        return [float(quantity.read(flow)) for quantity in self.quantities]

    def _flows(self, fields: Fields, conditions: Conditions, geometries: Sequence[Geometry] | None = None):
        streams = self.header.free_streams(conditions)
        assert streams is not None
        for case, (run, condition, stream) in enumerate(zip(fields, conditions, streams, strict=True)):
            geometry = self.space.at(condition) if geometries is None else geometries[case]
            yield self._flow(run, condition, stream, geometry)

    def _flow(
        self,
        run: Float[np.ndarray, "variable point"],
        condition: Float[np.ndarray, " parameter"],
        free_stream: FreeStream,
        geometry: Geometry,
    ) -> FlowField:
        node_x, node_r = self._nodes(geometry)
        fields = np.asarray(run, float).reshape(-1, *self._shape)
        wall = Wall("slip") if self.wall is None else self.wall.at(condition)
        radius = nose_radius(node_x[0], node_r[0])
        return FlowField(node_x, node_r, fields, self.gas, free_stream, wall, radius)

    @property
    def _shape(self) -> tuple[int, ...]:
        assert self.space.topology.shape is not None
        return self.space.topology.shape

    def _nodes(self, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
        return geometry.grid(0, self._shape), geometry.grid(1, self._shape)


def _distributions(flow: FlowField) -> list[np.ndarray]:
    """In the order of ALONG_BODY."""
    return [flow.surface.pressure, flow.surface.heat_flux, flow.surface.shear]


def nose_radius(node_x: Float[np.ndarray, " node"], node_r: Float[np.ndarray, " node"]) -> float:
    """Of a nose that is a sphere through the axis: x^2 + r^2 = 2 R x at the wall."""
    x, r = node_x[1] - node_x[0], node_r[1]
    return float((x**2 + r**2) / (2.0 * x))
