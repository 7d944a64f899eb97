"""Which runs speak for conditions within the ranges, from one parameter to many."""

import numpy as np
import pytest

from sureflow.uq.surrounded import is_surrounded, typical_runs


def test_a_condition_is_surrounded_well_within_the_runs():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert is_surrounded(np.array([0.5, 0.4]), corners)
    assert not is_surrounded(np.array([0.5, 0.0]), corners)  # on the edge
    assert not is_surrounded(np.array([1.2, 0.5]), corners)
    assert not is_surrounded(np.array([0.8, 0.8]), corners[:3])


def test_on_a_grid_the_edge_hardly_counts():
    grid = np.stack(np.meshgrid(np.linspace(10, 20, 5), np.linspace(30, 60, 5)), axis=-1).reshape(-1, 2)
    typical = typical_runs(grid)
    inner = ((grid > grid.min(axis=0)) & (grid < grid.max(axis=0))).all(axis=1)
    assert typical[inner].all()
    assert typical[~inner].sum() <= 3


@pytest.mark.parametrize("n_parameters", [5, 12])
def test_in_many_parameters_nearly_all_runs_count(n_parameters):
    runs = np.random.default_rng(0).uniform(size=(60, n_parameters))
    assert typical_runs(runs).sum() >= 45


def test_a_parameter_that_never_varies_changes_nothing():
    runs = np.random.default_rng(0).uniform(size=(30, 2))
    np.testing.assert_array_equal(typical_runs(np.column_stack([runs, np.full(30, 7.0)])), typical_runs(runs))
