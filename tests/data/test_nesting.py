"""Nested meshes: recognized, refused where they are not, and fields carried over without loss."""

from dataclasses import replace

import numpy as np
import pytest

import sureflow as sf
import synthetic
from sureflow.data.nesting import cell_volumes, finer_cells, prolonged, refinement, restricted, restricted_flow
from sureflow.data.store import add_runs
from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh, nested
from sureflow.physics.gases import PerfectGas

CONDITIONS = synthetic.grid()[:3]


def test_the_factor_between_meshes():
    coarse = synthetic.runs(CONDITIONS, shape=(6, 8))
    assert refinement(coarse, synthetic.runs(CONDITIONS, shape=(12, 16))) == 2
    assert refinement(coarse, synthetic.runs(CONDITIONS, shape=(18, 24))) == 3
    with pytest.raises(sf.SureflowError, match="8x6 and 12x9 cells are not nested"):
        refinement(coarse, synthetic.runs(CONDITIONS, shape=(9, 12)))
    with pytest.raises(sf.SureflowError, match="8x6 and 16x18 cells are not nested"):
        refinement(coarse, synthetic.runs(CONDITIONS, shape=(18, 16)))


def test_meshes_with_other_nodes_are_refused():
    coarse, fine = (body_mesh(SphereCone(), MeshSettings(cells=(n, n), wall_spacing=1e-4)) for n in (16, 32))
    ours, theirs = (runs_on(mesh) for mesh in (coarse, fine))
    with pytest.raises(sf.SureflowError, match="the meshes are not nested: nodes lie up to"):
        refinement(ours, theirs)


def runs_on(mesh):
    centers, nodes = mesh.centers, (mesh.node_x, mesh.node_r)
    points, corners = (np.column_stack([one.ravel() for one in both]) for both in (centers, nodes))
    values = np.ones((3, len(points)))
    return sf.Runs.from_arrays({"a": [0.0, 1.0, 2.0]}, points, {"p": values}, nodes=corners, shape=mesh.shape)


@pytest.mark.parametrize("factor", [2, 3, 0.5])
def test_a_refined_mesh_has_the_nodes_of_the_other(factor):
    body, settings = SphereCone(), MeshSettings(cells=(16, 16), wall_spacing=1e-4)
    mesh, other = body_mesh(body, settings), body_mesh(body, nested(body, settings, factor))
    fine, coarse = (other, mesh) if factor > 1 else (mesh, other)
    stride = int(max(factor, 1 / factor))
    for name in ("node_x", "node_r"):
        assert getattr(fine, name)[::stride, ::stride] == pytest.approx(getattr(coarse, name), abs=1e-10)
    with pytest.raises(sf.SureflowError, match="cannot be refined by"):
        nested(body, settings, 0.3)


def test_restriction_keeps_mass_momentum_and_energy():
    rng, gas = np.random.default_rng(0), PerfectGas()
    mesh = body_mesh(SphereCone(), MeshSettings(cells=(16, 16), wall_spacing=1e-4))
    volume = cell_volumes(mesh.node_x, mesh.node_r)
    scale = np.array([1000.0, 500.0, 0.01, 3000.0])[:, None, None]
    fine = scale * (1.0 + 0.3 * rng.random((4, 16, 16)))
    coarse = restricted_flow(fine, volume, 2, gas)
    sizes = (volume, volume.reshape(8, 2, 8, 2).sum(axis=(1, 3)))
    for one in zip(
        *(conserved(fields, size, gas) for fields, size in zip((fine, coarse), sizes, strict=True)), strict=True
    ):
        assert one[1] == pytest.approx(one[0])


def conserved(fields, volume, gas):
    u1, u2, rho, temperature = fields
    energy = gas.energy_from_temperature(rho, temperature) + 0.5 * (u1**2 + u2**2)
    return [float((density * volume).sum()) for density in (rho, rho * u1, rho * u2, rho * energy)]


def test_uniform_fields_stay_uniform():
    fine = runs_on(body_mesh(SphereCone(), MeshSettings(cells=(16, 16), wall_spacing=1e-4)))
    assert restricted(fine, 0, 2) == pytest.approx(1.0)


def test_prolongation_keeps_linear_fields_inside_and_all_ranges():
    weights = finer_cells(6, 3)
    centers, fine = np.arange(6) + 0.5, (np.arange(18) + 0.5) / 3
    assert (weights @ centers)[1:-1] == pytest.approx(fine[1:-1])
    assert weights.sum(axis=1) == pytest.approx(1.0)
    assert (weights >= 0).all()


def test_coarse_runs_are_brought_onto_the_fine_cells():
    coarse, fine = synthetic.runs(shape=(12, 16)), synthetic.runs(CONDITIONS, shape=(24, 32))
    found = prolonged(coarse, fine)
    assert len(found) == len(coarse)
    truth = synthetic.runs(shape=(24, 32)).array()
    missed = np.abs(found.array() - truth).mean(axis=(0, 2)) / truth.std(axis=(0, 2))
    assert (missed < 0.05).all()


def test_levels_in_a_store(tmp_path):
    both = synthetic.runs(CONDITIONS, (12, 16)).with_coarser(synthetic.runs())
    both.save(tmp_path / "runs.zarr")
    again = sf.open_runs(tmp_path / "runs.zarr")
    assert again.checksum == both.checksum
    assert again.checksum != synthetic.runs(CONDITIONS, (12, 16)).checksum
    assert len(again.coarser) == 25
    assert "coarser: 25 runs" in repr(again)
    more = synthetic.runs(synthetic.grid()[3:5], (12, 16)).with_coarser(synthetic.runs(synthetic.grid()[:1] + 0.5))
    add_runs(tmp_path / "runs.zarr", more)
    longer = sf.open_runs(tmp_path / "runs.zarr")
    assert (len(longer), len(longer.coarser)) == (5, 26)


def test_runs_left_out_take_their_coarse_runs_with_them():
    both = synthetic.runs(CONDITIONS, (12, 16)).with_coarser(synthetic.runs())
    some = both.select(np.array([0, 2]))
    assert len(some.coarser) == 24
    assert not (some.coarser.parameters == CONDITIONS[1]).all(axis=1).any()
    joined = sf.Runs.join([some, both.select(np.array([1]))])
    assert len(joined.coarser) == 25


def test_runs_that_are_no_coarser_level_are_refused():
    fine = synthetic.runs(CONDITIONS, (12, 16))
    with pytest.raises(sf.SureflowError, match="12x9 and 16x12 cells are not nested"):
        fine.with_coarser(synthetic.runs(CONDITIONS, (9, 12)))
    with pytest.raises(sf.SureflowError, match="the same parameters and fields"):
        fine.with_coarser(runs_on(body_mesh(SphereCone(), MeshSettings(cells=(16, 12), wall_spacing=1e-4))))
    twice = synthetic.runs(np.concatenate([CONDITIONS, CONDITIONS[:1]]))
    with pytest.raises(sf.SureflowError, match="1 of 4 runs repeat the condition"):
        fine.with_coarser(twice)


def test_runs_leave_with_their_coarse_companions_in_whatever_order_the_parameters_are():
    coarse, fine = (synthetic.runs(CONDITIONS, shape=shape) for shape in ((6, 8), (12, 16)))
    turned = replace(coarse.header, parameters=coarse.header.parameters[::-1])
    both = fine.with_coarser(coarse.ordered_like(turned))
    kept = both.select(np.array([0, 2]))
    assert kept.coarser is not None
    np.testing.assert_array_equal(kept.coarser.parameters, kept.parameters)


def moving(conditions, factor):
    """Runs over bodies of growing noses, each on a mesh of its own, all nested with a coarse one."""
    made, settings = [], MeshSettings(cells=(8, 8), wall_spacing=1e-3, nose_cell=0.2)
    for size in conditions:
        body = SphereCone(nose_radius=float(size))
        made.append(body_mesh(body, nested(body, settings, factor) if factor > 1 else settings))
    points, corners = (
        np.stack([np.column_stack([one.ravel() for one in both(mesh)]) for mesh in made])
        for both in (lambda mesh: mesh.centers, lambda mesh: (mesh.node_x, mesh.node_r))
    )
    values = points[:, :, 0] + np.asarray(conditions)[:, None]
    return sf.Runs.from_arrays({"a": conditions}, points, {"p": values}, nodes=corners, shape=made[0].shape)


def test_levels_of_meshes_that_move_from_run_to_run():
    fine, coarse = moving([0.1, 0.2, 0.3, 0.4], 2), moving([0.1, 0.15, 0.2, 0.25, 0.3, 0.4], 1)
    there = prolonged(coarse, fine.with_coarser(coarse))
    assert there.is_moving
    for case, same in (
        (0, 0),
        (2, 1),
    ):  # evenly spaced nodes between those of the coarse mesh lie close to the fine ones
        ours, theirs = there.geometry_of(case), fine.geometry_of(same)
        assert ours.nodes == pytest.approx(theirs.nodes, abs=0.05 * np.ptp(theirs.nodes))
        every = np.arange(17 * 17).reshape(17, 17)[::2, ::2].ravel()
        assert ours.nodes[every] == pytest.approx(theirs.nodes[every], abs=1e-9)
    model = sf.fit(fine.with_coarser(coarse), "levels", calibrate=False)
    assert model.predict(a=0.2).p.values.ravel() == pytest.approx(np.asarray(fine.fields[1])[0], abs=1e-6)
    mesh = body_mesh(SphereCone(), MeshSettings(cells=(8, 8), wall_spacing=1e-3, nose_cell=0.2))
    with pytest.raises(sf.SureflowError, match="move from run to run on all levels, or on none"):
        fine.with_coarser(runs_on(mesh))


def test_meshes_that_move_and_are_not_nested_are_refused():
    fine, coarse = moving([0.1, 0.2, 0.3, 0.4], 2), moving([0.11, 0.21, 0.31, 0.4], 1)
    shifted = replace(coarse, parameters=fine.parameters)
    with pytest.raises(sf.SureflowError, match="the meshes are not nested: nodes lie up to"):
        fine.with_coarser(shifted)
