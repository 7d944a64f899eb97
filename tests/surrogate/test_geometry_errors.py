"""Errors of quantities by a mesh that is interpolated: those of refits without the run."""

import numpy as np

import kinds_of_runs
from sureflow.data.runs import Runs
from sureflow.surrogate.geometry_errors import geometry_errors
from sureflow.surrogate.space import MovingGeometry, Space


def lengths(fields, conditions, geometries):
    """How far the mesh reaches."""
    return np.array([[geometry.nodes[:, 0].max()] for geometry in geometries])


def growing(size) -> Runs:
    """Runs whose bodies grow with the thickness as this function says."""
    thickness = np.linspace(0.1, 0.9, 9)
    at = np.column_stack([np.ones(9), thickness])
    corners = kinds_of_runs.nodes() * size(thickness)[:, None, None]
    values = kinds_of_runs.fields(at)
    return Runs.from_arrays(
        {"thickness": thickness},
        kinds_of_runs.centers(corners),
        values,
        {name: unit for name, unit in kinds_of_runs.UNITS.items() if name != "angle"},
        shape=kinds_of_runs.SHAPE,
        nodes=corners,
    )


def test_a_mesh_that_does_not_move_costs_nothing():
    runs = kinds_of_runs.runs("block")
    assert geometry_errors(Space.of(runs), runs, lengths) is None


def test_what_grows_in_a_straight_line_is_known():
    runs = growing(lambda thickness: 1 + thickness)
    np.testing.assert_allclose(geometry_errors(Space.of(runs), runs, lengths), 0, atol=1e-6)


def test_they_are_those_of_meshes_that_the_other_runs_suggest():
    """In one parameter a cubic through the others is the same whatever its scale is."""
    runs = growing(lambda thickness: 1 + np.sin(3 * thickness) ** 2)
    found = geometry_errors(Space.of(runs), runs, lengths)
    assert found is not None
    for case in range(len(runs)):
        others = MovingGeometry.of(runs.select(np.arange(len(runs)) != case))
        there, here = (one.nodes[:, 0].max() for one in (others.at(runs.parameters[case]), runs.geometry_of(case)))
        np.testing.assert_allclose(found[case, 0], (there - here) / there, rtol=1e-6, atol=1e-9)
    assert np.abs(found).max() > 1e-3
