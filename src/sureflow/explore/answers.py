"""A trained model as a numeric program: mean and calibrated bars in physical units."""

import numpy as np

from sureflow.explore.closed_forms import FORMS, Form
from sureflow.explore.program import Program, Value, join
from sureflow.explore.transforms import PAGE_STREAMS, TRANSFORMS, FieldUnits
from sureflow.models.contract import typical_distance
from sureflow.surrogate.model import Surrogate
from sureflow.uq.bars import LEAST_NOVELTY


def has_closed_form(surrogate: Surrogate) -> bool:
    """Whether model and scaling are known to the page in closed form."""
    return surrogate.settings.name in FORMS and surrogate.predictor.scaling.name in TRANSFORMS


def closed_program(surrogate: Surrogate) -> Program:
    """Named outputs: mean and std of every field, and where the condition lies."""
    program = Program()
    parameters = program.parameters()
    form, units = _normalized(surrogate, parameters)
    assert form.novelty is not None
    std = _bars(surrogate, form, form.novelty)
    mean, size = _physical(surrogate, form.mean, units)
    program.name(mean=mean, novelty=form.novelty)
    if std is not None:
        program.name(std=std * size)
    if surrogate.observer is not None:
        program.name(stream=_stream(surrogate, parameters))
        if surrogate.calibration is not None and surrogate.calibration.quantities is not None:
            quantities = surrogate.calibration.quantities
            size = form.novelty.at_least(LEAST_NOVELTY) ** quantities.quantity_growth
            program.name(quantity_std=size * program.constant(quantities.scale[:, 0]))
    return program


def _stream(surrogate: Surrogate, parameters: Value) -> Value:
    """Velocity, density and temperature of the free stream."""
    source = surrogate.header.stream
    assert source is not None
    return join(*PAGE_STREAMS[source.kind](source, parameters, surrogate.parameter_names))


def _normalized(surrogate: Surrogate, parameters: Value) -> tuple[Form, FieldUnits]:
    predictor = surrogate.predictor
    inputs, units = TRANSFORMS[predictor.scaling.name](predictor.scaling, parameters, surrogate.parameter_names)
    standard = predictor.normalizer.inputs
    constant = parameters.program.constant
    normalized = (inputs - constant(standard.mean)) / constant(standard.std)
    form = FORMS[surrogate.settings.name](predictor.fitted, normalized)
    if form.novelty is None:
        runs = standard.forward(predictor.scaling.inputs(surrogate.domain.parameters))
        form = form._replace(novelty=normalized.distance(runs).smallest() * (1 / typical_distance(runs)))
    return form, units


def _bars(surrogate: Surrogate, form: Form, novelty: Value) -> Value | None:
    """Standard deviation in normalized space, in the form that it has inside the training domain."""
    if not form.parts:
        return None
    first, *others = (part**2 for part in form.parts.values())
    for other in others:
        first = first + other
    own = first.root()
    if surrogate.calibration is None:
        return own
    fitted = surrogate.calibration.fields
    grown = novelty.at_least(LEAST_NOVELTY) ** fitted.field_growth
    return own * grown.rows(np.asarray(fitted.scale)[None], relative=True)


def _physical(surrogate: Surrogate, mean: Value, units: FieldUnits) -> tuple[Value, Value]:
    """The mean in physical units, and the physical size of a small step of the normalized field."""
    standard, constant = surrogate.predictor.normalizer.fields, mean.program.constant
    scaled = mean * constant(standard.std) + constant(standard.mean)
    factor = units.factor
    if not units.logarithmic.any():
        return scaled * factor, factor * constant(standard.std)
    # exp where a variable is a logarithm, and the value itself elsewhere.
    mask = constant(units.logarithmic.astype(float))
    grown = (scaled * mask).exponential()
    physical = scaled * (1.0 - mask) + grown * mask
    return physical, (grown * mask + (1.0 - mask)) * constant(standard.std)
