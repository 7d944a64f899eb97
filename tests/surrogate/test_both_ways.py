"""Two values of one quantity whose bars do not allow their difference: both bars are widened."""

from dataclasses import replace

import numpy as np
import pytest

import synthetic
from sureflow.surrogate.both_ways import TESTED_BY, both_ways, wall_both_ways
from sureflow.surrogate.fit import fit
from sureflow.surrogate.observe import ALONG_BODY
from sureflow.surrogate.wall_bars import sizes_along_wall

AT = np.array([[21.0, 47.0], [17.0, 33.0]])


@pytest.fixture(scope="module")
def model():
    return fit(synthetic.runs(), "interpolation")


def shifted(model, apart: float):
    """The same model, whose numbers are off by so much of themselves."""

    class Off(type(model.numbers)):
        def __call__(self, space, conditions):
            return {name: ((1 + apart) * v, s) for name, (v, s) in super().__call__(space, conditions).items()}

    return replace(model, numbers=Off(model.numbers.processes, model.numbers.bars, model.numbers.others))


def test_what_agrees_keeps_its_bars(model):
    """Each by itself: the difference is what the other's bar allows."""
    told, (values, own) = both_ways(model, AT), model.observed(model.observer, AT)
    numbers = model.numbers(model.number_space, AT)
    for column, quantity in enumerate(model.observer.quantities):
        number, bar = numbers[quantity.name]
        agrees = np.abs(values[:, column] - number) <= np.minimum(bar, own[:, column])
        np.testing.assert_array_equal(told.std[agrees, column], own[agrees, column])
        np.testing.assert_array_equal(told.numbers[quantity.name][1][agrees], bar[agrees])
    np.testing.assert_array_equal(told.values, values)


@pytest.mark.parametrize("apart", [-0.5, 0.2, 3.0])
def test_bars_of_both_together_account_for_the_difference(model, apart):
    told = both_ways(shifted(model, apart), AT)
    _, own = model.observed(model.observer, AT)
    for column, quantity in enumerate(model.observer.quantities):
        number, bar = told.numbers[quantity.name]
        difference = np.abs(told.values[:, column] - number)
        assert (np.hypot(told.std[:, column], bar) >= difference * (1 - 1e-12)).all()
        assert (told.std[:, column] >= own[:, column]).all()


def test_numbers_alone_stay(model):
    alone = replace(model, calibration=None)
    told = both_ways(alone, AT)
    assert {*told.numbers} == {*model.numbers.facts()}


@pytest.mark.parametrize("apart", [-0.5, 0.0, 0.2])
def test_bars_along_the_wall_account_for_what_its_numbers_are_off_by(model, apart):
    off, answer = shifted(model, apart), model.answer(AT)
    values, own = model.along_wall(model.observer, answer)
    found, std = wall_both_ways(off, model.observer, answer)
    np.testing.assert_array_equal(found, values)
    assert (std >= own).all()
    read, numbers = model.observer(np.asarray(answer.raw.mean), AT), off.numbers(off.number_space, AT)
    names = [quantity.name for quantity in model.observer.quantities]
    for row, distribution in enumerate(ALONG_BODY):
        name = TESTED_BY[distribution]
        if name in names and name in numbers:
            number, bar = numbers[name]
            difference = np.abs(read[:, names.index(name)] - number) / np.abs(read[:, names.index(name)])
            reach = np.hypot(
                std[:, row] / sizes_along_wall(values)[:, row], (bar / np.abs(read[:, names.index(name)]))[:, None]
            )
            assert (reach >= difference[:, None] * (1 - 1e-12)).all()
