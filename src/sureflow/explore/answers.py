"""A trained model as a numeric program: mean and calibrated bars in physical units."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from sureflow.data.wall_layer import ALONG
from sureflow.errors import SureflowError
from sureflow.explore.bar_forms import calibrated_bars, quantity_bars_of
from sureflow.explore.closed_forms import FORMS, Form, interpolant_of
from sureflow.explore.number_forms import numbers_of
from sureflow.explore.packing import Kind
from sureflow.explore.program import Program, Value, join, select
from sureflow.explore.tabulated import Ranges, tabulated
from sureflow.explore.transforms import PAGE_STREAMS, TRANSFORMS, FieldUnits, layer_columns_of
from sureflow.models.contract import typical_distance
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.space import MovingGeometry

LOWEST = -1e300  # where a field has no floor


def has_closed_form(surrogate: Surrogate) -> bool:
    """Whether the page knows the model in closed form, and need not tabulate it."""
    return surrogate.settings.name in FORMS


def program_of(surrogate: Surrogate, ranges: Ranges, progress: Callable[[float], None] = lambda share: None) -> Program:
    """The model in closed form where the page knows one, else tabulated between the ends of the ranges.

    Named outputs: mean and std of every field, what quantities need, and the nodes of a mesh that moves.
    """
    program = Program()
    shape = surrogate.space.topology.shape
    if shape is not None:
        program.strides = {int(np.prod(one)): one[-1] for one in (shape, tuple(size + 1 for size in shape))}
    parameters = program.parameters()
    places = None
    if surrogate.space.moving is not None:
        moved = _moved(surrogate.space.moving, parameters)
        places = moved.rows(_places(surrogate.space.moving), Kind.PLACES)
        program.name(places=places)
        if reads_body(surrogate) and surrogate.space.is_plane_block:
            assert shape is not None
            program.name(body=moved.times(_body(surrogate.space.moving, shape)))
    inputs, units = _inputs(surrogate, parameters, places)
    if surrogate.predictor.layer is not None and places is not None:
        assert shape is not None
        program.name(folded=places.lines(shape).pick(1 + shape[0] + len(ALONG)))
    form, novelty = _normalized(surrogate, inputs, ranges, progress)
    mean, size = _physical(surrogate, form.mean, units)
    program.name(mean=_limited(surrogate, mean, parameters), novelty=novelty)
    std = calibrated_bars(surrogate, form, novelty, parameters)
    if std is not None:
        program.name(std=_with_resampling(surrogate, std * size))
    if reads_body(surrogate):
        program.name(stream=_stream(surrogate, parameters))
        if surrogate.calibration is not None and surrogate.calibration.quantities is not None:
            program.name(quantity_std=quantity_bars_of(surrogate, novelty, parameters))
            numbers = numbers_of(surrogate, inputs, parameters)
            if numbers is not None:
                program.name(numbers=numbers[0], number_std=numbers[1])
    return program


def reads_body(surrogate: Surrogate) -> bool:
    """Whether a page can read quantities off the flow: those of a perfect gas around a body, not declared ones."""
    observer = surrogate.observer
    return observer is not None and observer.gas is not None and observer.gas.model == "perfect"


def _with_resampling(surrogate: Surrogate, std: Value) -> Value:
    """The bars with what runs lost that were brought onto another mesh."""
    if surrogate.space.resampling is None:
        return std
    lost = std.program.constant(np.ones(1)).rows(surrogate.space.resampling.std[None], Kind.POSITIVE)
    return (std**2 + lost**2).root()


def _moved(moving: MovingGeometry, parameters: Value) -> Value:
    """The weights of the runs, whose nodes a mesh that moves has."""
    constant = parameters.program.constant
    inputs = (parameters - constant(moving.inputs.mean)) / constant(moving.inputs.std)
    return interpolant_of(moving.places, inputs, moving.places.kernel)[0]


def _places(moving: MovingGeometry) -> Float[np.ndarray, "run axis place"]:
    """The nodes of the runs; the points, where a mesh has no other nodes."""
    fields = moving.places.fields
    return fields[:, :, moving.n_points :] if fields.shape[2] > moving.n_points else fields


def _body(moving: MovingGeometry, shape: tuple[int, ...]) -> Float[np.ndarray, "run number"]:
    """Nodes of the wall, then centers of the cells along the axis, each x and r: quantities need all of their digits."""
    grid = _places(moving).reshape(-1, 2, shape[0] + 1, shape[1] + 1)
    centers = 0.25 * (grid[:, :, 1:, 0] + grid[:, :, 1:, 1] + grid[:, :, :-1, 0] + grid[:, :, :-1, 1])
    return np.concatenate([grid[:, :, 0], centers], axis=2).swapaxes(1, 2).reshape(len(grid), -1)


def _stream(surrogate: Surrogate, parameters: Value) -> Value:
    """Velocity, density and temperature of the free stream."""
    source = surrogate.header.stream
    assert source is not None
    return join(*PAGE_STREAMS[source.kind](source, parameters, surrogate.parameter_names))


def _inputs(surrogate: Surrogate, parameters: Value, places: Value | None) -> tuple[Value, FieldUnits]:
    """What the model is given of a condition, and the units of its fields."""
    predictor = surrogate.predictor
    if predictor.scaling.name not in TRANSFORMS:
        raise SureflowError(f"scaling={predictor.scaling.name!r} cannot be put into a page: serve the model instead")
    inputs, units = TRANSFORMS[predictor.scaling.name](predictor.scaling, parameters, surrogate.parameter_names)
    standard, constant = predictor.normalizer.inputs, parameters.program.constant
    inputs = (inputs - constant(standard.mean)) / constant(standard.std)
    if predictor.layer is not None:
        inputs = join(inputs, layer_columns_of(surrogate, parameters, units, places))
    return inputs, units


def _normalized(
    surrogate: Surrogate, inputs: Value, ranges: Ranges, progress: Callable[[float], None]
) -> tuple[Form, Value]:
    """The prediction with the model's own bars in normalized space, and the novelty of the condition."""
    predictor = surrogate.predictor
    if has_closed_form(surrogate):
        mesh = surrogate.space.coordinates(surrogate.spec.seen_coordinates, surrogate.domain.parameters[:1])
        form = FORMS[surrogate.settings.name](predictor.fitted, inputs, predictor.normalizer.coordinates.forward(mesh))
    else:
        form = tabulated(surrogate, inputs, ranges, progress)
    runs = predictor.normalizer.inputs.forward(predictor.scaling.inputs(surrogate.domain.parameters))
    novelty = form.novelty or inputs.distance(runs).smallest() * (1 / typical_distance(runs))
    return form, novelty


def _limited(surrogate: Surrogate, mean: Value, parameters: Value) -> Value:
    """Temperature and speed within what the total enthalpy allows (`data.enthalpy_limits`)."""
    limits = surrogate.predictor.limits
    if limits is None:
        return mean
    source, names = limits.free_stream, limits.parameter_names
    stream = PAGE_STREAMS[source.kind](source, parameters, names)
    hot, wall = stream.temperature + stream.velocity * stream.velocity * (0.5 / source.cp), limits.wall_temperature
    if wall is not None:
        hot = hot.at_least(parameters.pick(names.index(wall)) if isinstance(wall, str) else wall)
    fastest = (hot * (2.0 * source.cp)).root() * limits.speed
    along, across = mean.only(0), mean.only(1)
    slowed = mean * (fastest / (along * along + across * across).root().at_least(fastest))
    return select([1, 1, 0, 2], mean, slowed, mean.at_most(hot * limits.temperature))


def _physical(surrogate: Surrogate, mean: Value, units: FieldUnits) -> tuple[Value, Value]:
    """The mean in physical units, and the physical size of a small step of the normalized field."""
    standard, constant = surrogate.predictor.normalizer.fields, mean.program.constant
    scaled = mean * constant(standard.std) + constant(standard.mean)
    floors = surrogate.predictor.floors
    if floors:
        scaled = scaled.at_least(constant(np.array([LOWEST if floor is None else floor for floor in floors])))
    factor = units.factor
    if not units.logarithmic.any():
        return scaled * factor, factor * constant(standard.std)
    # exp where a variable is a logarithm, and the value itself elsewhere.
    mask = constant(units.logarithmic.astype(float))
    grown = (scaled * mask).exponential()
    physical = scaled * (1.0 - mask) + grown * mask
    return physical, (grown * mask + (1.0 - mask)) * constant(standard.std)
