"""Properties that every model has; a new one joins `INSTANCES` and inherits them."""

from dataclasses import replace

import numpy as np
import pytest

import layers
import synthetic
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.heads import MVE, Mixture
from sureflow.models import (
    MODELS,
    NETWORKS,
    AlignedSettings,
    BodyAlignedSettings,
    DeepONetSettings,
    FNOSettings,
    InterpolationSettings,
    LayerAlignedSettings,
    LevelsSettings,
    NeuralProcessSettings,
    PodDeepONetSettings,
    PodGPSettings,
    ShockAlignedSettings,
    View,
)
from sureflow.models.contract import Checkpoint, EpochReport
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Dropout, Ensemble
from sureflow.surrogate.artifact import load
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.specification import Specification
from sureflow.train.nbf import NBFSettings
from sureflow.train.networks import Networks

NETWORK = DeepONetSettings(encoder_width=8, decoder_width=16, decoder_layers=2, fourier_octaves=2)
TRAIN = TrainSettings(epochs=60, batch=128, points_per_run="all", learning_rate=1e-2)
INSTANCES = {
    "aligned": AlignedSettings(),
    "shock-aligned": ShockAlignedSettings(),
    "body-aligned": BodyAlignedSettings(),
    "layer-aligned": LayerAlignedSettings(),
    "interpolation": InterpolationSettings(),
    "pod-gp": PodGPSettings(modes=4),
    "levels": LevelsSettings(),
    "pod-deeponet": PodDeepONetSettings(members=3, width=16, modes=4, steps=300, learning_rate=1e-2),
    "deeponet": Networks(NETWORK, MVE(), Ensemble(2), TRAIN),
    "fno": Networks(
        FNOSettings(width=8, modes=2, layers=2, padding=2, hidden=8),
        sampler=Ensemble(3),
        train=TrainSettings(epochs=100, batch=6, learning_rate=1e-2),
    ),
    "neural-process": Networks(
        NeuralProcessSettings(width=8, layers=1, fourier_octaves=1),
        MVE(),
        Ensemble(2),
        TrainSettings(epochs=100, batch=6, points_per_run=24, learning_rate=1e-2),
    ),
    "nbf": NBFSettings(
        members=2,
        width=16,
        modes=4,
        steps=300,
        learning_rate=1e-2,
        basis_width=32,
        basis_layers=2,
        fourier_octaves=2,
        train=TrainSettings(epochs=6, batch=48, optimizer="muon", learning_rate=2e-2, weight_decay=0.0),
    ),
}
EPOCHS = [name for name, model in INSTANCES.items() if model.training is not None]
TRAINED = {name: INSTANCES[name] for name in EPOCHS} | {
    "mixture on dropout": replace(INSTANCES["fno"], head=Mixture(2), sampler=Dropout(2))
}
WHOLE_FIELDS = [name for name, model in INSTANCES.items() if not model.capabilities.anywhere]
DRAWS = [name for name in WHOLE_FIELDS if not INSTANCES[name].networks]  # as many fields as one likes
each_model = pytest.mark.parametrize("name", INSTANCES)
each_whole_field_model = pytest.mark.parametrize("name", WHOLE_FIELDS)
LEFT_OUT = 12  # the run at Mach 20 and 40 km, the middle of the grid


def view(name: str = "", n_runs: int = 15) -> View:
    """Runs as a model is given them: two fields at 20 points, or four on lines normal to a wall for a model of its layer."""
    inputs = np.random.default_rng(0).normal(size=(15, 2))[:n_runs]
    if name and INSTANCES[name].capabilities.needs_wall_layer:
        return layers.view(inputs)
    x = np.linspace(0, 1, 20)
    fields = np.stack([np.sin(a + 3 * x) + b * x for a, b in 0.4 * inputs])
    seen = View(inputs, np.stack([fields, fields**2], axis=1), 2 * x[:, None] - 1, ("p", "q"), shape=(4, 5))
    if name and INSTANCES[name].capabilities.needs_levels:
        return replace(seen, coarser=replace(seen, fields=0.9 * seen.fields))
    return seen


def runs_for(name: str):
    if INSTANCES[name].capabilities.needs_levels:
        return synthetic.runs().with_coarser(synthetic.runs(shape=(3, 4)))
    return layers.runs() if INSTANCES[name].capabilities.needs_wall_layer else synthetic.runs()


def quick(name: str):
    """The same model, trained hardly at all where that takes long."""
    model = INSTANCES[name]
    return model if model.training is None else model.trained_with(TRAIN, {"epochs": 2})


@pytest.fixture(scope="module")
def surrogates() -> dict[str, Surrogate]:
    kept = np.arange(25) != LEFT_OUT
    return {
        name: learn(runs_for(name).select(kept), Specification(model, "freestream"))
        for name, model in INSTANCES.items()
    }


def test_every_registered_model_is_tested():
    ours = {name for registry in (MODELS, NETWORKS) for name in registry if _is_ours(registry[name])}
    assert {*INSTANCES} == ours - {Networks.name}
    assert all(model.title == name for name, model in INSTANCES.items())


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("sureflow.")


@each_model
def test_settings_are_hashable_and_survive_a_round_trip(name):
    model = INSTANCES[name]
    again = MODELS.build(MODELS.describe(model))
    assert again == model
    assert hash(again) == hash(model)
    assert isinstance(model.title, str)
    assert isinstance(model.uq, str)


@each_model
def test_a_run_left_out_is_predicted(surrogates, name):
    runs = runs_for(name)
    one, scale = runs.array()[LEFT_OUT : LEFT_OUT + 1], runs.array().std(axis=(0, 2))
    predicted = surrogates[name].predictive(runs.parameters[LEFT_OUT : LEFT_OUT + 1])
    assert (np.abs(predicted.mean - one).mean(axis=(0, 2)) / scale < 0.1).all()
    assert predicted.std.shape == one.shape
    assert 0 < (predicted.std.mean(axis=(0, 2)) / scale).max() < 0.3


@each_model
def test_a_loaded_model_predicts_the_same(surrogates, name, tmp_path):
    model = surrogates[name]
    model.save(tmp_path / "first")
    loaded = load(tmp_path / "first")
    assert loaded.spec == model.spec
    assert loaded.predictor.scaling == model.predictor.scaling
    assert loaded.calibration is None
    assert (loaded.model_name, loaded.uq) == (INSTANCES[name].title, INSTANCES[name].uq)
    asked = np.array([[12.0, 25.0], [31.0, 64.0]])
    expected, found = (one.predictive(asked) for one in (model, loaded))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.std, expected.std)
    np.testing.assert_array_equal(loaded.samples(asked, 2, seed=1), model.samples(asked, 2, seed=1))
    loaded.save(tmp_path / "again")
    first, again = ({path.name: path.read_bytes() for path in (tmp_path / n).iterdir()} for n in ("first", "again"))
    assert first == again


@each_model
def test_a_fitted_model_is_its_arrays(name):
    fitted, sizes = quick(name).fit(view(name)), view(name).sizes
    again = quick(name).restore(fitted.arrays(), sizes)
    asked = view(name).inputs[:3] + 0.1
    expected, found = (model.predict(asked, view(name).coordinates) for model in (fitted, again))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.std, expected.std)
    arrays = dict(fitted.arrays())
    arrays.pop(next(iter(arrays)))
    with pytest.raises(SureflowError, match=r"it lacks .*; train it again|lacks tensor"):
        quick(name).restore(arrays, sizes)


@each_model
def test_two_fits_are_one(name):
    first, second = (quick(name).fit(view(name)).arrays() for _ in range(2))
    for array, values in first.items():
        np.testing.assert_array_equal(values, second[array])


@each_model
def test_a_fit_leaves_the_view_alone(name):
    given, untouched = view(name), view(name)
    quick(name).fit(given)
    for array in ("inputs", "fields", "coordinates"):
        np.testing.assert_array_equal(getattr(given, array), getattr(untouched, array))


@each_model
def test_what_resumes_reports_epochs_and_leaves_a_checkpoint(name, tmp_path):
    model, reports = quick(name), []
    checkpoint = Checkpoint(tmp_path / "checkpoint", "mine")
    fitted = model.fit(view(name), reports.append, checkpoint)
    assert checkpoint.path.exists() == bool(reports) == model.capabilities.resumes
    assert all(isinstance(report, EpochReport) for report in reports)
    again = model.fit(view(name), reports.append, checkpoint)  # from the end of the first
    for array, values in again.arrays().items():
        np.testing.assert_array_equal(values, fitted.arrays()[array])


class Killed(BaseException):
    """What no part of the program may catch."""


@pytest.mark.parametrize("name", TRAINED)
def test_what_is_killed_in_training_goes_on_to_the_same_bits(name, tmp_path):
    model = TRAINED[name].trained_with(TRAIN, {"epochs": 2})
    checkpoint, told = Checkpoint(tmp_path / "checkpoint", "mine"), []
    whole = model.fit(view()).arrays()

    def kill_in_second(report):
        told.append(report.epoch)
        if report.epoch == 1:
            raise Killed

    with pytest.raises(Killed):
        model.fit(view(), kill_in_second, checkpoint)
    again = model.fit(view(), lambda report: told.append(report.epoch), checkpoint).arrays()
    assert told == [0, 1, 1]  # the second epoch was not kept, and is done again
    for array, values in whole.items():
        np.testing.assert_array_equal(again[array], values)


@each_model
def test_conditions_do_not_know_each_other(surrogates, name):
    both = surrogates[name].predictive(np.array([[14.0, 33.0], [22.0, 51.0]]))
    alone = surrogates[name].predictive(np.array([[22.0, 51.0]]))
    np.testing.assert_allclose(both.mean[1], alone.mean[0], rtol=1e-5, atol=1e-6 * np.abs(alone.mean).max())
    np.testing.assert_allclose(both.std[1], alone.std[0], rtol=1e-4, atol=1e-6 * np.abs(alone.mean).max())


@pytest.mark.parametrize("name", DRAWS)
def test_samples_have_the_moments_of_the_prediction(surrogates, name):
    asked = np.array([[17.0, 33.0], [33.0, 45.0]])
    predicted, samples = surrogates[name].predictive(asked), surrogates[name].samples(asked, 4000)
    part = np.asarray(predicted.parts["epistemic"])
    scale = part.mean(axis=2, keepdims=True)
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert (np.abs(samples.mean(axis=0) - predicted.mean) < 6.0 * error + 1e-3 * scale).all()
    spread = samples.std(axis=0).mean(axis=2) / part.mean(axis=2)
    # POD-GP's draws also have the noise of the coefficients, which the prediction counts as discrepancy.
    assert (spread > 0.95).all()
    assert (spread < (2 if name == "pod-gp" else 1.05)).all()
    np.testing.assert_array_equal(
        surrogates[name].samples(asked, 2, seed=3), surrogates[name].samples(asked, 2, seed=3)
    )


@pytest.mark.parametrize("name", EPOCHS)
def test_samples_of_an_ensemble_are_its_members(surrogates, name):
    asked = np.array([[17.0, 33.0]])
    predicted, samples = surrogates[name].predictive(asked), surrogates[name].samples(asked, 100)
    assert samples.shape == (INSTANCES[name].networks, *predicted.mean.shape)
    np.testing.assert_allclose(samples.mean(axis=0), predicted.mean, rtol=1e-5, atol=1e-6 * samples.max())
    np.testing.assert_allclose(samples.std(axis=0), predicted.parts["epistemic"], rtol=1e-3, atol=1e-6 * samples.max())


@each_whole_field_model
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
        # A standard deviation may be nearly the same everywhere: then its size counts, and not its range.
        assert difference.max() < 0.05 * max(np.ptp(field[variable].values), 0.1 * np.abs(field[variable].values).max())


@each_whole_field_model
def test_a_constant_parameter_changes_nothing(name):
    given, asked = view(name), view(name).inputs[:3] + 0.1
    wider = replace(given, inputs=np.column_stack([np.zeros(len(given.inputs)), given.inputs]))
    if given.coarser is not None:
        wider = replace(wider, coarser=replace(given.coarser, inputs=wider.inputs))
    expected = quick(name).fit(given).predict(asked, given.coordinates)
    found = quick(name).fit(wider).predict(np.column_stack([[0.0, 0.0, 5.0], asked]), given.coordinates)
    if name in (
        "aligned",
        "shock-aligned",
        "body-aligned",
        "layer-aligned",
        "interpolation",
        "levels",
        "pod-gp",
    ):  # the initial weights of networks depend on the number of parameters
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6, atol=1e-9)
    assert np.isfinite(found.std).all()


@each_model
def test_novelty_grows_from_the_runs(surrogates, name):
    runs = runs_for(name).select(np.arange(25) != LEFT_OUT)
    model = surrogates[name]
    left_out = runs_for(name).parameters[LEFT_OUT : LEFT_OUT + 1]
    between, far = left_out, np.array([[60.0, 80.0]])
    at_runs, (new,), (newer,) = (model.novelty(asked) for asked in (runs.parameters, between, far))
    assert (at_runs >= 0).all()
    assert at_runs.max() < 0.3 * new
    assert 0.3 < new < 3.0  # as new as one run is to the others
    assert newer > 2.0 * new


@each_whole_field_model
def test_runs_are_left_out_where_the_model_says_so(name):
    given = view(name)
    fitted = quick(name).fit(given)
    if not INSTANCES[name].capabilities.leaves_out:
        with pytest.raises(SureflowError, match="cannot leave runs out without another fit"):
            fitted.leave_out([np.array([1])])
        return
    found = fitted.leave_out([np.array([3]), np.array([7, 2, 11])])
    assert found.predictive.mean.shape == (4, *given.fields.shape[1:])
    assert found.predictive.std.shape == (4, *given.fields.shape[1:])
    assert found.novelty.shape == (4,)
    means = fitted.leave_out_mean([np.array([3]), np.array([7, 2, 11])])
    np.testing.assert_allclose(means, found.predictive.mean, atol=1e-9 * given.fields.std())
    # Left out together, runs are newer and no better predicted than alone.
    alone = fitted.leave_out([np.array([7]), np.array([2]), np.array([11])])
    assert (found.novelty[1:] > 0.999 * alone.novelty).all()
    missed = np.abs(found.predictive.mean - given.fields[[3, 7, 2, 11]]).mean()
    assert 0 < missed < 0.5 * given.fields.std()


@each_whole_field_model
def test_runs_that_tell_nothing_are_refused(name):
    with pytest.raises(SureflowError, match=f"all 15 runs are at one condition: {name} needs a parameter that varies"):
        INSTANCES[name].fit(replace(view(name), inputs=np.zeros_like(view(name).inputs)))


@each_whole_field_model
def test_too_few_runs_are_refused(name):
    with pytest.raises(SureflowError, match=rf"3 runs are too few for {name} over 2 parameters: it needs 4"):
        INSTANCES[name].fit(view(name, 3))


@pytest.mark.parametrize("name", [name for name, model in INSTANCES.items() if not model.capabilities.needs_wall_layer])
def test_runs_of_ones_own_without_a_mesh(name, tmp_path):
    given = view(name)
    parameters = {"a": given.inputs[:, 0], "b": given.inputs[:, 1]}
    points = np.random.default_rng(0).normal(size=(20, 1))
    runs = Runs.from_arrays(parameters, points, {"p": given.fields[:, 0], "q": given.fields[:, 1]})
    if INSTANCES[name].capabilities.needs_structured_mesh:
        with pytest.raises(SureflowError, match=f"{name} needs runs on a structured mesh, and the mesh of these is po"):
            learn(runs, Specification(quick(name)))
        return
    surrogate = learn(runs, Specification(quick(name)))
    surrogate.save(tmp_path)
    field = load(tmp_path).predict(a=0.2, b=-0.3)
    assert field.p.dims == ("point",)
    assert field.identical(surrogate.predict(a=0.2, b=-0.3))
    at_points = surrogate.predict(a=0.2, b=-0.3, points=points)
    np.testing.assert_allclose(at_points.p, field.p, rtol=1e-5)


@pytest.mark.parametrize("name", ["interpolation", "pod-gp"])
def test_one_field_at_points_in_space(name):
    given, points = view(name), np.random.default_rng(0).normal(size=(20, 3))
    runs = Runs.from_arrays({"a": given.inputs[:, 0], "b": given.inputs[:, 1]}, points, {"p": given.fields[:, 0]})
    surrogate = learn(runs, Specification(quick(name)))
    found = surrogate.predict(a=0.2, b=-0.3, points=points)
    np.testing.assert_allclose(found.p, surrogate.predict(a=0.2, b=-0.3).p, rtol=1e-5)


@each_model
def test_fields_that_never_change_are_learned_as_they_are(name):
    given = view(name)
    constant = replace(given, fields=np.broadcast_to(given.fields[:1], given.fields.shape).copy())
    found = quick(name).fit(constant).predict(given.inputs[:2] + 0.1, given.coordinates)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(found.std).all()
    if (
        name in WHOLE_FIELDS and not INSTANCES[name].capabilities.needs_wall_layer
    ):  # to which equal fields on layers of other thickness are not equal
        np.testing.assert_allclose(found.mean, constant.fields[:2], atol=1e-9)
