import json
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from distributed import LocalCluster

from campaigns import Inline, crew, fake_solver, run, same_files, square, tiny
from sureflow.campaign import cluster
from sureflow.campaign.ancestry import ancestry
from sureflow.campaign.run import Options, provenance_path, run_campaign, solve_case
from sureflow.campaign.versions import versions
from sureflow.data.run_store import RunStore
from sureflow.data.schema import Status
from sureflow.data.store import open_runs
from sureflow.errors import SureflowError


@pytest.fixture(scope="module")
def campaign():
    return square(5)


@pytest.fixture(scope="module")
def whole(campaign, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "runs.zarr"
    run(path, campaign)
    return path


def test_every_case_starts_from_its_parent(campaign, whole):
    store, tree = RunStore.open(whole), ancestry(campaign.table())
    assert (store.status() == Status.CONVERGED).all()
    for case, (mach, altitude) in enumerate(campaign.rows()):
        seed = (
            np.random.default_rng([int(1000 * mach), int(1000 * altitude)])
            .random((4, *store.topology.shape))
            .reshape(4, -1)
        )
        parent = tree.parent[case]
        expected = seed if parent is None else np.sin(9.0 * store.fields(parent)) + seed
        np.testing.assert_array_equal(store.fields(case), expected)


@pytest.mark.parametrize("stop_after", [0, 1, 2, 7, 24])
def test_interrupted_and_resumed_is_the_same_store(campaign, whole, tmp_path, stop_after):
    path, solver = tmp_path / "runs.zarr", fake_solver(campaign)
    with pytest.raises(KeyboardInterrupt):
        run(path, campaign, solver, executor=Inline(stop_after))
    run(path, campaign, solver)
    assert same_files(path, whole)
    # What was computed but not yet stored when the interruption came is computed again, nothing else.
    assert len(solver.solved) - 25 <= stop_after


def test_the_order_of_completion_does_not_matter(campaign, whole, tmp_path):
    solver, chance = fake_solver(campaign), random.Random(1)

    class Straggling(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            def late():
                time.sleep(chance.random() * 0.02)
                return fn(*args, **kwargs)

            return super().submit(late)

    with Straggling(4) as executor:
        run(tmp_path / "runs.zarr", campaign, solver, executor=executor)
    assert same_files(tmp_path / "runs.zarr", whole)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_shards_give_the_same_store(campaign, whole, tmp_path, order):
    solver = fake_solver(campaign)
    for index in order:
        run(tmp_path / "runs.zarr", campaign, solver, shard=(index, 3))
    assert same_files(tmp_path / "runs.zarr", whole)
    assert len(solver.solved) < 2 * 25


def test_a_finished_campaign_needs_no_workers(campaign, whole):
    def nobody(runs):
        raise AssertionError("workers were started")

    standing = run_campaign(whole, campaign, nobody)
    assert (standing.found, standing.finished, standing.total) == (25, 25, 25)


def test_runs_that_do_not_converge_are_kept_and_children_start_from_the_next_ancestor(campaign, tmp_path):
    tree, pairs = ancestry(campaign.table()), campaign.rows()
    parent = next(case for case in tree.order[1:] if case in tree.parent)
    child = tree.parent.index(parent)
    solver = fake_solver(campaign, {pairs[parent]: Status.FAILED, pairs[tree.order[-1]]: Status.STALLED})
    path = tmp_path / "runs.zarr"
    store = run(path, campaign, solver)
    assert store.status_of(parent) is Status.FAILED
    assert store.status_of(tree.order[-1]) is Status.STALLED
    grandparent = tree.parent[parent]
    seed = (
        np.random.default_rng([int(1000 * value) for value in pairs[child]])
        .random((4, *store.topology.shape))
        .reshape(4, -1)
    )
    np.testing.assert_array_equal(store.fields(child), np.sin(9.0 * store.fields(grandparent)) + seed)

    solver = fake_solver(campaign)
    assert len(run(path, campaign, solver).status()) == 25
    assert solver.solved == []
    run(path, campaign, solver, retry_failed=True)
    assert set(solver.solved) == {pairs[parent], pairs[tree.order[-1]]}


def test_progress_counts_up(campaign, tmp_path):
    seen = []
    run_campaign(
        tmp_path / "runs.zarr",
        campaign,
        crew(Inline()),
        Options(),
        lambda s: seen.append(s.finished),
        fake_solver(campaign),
    )
    assert seen == list(range(26))


def test_other_settings_are_refused_and_nothing_is_lost(whole, tmp_path):
    path = tmp_path / "runs.zarr"
    run(path, tiny())
    before = RunStore.open(path).checksum()
    for changes, sentence in [
        (
            {"mesh": {"cells": [16, 18], "wall_spacing": 2e-4}},
            r"mesh.settings.cells is \[16, 16\] there and \[16, 18\] here",
        ),
        ({"wall": {"temperature": 1000.0}}, "wall.temperature is 1500.0 there and 1000.0 here"),
        ({"gas": {"gamma": 1.3}}, "gas.gamma is 1.4 there and 1.3 here"),
        ({"solver": {"tolerance": 1e-5}}, "scheme.tolerance is 1e-06 there and 1e-05 here"),
    ]:
        with pytest.raises(SureflowError, match=f"made with other settings \\({sentence}"):
            run(path, tiny(**changes))
    assert RunStore.open(path).checksum() == before
    other = tiny(wall={"temperature": 1000.0})
    assert run(path, other, overwrite=True).header.made_by["wall"]["temperature"] == 1000.0


def test_bad_shards_are_refused():
    for shard in [(0, 2), (3, 2)]:
        with pytest.raises(SureflowError, match=f"shard={shard[0]}/{shard[1]}"):
            Options(shard=shard)
    with pytest.raises(SureflowError, match="would delete what other jobs have stored"):
        Options(shard=(1, 2), overwrite=True)


def test_timings_are_beside_the_store(campaign, whole):
    (job,) = json.loads(provenance_path(whole).read_bytes())["jobs"]
    assert len(job["cases"]) == 25
    assert job["versions"] == versions()
    assert "seconds" not in (whole / "zarr.json").read_text()


def test_every_store_has_timings_of_its_own(campaign, tmp_path):
    names = {provenance_path(tmp_path / name).name for name in ("runs.zarr", "runs.v2", "runs.v3")}
    assert names == {"runs.provenance.json", "runs.v2.provenance.json", "runs.v3.provenance.json"}
    path = tmp_path / "runs.zarr"
    run(path, campaign)
    run(path, campaign, overwrite=True)
    assert len(json.loads(provenance_path(path).read_bytes())["jobs"]) == 1


def test_a_worker_that_dies_is_named_by_its_condition(campaign, tmp_path):
    solver = fake_solver(campaign)

    def dies(case):
        if len(solver.solved) == 3:
            raise MemoryError("no room\nat all")
        return solver(case)

    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(
            SureflowError,
            match=r"the run at mach=.*, altitude_km=.* could not be computed \(MemoryError: no room\); finished runs are",
        ),
    ):
        run(tmp_path / "runs.zarr", campaign, dies, executor=executor)
    assert RunStore.open(tmp_path / "runs.zarr").status().sum() == 3


def test_a_scheduler_without_workers(monkeypatch):
    monkeypatch.setattr(cluster, "FIRST_WORKER_WITHIN", 0.2)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None, scheduler_kwargs=cluster.ANY_PORT) as empty,
        pytest.raises(SureflowError, match="has no workers; start some"),
        cluster.scheduler_workers(empty.scheduler_address),
    ):
        pass


def test_pressure_and_mach_number_are_derived_on_reading(tmp_path):
    campaign = tiny(conditions=[{"mach": [20.0], "altitude_km": [40.0]}])
    run_campaign(tmp_path / "runs.zarr", campaign, crew(Inline()), solve=solve_case)
    runs, gas = open_runs(tmp_path / "runs.zarr").to_xarray(), campaign.gas
    np.testing.assert_allclose(runs.pressure, runs.rho * gas.gas_constant * runs["T"], rtol=1e-12)
    sound = np.sqrt(gas.gamma * gas.gas_constant * runs["T"])
    np.testing.assert_allclose(runs.mach_number, np.hypot(runs.u1, runs.u2) / sound, rtol=1e-12)
    assert runs.pressure.attrs["units"] == "Pa"
    assert float(runs.mach[0]) == 20.0
    assert 100 < float(runs.pitot_ratio[0]) < 1000


def test_a_worker_with_other_software_is_refused(campaign, tmp_path):
    solver = fake_solver(campaign)
    with pytest.raises(SureflowError, match=r"a worker has other versions \(jax 0\.1 there"):
        run_campaign(
            tmp_path / "runs.zarr",
            campaign,
            crew(Inline()),
            solve=lambda case: solver(case)._replace(versions=versions() | {"jax": "0.1"}),
        )
    assert not RunStore.open(tmp_path / "runs.zarr").status().any()


def test_going_on_with_other_versions_is_remarked(campaign, tmp_path):
    path, seen = tmp_path / "runs.zarr", []
    with pytest.raises(KeyboardInterrupt):
        run(path, campaign, executor=Inline(3))
    marks = json.loads((path / "zarr.json").read_text())
    marks["attributes"]["versions"]["jax"] = "0.1"
    (path / "zarr.json").write_text(json.dumps(marks))
    run_campaign(path, campaign, crew(Inline()), watch=lambda s: seen.append(s.remark), solve=fake_solver(campaign))
    assert "was begun with other versions (jax 0.1 there" in seen[0]
