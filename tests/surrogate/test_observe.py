"""Quantities read off fields: the solver's own functions, and the spread of samples."""

from dataclasses import replace

import numpy as np
import pytest

import kinds_of_runs
import synthetic
from sureflow.data.header import Parameter
from sureflow.data.meshes import Geometry
from sureflow.data.runs import Runs
from sureflow.flow.mesh import MeshSettings, body_mesh
from sureflow.physics import quantities as read_off
from sureflow.physics.gases import PerfectGas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall
from sureflow.predictive import Predictive
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model import Answer, answer_samples
from sureflow.surrogate.observe import Observer
from sureflow.surrogate.space import Space
from sureflow.surrogate.specification import specification

CONDITIONS = np.array([[15.0, 40.0], [25.0, 46.0], [20.0, 30.0]])
SHAPE = (24, 12)
RUNS = synthetic.runs(CONDITIONS, SHAPE)
MEAN = RUNS.array()


@pytest.fixture(scope="module")
def observer() -> Observer:
    found = Observer.of(RUNS.header, Space.of(RUNS))
    assert found is not None
    return found


def test_values_are_those_of_the_solvers_own_functions(observer):
    values = observer(MEAN, CONDITIONS)
    names = [quantity.name for quantity in observer.quantities]
    node_x, node_r = synthetic.nodes(SHAPE)
    for run, free_stream, row in zip(MEAN, RUNS.free_streams(), values, strict=True):
        fields = run.reshape(4, *SHAPE)
        field = FlowField(node_x, node_r, fields, PerfectGas(), free_stream, Wall("slip"), 1.0)
        found = dict(zip(names, row, strict=True))
        assert found["stand_off"] == pytest.approx(read_off.stand_off(field))
        assert found["stagnation_pressure"] == pytest.approx(read_off.stagnation_pressure(field))
        assert found["cp_over_cpmax_40"] == pytest.approx(read_off.pressure_over_stagnation(field, 40))
        assert found["drag_coefficient_pressure"] == pytest.approx(read_off.drag_coefficients(field)[0])


def test_the_nose_radius_is_that_of_the_mesh(observer, monkeypatch):
    mesh = body_mesh(settings=MeshSettings(cells=(16, 16)))
    nodes = [np.asarray(mesh.node_x), np.asarray(mesh.node_r)]
    centers = [0.25 * (a[1:, 1:] + a[1:, :-1] + a[:-1, 1:] + a[:-1, :-1]) for a in nodes]
    space = replace(observer.space, geometry=Geometry.blocks(centers, nodes), n_points=256)
    space = replace(space, topology=replace(space.topology, shape=(16, 16)))
    radii = []
    quantity = replace(observer.quantities[0], read=lambda field: radii.append(field.nose_radius) or 0.0)
    replace(observer, space=space, quantities=(quantity,))(np.ones((1, 4, 256)), CONDITIONS[:1])
    assert radii == [pytest.approx(0.1524, rel=1e-6)]


def walled(kind: str = "isothermal", **parameters: float) -> Observer:
    """Of runs that say what their wall does, with further parameters."""
    header = replace(
        RUNS.header,
        parameters=(*RUNS.header.parameters, *map(Parameter, parameters)),
        made_by={**RUNS.header.made_by, "wall": {"kind": kind, "temperature": 900.0}},
    )
    found = Observer.of(header, Space.of(RUNS))
    assert found is not None
    return found


def flow(wall: Wall) -> FlowField:
    node_x, node_r = synthetic.nodes(SHAPE)
    return FlowField(node_x, node_r, MEAN[0].reshape(4, *SHAPE), PerfectGas(), RUNS.free_streams()[0], wall, 1.0)


def test_runs_that_say_what_their_wall_does_have_friction_and_heat_flux():
    observer, field = walled(), flow(Wall("isothermal", 900.0))
    found = dict(zip([quantity.name for quantity in observer.quantities], observer(MEAN, CONDITIONS)[0], strict=True))
    assert found["stagnation_heat_flux"] == pytest.approx(read_off.stagnation_heat_flux(field))
    assert found["drag_coefficient_friction"] == pytest.approx(read_off.drag_coefficients(field)[1])
    distributions, surface = observer.along_body(MEAN, CONDITIONS)[0], field.surface
    np.testing.assert_allclose(distributions, [surface.pressure, surface.heat_flux, surface.shear])
    x, arc = observer.places(CONDITIONS)
    np.testing.assert_allclose([x[0], arc[0]], [surface.x, surface.arc])


def test_the_wall_may_be_a_parameter():
    conditions = np.column_stack([CONDITIONS, [1200.0, 900.0, 900.0], [0.0, 0.0, 1.0]])
    observer = walled(wall_temperature=0.0, wall_kind=0.0)
    heat = observer(MEAN, conditions)[:, -1]
    assert heat[0] == pytest.approx(read_off.stagnation_heat_flux(flow(Wall("isothermal", 1200.0))))
    assert heat[2] == 0.0  # the second kind is adiabatic


def test_what_a_wall_does_not_do_is_not_read():
    names = [{quantity.name for quantity in walled(kind).quantities} for kind in ("isothermal", "adiabatic", "slip")]
    assert names[0] - names[1] == {"stagnation_heat_flux"}
    assert names[1] - names[2] == {"drag_coefficient_friction"}


def test_what_acts_along_a_wall_follows_from_its_kind():
    told = [set(walled(kind).distributions) for kind in ("isothermal", "adiabatic", "slip")]
    assert told == [
        {"wall_pressure", "wall_shear", "wall_heat_flux"},
        {"wall_pressure", "wall_shear"},
        {"wall_pressure"},
    ]


def test_fields_that_are_no_flow_give_no_number(observer):
    wild = np.array(MEAN)
    wild[0, 2] = np.nan
    found = observer(wild, CONDITIONS)
    assert not np.isfinite(found[0]).all()
    np.testing.assert_array_equal(found[1:], observer(MEAN, CONDITIONS)[1:])


def test_without_gas_stream_flow_or_block_there_is_nothing_to_read():
    space = Space.of(RUNS)
    header = RUNS.header
    assert Observer.of(replace(header, stream=None, made_by={}), space) is None
    assert Observer.of(replace(header, fields=header.fields[:3]), space) is None
    volume = kinds_of_runs.runs("volume")
    assert Observer.of(volume.header, Space.of(volume)) is None


def test_a_gas_of_the_flight_is_enough(observer):
    named = replace(RUNS.header, made_by={})
    found = Observer.of(named, observer.space)
    assert found is not None
    np.testing.assert_array_equal(found(MEAN, CONDITIONS), observer(MEAN, CONDITIONS))


def test_the_spread_of_samples_becomes_that_of_the_quantities(observer):
    """Density times (1 + e) everywhere moves the stagnation pressure by the same share: a whole-field error."""
    share = 0.01 * np.random.default_rng(0).standard_normal(40)
    samples = np.repeat(MEAN[None], 40, axis=0)
    samples[:, :, 2] *= (1 + share)[:, None, None]
    value = observer(MEAN, CONDITIONS)
    std = observer.spread(value, samples, CONDITIONS)
    np.testing.assert_allclose(std[:, 1] / value[:, 1], np.sqrt((share**2).mean()), rtol=1e-6)


def test_widened_samples_have_the_calibrated_bars_and_the_same_mean(monkeypatch):
    """Samples about a calibrated mean: each deviation times calibrated over own standard deviation."""
    surrogate = learn(synthetic.runs(), specification({"model": "interpolation"})).calibrate(synthetic.runs())
    rng = np.random.default_rng(1)
    # Small beside the values: samples of densities and temperatures are positive.
    own = rng.uniform(0.005, 0.01, size=MEAN.shape) * (np.abs(MEAN) + 1e-6)
    std = own * rng.uniform(1.0, 3.0, size=MEAN.shape)
    own[:, :, 0] = 0.0
    signs = np.array([1.0, -1.0])[:, None, None, None]
    monkeypatch.setattr(type(surrogate), "samples", lambda *given: MEAN + signs * own)
    answer = Answer(
        Predictive(MEAN, {"own": own}), Predictive(MEAN, {"calibrated": std}), surrogate.domain.place(CONDITIONS)
    )
    found = answer_samples(surrogate, answer, CONDITIONS)
    np.testing.assert_allclose(found.mean(axis=0), MEAN)
    np.testing.assert_allclose(found.std(axis=0)[:, :, 1:], std[:, :, 1:])
    # Positive variables are held about their mean, which rounds once.
    np.testing.assert_allclose(found[:, :, :, 0], np.stack([MEAN[:, :, 0]] * 2), rtol=1e-15)


def test_quantities_follow_a_mesh_that_moves():
    """A body twice as large in the same flow: the same coefficients, and a stand-off in the same nose radii."""
    size = np.array([1.0, 1.5, 2.0, 2.5, 3.0])
    still = synthetic.runs(np.column_stack([np.full(5, 20.0), np.full(5, 40.0)]), SHAPE)
    assert still.geometry is not None
    assert still.geometry.nodes is not None
    moving = Runs.from_arrays(
        {"mach": np.full(5, 20.0), "altitude_km": np.full(5, 40.0), "size": size},
        still.geometry.points * size[:, None, None],
        dict(zip(still.names, still.array().swapaxes(0, 1), strict=True)),
        dict(zip(still.names, still.units, strict=True)),
        still.header.stream,
        axes=("x", "r"),
        shape=SHAPE,
        nodes=still.geometry.nodes * size[:, None, None],
        gas=PerfectGas(),
    )
    found = Observer.of(moving.header, Space.of(moving))
    assert found is not None
    values = found(moving.array(), moving.parameters)
    np.testing.assert_allclose(values, np.broadcast_to(values[:1], values.shape), rtol=1e-6)
