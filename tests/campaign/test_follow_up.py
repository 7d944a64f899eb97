"""Campaigns that add conditions to a store: on its mesh, with its settings, and without touching what is there."""

import re

import numpy as np
import pytest

from campaigns import Inline, fake_solver, run, same_files, square, tiny
from sureflow.campaign.ancestry import ancestry
from sureflow.campaign.contents import follow_up
from sureflow.data.checksums import checksum
from sureflow.data.run_store import RunStore
from sureflow.data.schema import Status
from sureflow.errors import SureflowError
from sureflow.flow.mesh import FlowMesh
from sureflow.physics.gases import PerfectGas

MORE = [(12.5, 33.0), (21.0, 30.0), (27.5, 57.0)]


@pytest.fixture
def path(tmp_path):
    run(tmp_path / "runs.zarr", square(3))
    return tmp_path / "runs.zarr"


def test_new_conditions_are_added_on_the_mesh_of_the_store(path):
    before = RunStore.open(path)
    solver = fake_solver(square(3))
    store = run(path, follow_up(path, MORE), solver)
    assert sorted(solver.solved) == MORE
    assert store.parameters().tolist() == [*before.parameters().tolist(), *map(list, MORE)]
    assert (store.status() == Status.CONVERGED).all()
    for case in range(9):
        np.testing.assert_array_equal(store.fields(case), before.fields(case))
    parents = ancestry(store.parameters()).parent
    assert parents[:9] == ancestry(before.parameters()).parent
    assert [store.parameters()[parents[case]].tolist() for case in range(9, 12)] == [[10, 40], [20, 40], [30, 60]]


@pytest.mark.parametrize("stop_after", [0, 1, 2])
def test_interrupted_or_sharded_it_gives_the_same_store(path, tmp_path, stop_after):
    other = tmp_path / "other.zarr"
    run(other, square(3))
    run(path, follow_up(path, MORE))
    with pytest.raises(KeyboardInterrupt):
        run(other, follow_up(other, MORE), executor=Inline(stop_after))
    for shard in (2, 1):
        run(other, follow_up(other, MORE), shard=(shard, 2))
    assert same_files(path, other)


def test_both_campaigns_go_on_with_the_longer_store(path):
    more = follow_up(path, MORE)
    run(path, more)
    solver = fake_solver(more)
    assert len(run(path, square(3), solver)) == len(run(path, more, solver)) == 12
    assert solver.solved == []


def test_a_campaign_of_higher_mach_numbers_takes_the_mesh_that_is_there(tmp_path):
    path = tmp_path / "runs.zarr"
    run(path, tiny())
    store = run(path, tiny(conditions=[{"cases": [[20, 43], [25, 46]]}]))
    assert store.header.made_by["mesh"]["settings"]["mach"] == 18.0
    assert store.parameters().tolist()[6:] == [[20, 43], [25, 46]]
    with pytest.raises(SureflowError, match=re.escape("mesh.settings.mach is 18.0 there and 12.0 here")):
        run(path, tiny(conditions=[{"cases": [[12, 43]]}]))


def test_nodes_may_differ_in_their_last_digits(path):
    group = RunStore.open(path, writable=True).group

    def move(nodes):
        mesh = FlowMesh(*nodes.T.reshape(2, 9, 9))
        for name, values in (("nodes", nodes), ("points", np.stack([x.ravel() for x in mesh.centers], axis=1))):
            group[name][:] = values
            group[name].attrs["crc32"] = checksum(values)

    nodes = group["nodes"][:]
    move(nodes * (1 + 1e-15))
    store = run(path, follow_up(path, MORE))
    np.testing.assert_array_equal(store.geometry().nodes, nodes * (1 + 1e-15))
    move(nodes * (1 + 1e-6))
    with pytest.raises(SureflowError, match="the mesh nodes are not the same"):
        run(path, square(3))


def test_the_settings_are_those_of_the_store(tmp_path):
    path = tmp_path / "runs.zarr"
    other = tiny(gas={"gamma": 1.3}, wall={"temperature": 1000.0}, solver={"flux": "hlle", "tolerance": 1e-5})
    run(path, other)
    more = follow_up(path, [(20.0, 43.0)])
    assert more.gas == PerfectGas(gamma=1.3)
    assert (more.solver, more.wall, more.mesh, more.body) == (other.solver, other.wall, other.mesh, other.body)
    assert more.rows() == [(20.0, 43.0)]


def test_mistakes_are_named(path):
    with pytest.raises(SureflowError, match=r"a campaign that follows .*runs.zarr: mach=50 is outside 2..40"):
        follow_up(path, [(50.0, 30.0)])
    with pytest.raises(SureflowError, match=r"mesh\.mach=10 is above the campaign's lowest Mach number 5"):
        follow_up(path, [(5.0, 30.0)])
