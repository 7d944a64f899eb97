"""Properties that every scaling has; a new one joins `SCALINGS` and inherits them."""

from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synthetic
from data.own_runs import cloud
from sureflow.data.runs import Runs
from sureflow.data.scaling import SCALINGS, NoScaling, Scaling, best_scaling, offered_scalings, scaling_for
from sureflow.data.streams import STREAMS, Columns, Flight
from sureflow.errors import SureflowError
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import PerfectGas
from sureflow.predictive import Predictive
from sureflow.validation import settings

each_scaling = pytest.mark.parametrize("name", list(SCALINGS))
conditions = st.lists(st.tuples(st.floats(2, 40), st.floats(0, 86)), min_size=1, max_size=4).map(np.array)


@cache
def scaling(name):
    return scaling_for(name, synthetic.of_a_sphere(synthetic.runs()))


def drawn_fields(cases, seed, samples=()):
    """Positive fields over many orders of magnitude."""
    return np.exp(np.random.default_rng(seed).normal(scale=3, size=(*samples, cases, 4, 5)))


@each_scaling
@given(conditions=conditions, seed=st.integers(0, 1000), samples=st.sampled_from([(), (3,)]))
def test_transforms_invert(name, conditions, seed, samples):
    fields = drawn_fields(len(conditions), seed, samples)
    scaled = scaling(name).forward(fields, conditions)
    assert scaled.shape == fields.shape
    np.testing.assert_allclose(scaling(name).inverse(scaled, conditions), fields, rtol=1e-12)


@each_scaling
@given(conditions=conditions, seed=st.integers(0, 1000))
def test_the_slope_is_that_of_the_inverse(name, conditions, seed):
    scaled = np.random.default_rng(seed).normal(size=(len(conditions), 4, 5))
    step = 1e-6
    ahead, behind = (scaling(name).inverse(scaled + sign * step, conditions) for sign in (1, -1))
    slope = np.broadcast_to(scaling(name).slope(scaled, conditions), scaled.shape)
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)


@each_scaling
def test_small_deviations_are_those_of_transformed_samples(name):
    data = synthetic.runs().select(np.arange(25) < 2)
    mean = scaling(name).forward(data.array(), data.parameters)
    part = 0.01 * np.abs(mean) + 0.01
    predictive = scaling(name).physical(Predictive(mean, {"epistemic": part}), data.parameters)
    draws = mean + part * np.random.default_rng(0).standard_normal((4000, *mean.shape))
    samples = scaling(name).inverse(draws, data.parameters)
    np.testing.assert_allclose(predictive.parts["epistemic"], samples.std(axis=0), rtol=0.08)
    np.testing.assert_allclose(predictive.mean, data.array())


@each_scaling
def test_plain_numbers_give_the_same_scaling(name):
    assert SCALINGS.build(SCALINGS.describe(scaling(name))) == scaling(name)
    assert hash(scaling(name)) == hash(SCALINGS.build(SCALINGS.describe(scaling(name))))


def test_the_free_stream_scales_to_one():
    condition = np.array([[25.0, 46.0]])
    air = FlightCondition(25.0, 46.0).free_stream()
    values = Flight().values(("mach", "altitude_km"), condition)
    np.testing.assert_allclose(values["velocity"], air.velocity, rtol=1e-12)
    np.testing.assert_allclose(values["temperature"], air.temperature, rtol=1e-12)
    fields = np.array([air.velocity, 0.0, values["density"][0], air.temperature + air.velocity**2 / Flight().cp])
    scaled = scaling("freestream").forward(fields[None, :, None], condition)
    np.testing.assert_allclose(scaled.ravel(), [1, 0, 1, 1], rtol=1e-12)
    inputs = scaling("freestream").inputs(condition)
    np.testing.assert_allclose(inputs, [[np.log(air.velocity), np.log(values["density"][0])]], rtol=1e-12)


def test_similarity_inputs_are_those_of_the_textbook():
    condition, air = np.array([[25.0, 46.0]]), FlightCondition(25.0, 46.0).free_stream()
    gas, density = PerfectGas(), air.pressure / (287.0529 * air.temperature)
    hot = air.temperature * (1.0 + 0.2 * 25.0**2)
    reynolds = density * air.velocity * 1.0 / gas.viscosity(hot, 1.0)
    np.testing.assert_allclose(scaling("similarity").inputs(condition), [[1 / 625.0, reynolds**-0.25]], rtol=1e-9)


def body_runs(**more):
    """Runs over the flight condition, the nose, its wall and an angle."""
    rng = np.random.default_rng(0)
    parameters = {
        "mach": [10.0, 12.0, 14.0],
        "altitude_km": [30.0, 40.0, 50.0],
        "nose_radius": [0.1, 0.2, 0.4],
        "half_angle_deg": [5.0, 10.0, 15.0],
        "wall_temperature": [500.0, 1000.0, 2000.0],
    }
    values = {"v": rng.normal(size=(3, 6)), "T": rng.uniform(200, 3000, size=(3, 6))}
    given = {"made_by": {"wall": {"kind": "isothermal"}}, "logarithmic": ["nose_radius"], "gas": PerfectGas()}
    units = {"v": "m/s", "T": "K"}
    return Runs.from_arrays(parameters, rng.normal(size=(6, 2)), values, units, Flight(), **(given | more))


def test_every_parameter_becomes_the_number_that_it_sets():
    runs = body_runs()
    assert offered_scalings(runs) == ("freestream", "similarity")
    inputs = scaling_for("similarity", runs).inputs(runs.parameters)
    hot = scaling_for("similarity", runs).similarity.numbers(runs.parameters).stagnation_temperature
    np.testing.assert_allclose(inputs[:, 0], runs.parameters[:, 0] ** -2.0)
    np.testing.assert_allclose(inputs[:, 2], np.log(runs.parameters[:, 2]))
    np.testing.assert_allclose(inputs[:, 3], runs.parameters[:, 3])
    np.testing.assert_allclose(inputs[:, 4], runs.parameters[:, 4] / hot)
    bad = runs.parameters.copy()
    bad[0, 2] = -1.0
    with pytest.raises(SureflowError, match=r"nose_radius=-1 must be positive"):
        scaling_for("similarity", runs).inputs(bad)
    other_wall = body_runs(made_by={"wall": {"kind": "adiabatic"}})
    np.testing.assert_allclose(scaling_for("similarity", other_wall).inputs(runs.parameters)[:, 4], [500, 1000, 2000])


def test_similarity_needs_a_length():
    assert offered_scalings(synthetic.runs()) == ("freestream",)
    with pytest.raises(SureflowError, match="scaling='similarity' needs the gas and a length of the body"):
        scaling_for("similarity", synthetic.runs())


def own_runs(**more):
    rng = np.random.default_rng(0)
    parameters = {
        "speed": [1e3, 2e3, 3e3],
        "density": [0.1, 0.2, 0.3],
        "air": [200.0, 250.0, 300.0],
        "angle": [0, 1, 2],
    }
    fields = {"v": rng.normal(size=(3, 6)), "p": rng.normal(size=(3, 6)), "q": rng.normal(size=(3, 6))}
    return Runs.from_arrays(parameters, rng.normal(size=(6, 2)), fields, **more)


def test_a_users_own_columns_give_the_free_stream():
    names = {"velocity": "speed", "density": "density", "temperature": "air"}
    data = own_runs(units={"v": "m/s", "p": "Pa"}, free_stream=names)
    assert best_scaling(data) == "freestream"
    scaling = scaling_for("freestream", data)
    fields = scaling.forward(data.array(), data.parameters)
    np.testing.assert_allclose(fields[1], data.fields[1] / np.array([[2e3], [0.2 * 4e6], [1.0]]))
    inputs = scaling.inputs(data.parameters)
    np.testing.assert_allclose(inputs[1], [np.log(2e3), np.log(0.2), np.log(250.0), 1.0])


def test_what_is_not_offered_is_refused():
    with pytest.raises(SureflowError, match="scaling='freestream' needs the free stream of every run"):
        scaling_for("freestream", own_runs(units={"v": "m/s"}))
    with pytest.raises(SureflowError, match="scaling='log-density' needs a field in kg/m3"):
        scaling_for("log-density", own_runs())
    with pytest.raises(SureflowError, match=r"scaling='other' is not one of none, freestream, .*, log-density"):
        scaling_for("other", own_runs())
    with pytest.raises(SureflowError, match="free_stream names velocity: it must name"):
        own_runs(free_stream={"velocity": "speed"})
    with pytest.raises(SureflowError, match="free_stream names 'T' as the temperature: the parameters are"):
        own_runs(free_stream={"velocity": "speed", "density": "density", "temperature": "T"})
    names = {"velocity": "speed", "density": "density", "temperature": "air"}
    with pytest.raises(SureflowError, match="handles fields in m/s"):
        scaling_for("freestream", own_runs(free_stream=names))
    assert best_scaling(own_runs(free_stream=names)) == "none"


@pytest.mark.parametrize(
    ("condition", "message"), [([-1.0, 30.0], "mach=-1 has no"), ([20.0, 90.0], "altitude_km=90 is outside 0..86 km")]
)
def test_conditions_without_a_free_stream_are_refused(condition, message):
    with pytest.raises(SureflowError, match=message):
        scaling("freestream").inputs(np.array([condition]))


def test_a_density_of_zero_has_no_logarithm():
    with pytest.raises(SureflowError, match="needs positive densities; the lowest is 0 kg/m3"):
        scaling("log-density").forward(np.zeros((1, 4, 2)), np.array([[20.0, 30.0]]))


def test_parameters_are_seen_by_their_logarithm_once():
    runs = cloud()
    scaling = scaling_for("none", runs)
    np.testing.assert_array_equal(scaling.inputs(runs.parameters), np.log(runs.parameters))
    with pytest.raises(SureflowError, match="angle=-1 has no logarithm: give a positive value"):
        scaling.inputs(np.array([[-1.0]]))
    names = {"velocity": "speed", "density": "density", "temperature": "air"}
    data = own_runs(units={"v": "m/s"}, free_stream=names, logarithmic=["density"])
    plain = own_runs(units={"v": "m/s"}, free_stream=names)
    inputs = [scaling_for("freestream", runs).inputs(runs.parameters) for runs in (data, plain)]
    np.testing.assert_array_equal(inputs[0], inputs[1])


def test_a_scaling_of_ones_own():
    @SCALINGS.add
    @settings
    class Halves(Scaling):
        factor: float
        name: ClassVar[str] = "halves"

        @classmethod
        def for_runs(cls, runs):
            return cls(0.5)

        def forward(self, fields, parameters):
            return fields * self.factor

        def inverse(self, fields, parameters):
            return fields / self.factor

        def slope(self, fields, parameters):
            return np.full((1, 1, 1), 1 / self.factor)

    try:
        scaling = scaling_for("halves", cloud())
        assert SCALINGS.build({"name": "halves", "factor": 0.5, "logarithmic": [["angle", 0]]}) == scaling
        np.testing.assert_array_equal(scaling.forward(cloud().array(), cloud().parameters), cloud().array() / 2)
        np.testing.assert_array_equal(scaling.inputs(cloud().parameters), np.log(cloud().parameters))
    finally:
        del SCALINGS.entries["halves"]


def test_streams_come_back_from_plain_values():
    for stream in (Flight(PerfectGas(gamma=1.3)), Columns("u", "d", "t", 900.0)):
        assert STREAMS.build(STREAMS.describe(stream)) == stream
    assert Flight().limits == {"mach": (2.0, 40.0), "altitude_km": (0.0, 86.0)}
    assert NoScaling().inputs(np.ones((1, 2))).tolist() == [[1.0, 1.0]]
