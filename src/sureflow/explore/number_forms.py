"""Numbers that were learned beside the fields, in closed form: they widen the bars of what a page reads off its fields.

As `surrogate.numbers` and `surrogate.both_ways` have them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sureflow.explore.bar_forms import bars_of
from sureflow.explore.program import Value, join
from sureflow.explore.transforms import PAGE_STREAMS, TRANSFORMS, Stream
from sureflow.models.pod_gp import WIDE
from sureflow.models.warps import COLUMNS
from sureflow.physics.correlations import SEIFF
from sureflow.physics.gases import PerfectGas
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.number_process import NumberProcess
from sureflow.surrogate.number_space import InputKind
from sureflow.surrogate.numbers import TINY, RunNumbers
from sureflow.surrogate.observe import QUANTITIES


@dataclass(frozen=True)
class PageStream:
    """The free stream of a perfect gas and its normal shock, as `physics.correlations` and `physics.estimates` have them."""

    stream: Stream
    gas: PerfectGas

    @cached_property
    def mach(self) -> Value:
        return self.stream.velocity / (self.stream.temperature * (self.gas.gamma * self.gas.gas_constant)).root()

    @cached_property
    def pressure(self) -> Value:
        return self.stream.density * self.stream.temperature * self.gas.gas_constant

    @cached_property
    def pitot_pressure(self) -> Value:
        """Rayleigh's."""
        gamma, squared = self.gas.gamma, self.mach**2
        risen = 1.0 + (squared - 1.0) * (2.0 * gamma / (gamma + 1.0))
        behind = (1.0 + squared * (0.5 * (gamma - 1.0))) / (squared * gamma - 0.5 * (gamma - 1.0))
        return self.pressure * risen * (1.0 + behind * (0.5 * (gamma - 1.0))) ** (gamma / (gamma - 1.0))

    def stand_off(self) -> Value:
        """Seiff's."""
        gamma, squared = self.gas.gamma, self.mach**2
        return (squared * (gamma - 1.0) + 2.0) / (squared * (gamma + 1.0)) * SEIFF

    def pressure_drag(self) -> Value:
        return (self.pitot_pressure - self.pressure) / (self.stream.density * self.stream.velocity**2 * 0.5)


# By the name of the quantity, as `physics.estimates.ESTIMATES`.
PAGE_ESTIMATES: dict[str, Callable[[PageStream], Value]] = {
    "stand_off": PageStream.stand_off,
    "stagnation_pressure": lambda flow: flow.pitot_pressure,
    "drag_coefficient_pressure": PageStream.pressure_drag,
}


def numbers_of(surrogate: Surrogate, inputs: Value, parameters: Value) -> tuple[Value, Value] | None:
    """Values and standard deviations of the quantities of a page that were learned as numbers; None where none was.

    The bar of a quantity that was not learned is infinite: then it widens no other.
    """
    names, program = [quantity.name for quantity in QUANTITIES], parameters.program
    numbers = surrogate.numbers and surrogate.numbers.only(names)
    if numbers is None:
        return None
    told = _Told(surrogate, inputs, parameters)
    found = [_with_others(told, numbers, process) for process in numbers.processes]
    values, std = (join(*column) for column in zip(*found, strict=True))
    if numbers.bars is not None:
        size = _absolute(values).at_least(TINY)
        std = bars_of(numbers.bars, surrogate, std / size, program.constant(np.ones(1)), parameters, None) * size
    nothing, endless = (program.constant(np.array([one])) for one in (0.0, np.inf))
    place = {one.facts.name: column for column, one in enumerate(numbers.processes)}
    return (
        join(*(values.pick(place[name]) if name in place else nothing for name in names)),
        join(*(std.pick(place[name]) if name in place else endless for name in names)),
    )


@dataclass(frozen=True)
class _Told:
    """What processes of numbers are given of a condition."""

    surrogate: Surrogate
    model_inputs: Value
    parameters: Value

    def inputs(self, kind: InputKind) -> Value:
        """As `NumberSpace.inputs`."""
        space, names = self.surrogate.number_space, self.surrogate.parameter_names
        if kind not in space.scalings:
            first, predictor = len(space.predictor.normalizer.inputs.mean), space.predictor
            if predictor.layer is None:
                return self.model_inputs
            end = predictor.inputs(self.surrogate.domain.parameters[:1]).shape[1]
            return self.model_inputs.pick(*range(first), *range(end - COLUMNS, end))
        scaled, _ = TRANSFORMS[kind](space.scalings[kind], self.parameters, names)
        standard, constant = space.standards[kind], self.parameters.program.constant
        return (scaled - constant(standard.mean)) / constant(standard.std)

    @cached_property
    def flow(self) -> PageStream:
        source, observer = self.surrogate.header.stream, self.surrogate.number_space.body
        assert source is not None
        assert observer is not None
        assert isinstance(observer.gas, PerfectGas)
        stream = PAGE_STREAMS[source.kind](source, self.parameters, self.surrogate.parameter_names)
        return PageStream(stream, observer.gas)


def _with_others(told: _Told, numbers: RunNumbers, process: NumberProcess) -> tuple[Value, Value]:
    """Value and bar of a number, with how far other ways of learning it lie off."""
    value, std = _physical(told, process)
    others = [one for one in numbers.others if one.facts.name == process.facts.name]
    if not others:
        return value, std
    away = join(*(_physical(told, one)[0] - value for one in others))
    return value, (std**2 + (away**2).sum() * (1 / len(others))).root()


def _physical(told: _Told, number: NumberProcess) -> tuple[Value, Value]:
    """What one process says of its number."""
    facts, fitted = number.facts, number.process
    x = told.inputs(facts.inputs).pick(*np.flatnonzero(fitted.varying > 0))
    location, variance = x.process(fitted.inputs, fitted.coefficients, fitted.logarithms, WIDE)
    # The one mode of a number is a number itself.
    mode, discrepancy = float(fitted.scale[0] * fitted.modes[0, 0, 0]), float(fitted.discrepancy[0, 0])
    value = (location * mode + float(fitted.mean[0, 0])) * facts.scale + facts.shift
    std = (variance * mode**2 + discrepancy**2).root() * facts.scale
    if facts.logarithmic:
        value = value.exponential()
        std = std * value
    if facts.estimated:
        unit = PAGE_ESTIMATES[facts.name](told.flow)
        value, std = value * unit, std * _absolute(unit)
    return value, std


def _absolute(value: Value) -> Value:
    return (value**2).root()
