import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.models import View
from sureflow.train.batching import EpochOrder, TrainingView, gather, steps_per_epoch

RUNS, POINTS = 5, 12


def epoch(key, points_per_run, size):
    """(run, point) of every sample of an epoch."""
    order = EpochOrder.draw(key, RUNS, POINTS)
    steps = steps_per_epoch(RUNS, points_per_run, size)
    batches = [order.batch(jnp.asarray(step), size) for step in range(steps)]
    return np.concatenate([np.column_stack(batch) for batch in batches])


@pytest.mark.parametrize("points_per_run", [4, POINTS])
def test_an_epoch_visits_every_run_at_distinct_points(points_per_run):
    samples = epoch(jax.random.key(0), points_per_run, size=RUNS)
    assert len(np.unique(samples, axis=0)) == len(samples) == RUNS * points_per_run
    np.testing.assert_array_equal(np.bincount(samples[:, 0]), np.full(RUNS, points_per_run))


def test_every_epoch_draws_other_points():
    key = jax.random.key(0)
    first, second = (epoch(jax.random.fold_in(key, k), 4, RUNS) for k in range(2))
    assert set(map(tuple, first)) != set(map(tuple, second))


def test_an_epoch_ends_with_a_whole_batch():
    assert steps_per_epoch(RUNS, 4, 8) == 3
    assert len(epoch(jax.random.key(1), 4, size=8)) == 24


def test_points_are_drawn_evenly():
    counts = np.zeros(POINTS)
    for k in range(60):
        counts += np.bincount(epoch(jax.random.key(k), 4, RUNS)[:, 1], minlength=POINTS)
    np.testing.assert_allclose(counts / counts.mean(), 1, atol=0.35)


@pytest.mark.parametrize("moving", [False, True])
def test_samples_have_the_coordinates_parameters_and_values_of_their_run_and_point(moving):
    rng = np.random.default_rng(0)
    coordinates = rng.normal(size=(RUNS, POINTS, 3) if moving else (POINTS, 3))
    inputs, fields = rng.normal(size=(RUNS, 2)), rng.normal(size=(RUNS, 4, POINTS))
    view = TrainingView.of(View(inputs, fields, coordinates, ("a", "b", "c", "d")))
    run, point = np.array([0, 4, 2, 2]), np.array([11, 0, 5, 5])
    x, psi, truth = gather(view, jnp.asarray(3), jnp.asarray(run), jnp.asarray(point))
    np.testing.assert_array_equal(x, (coordinates[run, point] if moving else coordinates[point]).astype(np.float32))
    np.testing.assert_array_equal(psi, inputs[run].astype(np.float32))
    np.testing.assert_array_equal(truth, fields[run, 3, point].astype(np.float32))
