"""Meshes and their metrics."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureflow.errors import SureflowError
from sureflow.flow.mesh import (
    MeshSettings,
    SphereCone,
    billig_shock,
    body_mesh,
    distance_to_shock,
    one_sided_stretching,
)
from sureflow.flow.metrics import metrics
from sureflow.runtime import double_precision
from sureflow.validation import validated

RAM_C = SphereCone()


def test_ram_c_geometry():
    assert RAM_C.nose_arc_end == pytest.approx(0.1524 * (1 - math.sin(math.radians(9))))
    assert RAM_C.base_radius == pytest.approx(
        0.1524 * math.cos(math.radians(9)) + (1.3 - RAM_C.nose_arc_end) * math.tan(math.radians(9))
    )


@given(radius=st.floats(0.01, 2.0), angle=st.floats(0.0, 45.0), slenderness=st.floats(1.0, 10.0))
def test_wall_is_smooth_and_normals_are_perpendicular(radius, angle, slenderness):
    body = SphereCone(radius, angle, radius * slenderness)
    arc = np.linspace(0.0, body.arc_length, 400)
    point, normal = body.wall(arc)
    tangent = np.gradient(point, arc, axis=1)
    np.testing.assert_allclose(
        np.hypot(*tangent), 1.0, atol=2e-3
    )  # second differences across the joint of sphere and cone
    np.testing.assert_allclose((tangent * normal).sum(axis=0)[1:-1], 0.0, atol=2e-2)
    assert point[0, -1] == pytest.approx(body.length)
    assert point[1, -1] == pytest.approx(body.base_radius)


def test_wall_spacing_is_as_asked_and_the_axis_is_exact():
    mesh = body_mesh(RAM_C, MeshSettings(cells=(32, 48), wall_spacing=2e-5))
    assert mesh.shape == (48, 32)
    assert np.all(np.asarray(mesh.node_r)[:, 0] == 0.0)
    first = math.hypot(mesh.node_x[1, 0] - mesh.node_x[0, 0], mesh.node_r[1, 0] - mesh.node_r[0, 0])
    assert first == pytest.approx(2e-5, rel=1e-6)


@given(
    radius=st.floats(0.01, 1.0), angle=st.floats(0.0, 40.0), slenderness=st.floats(1.0, 20.0), mach=st.floats(3.0, 40.0)
)
def test_every_line_reaches_the_bow_shock(radius, angle, slenderness, mach):
    body = SphereCone(radius, angle, radius * slenderness)
    point, normal = body.wall(np.linspace(0.0, body.arc_length, 9))
    x, r = point + distance_to_shock(body, mach, point, normal) * normal
    np.testing.assert_allclose(x, billig_shock(body, mach, r), rtol=1e-12, atol=1e-12 * body.length)


@pytest.mark.parametrize("first", [1e-9, 1e-4, 0.03, (1 - 1e-13) / 16, 1 / 16, 0.5])
def test_stretching_begins_with_the_given_interval(first):
    nodes = one_sided_stretching(first, 16)
    assert nodes[[0, -1]].tolist() == [0.0, 1.0]
    assert nodes[1] == pytest.approx(min(first, 1 / 16), rel=1e-6)
    assert (np.diff(nodes) > 0).all()


def test_volume_is_that_of_the_revolved_block():
    """Against the volume of revolution of the block's outline (Pappus, by the exact line integral over its polygon)."""
    mesh = body_mesh(RAM_C, MeshSettings(cells=(32, 32)))
    with double_precision():
        geometry = metrics(mesh)
        total = float(geometry.volume.sum())
    x, r = np.asarray(mesh.node_x), np.asarray(mesh.node_r)
    outline_x = np.concatenate([x[0], x[1:, -1], x[-1, -2::-1], x[-2:0:-1, 0], x[0, :1]])
    outline_r = np.concatenate([r[0], r[1:, -1], r[-1, -2::-1], r[-2:0:-1, 0], r[0, :1]])
    # V / 2 pi = integral of r dA = 1/2 closed integral of -r^2 dx
    a, b = outline_r[:-1], outline_r[1:]
    exact = abs(np.sum(np.diff(outline_x) * (a * a + a * b + b * b) / 3.0)) / 2.0
    assert total == pytest.approx(exact, rel=1e-12)


def test_body_fitted_coordinates_are_uniform():
    xi, eta = body_mesh(RAM_C, MeshSettings(cells=(16, 16))).body_fitted
    assert xi.min() == 0.5 / 16
    assert eta.max() == 1.0 - 0.5 / 16
    np.testing.assert_allclose(np.diff(eta, axis=0), 1.0 / 16)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: MeshSettings(cells=(0, 0)), "cells=0x0"),
        (lambda: MeshSettings(cells=(64, 100_000)), "cells=64x100000"),
        (lambda: validated(MeshSettings, {"wall_spacing": float("nan")}), "wall_spacing=nan"),
        (lambda: MeshSettings(wall_spacing=0.0), "wall_spacing=0"),
        (lambda: MeshSettings(mach=1.0), "mach=1 of the mesh is below 1.2"),
        (lambda: validated(MeshSettings, {"nose_cel": 0.1}), "nose_cel is not a setting; did you mean nose_cell?"),
        (lambda: MeshSettings(nose_margin=0.9), "nose_margin=0.9 must be above 1"),
        (
            lambda: body_mesh(SphereCone(half_angle_deg=60.0), MeshSettings(mach=2.5)),
            "60 degrees is detached at Mach 2.5",
        ),
        (lambda: body_mesh(RAM_C, MeshSettings(wall_spacing=0.01)), "does not fit into the layer"),
        (lambda: SphereCone(length=0.01), "length=0.01 m cuts the nose"),
        (lambda: SphereCone(nose_radius=-1.0), "nose_radius=-1"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(SureflowError, match=said):
        make()
