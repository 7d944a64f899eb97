import numpy as np
import pytest

import synthetic
from sureflow import artifact, trust
from sureflow.data.dataset import Dataset
from sureflow.errors import SureflowError
from sureflow.evaluate.held_out import held_out
from sureflow.heads import Deterministic
from sureflow.learn import learn
from sureflow.models import DeepONetSettings, InterpolationSettings
from sureflow.train.loop import Recipe, TrainSettings

# Drawn alike: what is learned by leaving some out is true of the others.
TRAINED, UNSEEN = np.split(np.random.default_rng(0).uniform([10.0, 20.0], [30.0, 60.0], size=(60, 2)), [36])
ASKED = np.array([[21.0, 47.0], [33.0, 47.0], [21.0, 14.0]])
SHAPE = (8, 6)


def runs(conditions: np.ndarray) -> Dataset:
    return synthetic.dataset(conditions, SHAPE)


@pytest.fixture(scope="module")
def surrogate():
    return learn(runs(TRAINED), InterpolationSettings(), scaling="none")


@pytest.fixture(scope="module")
def by_folds(surrogate):
    body = trust.body_of(surrogate)
    return trust.calibrate(surrogate, runs(TRAINED), observe=trust.observer(body))


def test_calibration_leaves_the_mean_alone_and_the_raw_bars_available(surrogate, by_folds):
    own, found = surrogate.predictive(ASKED), by_folds.predictive(ASKED)
    np.testing.assert_array_equal(found.mean, own.mean)
    np.testing.assert_array_equal(by_folds.raw_predictive(ASKED).std, own.std)
    field = by_folds.predict(mach=21, altitude_km=47)
    np.testing.assert_array_equal(field.u1_std_raw, surrogate.predict(mach=21, altitude_km=47).u1_std)
    assert "folds over the training runs" in field.attrs["bars"]
    assert surrogate.predict(mach=21, altitude_km=47).attrs["bars"].startswith("uncalibrated")


def test_bars_cover_runs_to_come(by_folds):
    unseen = runs(UNSEEN)
    found = by_folds.predictive(UNSEEN)
    inside = np.abs(found.mean - unseen.fields) <= 1.645 * found.std
    assert 0.8 <= inside.mean() <= 0.99


def test_bars_widen_beyond_the_training_hull_and_cover_there(by_folds):
    beyond = np.array([[mach, altitude] for mach in (31.0, 32.0, 33.0) for altitude in (25.0, 40.0, 55.0)])
    found = by_folds.predictive(beyond)
    inside = np.abs(found.mean - runs(beyond).fields) <= 1.645 * found.std
    assert 0.7 <= inside.mean() <= 1.0
    line = by_folds.predictive(np.column_stack([[30.0, 32.0, 34.0, 36.0], np.full(4, 40.0)]))
    assert (np.diff(line.parts["extrapolation"].mean(axis=(1, 2))) > 0).all()


def test_unseen_runs_calibrate_with_a_guarantee_and_training_runs_do_not_count(surrogate):
    both = runs(np.concatenate([TRAINED, UNSEEN]))
    assert "24 runs that the model has not seen; 36 runs that" in str(trust.basis_of(surrogate, both))
    fitted = trust.calibrate(surrogate, both).calibrations["fields"]
    assert fitted.exact
    assert fitted.runs == 24
    np.testing.assert_array_equal(np.array(fitted.conditions), UNSEEN)
    assert not trust.calibrate(surrogate, both, folds=True).calibrations["fields"].exact


def test_runs_that_calibrated_are_kept_with_the_model_and_never_tested(surrogate, tmp_path):
    both = runs(np.concatenate([TRAINED, UNSEEN]))
    artifact.save(trust.calibrate(surrogate, both), tmp_path / "model")
    with pytest.raises(SureflowError, match="were trained on or calibrated with"):
        held_out(both, artifact.load(tmp_path / "model"))
    more = runs(np.concatenate([TRAINED, UNSEEN, [[23.4, 44.4]]]))
    tested = held_out(more, artifact.load(tmp_path / "model"))
    assert np.logical_or.reduce(list(tested.test.values())).nonzero()[0].tolist() == [len(both.parameters)]


def test_other_runs_at_the_training_conditions_are_refused(surrogate):
    other = runs(TRAINED)
    other.fields[:] *= 1.01
    with pytest.raises(SureflowError, match="are not those that it was trained on"):
        trust.calibrate(surrogate, other, folds=True)


def test_missing_values_of_unseen_runs_are_refused(surrogate):
    both = runs(np.concatenate([TRAINED, UNSEEN]))
    both.fields[-1, 0, 0] = np.nan
    with pytest.raises(SureflowError, match="has 1 missing or non-finite values"):
        trust.calibrate(surrogate, both)


def test_predictions_carry_intervals_that_hold_their_share(by_folds):
    found = by_folds.predict(mach=UNSEEN[:, 0], altitude_km=UNSEEN[:, 1])
    truth = runs(UNSEEN).fields[:, by_folds.names.index("T")].reshape(found.T.shape)
    inside = np.abs(found.T - truth) <= found.T_interval90
    assert 0.8 <= inside.mean() <= 0.99
    assert (found.T_band90 > found.T_interval90).all()


def test_only_the_runs_of_the_model_are_read_by_folds(surrogate, by_folds):
    """With every other run NaN, the calibration is bit-identical."""
    both = runs(np.concatenate([TRAINED, UNSEEN]))
    both.fields[len(TRAINED) :] = np.nan
    observe = trust.observer(trust.body_of(surrogate))
    assert trust.calibrate(surrogate, both, folds=True, observe=observe).calibration == by_folds.calibration


def test_the_artifact_keeps_the_calibration_exactly(by_folds, tmp_path):
    artifact.save(by_folds, tmp_path / "model")
    again = artifact.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predictive(ASKED).std, by_folds.predictive(ASKED).std)
    assert again.calibration == by_folds.calibration
    assert again.trusted_domain.reach == by_folds.trusted_domain.reach


def test_too_far_is_refused_unless_asked_for(by_folds):
    with pytest.raises(SureflowError, match=r"refused: mach=39 .* or ask with --extrapolate"):
        by_folds.predict(mach=39, altitude_km=80)
    field = by_folds.predict(mach=39, altitude_km=80, extrapolate=True)
    assert field.attrs["verdict"].startswith("refused")
    assert (field.T_std > by_folds.predict(mach=29, altitude_km=59).T_std).all()


def test_bars_at_points_are_those_of_the_mesh(by_folds):
    field = by_folds.predict(mach=21, altitude_km=47)
    points = np.column_stack([field.x.values.ravel(), field.r.values.ravel()])
    at_points = by_folds.predict(mach=21, altitude_km=47, points=points)
    np.testing.assert_allclose(at_points.rho_std, field.rho_std.values.ravel(), rtol=0.2, atol=1e-12)


def test_a_network_needs_runs_that_it_has_not_seen():
    recipe = Recipe(DeepONetSettings(), Deterministic(), 1, TrainSettings(epochs=1, batch=64, points_per_run=4))
    network = learn(runs(TRAINED), recipe, "xr")
    with pytest.raises(SureflowError, match="give runs that it has not seen"):
        trust.calibrate(network, runs(TRAINED))
    fitted = trust.calibrate(network, runs(np.concatenate([TRAINED, UNSEEN])))
    assert fitted.predictive(ASKED[:1]).std is not None


def test_too_few_runs_are_said_to_be():
    few = learn(runs(TRAINED[:4]), InterpolationSettings())
    with pytest.raises(SureflowError, match=r"4 training runs are too few .* at least 5 are needed; the bars stay"):
        trust.calibrate(few, runs(TRAINED[:4]))
    five = trust.calibrate(learn(runs(TRAINED[:5]), InterpolationSettings()), runs(TRAINED[:5]))
    assert np.isfinite(five.predictive(ASKED[:1]).std).all()


def test_folds_need_the_training_runs(surrogate):
    with pytest.raises(SureflowError, match="folds need all of its 36 training runs, of which 30 are here"):
        trust.basis_of(surrogate, runs(TRAINED[:30]))


def test_quantities_have_bars_that_hold(by_folds):
    body = trust.body_of(by_folds)
    unseen = runs(UNSEEN)
    truth = trust.observer(body)(unseen.fields, UNSEEN)
    names = [quantity.name for quantity in body.quantities]
    factors = by_folds.calibrations["quantities"].factors[0.9]
    inside = []
    for condition, row in zip(UNSEEN, truth, strict=True):
        found = trust.quantities(by_folds, body, mach=condition[0], altitude_km=condition[1])
        inside += [
            abs(found[name].item() - value) <= factor * found[f"{name}_std"].item()
            for name, value, factor in zip(names, row, factors, strict=True)
        ]
    assert 0.8 <= np.mean(inside) <= 1.0
    assert found.stagnation_pressure.attrs["units"] == "Pa"


def test_quantities_of_an_uncalibrated_model_come_from_samples(surrogate):
    body = trust.body_of(surrogate)
    found = trust.quantities(surrogate, body, samples=8, mach=21.0, altitude_km=47.0)
    assert found.drag_coefficient_pressure_std > 0
    far = trust.sampled_std(surrogate, body, np.array([[33.0, 47.0]]), 8)
    assert (far[0] > trust.sampled_std(surrogate, body, np.array([[21.0, 47.0]]), 8)[0]).mean() > 0.5
