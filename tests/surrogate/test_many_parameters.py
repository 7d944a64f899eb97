"""Any number of parameters from 1 to 12, and from 12 runs up: verdicts and bars of smooth functions with a known truth."""

import numpy as np
import pytest
from scipy.stats import qmc

from sureflow.data.runs import Runs
from sureflow.errors import Refused, SureflowError
from sureflow.metrics.intervals import EXPECTED, area_between, interval_counts, observed_shares
from sureflow.models import InterpolationSettings
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.specification import Specification

POINTS = np.linspace(0.0, 1.0, 40)[:, None]
SIZES = [
    (1, 12),
    (1, 40),
    (2, 12),
    (2, 25),
    (3, 200),
    (5, 12),
    (5, 50),
    (5, 200),
    (8, 25),
    (8, 100),
    (12, 20),
    (12, 200),
]
INTERPOLATION = Specification(InterpolationSettings(), "none")


def names(n_parameters: int) -> list[str]:
    return [f"p{k}" for k in range(n_parameters)]


def fields(conditions: np.ndarray) -> dict[str, np.ndarray]:
    """A wave and a front that move with all parameters, with the first ones most."""
    weights = 1.0 / (1.0 + np.arange(conditions.shape[1]))
    along, other = conditions @ weights / weights.sum(), conditions[:, 0] * conditions[:, -1]
    x = POINTS[:, 0]
    wave = np.sin(2.0 * along[:, None] + 3.0 * x) + 0.5 * other[:, None] * x
    return {"wave": wave, "front": np.tanh(6.0 * (x - 0.3 - 0.4 * along[:, None])) + 0.2 * other[:, None]}


def runs(conditions: np.ndarray, *, declared: bool = True) -> Runs:
    ranges = dict.fromkeys(names(conditions.shape[1]), (0.0, 1.0)) if declared else None
    columns = dict(zip(names(conditions.shape[1]), conditions.T, strict=True))
    return Runs.from_arrays(columns, POINTS, fields(conditions), ranges=ranges)


def drawn(n_parameters: int, n_runs: int, seed: int = 0) -> np.ndarray:
    """As good campaigns are: a Latin hypercube."""
    return qmc.LatinHypercube(n_parameters, seed=seed).random(n_runs)


def others(n_parameters: int, count: int = 60) -> np.ndarray:
    return np.random.default_rng(1).uniform(size=(count, n_parameters))


def learned(conditions: np.ndarray, *, declared: bool = True) -> Surrogate:
    return learn(runs(conditions, declared=declared), INTERPOLATION)


def trusts(model: Surrogate, conditions: np.ndarray) -> list[str]:
    return [verdict.trust.value for verdict in model.place(conditions, extrapolate=True).verdicts]


def miscalibration(model: Surrogate, conditions: np.ndarray, *, own: bool) -> float:
    found = (model.raw_predictive if own else model.predictive)(conditions)
    truth = runs(conditions).array()
    areas = []
    for variable in range(truth.shape[1]):
        part = (found.mean[:, variable], found.std[:, variable], truth[:, variable])
        areas.append(area_between(EXPECTED, observed_shares(interval_counts(*map(np.asarray, part)))))
    return float(np.mean(areas))


@pytest.mark.parametrize(("n_parameters", "n_runs"), SIZES)
def test_bars_and_verdicts_hold_in_any_number_of_parameters(n_parameters, n_runs):
    conditions, asked = drawn(n_parameters, n_runs), others(n_parameters)
    model = learned(conditions)
    calibrated = model.calibrate(runs(conditions), folds=True)
    found = calibrated.predictive(asked)
    assert np.isfinite(found.std).all()
    assert (np.asarray(found.std) > 0).all()
    # Drawn as the runs were: inside, but for one in twenty.
    assert np.mean([trust != "inside" for trust in trusts(calibrated, asked)]) <= 0.05
    # Beyond a range: never.
    beyond = asked[:24].copy()
    beyond[np.arange(24), np.arange(24) % n_parameters] = np.where(np.arange(24) % 2, 1.02, -0.02)
    assert "inside" not in trusts(calibrated, beyond)
    assert "inside" not in trusts(model, beyond)
    # Not worse than the bars that the model had, up to the scatter of sixty conditions.
    before, after = (miscalibration(calibrated, asked, own=own) for own in (True, False))
    assert after <= max(before, 0.05) + 0.02
    covered = np.abs(found.mean - runs(asked).array()) <= calibrated.calibration.fields.half_width(found.std, 0.9)
    assert covered.mean() >= (0.75 if n_runs > 2 * n_parameters else 0.6)


@pytest.mark.parametrize(("n_parameters", "n_runs"), SIZES)
def test_without_declared_ranges_they_are_estimated(n_parameters, n_runs):
    conditions, asked = drawn(n_parameters, n_runs), others(n_parameters, 200)
    model = learned(conditions, declared=False)
    # Drawn as the runs were: inside, but for one in twenty, though up to half of them lie beyond one or more of the runs' ends.
    assert np.mean(np.array(trusts(model, asked)) != "inside") <= 0.05
    lower, upper = model.domain.ranges
    beyond = asked[:24].copy()
    rows, columns = np.arange(24), np.arange(24) % n_parameters
    beyond[rows, columns] = np.where(rows % 2, upper[columns] + 0.01, lower[columns] - 0.01)
    assert "inside" not in trusts(model, beyond)
    assert (upper - conditions.max(axis=0) <= 0.151 * np.ptp(conditions, axis=0)).all()


def test_a_verdict_beyond_the_runs_names_parameters_and_the_nearest_run():
    conditions = drawn(5, 30)
    calibrated = learned(conditions, declared=False).calibrate(runs(conditions, declared=False), folds=True)
    far = conditions.max(axis=0)[None] + 0.25
    verdict = calibrated.place(far, extrapolate=True).verdicts[0]
    assert f"p0={far[0, 0]:g} is outside" in verdict.reason
    assert "the nearest run is at p0=" in verdict.reason


def test_few_runs_for_many_parameters_are_said_to_be_few():
    with pytest.raises(SureflowError, match="9 runs are too few for interpolation over 8 parameters: it needs 10"):
        learned(drawn(8, 9))


def test_parameters_that_never_vary_or_vary_together_are_no_help_and_no_harm():
    conditions = drawn(4, 30)
    conditions[:, 2] = 0.5
    conditions[:, 3] = 1.0 - conditions[:, 0]
    model = learned(conditions).calibrate(runs(conditions), folds=True)
    middle = np.array([0.4, 0.5, 0.5, 0.6])
    assert trusts(model, middle[None]) == ["inside"]
    assert np.isfinite(model.predictive(middle[None]).std).all()
    with pytest.raises(Refused, match=r"all training runs have p2=0\.5, so that its influence is unknown"):
        model.predict(p0=0.4, p1=0.5, p2=0.6, p3=0.6)
    with pytest.raises(Refused, match="p0 and p3 vary together in all training runs"):
        model.predict(p0=0.4, p1=0.5, p2=0.5, p3=0.2)


def test_a_range_that_excludes_runs_is_refused():
    with pytest.raises(SureflowError, match=r"the range of p0, 0\.\.0\.5, excludes the run with p0="):
        Runs.from_arrays({"p0": np.linspace(0, 1, 9)}, POINTS, fields(drawn(1, 9)), ranges={"p0": (0.0, 0.5)})
