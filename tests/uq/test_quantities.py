import numpy as np
import pytest

import synthetic
from sureflow.data.dataset import Mesh
from sureflow.flow.mesh import MeshSettings, body_mesh
from sureflow.physics import quantities as read_off
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gas import PerfectGas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall
from sureflow.uq.quantities import Body, propagated, widened

CONDITIONS = np.array([[15.0, 40.0], [25.0, 46.0]])
FREE_STREAMS = [FlightCondition(mach, altitude).free_stream() for mach, altitude in CONDITIONS]
SHAPE = (24, 12)
MESH = Mesh(SHAPE, *synthetic.nodes(SHAPE))
MEAN = synthetic.fields(CONDITIONS, SHAPE).reshape(2, 4, -1)
BODY = Body.on(MESH, PerfectGas(), Wall())


def test_values_are_those_of_the_solvers_own_functions():
    values = BODY.values(MEAN, FREE_STREAMS)
    names = [quantity.name for quantity in BODY.quantities]
    for run, free_stream, row in zip(MEAN, FREE_STREAMS, values, strict=True):
        field = FlowField(MESH.node_x, MESH.node_r, run.reshape(4, *SHAPE), PerfectGas(), free_stream, Wall(), 1.0)
        found = dict(zip(names, row, strict=True))
        assert found["stand_off"] == pytest.approx(read_off.stand_off(field))
        assert found["stagnation_pressure"] == pytest.approx(read_off.stagnation_pressure(field))
        assert found["cp_over_cpmax_40"] == pytest.approx(read_off.pressure_over_stagnation(field, 40))
        assert found["drag_coefficient"] == pytest.approx(sum(read_off.drag_coefficients(field)))


def test_the_nose_radius_is_that_of_the_mesh():
    mesh = body_mesh(settings=MeshSettings(cells=(16, 16)))
    nodes = Mesh((16, 16), np.asarray(mesh.node_x), np.asarray(mesh.node_r))
    assert Body.on(nodes, PerfectGas()).nose_radius == pytest.approx(0.1524, rel=1e-6)


def test_without_a_wall_there_is_no_friction_to_tell_of():
    names = [quantity.name for quantity in Body.on(MESH, PerfectGas()).quantities]
    assert "drag_coefficient_pressure" in names
    assert "drag_coefficient" not in names


def test_the_spread_of_samples_becomes_that_of_the_quantities():
    """Density times (1 + e) everywhere moves the stagnation pressure by the same share: a whole-field error."""
    share = 0.01 * np.random.default_rng(0).standard_normal(40)
    samples = np.repeat(MEAN[None], 40, axis=0)
    samples[:, :, 2] *= (1 + share)[:, None, None]
    value, std = propagated(BODY, MEAN, samples, FREE_STREAMS)
    np.testing.assert_allclose(value, BODY.values(MEAN, FREE_STREAMS))
    np.testing.assert_allclose(std[:, 1] / value[:, 1], np.sqrt((share**2).mean()), rtol=1e-6)


def test_widened_samples_have_the_calibrated_bars_and_the_same_mean():
    rng = np.random.default_rng(1)
    own = rng.uniform(0.5, 1.0, size=MEAN.shape)
    std = own * rng.uniform(1.0, 3.0, size=MEAN.shape)
    own[:, :, 0] = 0.0
    signs = np.array([1.0, -1.0])[:, None, None, None]
    found = widened(MEAN + signs * own, MEAN, own, std)
    np.testing.assert_allclose(found.mean(axis=0), MEAN)
    np.testing.assert_allclose(found.std(axis=0)[:, :, 1:], std[:, :, 1:])
    np.testing.assert_array_equal(found[:, :, :, 0], np.stack([MEAN[:, :, 0]] * 2))
