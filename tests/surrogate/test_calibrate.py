"""Calibration of surrogates: which runs count, and what the bars are worth."""

from dataclasses import replace

import numpy as np
import pytest

import synthetic
from sureflow.data.runs import Runs
from sureflow.data.sources import ArrayFields
from sureflow.errors import Refused, SureflowError
from sureflow.evaluate.held_out import held_out
from sureflow.heads import Deterministic
from sureflow.models import DeepONetSettings, InterpolationSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.surrogate.artifact import load
from sureflow.surrogate.calibrate import CannotCalibrate, calibrate, calibration_runs
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import Specification
from sureflow.train.networks import Networks
from sureflow.uq.bars import Calibrations

# Drawn alike: what is learned by leaving some out is true of the others.
TRAINED, UNSEEN = np.split(np.random.default_rng(0).uniform([10.0, 20.0], [30.0, 60.0], size=(60, 2)), [36])
ASKED = np.array([[21.0, 47.0], [33.0, 47.0], [21.0, 14.0]])
SHAPE = (8, 6)
SMALL = DeepONetSettings(encoder_width=4, decoder_width=8, decoder_layers=1)
INTERPOLATION = Specification(InterpolationSettings(), "none")


def runs(*conditions: np.ndarray) -> Runs:
    return synthetic.runs(np.concatenate(conditions), SHAPE)


@pytest.fixture(scope="module")
def surrogate():
    return learn(runs(TRAINED), INTERPOLATION)


@pytest.fixture(scope="module")
def by_folds(surrogate):
    return surrogate.calibrate(runs(TRAINED))


def assert_equal(one: Calibrations, other: Calibrations) -> None:
    """To the last bit."""
    for kind in ("fields", "quantities"):
        here, there = getattr(one, kind), getattr(other, kind)
        assert (here is None) == (there is None)
        if here is not None:
            assert here.facts() == there.facts()
            for name, values in here.arrays().items():
                np.testing.assert_array_equal(values, there.arrays()[name])


def test_calibration_leaves_the_mean_alone_and_the_raw_bars_available(surrogate, by_folds):
    own, found = surrogate.predictive(ASKED), by_folds.predictive(ASKED)
    np.testing.assert_array_equal(found.mean, own.mean)
    np.testing.assert_array_equal(by_folds.raw_predictive(ASKED).std, own.std)
    field = by_folds.predict(mach=21, altitude_km=47)
    np.testing.assert_array_equal(field.u1_std_raw, surrogate.predict(mach=21, altitude_km=47).u1_std)
    assert "folds over the training runs" in field.attrs["bars"]
    assert surrogate.predict(mach=21, altitude_km=47).attrs["bars"].startswith("uncalibrated")
    assert surrogate.calibration is None


def test_bars_cover_runs_to_come(by_folds):
    found = by_folds.predictive(UNSEEN)
    inside = np.abs(found.mean - runs(UNSEEN).array()) <= 1.645 * found.std
    assert 0.8 <= inside.mean() <= 0.99


def test_bars_widen_beyond_the_training_hull_and_cover_there(by_folds):
    beyond = np.array([[mach, altitude] for mach in (31.0, 32.0, 33.0) for altitude in (25.0, 40.0, 55.0)])
    found = by_folds.predictive(beyond)
    inside = np.abs(found.mean - runs(beyond).array()) <= 1.645 * found.std
    assert 0.7 <= inside.mean() <= 1.0
    line = by_folds.predictive(np.column_stack([[30.0, 32.0, 34.0, 36.0], np.full(4, 40.0)]))
    assert (np.diff(line.parts["extrapolation"].mean(axis=(1, 2))) > 0).all()


def test_unseen_runs_calibrate_with_a_guarantee_and_training_runs_do_not_count(surrogate):
    both = runs(TRAINED, UNSEEN)
    assert "24 runs that the model has not seen; 36 runs that" in str(calibration_runs(surrogate, both))
    fitted = surrogate.calibrate(both).calibration.fields
    assert fitted.exact
    assert fitted.runs == 24
    np.testing.assert_array_equal(np.array(fitted.conditions), UNSEEN)
    assert not surrogate.calibrate(both, folds=True).calibration.fields.exact


def test_unseen_runs_too_few_for_intervals_leave_the_calibration_to_folds(surrogate):
    few = runs(TRAINED, UNSEEN[:8])
    assert str(calibration_runs(surrogate, few)).endswith("8 others do not count: unseen runs do from 18 on")
    assert calibration_runs(surrogate, few).by_folds
    # Without the training runs there is nothing else.
    assert not calibration_runs(surrogate, runs(UNSEEN[:8])).by_folds


def test_the_order_of_parameters_does_not_matter(surrogate):
    both = runs(TRAINED, UNSEEN)
    turned = Runs.from_arrays(
        {"altitude_km": both.parameters[:, 1], "mach": both.parameters[:, 0]},
        both.geometry.points,
        dict(zip(both.names, both.array().swapaxes(0, 1), strict=True)),
        dict(zip(both.names, both.units, strict=True)) | {"mach": "1", "altitude_km": "km"},
        both.header.stream,
        axes=("x", "r"),
        shape=SHAPE,
        nodes=both.geometry.nodes,
        gas=both.gas,
    )
    assert_equal(surrogate.calibrate(turned).calibration, surrogate.calibrate(both).calibration)


def test_the_order_of_runs_does_not_matter(surrogate, by_folds):
    """As after joining stores in another order."""
    turned = runs(TRAINED).select(np.arange(len(TRAINED))[::-1])
    assert_equal(surrogate.calibrate(turned).calibration, by_folds.calibration)


def test_training_runs_add_nothing_to_unseen_ones_but_the_sides(surrogate):
    alone, both = surrogate.calibrate(runs(UNSEEN)).calibration, surrogate.calibrate(runs(TRAINED, UNSEEN)).calibration
    np.testing.assert_array_equal(alone.fields.scale, both.fields.scale)
    assert alone.fields.factors == both.fields.factors
    assert alone.fields.reach < both.fields.reach


def test_runs_that_calibrated_are_kept_with_the_model_and_never_tested(surrogate, tmp_path):
    both = runs(TRAINED, UNSEEN)
    surrogate.calibrate(both).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.calibrated_with, UNSEEN)
    with pytest.raises(SureflowError, match="trained on or calibrated with"):
        held_out(both, loaded)
    tested = held_out(runs(TRAINED, UNSEEN, np.array([[23.4, 44.4]])), loaded)
    assert np.logical_or.reduce(list(tested.test.values())).nonzero()[0].tolist() == [len(both)]


def test_other_runs_at_the_training_conditions_are_refused(surrogate):
    same = runs(TRAINED)
    fields = dict(zip(same.names, 1.01 * same.array().swapaxes(0, 1), strict=True))
    other = Runs.from_arrays(
        dict(zip(same.parameter_names, same.parameters.T, strict=True)),
        same.geometry.points,
        fields,
        shape=SHAPE,
        nodes=same.geometry.nodes,
    )
    with pytest.raises(SureflowError, match="are not those that it was trained on"):
        surrogate.calibrate(other, folds=True)


def spoiled(some: Runs, case: int) -> Runs:
    """The runs with a value missing from one on."""
    values = some.array().copy()
    values[case:, 0, 0] = np.nan
    return replace(some, fields=ArrayFields(values))


def test_missing_values_of_unseen_runs_are_refused(surrogate):
    with pytest.raises(SureflowError, match="has 1 missing or non-finite values"):
        surrogate.calibrate(spoiled(runs(TRAINED, UNSEEN), -1))


def test_only_the_runs_of_the_model_are_read_by_folds(surrogate, by_folds):
    """With every other run NaN, the calibration is bit-identical."""
    both = spoiled(runs(TRAINED, UNSEEN), len(TRAINED))
    assert_equal(surrogate.calibrate(both, folds=True).calibration, by_folds.calibration)


def test_predictions_carry_intervals_that_hold_their_share(by_folds):
    found = by_folds.predict(mach=UNSEEN[:, 0], altitude_km=UNSEEN[:, 1])
    truth = runs(UNSEEN).array()[:, by_folds.names.index("T")].reshape(found.T.shape)
    inside = np.abs(found.T - truth) <= found.T_interval90
    assert 0.8 <= inside.mean() <= 0.99
    assert (found.T_band90 > found.T_interval90).all()


def test_the_artifact_keeps_the_calibration_exactly(by_folds, tmp_path):
    by_folds.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predictive(ASKED).std, by_folds.predictive(ASKED).std)
    assert_equal(again.calibration, by_folds.calibration)
    assert again.trusted_domain.reach == by_folds.trusted_domain.reach


def test_too_far_is_refused_unless_asked_for(by_folds):
    with pytest.raises(Refused, match=r"refused: mach=39 .* or ask for an extrapolation"):
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
    quick = TrainSettings(epochs=1, batch=64, points_per_run=4)
    network = learn(runs(TRAINED), Specification(Networks(SMALL, Deterministic(), Ensemble(1), quick)))
    with pytest.raises(CannotCalibrate, match=r"a deeponet takes too long .* so give runs that it has not seen"):
        network.calibrate(runs(TRAINED))
    fitted = network.calibrate(runs(TRAINED, UNSEEN))
    assert fitted.predictive(ASKED[:1]).std is not None
    assert fitted.calibration.quantities is not None
    assert fitted.quantities(mach=21, altitude_km=47).stand_off_std > 0


def test_too_few_runs_are_said_to_be():
    few = learn(runs(TRAINED[:4]), INTERPOLATION)
    with pytest.raises(CannotCalibrate, match=r"4 training runs are too few .* at least 5 are needed; the bars stay"):
        few.calibrate(runs(TRAINED[:4]))
    five = learn(runs(TRAINED[:5]), INTERPOLATION).calibrate(runs(TRAINED[:5]))
    assert np.isfinite(five.predictive(ASKED[:1]).std).all()


def test_folds_need_the_training_runs(surrogate):
    with pytest.raises(CannotCalibrate, match="folds need all of its 36 training runs, of which 30 are here"):
        calibration_runs(surrogate, runs(TRAINED[:30]))


def test_refits_are_counted(surrogate):
    told = []
    calibrate(surrogate, runs(TRAINED), on_refit=lambda *progress: told.append(progress))
    done, total = zip(*told, strict=True)
    assert done == tuple(range(1, len(done) + 1))
    assert {*total} == {len(done)}


def test_quantities_have_bars_that_hold(by_folds):
    truth = by_folds.observer(runs(UNSEEN).array(), UNSEEN)
    names = [quantity.name for quantity in by_folds.observer.quantities]
    factors = by_folds.calibration.quantities.factors[0.9]
    found = by_folds.quantities(mach=UNSEEN[:, 0], altitude_km=UNSEEN[:, 1])
    inside = [
        np.abs(found[name] - truth[:, column]) <= factor * found[f"{name}_std"]
        for column, (name, factor) in enumerate(zip(names, factors, strict=True))
    ]
    assert 0.8 <= np.mean(inside) <= 1.0
    assert found.stagnation_pressure.attrs["units"] == "Pa"


def test_quantities_need_not_be_calibrated(surrogate):
    assert calibrate(surrogate, runs(TRAINED), quantities=False).calibration.quantities is None


def test_quantities_of_an_uncalibrated_model_come_from_samples(surrogate):
    inside, far = (surrogate.quantities(mach=mach, altitude_km=47.0) for mach in (21.0, 33.0))
    assert inside.drag_coefficient_pressure_std > 0
    bars = [name for name in inside if str(name).endswith("_std")]
    assert np.mean([float(far[name]) > float(inside[name]) for name in bars]) > 0.5
