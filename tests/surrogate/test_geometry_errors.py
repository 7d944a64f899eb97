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
    """Runs whose bodies grow with angle and thickness as this function says."""
    at = kinds_of_runs.conditions()
    corners = kinds_of_runs.nodes() * size(*at.T)[:, None, None]
    return Runs.from_arrays(
        {"angle": at[:, 0], "thickness": at[:, 1]},
        kinds_of_runs.centers(corners),
        kinds_of_runs.fields(at),
        kinds_of_runs.UNITS,
        shape=kinds_of_runs.SHAPE,
        nodes=corners,
    )


def test_a_mesh_that_does_not_move_costs_nothing():
    runs = kinds_of_runs.runs("block")
    assert geometry_errors(Space.of(runs), runs, lengths) is None


def test_what_grows_in_a_straight_line_is_known():
    runs = growing(lambda angle, thickness: 1 + thickness)
    np.testing.assert_allclose(geometry_errors(Space.of(runs), runs, lengths), 0, atol=1e-6)


def test_they_are_those_of_meshes_that_the_other_runs_suggest():
    runs = growing(lambda angle, thickness: 1 + np.sin(angle + 3 * thickness) ** 2)
    found = geometry_errors(Space.of(runs), runs, lengths)
    assert found is not None
    scale = Space.of(runs).moving.inputs
    for case in (0, 5, len(runs) - 1):
        others = np.arange(len(runs)) != case
        refit = MovingGeometry.of(runs.select(others))
        # Units and learned scales of the inputs change a little with the runs.
        assert np.abs(refit.inputs.std / scale.std - 1).max() < 0.2
        there = refit.at(runs.parameters[case]).nodes[:, 0].max()
        here = runs.geometry_of(case).nodes[:, 0].max()
        np.testing.assert_allclose(found[case, 0], (there - here) / there, rtol=0.1, atol=1e-4)
    assert np.abs(found).max() > 1e-3
