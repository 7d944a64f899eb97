"""What a page is told of the parameters of a model."""

import math

import numpy as np
import pytest

import sureflow as sf
from explore.trained import logarithmic, trained
from sureflow.explore.description import described, slider_ranges
from sureflow.explore.packing import Packing

ENDS = ("lowest", "least", "low", "start", "high", "most", "farthest")


def parameters(surrogate):
    """By name."""
    return {one["name"]: one for one in described(surrogate, Packing(), None)["parameters"]}


def model(values, **others):
    """Over one parameter."""
    y, x = (axis.ravel() for axis in np.mgrid[0:1:5j, 0:1:5j])
    fields = {"p": [np.sin(k + 3.0 * x) for k, _ in enumerate(values)]}
    runs = sf.Runs.from_arrays({"q": np.asarray(values)}, np.column_stack([x, y]), fields, **others)
    return sf.fit(runs, "interpolation", calibrate=False)


def test_a_logarithmic_parameter_goes_by_factors():
    found = parameters(logarithmic())
    assert [found[name]["logarithmic"] for name in ("reynolds", "angle")] == [True, False]
    decades = np.log10([found["reynolds"][end] for end in ENDS])
    np.testing.assert_allclose(decades, [-3.0, 2.25, 3.0, 4.5, 6.0, 6.75, 12.0], atol=1e-9)
    assert [found["angle"][end] for end in ENDS] == [-8.0, -1.0, 0.0, 2.0, 4.0, 5.0, 12.0]
    assert slider_ranges(logarithmic()) == [(one["least"], one["most"]) for one in found.values()]


def test_limits_hold_for_a_logarithmic_parameter():
    found = parameters(model(np.geomspace(1e3, 1e6, 9), ranges={"q": (500.0, 2e6)}, logarithmic=["q"]))["q"]
    assert [found[end] for end in ENDS] == pytest.approx([500.0, 500.0, 1e3, 10**4.5, 1e6, 2e6, 2e6])


def test_a_logarithmic_parameter_that_is_the_same_in_all_runs():
    """The page opens at just this value: any other one is refused."""
    value = 0.1 + 0.2
    y, x = (axis.ravel() for axis in np.mgrid[0:1:5j, 0:1:5j])
    angle = np.linspace(0.0, 4.0, 9)
    given = {"q": np.full(9, value), "angle": angle}
    fields = {"p": [np.sin(one + 3.0 * x) for one in angle]}
    runs = sf.Runs.from_arrays(given, np.column_stack([x, y]), fields, logarithmic=["q"])
    found = parameters(sf.fit(runs, "interpolation", calibrate=False))["q"]
    assert found["start"] == found["low"] == value
    assert (found["least"], found["most"]) == pytest.approx((value * math.exp(-0.25), value * math.exp(0.25)))


def test_linear_parameters_go_by_differences():
    found = parameters(model(np.linspace(1e3, 1e6, 9)))["q"]
    assert [found[end] for end in ENDS] == [-1_997_000.0, -248_750.0, 1e3, 500_500.0, 1e6, 1_249_750.0, 2_998_000.0]


def test_what_is_positive_by_nature_stays_so():
    found = parameters(trained("bodies"))["mach"]
    assert not found["logarithmic"]
    assert found["lowest"] == 0.5 * found["low"]
