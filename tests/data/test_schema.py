import pytest

from sureflow.data.schema import describe_gas, first_difference, gas_from
from sureflow.errors import SureflowError
from sureflow.physics.gas import PerfectGas


def test_a_gas_comes_back_from_its_description():
    gas = PerfectGas(gamma=1.3, prandtl=0.7)
    assert gas_from(describe_gas(gas)) == gas


def test_an_unknown_gas_is_named():
    with pytest.raises(SureflowError, match="gas model 'plasma' is not one of perfect"):
        gas_from({"model": "plasma"})
    with pytest.raises(SureflowError, match="is not described as this version"):
        gas_from({"model": "perfect", "flavor": 1.4})


@pytest.mark.parametrize(
    ("here", "there", "sentence"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "it.a.b is [1, 3] there and [1, 2] here"),
        ({"a": 1}, {}, "it.a is None there and 1 here"),
        ({}, {"a": 1}, "it.a is 1 there and None here"),
    ],
)
def test_the_first_difference_is_named(here, there, sentence):
    assert first_difference(here, there, "it") == sentence
