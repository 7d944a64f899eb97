"""How near runs must be for their residuals to tell of the errors at a condition."""

import numpy as np

from sureflow.models.neighborhood import WIDTHS, learned_width


def runs(n_runs: int, sizes, seed: int = 0):
    """Runs in the unit square, with random residuals of a size that depends on where they lie."""
    rng = np.random.default_rng(seed)
    nodes = rng.uniform(size=(n_runs, 2))
    return nodes, (sizes(nodes)[:, None, None] * rng.normal(size=(n_runs, 2, 40))).astype(np.float32)


def test_where_errors_are_alike_everywhere_all_runs_nearby_tell_them():
    assert learned_width(*runs(60, lambda nodes: np.ones(len(nodes)))) == 1.0


def test_where_errors_change_quickly_the_nearest_runs_tell_them():
    assert learned_width(*runs(200, lambda nodes: np.exp(8.0 * nodes[:, 0]))) <= 0.5


def test_runs_that_cannot_be_left_out_tell_nothing():
    nodes, residuals = runs(4, lambda nodes: np.ones(len(nodes)))
    residuals[:2] = 0.0
    assert learned_width(nodes, residuals) == WIDTHS[0]
