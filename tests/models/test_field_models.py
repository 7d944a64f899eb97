"""Properties that every whole-field model has; a new one joins `FIELD_MODELS` and inherits them."""

import json
import typing

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

import synthetic
from sureflow import artifact
from sureflow.data.dataset import Dataset
from sureflow.errors import SureflowError
from sureflow.learn import learn
from sureflow.models import AnyFieldModel, InterpolationSettings, PodDeepONetSettings, PodGPSettings
from sureflow.models.pod import combine, pod
from sureflow.surrogate import Surrogate

FIELD_MODELS = {
    "interpolation": InterpolationSettings(),
    "pod-gp": PodGPSettings(modes=4),
    "pod-deeponet": PodDeepONetSettings(members=3, width=16, modes=4, steps=300, learning_rate=1e-2),
}
each_model = pytest.mark.parametrize("name", FIELD_MODELS)
LEFT_OUT = 12  # the run at Mach 20 and 40 km, the middle of the grid


def runs():
    """Inputs and fields as a model is given them."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(15, 2))
    x = np.linspace(0, 1, 20)
    fields = np.stack([np.sin(a + 3 * x) + b * x for a, b in 0.4 * inputs])
    return inputs, np.stack([fields, fields**2], axis=1)


@pytest.fixture(scope="module")
def surrogates() -> dict[str, Surrogate]:
    kept = np.arange(25) != LEFT_OUT
    training = synthetic.dataset().select(kept)
    return {name: learn(training, model, scaling="freestream") for name, model in FIELD_MODELS.items()}


def test_every_registered_model_is_tested():
    union = typing.get_args(AnyFieldModel)[0]
    assert {type(model) for model in FIELD_MODELS.values()} == set(typing.get_args(union))
    assert {name: model.name for name, model in FIELD_MODELS.items()} == {name: name for name in FIELD_MODELS}


@each_model
def test_a_run_left_out_is_predicted(surrogates, name):
    data = synthetic.dataset()
    one = np.arange(25) == LEFT_OUT
    predicted = surrogates[name].predictive(data.parameters[one])
    error = np.abs(predicted.mean - data.fields[one]).mean(axis=(0, 2)) / data.fields.std(axis=(0, 2))
    assert (error < 0.1).all()
    assert predicted.std.shape == data.fields[one].shape
    assert 0 < (predicted.std.mean(axis=(0, 2)) / data.fields.std(axis=(0, 2))).max() < 0.3


@each_model
def test_a_loaded_model_predicts_the_same(surrogates, name, tmp_path):
    artifact.save(surrogates[name], tmp_path)
    loaded = artifact.load(tmp_path)
    assert loaded.recipe == FIELD_MODELS[name]
    assert loaded.scaling == surrogates[name].scaling
    assert loaded.calibration is None
    assert (loaded.model_name, loaded.uq) == (name, FIELD_MODELS[name].uq)
    asked = np.array([[12.0, 25.0], [31.0, 64.0]])
    expected, found = (model.predictive(asked) for model in (surrogates[name], loaded))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.std, expected.std)
    np.testing.assert_array_equal(loaded.samples(asked, 2, seed=1), surrogates[name].samples(asked, 2, seed=1))
    artifact.save(loaded, tmp_path / "again")
    assert (tmp_path / "again" / artifact.WEIGHTS).read_bytes() == (tmp_path / artifact.WEIGHTS).read_bytes()
    first, again = (json.loads((folder / artifact.MANIFEST).read_text()) for folder in (tmp_path, tmp_path / "again"))
    assert first == again


@each_model
def test_two_fits_are_one(name):
    first, second = (FIELD_MODELS[name].fit(*runs()).arrays() for _ in range(2))
    for array, values in first.items():
        np.testing.assert_array_equal(values, second[array])


@each_model
def test_conditions_do_not_know_each_other(surrogates, name):
    both = surrogates[name].predictive(np.array([[14.0, 33.0], [22.0, 51.0]]))
    alone = surrogates[name].predictive(np.array([[22.0, 51.0]]))
    np.testing.assert_allclose(both.mean[1], alone.mean[0], rtol=1e-6)
    np.testing.assert_allclose(both.std[1], alone.std[0], rtol=1e-4)


@each_model
def test_samples_have_the_moments_of_the_prediction(surrogates, name):
    asked = np.array([[17.0, 33.0], [33.0, 45.0]])
    predicted, samples = surrogates[name].predictive(asked), surrogates[name].samples(asked, 4000)
    part = np.asarray(predicted.parts["epistemic"])
    scale = part.mean(axis=2, keepdims=True)
    assert (np.abs(samples.mean(axis=0) - predicted.mean) / scale).max() < 0.3
    spread = samples.std(axis=0).mean(axis=2) / part.mean(axis=2)
    # POD-GP's draws also have the noise of the coefficients, which the prediction counts as discrepancy.
    assert (spread > 0.95).all()
    assert (spread < (2 if name == "pod-gp" else 1.05)).all()
    np.testing.assert_array_equal(
        surrogates[name].samples(asked, 2, seed=3), surrogates[name].samples(asked, 2, seed=3)
    )


@each_model
def test_error_bars_grow_outside(surrogates, name):
    inside, outside = surrogates[name].predictive(np.array([[21.0, 41.0], [38.0, 41.0]])).std
    assert outside.mean() > 1.5 * inside.mean()


@each_model
def test_points_on_the_mesh_agree_with_the_mesh(surrogates, name):
    field = surrogates[name].predict(mach=25, altitude_km=46)
    points = np.column_stack([field.x.values.ravel(), field.r.values.ravel()])
    at_points = surrogates[name].predict(mach=25, altitude_km=46, points=points)
    for variable in ("u1", "T_std"):
        difference = np.abs(at_points[variable].values - field[variable].values.ravel())
        assert difference.max() < 0.05 * np.ptp(field[variable].values)


@each_model
def test_a_constant_parameter_changes_nothing(name):
    inputs, fields = runs()
    wider = np.column_stack([inputs, np.zeros(len(inputs))])
    expected = FIELD_MODELS[name].fit(inputs, fields).predict(inputs[:3] + 0.1)
    found = FIELD_MODELS[name].fit(wider, fields).predict(np.column_stack([inputs[:3] + 0.1, [0.0, 0.0, 5.0]]))
    if name != "pod-deeponet":  # whose initial weights depend on the number of parameters
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6, atol=1e-9)
    assert np.isfinite(found.std).all()


@each_model
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i: np.concatenate([i[:-1], i[:1]]), "1 of 15 runs repeat the condition of another"),
        (lambda i: np.zeros_like(i), "repeat the condition|at one condition"),
    ],
)
def test_runs_that_tell_nothing_are_refused(name, change, message):
    inputs, fields = runs()
    with pytest.raises(SureflowError, match=message):
        FIELD_MODELS[name].fit(change(inputs), fields)


@each_model
def test_too_few_runs_are_refused(name):
    inputs, fields = runs()
    with pytest.raises(SureflowError, match=rf"3 runs are too few for {name} over 2 parameters: it needs 4"):
        FIELD_MODELS[name].fit(inputs[:3], fields[:3])


@each_model
def test_runs_of_ones_own_without_a_structured_mesh(name, tmp_path):
    inputs, fields = runs()
    parameters = {"a": inputs[:, 0], "b": inputs[:, 1]}
    data = Dataset.from_arrays(parameters, np.random.default_rng(0).normal(size=(20, 3)), {"p": fields[:, 0]})
    surrogate = learn(data, FIELD_MODELS[name])
    artifact.save(surrogate, tmp_path)
    field = artifact.load(tmp_path).predict(a=0.2, b=-0.3)
    assert field.identical(surrogate.predict(a=0.2, b=-0.3))
    with pytest.raises(SureflowError, match="predicts at points of its own mesh only"):
        surrogate.predict(a=0.2, b=-0.3, points=np.zeros((1, 3)))


def test_interpolation_is_that_of_scipy():
    inputs, fields = runs()
    asked = np.random.default_rng(1).normal(size=(6, 2))
    expected = RBFInterpolator(inputs, fields.reshape(15, -1), kernel="cubic", degree=1)(asked)
    found = InterpolationSettings().fit(inputs, fields).predict(asked)
    np.testing.assert_allclose(found.mean.reshape(6, -1), expected, rtol=1e-8, atol=1e-10)


def test_interpolation_passes_through_the_runs_without_a_doubt():
    inputs, fields = runs()
    found = InterpolationSettings().fit(inputs, fields).predict(inputs)
    np.testing.assert_allclose(found.mean, fields, atol=1e-10)
    assert found.std.max() < 1e-4 * fields.std()


def test_leave_one_out_residuals_are_those_of_refits():
    inputs, fields = runs()
    model = InterpolationSettings().fit(inputs, fields)
    for run in (0, 7):
        others = np.arange(15) != run
        refit = InterpolationSettings().fit(inputs[others], fields[others])
        missed = fields[run] - refit.predict(inputs[run : run + 1]).mean[0]
        # At a run left out, the variance of the cubic kernel's process is 1 / (A^-1)_kk.
        power = refit._power(inputs[run : run + 1])[0]
        np.testing.assert_allclose(power, model.inverse[run, run] ** -0.5, rtol=1e-6)
        np.testing.assert_allclose(model.residuals[run] * power, missed, rtol=1e-4, atol=1e-6)


def test_pod_leaves_what_it_says():
    _, fields = runs()
    whole = pod(fields, 1e-30, 100)
    np.testing.assert_allclose(whole.mean + combine(whole.coefficients, whole.modes), fields, atol=1e-10)
    few = pod(fields, 1e-3, 100)
    rest = fields - few.mean - combine(few.coefficients, few.modes)
    assert len(few.modes) < len(whole.modes)
    assert (rest**2).sum() <= 1e-3 * ((fields - few.mean) ** 2).sum()
    fewer = pod(fields, 1e-3, len(few.modes) - 1)
    assert (fewer.truncation > few.truncation).mean() > 0.5
    gram = few.modes.reshape(len(few.modes), -1) @ few.modes.reshape(len(few.modes), -1).T
    np.testing.assert_allclose(gram, np.eye(len(few.modes)), atol=1e-12)


def test_the_posterior_is_that_of_the_textbook():
    """Rasmussen & Williams 2006, eqs. 2.25 and 2.26, in NumPy and without padding."""
    inputs, fields = runs()
    model = PodGPSettings(modes=2).fit(inputs, fields)
    asked = np.array([[0.3, -0.2]])

    def kernel(a, b, logarithms):
        r = np.sqrt(5 * (((a[:, None] - b[None]) / np.exp(logarithms[2:])) ** 2).sum(axis=2))
        return np.exp(logarithms[0]) * (1 + r + r**2 / 3) * np.exp(-r) + 100 * (1 + a @ b.T)

    location, deviation = model._coefficients(asked)
    for mode, logarithms in enumerate(model.logarithms):
        covariance = kernel(inputs, inputs, logarithms) + np.exp(logarithms[1]) * np.eye(15)
        cross = kernel(asked, inputs, logarithms)
        mean = cross @ np.linalg.solve(covariance, model.coefficients[mode])
        variance = kernel(asked, asked, logarithms) - cross @ np.linalg.solve(covariance, cross.T)
        np.testing.assert_allclose(location[0, mode], model.scale[mode] * mean[0], rtol=1e-5)
        np.testing.assert_allclose(deviation[0, mode], model.scale[mode] * variance[0, 0] ** 0.5, rtol=1e-2)
