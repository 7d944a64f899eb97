import json
from dataclasses import replace

import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.predictive import Predictive
from sureflow.uq import fit_bars
from sureflow.uq.bars import Calibration, CalibrationFacts, calibrated
from sureflow.uq.domain import TrainingDomain
from sureflow.uq.fit_bars import fit_calibration, fit_calibrations
from sureflow.uq.folds import HeldOutRuns, joined
from sureflow.validation import plain, validated

VARIABLES, POINTS, PARAMETERS = 2, 60, 2
rng = np.random.default_rng(0)
# Bars that a model claims, and by how much they are wrong at each point.
CLAIMED = rng.uniform(0.5, 2.0, size=(VARIABLES, POINTS))
WRONG_BY = np.linspace(0.5, 4.0, POINTS) * np.array([[1.0], [3.0]])
FAR_PATTERN = 300 * np.linspace(10.0, 1.0, POINTS) * np.array([[1.0], [2.0]])


def inside_runs(runs: int, seed: int) -> HeldOutRuns:
    rng = np.random.default_rng(seed)
    size = np.broadcast_to(CLAIMED, (runs, *CLAIMED.shape))
    error = size * WRONG_BY * rng.normal(size=size.shape)
    return HeldOutRuns(
        tuple(error),
        tuple(size),
        np.zeros((runs, PARAMETERS)),
        rng.uniform(size=(runs, PARAMETERS)),
        np.zeros(runs),
        np.empty((runs, 0)),
    )


def runs_above(distances: np.ndarray, seed: int, trend: float = 0.0) -> HeldOutRuns:
    """Runs left out above the range of parameter 0: their error grows as distance^1.5 exp(trend location)."""
    rng = np.random.default_rng(seed)
    runs = len(distances)
    size = np.broadcast_to(CLAIMED, (runs, *CLAIMED.shape))
    position = np.stack([rng.uniform(0.75, 1.0, size=runs), np.full(runs, 0.5)], axis=1)
    growth = distances**1.5 * np.exp(trend * (position[:, 0] - 1.0))
    error = np.hypot(size * WRONG_BY, growth[:, None, None] * FAR_PATTERN) * rng.normal(size=size.shape)
    return HeldOutRuns(
        tuple(error),
        tuple(size),
        np.stack([distances, np.zeros(runs)], axis=1),
        position,
        distances,
        np.empty((runs, 0)),
    )


ABOVE = 1  # the number of the side above the range of parameter 0


def above(distance: float, runs: int) -> np.ndarray:
    return np.tile([distance, 0.0], (runs, 1))


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    distances = np.repeat(np.array([0.04, 0.08, 0.16, 0.25]), 25)
    return fit_calibration(inside_runs(100, 1), [(ABOVE, runs_above(distances, 2))], exact=False)


def shares(calibration: Calibration, runs: HeldOutRuns, half_width: float) -> np.ndarray:
    """Share of points inside, by variable."""
    std = calibration.std(np.stack(runs.std), runs.displacement)
    return (np.abs(np.stack(runs.error)) <= half_width * std).mean(axis=(0, 2))


def test_bars_inside_hold_their_shares_on_runs_to_come(calibration):
    fresh = inside_runs(200, 3)
    np.testing.assert_allclose(shares(calibration, fresh, 0.6745), 0.5, atol=0.04)
    np.testing.assert_allclose(shares(calibration, fresh, 1.645), 0.9, atol=0.03)


def test_the_scale_follows_the_point(calibration):
    assert np.corrcoef(calibration.scale.ravel(), WRONG_BY.ravel())[0, 1] > 0.95


@pytest.mark.parametrize("distance", [0.06, 0.2, 0.4])
def test_bars_outside_hold_their_shares_at_distances_between_and_beyond(calibration, distance):
    fresh = runs_above(np.full(100, distance), 4)
    np.testing.assert_allclose(shares(calibration, fresh, 0.6745), 0.5, atol=0.08)
    np.testing.assert_allclose(shares(calibration, fresh, 1.645), 0.9, atol=0.06)


def test_the_law_of_growth_is_recovered(calibration):
    np.testing.assert_allclose(calibration.exponent[1], 1.5, atol=0.25)
    np.testing.assert_allclose(calibration.trend[1], 0.0, atol=0.8)


@pytest.mark.parametrize("trend", [3.0, -2.0])
def test_a_trend_towards_the_edge_is_carried_on(trend):
    distances = np.repeat(np.array([0.04, 0.08, 0.16, 0.25]), 25)
    fitted = fit_calibration(inside_runs(40, 1), [(ABOVE, runs_above(distances, 2, trend=trend))], exact=False)
    np.testing.assert_allclose(fitted.trend[1], trend, atol=0.8)


def test_bars_grow_with_distance_even_where_errors_fall_steeply_towards_the_edge():
    distances = np.repeat(np.array([0.04, 0.08, 0.16, 0.25]), 25)
    fitted = fit_calibration(inside_runs(40, 1), [(ABOVE, runs_above(distances, 2, trend=-8.0))], exact=False)
    assert_bars_grow(fitted)


def test_runs_beyond_the_hull_leave_the_promise_inside_alone(calibration):
    """Runs far outside are wrong by more than any bar taught inside: the factors are those of the runs inside."""
    inside, outside = inside_runs(100, 1), inside_runs(20, 2)
    outside = replace(
        outside, error=tuple(1e3 * np.stack(outside.error)), distance=np.full(20, 0.2), displacement=above(0.2, 20)
    )
    mixed = fit_calibration(joined([inside, outside]), exact=False)
    assert mixed.factors == fit_calibration(inside, exact=False).factors


def test_bars_grow_with_distance_on_every_side(calibration):
    assert_bars_grow(calibration)


def assert_bars_grow(calibration):
    for direction in np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0.7, -0.7]]):
        steps = np.linspace(0, 1.5, 16)[:, None] * direction
        std = calibration.std(np.broadcast_to(CLAIMED, (16, *CLAIMED.shape)), steps)
        assert (np.diff(std, axis=0) > 0).all()


def test_a_side_that_was_not_taught_is_as_wide_as_the_widest(calibration):
    np.testing.assert_array_equal(calibration.pattern[2], calibration.pattern[1])


def test_distances_beyond_what_was_taught_are_out_of_reach(calibration):
    assert calibration.reach == 2 * 0.25


def test_conformal_factors_cover_in_the_mean(calibration):
    fresh = inside_runs(200, 5)
    std, error = calibration.std(np.stack(fresh.std), fresh.displacement), np.abs(np.stack(fresh.error))
    for level in (0.5, 0.9, 0.95):
        covered = (error <= calibration.half_width(std, level)).mean()
        assert level - 0.02 <= covered <= level + 0.05
    whole = error <= calibration.half_width(std, 0.9, simultaneous=True)
    assert whole.all(axis=2).mean() == pytest.approx(0.9, abs=0.07)
    with pytest.raises(SureflowError, match=r"level=0\.8 was not calibrated: choose one of 0\.5, 0\.9, 0\.95"):
        calibration.half_width(std, 0.8)


def test_the_guarantee_holds_over_repetitions_with_fitted_bars():
    """Half of the runs shape the bars and the others give the factors: the mean share of runs to come is the level."""
    covered = []
    for repetition in range(60):
        fitted = fit_calibration(inside_runs(78, 1000 + repetition), exact=True)
        fresh = inside_runs(5, 9000 + repetition)
        std = fitted.std(np.stack(fresh.std), fresh.displacement)
        covered.append((np.abs(np.stack(fresh.error)) <= fitted.half_width(std, 0.9)).mean())
    error = 3 * np.std(covered) / np.sqrt(len(covered))
    # 39 runs give the factors, which hold at most 2 / (n + 1) more than was asked (Angelopoulos et al. 2022).
    assert 0.9 - error <= np.mean(covered) <= 0.9 + 2 / 40 + error


def test_few_runs_leave_a_level_open_and_fewer_are_refused():
    few = fit_calibration(inside_runs(6, 1), exact=False)
    assert np.isinf(few.factors[0.9]).all()
    assert np.isfinite(few.factors[0.5]).all()
    with pytest.raises(SureflowError, match="4 held-out runs are too few to calibrate with: at least 5"):
        fit_calibration(inside_runs(4, 1), exact=False)


def test_facts_and_arrays_give_the_same_calibration_again(calibration):
    few = fit_calibration(inside_runs(6, 1), exact=True)
    for one in (calibration, replace(few, conditions=((1.0, 2.0), (0.1, 0.2)))):
        facts = validated(CalibrationFacts, json.loads(json.dumps(plain(one.facts()), allow_nan=False)))
        again = Calibration.restore(facts, one.arrays())
        for name, array in one.arrays().items():
            assert array.dtype == np.float32
            np.testing.assert_array_equal(again.arrays()[name], array)
        assert again.facts() == one.facts()
        assert (again.factors, again.band_factors) == (one.factors, one.band_factors)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ({"scale": None}, "scale is missing"),
        ({"trend": np.zeros((4, 3))}, r"trend has the shape \(4, 3\)"),
        ({"scale": np.zeros((3, POINTS))}, "pattern has the shape"),
        (
            {"scale": np.zeros(3), "pattern": np.zeros((4, 3)), "exponent": np.zeros((4, 3))},
            r"scale has the shape \(3,\)",
        ),
    ],
)
def test_a_damaged_calibration_is_refused(calibration, damage, what):
    arrays = {name: array for name, array in (calibration.arrays() | damage).items() if array is not None}
    with pytest.raises(
        SureflowError, match=rf"the calibration of this model is damaged \({what}.*: calibrate it again"
    ):
        Calibration.restore(calibration.facts(), arrays)


def test_factors_of_other_variables_are_refused(calibration):
    facts = replace(calibration.facts(), factors={0.9: (1.0, 1.0, 1.0)})
    with pytest.raises(SureflowError, match="there are factors of 3 variables for 2"):
        Calibration.restore(facts, calibration.arrays())


def test_no_held_out_run_inside_the_hull_leaves_the_factors_open():
    runs = inside_runs(12, 1)
    outside = replace(runs, distance=np.full(12, 0.1), displacement=above(0.1, 12))
    fitted = fit_calibration(outside, exact=False)
    assert np.isinf([*fitted.factors.values(), *fitted.band_factors.values()]).all()
    assert np.isfinite(fitted.scale).all()
    assert Calibration.restore(fitted.facts(), fitted.arrays()).factors == fitted.factors


def test_predictions_that_are_not_finite_cannot_calibrate():
    runs = inside_runs(12, 1)
    with pytest.raises(SureflowError, match="are not finite"):
        fit_calibration(replace(runs, error=(*runs.error[:-1], runs.error[0] * np.nan)), exact=False)


def test_quantities_are_calibrated_with_the_same_runs_and_sides():
    rng = np.random.default_rng(3)
    inside = replace(inside_runs(40, 1), quantity_error=0.01 * rng.normal(size=(40, 3)))
    beyond = replace(runs_above(np.full(20, 0.1), 2), quantity_error=0.2 * rng.normal(size=(20, 3)))
    found = fit_calibrations(inside, iter([(ABOVE, beyond)]), exact=False)
    assert found.fields.facts() == fit_calibration(inside, [(ABOVE, beyond)], exact=False).facts()
    assert found.quantities is not None
    assert found.quantities.scale.shape == (3, 1)
    std = found.quantities.std(np.ones((2, 3, 1)), np.array([[0.0, 0.0], [0.1, 0.0]]))
    np.testing.assert_allclose(std[0], 0.01, rtol=0.5)
    np.testing.assert_allclose(std[1], 0.2, rtol=0.5)
    assert fit_calibrations(inside_runs(6, 1), exact=False).quantities is None


def test_a_sample_of_the_scores_gives_nearly_the_same_bars(calibration, monkeypatch):
    monkeypatch.setattr(fit_bars, "DRAWN_FROM", 1000)
    distances = np.repeat(np.array([0.04, 0.08, 0.16, 0.25]), 25)
    sampled = fit_calibration(inside_runs(100, 1), [(ABOVE, runs_above(distances, 2))], exact=False)
    np.testing.assert_allclose(sampled.scale, calibration.scale, rtol=0.15)
    np.testing.assert_allclose(sampled.pattern, calibration.pattern, rtol=0.15)


def test_runs_in_single_precision_and_from_files_are_as_good(calibration, tmp_path):
    inside = inside_runs(100, 1)
    distances = np.repeat(np.array([0.04, 0.08, 0.16, 0.25]), 25)
    mapped = np.memmap(tmp_path / "error", np.float32, "w+", shape=(100, *CLAIMED.shape))
    mapped[:] = np.stack(inside.error)
    again = fit_calibration(replace(inside, error=tuple(mapped)), [(ABOVE, runs_above(distances, 2))], exact=False)
    np.testing.assert_allclose(again.scale, calibration.scale, rtol=1e-5)
    np.testing.assert_allclose(again.factors[0.9], calibration.factors[0.9], rtol=1e-5)


def test_points_without_error_or_bar_do_no_harm():
    runs = inside_runs(20, 1)
    error, std = np.stack(runs.error), np.stack(runs.std)
    error[:, :, :10] = std[:, :, :10] = 0.0
    fitted = fit_calibration(replace(runs, error=tuple(error), std=tuple(std)), exact=False)
    assert np.isfinite(fitted.scale).all()
    assert (fitted.std(std, runs.displacement)[:, :, :10] == 0).all()
    assert np.isfinite(fitted.factors[0.9]).all()


DOMAIN = TrainingDomain(("a", "b"), np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]))
CONDITIONS = np.array([[0.7, 0.2], [2.2, 0.5], [1.0, 1.4]])


class Model:
    """Bars that grow wildly outside of the domain, which no calibrated bar may follow; keeps what it was asked."""

    def __init__(self, parts=("epistemic", "discrepancy")):
        self.parts = dict(zip(parts, (0.6, 0.8), strict=False))
        self.asked = []

    def __call__(self, conditions):
        self.asked.append(conditions)
        mean = conditions.sum(axis=1)[:, None, None] * np.ones_like(CLAIMED)
        own = CLAIMED * np.exp(20 * DOMAIN.place(conditions).distance)[:, None, None]
        return Predictive(mean, {name: share * own for name, share in self.parts.items()})


def unit(fields, conditions):
    return (1.0 + conditions[:, 0])[:, None, None]


def with_bars(calibration, conditions, model=None):
    model = model or Model()
    return calibrated(calibration, model(conditions), model, DOMAIN.place(conditions), unit)


def test_calibration_leaves_the_mean_alone(calibration):
    np.testing.assert_array_equal(with_bars(calibration, CONDITIONS).mean, Model()(CONDITIONS).mean)


def test_a_calibrated_prediction_has_the_calibrated_std_in_physical_units(calibration):
    found = with_bars(calibration, CONDITIONS)
    nearest = np.array([[0.7, 0.2], [2.0, 0.5], [1.0, 1.0]])
    own = np.broadcast_to(CLAIMED, (3, *CLAIMED.shape)) / unit(None, nearest)
    displacement = np.array([[0, 0], [0.1, 0], [0, 0.4]])
    np.testing.assert_allclose(found.std, calibration.std(own, displacement) * unit(None, CONDITIONS), rtol=1e-6)
    assert (found.parts["extrapolation"][0] == 0).all()
    np.testing.assert_allclose(found.parts["epistemic"] / found.parts["discrepancy"], 0.75)
    only_inside = with_bars(calibration, CONDITIONS[:1])
    assert set(only_inside.parts) == {"epistemic", "discrepancy"}


def test_the_model_is_asked_again_only_for_what_lies_outside(calibration):
    model = Model()
    with_bars(calibration, CONDITIONS[:1], model)
    assert len(model.asked) == 1
    with_bars(calibration, CONDITIONS, model)
    assert len(model.asked) == 3
    np.testing.assert_allclose(model.asked[-1], [[2.0, 0.5], [1.0, 1.0]])


def test_a_model_without_bars_gets_them(calibration):
    model = Model(parts=())
    found = with_bars(calibration, CONDITIONS[:1], model)
    np.testing.assert_allclose(found.std, calibration.scale[None] * 1.7)
    outside = with_bars(calibration, CONDITIONS, model)
    assert set(outside.parts) == {"discrepancy", "extrapolation"}
    assert len(model.asked) == 2  # it has no bars to be asked for again
