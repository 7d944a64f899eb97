from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern

import layers
import sureflow as sf
import synthetic
from sureflow.data.header import Variable
from sureflow.data.runs import Runs
from sureflow.models import InterpolationSettings
from sureflow.models.pod_gp import WIDE
from sureflow.models.warps import COLUMNS
from sureflow.surrogate.artifact import load
from sureflow.surrogate.fit import fit
from sureflow.surrogate.learning import learn
from sureflow.surrogate.number_process import NumberGroup, NumberProcess
from sureflow.surrogate.numbers import RunNumbers
from sureflow.surrogate.specification import Specification

INPUTS = np.random.default_rng(0).normal(size=(14, 2))
VALUES = 3.0 + np.sin(INPUTS[:, 0]) + 0.3 * INPUTS[:, 1]


def regressor(fitted: NumberProcess, inputs: np.ndarray, targets: np.ndarray) -> GaussianProcessRegressor:
    """scikit-learn's process with the hyperparameters that ours found."""
    amplitude, noise, *lengths = np.exp(fitted.process.logarithms[0])
    kernel = ConstantKernel(amplitude) * Matern(lengths, nu=2.5)
    kernel += ConstantKernel(WIDE) * DotProduct(sigma_0=1.0)  # a constant and slopes
    return GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(inputs, targets)


def coefficients(fitted: NumberProcess) -> tuple[np.ndarray, float]:
    """What the process learns, and the sign and size that lead back."""
    process = fitted.process
    return process.coefficients[0], float(process.scale[0] * process.modes[0, 0, 0])


def test_values_and_deviations_are_those_of_scikit_learn():
    fitted = NumberProcess.fit("drag", "1", INPUTS, VALUES)
    targets, size = coefficients(fitted)
    asked = np.array([[0.2, -0.4], [2.5, 1.0]])
    mean, std = regressor(fitted, INPUTS, targets).predict(asked, return_std=True)
    noise = np.exp(fitted.process.logarithms[0, 1])
    ((found, bars),) = NumberGroup((fitted,))(asked)
    facts, shift = fitted.facts, float(fitted.process.mean[0, 0])
    np.testing.assert_allclose(found, facts.shift + facts.scale * (shift + size * mean), rtol=1e-6)
    # Beside a prior as wide as that of constant and slopes, scikit-learn's small variances lose digits.
    np.testing.assert_allclose(bars, facts.scale * abs(size) * np.sqrt(std**2 + noise), rtol=1e-4, atol=1e-5)


def test_leave_one_out_errors_are_those_of_refits_by_scikit_learn():
    fitted = NumberProcess.fit("drag", "1", INPUTS, VALUES)
    targets, size = coefficients(fitted)
    errors = []
    for run in range(len(INPUTS)):
        others = np.arange(len(INPUTS)) != run
        predicted = regressor(fitted, INPUTS[others], targets[others]).predict(INPUTS[run : run + 1])[0]
        errors.append(fitted.facts.scale * size * (predicted - targets[run]) / VALUES[run])
    np.testing.assert_allclose(fitted.facts.error, np.sqrt(np.mean(np.square(errors))), rtol=1e-5)


def test_what_varies_by_orders_of_magnitude_is_learned_as_a_logarithm():
    fitted = NumberProcess.fit("heat", "W/m2", INPUTS, np.exp(3 * INPUTS[:, 0]))
    assert fitted.facts.logarithmic
    ((found, std),) = NumberGroup((fitted,))(INPUTS + 0.05)
    np.testing.assert_allclose(found, np.exp(3 * (INPUTS[:, 0] + 0.05)), rtol=0.02)
    assert (std > 0).all()


def test_numbers_that_are_told_together_are_those_of_each_process():
    """Numbers over other inputs, or inputs that do not all vary, are told apart."""
    flat = np.column_stack([INPUTS, np.zeros(len(INPUTS))])
    values = {"drag": VALUES, "heat": np.exp(3 * INPUTS[:, 0]), "shift": INPUTS.sum(axis=1)}
    numbers = [
        NumberProcess.fit(
            name, "1", flat if name == "shift" else INPUTS, one, kind="similarity" if name == "shift" else "model"
        )
        for name, one in values.items()
    ]
    groups = NumberGroup.of(numbers)
    assert [len(group.members) for group in groups] == [2, 1]
    for group, inputs in zip(groups, (INPUTS, flat), strict=True):
        for one, told in zip(group.members, group(inputs + 0.1), strict=True):
            alone = one.process.predict(inputs + 0.1, np.zeros((1, 0)))
            expected = one.told(alone.mean[:, 0, 0], alone.std[:, 0, 0])
            np.testing.assert_allclose(told[0], expected[0], rtol=1e-9)
            np.testing.assert_allclose(told[1], expected[1], rtol=1e-6)  # small differences of wide priors


@pytest.fixture(scope="module")
def model():
    return fit(synthetic.runs(), "interpolation")


def test_quantities_stand_beside_their_own_processes(model, tmp_path):
    found = model.quantities(mach=21, altitude_km=47)
    assert {"stand_off", "stand_off_std", "stand_off_gp", "stand_off_gp_std"} <= {*map(str, found)}
    own = found.stagnation_pressure_gp
    assert own.attrs["better"] in ("gp", "field")
    assert (own.attrs["better"] == "gp") == (own.attrs["relative_error"] < own.attrs["relative_error_field"])
    np.testing.assert_allclose(own, found.stagnation_pressure, rtol=0.05)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").quantities(mach=21, altitude_km=47).identical(found)


def test_what_is_a_constant_times_its_estimate_is_known_everywhere_from_few_runs():
    """However it varies with the condition, and although half of its range was never seen."""
    runs = synthetic.runs()
    header = replace(
        runs.header,
        made_by={"mesh": {"body": {"nose_radius": 1.0}}, "wall": {"kind": "isothermal", "temperature": 1500.0}},
    )
    known = replace(runs, header=header).select(runs.parameters[:, 0] <= 20)
    space = learn(known, Specification(InterpolationSettings(), "none")).number_space
    estimate = space.estimates(["stagnation_heat_flux"], runs.parameters)["stagnation_heat_flux"]
    assert estimate.max() > 30 * estimate.min()
    seen = runs.parameters[:, 0] <= 20
    number = replace(known.header, numbers=(Variable("stagnation_heat_flux", "W/m2"),))
    known = replace(
        known, header=number, numbers=1.1 * estimate[seen][:, None] * (1 + 1e-6 * np.arange(seen.sum()))[:, None]
    )
    numbers = RunNumbers.fit(known, space, None)
    assert numbers is not None
    (facts,) = numbers.facts().values()
    assert facts.estimated
    values, std = numbers(space, runs.parameters)["stagnation_heat_flux"]
    np.testing.assert_allclose(values, 1.1 * estimate, rtol=1e-4)
    assert (std > 0).all()


def test_bars_of_numbers_hold_and_are_never_those_of_the_process_made_smaller():
    rng = np.random.default_rng(3)
    parameters = rng.uniform(size=(90, 2))
    lift = np.sin(4 * parameters[:, 0]) + np.cos(3 * parameters.sum(axis=1)) + 4
    fields = {"p": lift[:, None] * np.ones((90, 4))}
    runs = Runs.from_arrays(
        dict(zip("ab", parameters.T, strict=True)),
        np.arange(4.0)[:, None],
        fields,
        {"lift": "N"},
        numbers={"lift": lift},
    )
    model = fit(runs.select(np.arange(30)), "interpolation", calibrate=False)
    assert model.numbers is not None
    assert model.numbers.bars is not None
    others = runs.parameters[30:]
    values, std = model.numbers(model.number_space, others)["lift"]
    ((_, own),) = NumberGroup(model.numbers.processes)(model.number_space.inputs("model", others))
    assert (std >= own * (1 - 1e-6)).all()
    assert np.mean(np.abs(values - lift[30:]) <= 1.6449 * std) > 0.75


def test_numbers_of_ones_own_runs_need_no_flow_around_a_body():
    angle, x = np.linspace(0, 2, 9), np.linspace(0, 1, 6)
    fields = {"p": [np.sin(a + x) for a in angle]}
    runs = Runs.from_arrays({"angle": angle}, x[:, None], fields, {"lift": "N"}, numbers={"lift": 2 + np.sin(angle)})
    found = fit(runs, "interpolation", calibrate=False).quantities(angle=[0.55, 1.3])
    np.testing.assert_allclose(found.lift, 2 + np.sin([0.55, 1.3]), rtol=1e-2)
    assert found.lift.attrs["units"] == "N"
    assert {*map(str, found)} == {"lift", "lift_std"}


@pytest.mark.parametrize(("made_by", "learned"), [({"solver": "ours"}, {"drag"}), ({}, {"drag", "reynolds", "steps"})])
def test_what_our_solver_says_of_its_mesh_and_of_the_condition_is_not_learned(made_by, learned):
    """Of runs of others, every number counts."""
    angle, x = np.linspace(0, 4, 9), np.linspace(0, 1, 20)[:, None]
    numbers = {"drag": np.cos(angle), "reynolds": 1e5 + angle, "steps": 100 + angle**2}
    runs = Runs.from_arrays(
        {"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"}, numbers=numbers
    )
    runs = replace(runs, header=replace(runs.header, made_by=made_by))
    found = fit(runs, "interpolation", calibrate=False).numbers
    assert found is not None
    assert set(found.facts()) == learned


def test_processes_of_a_model_know_its_parameters_and_its_layer_alone():
    """So that those that were stored before models were told more of their lines can be asked."""
    model = sf.fit(layers.runs(), "aligned", scaling="similarity", calibrate=False)
    conditions = layers.runs().parameters[:3]
    told = model.predictor.inputs(conditions)
    found = model.number_space.inputs("model", conditions)
    count = len(model.predictor.normalizer.inputs.mean)
    assert told.shape[1] > found.shape[1] == count + COLUMNS
    np.testing.assert_array_equal(found, np.column_stack([told[:, :count], told[:, -COLUMNS:]]))
