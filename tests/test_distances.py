"""Distances against SciPy's."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from sureflow.distances import distances


@pytest.mark.parametrize("columns", [1, 2, 7, 20])
def test_distances_are_scipys(columns):
    rng = np.random.default_rng(columns)
    one, other = rng.standard_normal((9, columns)), 3.0 * rng.standard_normal((5, columns))
    # Sums of squares may be rounded in another order: a few units in the last place.
    np.testing.assert_allclose(distances(one, other), cdist(one, other), rtol=1e-14)


def test_sets_of_rows_are_kept_apart():
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((4, 9, 3)), rng.standard_normal((4, 5, 3))
    expected = [cdist(*pair) for pair in zip(one, other, strict=True)]
    np.testing.assert_allclose(distances(one, other), expected, rtol=1e-14)


def test_a_row_is_at_no_distance_from_itself():
    rows = np.random.default_rng(0).standard_normal((6, 3))
    assert (np.diag(distances(rows, rows)) == 0.0).all()
