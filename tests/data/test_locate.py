import numpy as np
import pytest

import synthetic
from sureflow.data.dataset import Mesh
from sureflow.data.locate import points_in
from sureflow.errors import SureflowError

SHAPE = (24, 32)


@pytest.fixture(scope="module")
def ring():
    data = synthetic.dataset(synthetic.grid()[:3], SHAPE)
    return data.coordinates, Mesh(SHAPE, *synthetic.nodes(SHAPE))


def polar(radius, angle):
    return np.column_stack([1.0 - radius * np.cos(angle), radius * np.sin(angle)])


def test_body_fitted_coordinates_of_points(ring):
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(1.01, 1.99, 100), rng.uniform(0.01, 1.56, 100)
    found = points_in("body-fitted", *ring, polar(radius, angle))
    np.testing.assert_allclose(found, np.column_stack([angle / (np.pi / 2), radius - 1]), atol=2e-3)


def test_cell_centers_are_where_the_mesh_says(ring):
    coordinates, _ = ring
    found = points_in("body-fitted", *ring, coordinates["xr"])
    np.testing.assert_allclose(found, coordinates["body-fitted"], atol=2e-3)


def test_physical_points_stay_as_they_are(ring):
    points = polar(np.array([1.5]), np.array([0.3]))
    np.testing.assert_array_equal(points_in("xr", *ring, points), points)


def test_points_outside_are_refused(ring):
    points = polar(np.array([1.5, 0.5, 2.5]), np.array([0.3, 0.3, 0.3]))
    with pytest.raises(SureflowError, match="2 of 3 points lie outside the mesh"):
        points_in("body-fitted", *ring, points)


def test_without_a_structured_mesh_a_box_decides(ring):
    coordinates, _ = ring
    points_in("xr", coordinates, None, np.array([[0.5, 1.0]]))
    with pytest.raises(SureflowError, match="outside the mesh"):
        points_in("xr", coordinates, None, np.array([[0.5, 3.0]]))
    with pytest.raises(SureflowError, match="only on a structured mesh"):
        points_in("body-fitted", coordinates, None, np.array([[0.5, 1.0]]))


def test_points_of_another_dimension_are_refused(ring):
    with pytest.raises(SureflowError, match="points must be"):
        points_in("xr", *ring, np.zeros((3, 3)))
