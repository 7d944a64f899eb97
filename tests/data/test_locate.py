import numpy as np
import pytest

import synthetic
from data.own_runs import cloud, hexahedra, own_runs
from sureflow.data.locate import locate
from sureflow.data.meshes import Geometry, Topology, block_cells
from sureflow.errors import SureflowError

SHAPE = (24, 32)


@pytest.fixture(scope="module")
def ring():
    runs = synthetic.runs(synthetic.grid()[:3], SHAPE)
    return runs.geometry, runs.topology, "cells"


@pytest.fixture(scope="module")
def place():
    return synthetic.runs(synthetic.grid()[:3], SHAPE).coordinates("body-fitted")


def polar(radius, angle):
    return np.column_stack([1.0 - radius * np.cos(angle), radius * np.sin(angle)])


def test_body_fitted_coordinates_of_points(ring, place):
    rng = np.random.default_rng(0)
    radius, angle = rng.uniform(1.01, 1.99, 100), rng.uniform(0.01, 1.56, 100)
    found = locate(polar(radius, angle), *ring)(place.T).T
    np.testing.assert_allclose(found, np.column_stack([angle / (np.pi / 2), radius - 1]), atol=2e-3)


def test_cell_centers_are_where_the_mesh_says(ring, place):
    np.testing.assert_allclose(locate(ring[0].points, *ring)(place.T).T, place, atol=2e-3)


def test_nodes_lie_inside(ring):
    locate(ring[0].nodes, *ring)


def test_points_outside_are_refused(ring):
    points = polar(np.array([1.5, 0.5, 2.5]), np.array([0.3, 0.3, 0.3]))
    with pytest.raises(SureflowError, match="2 of 3 points lie outside the mesh"):
        locate(points, *ring)


def test_values_on_the_nodes_of_a_block(ring):
    geometry, topology, _ = ring
    on_nodes = Geometry(geometry.nodes, geometry.nodes)
    points = polar(np.array([1.2, 1.7]), np.array([0.3, 1.4]))
    found = locate(points, on_nodes, topology, "points")(geometry.nodes.T).T
    np.testing.assert_allclose(found, points, atol=1e-3)
    np.testing.assert_allclose(locate(geometry.nodes, on_nodes, topology, "points")(geometry.nodes.T).T, geometry.nodes)


def linear(points):
    return 3.0 + points @ np.arange(1.0, points.shape[1] + 1)


@pytest.mark.parametrize("make", [hexahedra, cloud])
def test_linear_fields_are_exact_on_any_mesh(make):
    runs = make()
    points = np.random.default_rng(0).uniform(0.05, 0.95, (50, runs.geometry.points.shape[1]))
    stencil = locate(points, runs.geometry, runs.topology, runs.header.location)
    np.testing.assert_allclose(stencil(linear(runs.geometry.points)), linear(points))
    samples = np.stack([runs.fields[0], runs.fields[1]])
    assert stencil(samples).shape == (2, 2, 50)


@pytest.mark.parametrize("make", [hexahedra, cloud])
def test_values_of_a_mesh_are_met(make):
    runs = make()
    stencil = locate(runs.geometry.points, runs.geometry, runs.topology, runs.header.location)
    np.testing.assert_allclose(stencil(runs.fields[0]), runs.fields[0], atol=1e-8)


@pytest.mark.parametrize("make", [hexahedra, cloud])
def test_far_points_of_any_mesh_are_refused(make):
    runs = make()
    points = np.full((1, runs.geometry.points.shape[1]), 4.0)
    with pytest.raises(SureflowError, match=r"1 of 1 points lie outside the mesh of the runs, the first at \(4"):
        locate(points, runs.geometry, runs.topology, runs.header.location)


def test_long_cells_are_no_trouble():
    """Cells of a boundary layer, a thousand times longer than high, as an unstructured mesh."""
    x, y = np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1e-3, 21), indexing="ij")
    nodes = np.stack([x, y], axis=-1)
    centers = 0.25 * (nodes[1:, 1:] + nodes[:-1, 1:] + nodes[1:, :-1] + nodes[:-1, :-1]).reshape(-1, 2)
    geometry = Geometry(centers, nodes.reshape(-1, 2))
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(0, 1, 200), rng.uniform(0, 1e-3, 200)])
    stencil = locate(points, geometry, Topology(cells=block_cells((20, 20))), "cells")

    def field(at):
        return np.sin(3 * at[:, 0]) + (at[:, 1] / 1e-3) ** 2

    np.testing.assert_allclose(stencil(field(centers)), field(points), atol=0.02)


@pytest.mark.parametrize("location", ["cells", "points"])
def test_a_block_in_three_dimensions(location):
    axes = np.meshgrid(*[np.linspace(0, 1, n + 1) for n in (4, 5, 6)], indexing="ij")
    nodes = np.column_stack([axis.ravel() for axis in axes])
    middle = np.meshgrid(*[(np.arange(n) + 0.5) / n for n in (4, 5, 6)], indexing="ij")
    centers = np.column_stack([axis.ravel() for axis in middle])
    geometry = Geometry(centers if location == "cells" else nodes, nodes)
    points = np.random.default_rng(0).uniform(0, 1, (50, 3))
    stencil = locate(points, geometry, Topology((4, 5, 6)), location)
    np.testing.assert_allclose(stencil(linear(geometry.points)), linear(points))


def test_points_of_another_dimension_are_refused(ring):
    with pytest.raises(SureflowError, match="points must be"):
        locate(np.zeros((3, 3)), *ring)
    with pytest.raises(SureflowError, match="1 of 3 points are not finite numbers"):
        locate(np.array([[0.0, 1.5], [0.0, np.nan], [0.0, 1.5]]), *ring)


def test_values_on_a_line_give_no_slope_across_it():
    line = np.column_stack([np.linspace(0, 1, 9), np.zeros(9)])
    runs = own_runs(line)
    stencil = locate(np.array([[0.33, 0.01]]), runs.geometry, runs.topology, "cells")
    np.testing.assert_allclose(stencil(line[:, 0]), [0.33], atol=1e-6)
