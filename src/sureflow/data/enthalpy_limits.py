"""What a flow cannot exceed: in steady flow no gas is hotter than the free stream's total enthalpy, or a hotter wall, makes it.

At rest that enthalpy is the temperature of stagnation T_0 = T_inf + U_inf^2 / (2 cp), and without any heat left it is the
speed sqrt(2 cp T_0). Conduction carries heat across streamlines, so that runs exceed both by some tenths of a percent.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.runs import Runs
from sureflow.data.similarity import WALL_TEMPERATURE, known_value
from sureflow.data.streams import STREAMS, Conditions, StreamSource
from sureflow.physics.quantities import FIELD_UNITS
from sureflow.validation import settings

FlowFields = Float[np.ndarray, "*sample case variable point"]
Values = Float[np.ndarray, " case"]

# Above the largest values of the runs over what enthalpy allows.
MARGIN = 0.01
# Runs that exceed it by more are heated by something else.
HEATED = 0.05
VELOCITY, TEMPERATURE = slice(0, 2), 3  # columns of the flow's fields


@settings
class EnthalpyLimits:
    """T <= temperature max(T_0, T_wall) and |u| <= speed sqrt(2 cp max(T_0, T_wall)).

    The factors are the largest that the runs reach, at least 1, and a margin. The wall's temperature in K is the same in all
    runs, or the name of a parameter.
    """

    parameter_names: tuple[str, ...]
    free_stream: Annotated[StreamSource, STREAMS]
    wall_temperature: float | str | None
    temperature: float = 1.0 + MARGIN
    speed: float = 1.0 + MARGIN

    @classmethod
    def of(cls, runs: Runs) -> "EnthalpyLimits | None":
        """None where the gas, the free stream or the fields are others, or something else than the wall heats the flow."""
        header = runs.header
        if header.stream is None or header.gas is None or header.names != tuple(FIELD_UNITS):
            return None
        bare = cls(header.parameter_names, header.stream, _wall_temperature(header), 1.0, 1.0)
        hottest, fastest = bare.at(runs.parameters)
        reached = [(run[TEMPERATURE].max(), np.hypot(*run[VELOCITY]).max()) for run in runs.each()]
        factors = np.maximum((np.array(reached) / np.column_stack([hottest, fastest])).max(axis=0), 1.0)
        if not (factors <= 1.0 + HEATED).all():
            return None
        temperature, speed = (factors + MARGIN).tolist()
        return cls(bare.parameter_names, bare.free_stream, bare.wall_temperature, temperature, speed)

    def at(self, parameters: Conditions) -> tuple[Values, Values]:
        """The highest temperature and the highest speed at conditions."""
        stream = self.free_stream.values(self.parameter_names, parameters)
        hot = stream["temperature"] + stream["velocity"] ** 2 / (2.0 * self.free_stream.cp)
        if isinstance(self.wall_temperature, str):
            hot = np.maximum(hot, parameters[:, self.parameter_names.index(self.wall_temperature)])
        elif self.wall_temperature is not None:
            hot = np.maximum(hot, self.wall_temperature)
        return self.temperature * hot, self.speed * np.sqrt(2.0 * self.free_stream.cp * hot)

    def kept(self, fields: FlowFields, parameters: Conditions) -> FlowFields:
        """Flows with temperatures and speeds within the limits; directions stay. What is within is not touched."""
        hottest, fastest = (limit[:, None] for limit in self.at(parameters))
        speed, temperature = np.hypot(fields[..., 0, :], fields[..., 1, :]), fields[..., TEMPERATURE, :]
        if not ((speed > fastest).any() or (temperature > hottest).any()):
            return fields
        found = np.array(fields)
        found[..., VELOCITY, :] *= (fastest / np.maximum(speed, fastest))[..., None, :]
        found[..., TEMPERATURE, :] = np.minimum(temperature, hottest)
        return found

    def cut(self, ends: FlowFields, parameters: Conditions) -> FlowFields:
        """Ends of intervals within the limits, field by field."""
        hottest, fastest = self.at(parameters)
        found = np.array(ends)
        found[..., VELOCITY, :] = np.clip(ends[..., VELOCITY, :], -fastest[:, None, None], fastest[:, None, None])
        found[..., TEMPERATURE, :] = np.minimum(ends[..., TEMPERATURE, :], hottest[:, None])
        return found


def _wall_temperature(header: Header) -> float | str | None:
    """Of walls that have one of their own."""
    kind = (header.made_by.get("wall") or {}).get("kind")
    if kind != "isothermal" and "wall_kind" not in header.parameter_names:
        return None
    return known_value(WALL_TEMPERATURE, header, ("wall", "temperature"))
