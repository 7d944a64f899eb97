import math

import numpy as np
import pytest

from sureflow.uq.conformal import mean_factors, simultaneous_factors

REPETITIONS = 200


def mean_factor(scores, level):
    (factor,) = mean_factors(scores, (level,))
    return factor


def simultaneous_factor(scores, level):
    (factor,) = simultaneous_factors(scores, (level,))
    return factor


def exchangeable_runs(rng: np.random.Generator, runs: int, points: int = 30) -> np.ndarray:
    """|error| / std of runs whose points are strongly correlated and whose sizes vary heavily from run to run."""
    size = np.exp(rng.normal(size=(runs, 1)))
    shared = rng.normal(size=(runs, 1))
    return np.abs(size * (shared + 0.5 * rng.normal(size=(runs, points))))


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("runs", [9, 24])
def test_the_mean_share_inside_meets_its_guarantee_over_repetitions(runs, level):
    """At least the level, and at most 2 / (n + 1) above it, up to three standard errors of the repetitions."""
    rng = np.random.default_rng(3)
    inside = np.empty(REPETITIONS)
    for repetition in range(REPETITIONS):
        scores = exchangeable_runs(rng, runs)
        fresh = exchangeable_runs(rng, 50)
        inside[repetition] = (fresh <= mean_factor(list(scores), level)).mean()
    error = 3 * inside.std() / np.sqrt(REPETITIONS)
    assert level - error <= inside.mean() <= level + 2 / (runs + 1) + error


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_whole_fields_lie_inside_with_the_promised_probability(level):
    rng = np.random.default_rng(4)
    runs = 19
    inside = np.empty(REPETITIONS)
    for repetition in range(REPETITIONS):
        factor = simultaneous_factor(exchangeable_runs(rng, runs), level)
        inside[repetition] = (exchangeable_runs(rng, 50).max(axis=1) <= factor).mean()
    error = 3 * inside.std() / np.sqrt(REPETITIONS)
    assert level - error <= inside.mean() <= level + 1 / (runs + 1) + error


def test_pooling_points_without_the_run_to_come_would_miss_the_guarantee():
    """The correction by one run matters: a plain quantile of all points covers less than promised."""
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(REPETITIONS):
        scores = exchangeable_runs(rng, 9)
        inside.append((exchangeable_runs(rng, 50) <= np.quantile(scores, 0.9)).mean())
    assert np.mean(inside) < 0.9 - 3 * np.std(inside) / np.sqrt(REPETITIONS)


def test_too_few_runs_leave_a_level_open():
    scores = list(exchangeable_runs(np.random.default_rng(0), 8))
    assert mean_factor(scores, 0.9) == math.inf
    assert simultaneous_factor(scores, 0.9) == math.inf
    assert math.isfinite(mean_factor([*scores, scores[0]], 0.9))
    assert math.isfinite(mean_factor(scores, 0.5))


def test_every_run_weighs_the_same_whatever_its_points():
    few = [np.full(1, 5.0)] * 5
    many = [np.full(1000, 1.0)] * 5
    assert mean_factor([*few, *many], 0.5) == 5.0


@pytest.mark.parametrize("size", [1e-40, 1e-6, 1.0, 1e9])
def test_the_mean_factor_is_the_smallest_that_meets_its_bound(size):
    """The factor from bins against a sort of all scores, of runs with unequal numbers of points."""
    rng = np.random.default_rng(5)
    scores = [size * np.abs(rng.standard_cauchy(rng.integers(1, 200))) for _ in range(30)]
    candidates = np.sort(np.concatenate(scores))
    outside = np.array([sum((score > factor).mean() for score in scores) for factor in candidates])
    for level, factor in zip((0.5, 0.9, 0.95), mean_factors(scores, (0.5, 0.9, 0.95)), strict=True):
        assert factor == candidates[np.argmax((outside + 1) / 31 <= 1 - level + 1e-9)]


def test_no_run_at_all_leaves_every_level_open():
    assert mean_factors([]) == simultaneous_factors([]) == (math.inf,) * 3
