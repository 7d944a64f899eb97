"""Scalings in closed form: from parameters to the inputs of a model, and from its answers to physical units."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sureflow.data.scaling import DENSITY_UNIT, DIVISORS, Scaling
from sureflow.data.similarity import REYNOLDS_POWER
from sureflow.errors import SureflowError
from sureflow.explore.program import Value, join
from sureflow.physics.atmosphere import BASE, EARTH_RADIUS, HIGHEST_KM
from sureflow.registry import Registry

ENTRIES = 400  # of the table of the atmosphere, besides the edges of its layers


class FieldUnits(NamedTuple):
    """What leads from a scaled field to the physical one: a factor of every variable, and which ones are logarithms."""

    factor: Value
    logarithmic: np.ndarray


class Stream(NamedTuple):
    """The free stream at the parameters of a condition."""

    velocity: Value
    density: Value
    temperature: Value


# By the name of the scaling: the scaling, the parameters and their names in; inputs of the model, and units out.
TRANSFORMS: Registry[Callable[[Any, Value, tuple[str, ...]], tuple[Value, FieldUnits]]] = Registry("scaling in a page")
# By the kind of the free stream: its source, the parameters and their names in.
PAGE_STREAMS: Registry[Callable[[Any, Value, tuple[str, ...]], Stream]] = Registry("free stream in a page")


def _columns(parameters: Value, names: tuple[str, ...]) -> dict[str, Value]:
    return {name: parameters.pick(column) for column, name in enumerate(names)}


def unscaled(scaling: Scaling, parameters: Value, names: tuple[str, ...]) -> tuple[Value, FieldUnits]:
    inputs = _columns(parameters, names)
    for name, _ in scaling.logarithmic:
        inputs[name] = inputs[name].logarithm()
    return join(*inputs.values()), FieldUnits(parameters.program.constant(np.ones(1)), np.zeros(0, bool))


def log_density(scaling: Any, parameters: Value, names: tuple[str, ...]) -> tuple[Value, FieldUnits]:
    inputs, units = unscaled(scaling, parameters, names)
    return inputs, FieldUnits(units.factor, np.array([unit == DENSITY_UNIT for unit in scaling.units]))


def freestream(scaling: Any, parameters: Value, names: tuple[str, ...]) -> tuple[Value, FieldUnits]:
    source = scaling.free_stream
    stream = PAGE_STREAMS[source.kind](source, parameters, names)
    columns = source.columns
    inputs = _columns(parameters, names)
    for name, _ in scaling.logarithmic:
        if name not in columns.values():
            inputs[name] = inputs[name].logarithm()
    for quantity, name in columns.items():
        inputs[name] = getattr(stream, quantity).logarithm()
    return join(*inputs.values()), _divisors(scaling.units, source, stream)


def similarity(scaling: Any, parameters: Value, names: tuple[str, ...]) -> tuple[Value, FieldUnits]:
    """The numbers of similarity in place of the parameters that set them (`data.similarity`)."""
    alike = scaling.similarity
    source, gas = alike.free_stream, alike.gas
    if gas.model != "perfect":
        raise SureflowError(
            f"scaling='similarity' of a {gas.model} gas cannot be put into a page: serve the model instead"
        )
    stream = PAGE_STREAMS[source.kind](source, parameters, names)
    inputs, constant = _columns(parameters, names), parameters.program.constant

    def known(one: float | str) -> Value:
        return parameters.pick(names.index(one)) if isinstance(one, str) else constant(np.array([one]))

    hot = stream.temperature + stream.velocity**2 * (0.5 / source.cp)
    wall = None if alike.wall_temperature is None else known(alike.wall_temperature)
    taken = {*source.columns.values(), alike.length, alike.wall_temperature}
    for name, _ in scaling.logarithmic:
        if name not in taken:
            inputs[name] = inputs[name].logarithm()
    sound_squared = stream.temperature * (gas.gamma * gas.gas_constant)
    reynolds = stream.density * stream.velocity * known(alike.length) / gas.viscosity(hot, None)
    inputs[source.columns["velocity"]] = sound_squared / stream.velocity**2
    inputs[source.columns["density"]] = reynolds**REYNOLDS_POWER
    if "temperature" in source.columns:
        inputs[source.columns["temperature"]] = hot.logarithm() if wall is None else wall / hot
    elif isinstance(alike.wall_temperature, str) and wall is not None:
        inputs[alike.wall_temperature] = wall / hot
    if isinstance(alike.length, str):
        inputs[alike.length] = known(alike.length).logarithm()
    return join(*inputs.values()), _divisors(scaling.units, source, stream)


def _divisors(units: tuple[str, ...], source: Any, stream: Stream) -> FieldUnits:
    """What every field was divided by, according to its unit."""
    one = stream.velocity.program.constant(np.ones(1))
    found: list[Any] = [DIVISORS[unit](**stream._asdict(), cp=source.cp) if unit in DIVISORS else one for unit in units]
    return FieldUnits(join(*found), np.zeros(0, bool))


def flight(source: Any, parameters: Value, names: tuple[str, ...]) -> Stream:
    """The air of the altitude from a table, which has the edges of the atmosphere's layers among its entries."""
    edges = np.array([EARTH_RADIUS * height / (EARTH_RADIUS - height) / 1e3 for height in BASE])
    at = np.unique(np.concatenate([edges, np.linspace(0.0, HIGHEST_KM, ENTRIES)]))
    air = source.values(("mach", "altitude_km"), np.column_stack([np.ones_like(at), at]))
    columns = np.column_stack([air["velocity"], np.log(air["density"]), air["temperature"]])
    found = parameters.pick(names.index("altitude_km")).table(at, columns)
    return Stream(parameters.pick(names.index("mach")) * found.pick(0), found.pick(1).exponential(), found.pick(2))


def columns(source: Any, parameters: Value, names: tuple[str, ...]) -> Stream:
    return Stream(*(parameters.pick(names.index(getattr(source, quantity))) for quantity in Stream._fields))


TRANSFORMS.register("none", unscaled)
TRANSFORMS.register("log-density", log_density)
TRANSFORMS.register("freestream", freestream)
TRANSFORMS.register("similarity", similarity)
PAGE_STREAMS.register("flight", flight)
PAGE_STREAMS.register("columns", columns)
