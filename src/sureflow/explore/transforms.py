"""Scalings in closed form: from parameters to the inputs of a model, and from its answers to physical units."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sureflow.data.scaling import DENSITY_UNIT, DIVISORS, Scaling
from sureflow.data.similarity import REYNOLDS_POWER, Similarity
from sureflow.data.wall_layer import ALONG, FREE, LANDMARKS
from sureflow.errors import SureflowError
from sureflow.explore.program import Value, join
from sureflow.physics.atmosphere import BASE, EARTH_RADIUS, HIGHEST_KM
from sureflow.physics.gases import PerfectGas
from sureflow.registry import Registry
from sureflow.surrogate.model import Surrogate

ENTRIES = 1000  # of the table of the atmosphere, besides the edges of its layers


class FieldUnits(NamedTuple):
    """What leads from a scaled field to the physical one: a factor of every variable, and which ones are logarithms."""

    factor: Value
    logarithmic: np.ndarray


class AlikeValues(NamedTuple):
    """The numbers of similarity at the parameters of a condition (`data.similarity.SimilarityNumbers`)."""

    mach: Value
    reynolds: Value
    stagnation_temperature: Value
    wall_temperature: Value | None
    length: Value


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
    source, inputs, found = alike.free_stream, _columns(parameters, names), alike_numbers(alike, parameters, names)
    taken = {*source.columns.values(), alike.length, alike.wall_temperature}
    for name, _ in scaling.logarithmic:
        if name not in taken:
            inputs[name] = inputs[name].logarithm()
    inputs[source.columns["velocity"]] = found.mach**-2.0
    inputs[source.columns["density"]] = found.reynolds**REYNOLDS_POWER
    hot, wall = found.stagnation_temperature, found.wall_temperature
    if "temperature" in source.columns:
        inputs[source.columns["temperature"]] = hot.logarithm() if wall is None else wall / hot
    elif isinstance(alike.wall_temperature, str) and wall is not None:
        inputs[alike.wall_temperature] = wall / hot
    if isinstance(alike.length, str):
        inputs[alike.length] = found.length.logarithm()
    stream = PAGE_STREAMS[source.kind](source, parameters, names)
    return join(*inputs.values()), _divisors(scaling.units, source, stream)


def alike_numbers(alike: Similarity, parameters: Value, names: tuple[str, ...]) -> AlikeValues:
    """Those of a condition."""
    source, gas = alike.free_stream, alike.gas
    if not isinstance(gas, PerfectGas):
        raise SureflowError(
            f"similarity of flows of a {gas.model} gas cannot be put into a page: serve the model instead"
        )
    stream = PAGE_STREAMS[source.kind](source, parameters, names)

    def known(one: float | str) -> Value:
        return (
            parameters.pick(names.index(one)) if isinstance(one, str) else parameters.program.constant(np.array([one]))
        )

    hot = stream.temperature + stream.velocity**2 * (0.5 / source.cp)
    length = known(alike.length)
    reynolds = stream.density * stream.velocity * length / gas.viscosity(hot, None)  # type: ignore[arg-type]
    mach = stream.velocity / (stream.temperature * (gas.gamma * gas.gas_constant)).root()
    wall = None if alike.wall_temperature is None else known(alike.wall_temperature)
    return AlikeValues(mach, reynolds, hot, wall, length)


def layer_columns_of(surrogate: Surrogate, parameters: Value, units: FieldUnits, places: Value | None) -> Value:
    """What a model of wall layers is told of a condition (`data.wall_layer.layer_columns`).

    `places` are the nodes of a mesh that moves.
    """
    predictor, layer = surrogate.predictor, surrogate.predictor.layer
    assert layer is not None
    assert surrogate.space.topology.shape is not None
    numbers = alike_numbers(layer.similarity, parameters, surrogate.parameter_names)
    assert numbers.wall_temperature is not None
    hot, wall = numbers.stagnation_temperature, numbers.wall_temperature
    thickness = (
        numbers.length
        * (numbers.reynolds.logarithm() * layer.power + wall / hot * layer.of_wall + layer.constant).exponential()
    )
    length, share, along = _lines_of(surrogate, parameters, places)
    row = _row_of(share, surrogate.space.topology.shape[0])
    found = [_held_back(row(thickness * one / length), layer.rows[2]) for one in LANDMARKS]
    standard, column = predictor.normalizer.fields, layer.temperature
    factor = (units.factor * parameters.program.constant(np.ones(len(standard.mean)))).pick(column)
    temperatures = [(one / factor - standard.mean[column]) * (1 / standard.std[column]) for one in (wall, hot)]
    return join(along, share, thickness / length, *found, *temperatures)


def _lines_of(surrogate: Surrogate, parameters: Value, places: Value | None) -> tuple[Value, Value, Value]:
    """The length of lines from the wall, where cells lie on them in shares, and the lines at places along the wall."""
    shape, constant = surrogate.space.topology.shape, parameters.program.constant
    assert shape is not None
    if places is None:
        (lines,) = surrogate.space.lines(surrogate.domain.parameters[:1])
        return constant(np.array([lines.length])), constant(lines.share[1:-1]), constant(lines.along)
    moved, after = places.lines(shape), 1 + shape[0]
    return moved.pick(0), moved.pick(*range(1, after)), moved.pick(*range(after, after + len(ALONG)))


def _row_of(share: Value, n_rows: int) -> Callable[[Value], Value]:
    """What turns a height above the wall, in shares of the lines, into a row of the mesh.

    Beyond the outer boundary rows go on as the line does: a table continues its last two entries.
    """
    constant = share.program.constant
    rows = np.concatenate([[-0.5], np.arange(n_rows), [n_rows - 0.5, 2 * n_rows - 1.0]])
    at = join(constant(np.zeros(1)), share, constant(np.array([1.0, 2.0])))
    return lambda height: height.read(at, rows)


def _held_back(place: Value, end: float) -> Value:
    """Rows up to FREE of the end as they are, the others squeezed into what is left before it."""
    share, room = place * (1 / end), 1.0 - FREE
    squeezed = (1.0 - ((FREE - share.at_least(FREE)) * (1 / room)).exponential()) * room
    return (share.at_most(FREE) + squeezed) * end


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
