"""`sureflow runs`: stores joined, split and added to."""

import shutil

import numpy as np
import pytest

import kinds_of_runs
from sureflow.data.store import open_runs


@pytest.fixture(params=kinds_of_runs.KINDS)
def whole(request, stores_of_all_kinds, tmp_path):
    """A store of every kind."""
    shutil.copytree(stores_of_all_kinds / f"{request.param}.zarr", tmp_path / "runs.zarr")
    return kinds_of_runs.runs(request.param)


def same(one, other):
    """Whether two sets of runs are equal but for their order."""
    orders = [np.lexsort(runs.parameters.T) for runs in (one, other)]
    return len(one) == len(other) and one.select(orders[0]).checksum == other.select(orders[1]).checksum


def test_parts_join_to_the_whole(run, whole, tmp_path):
    ended = run("runs", "split", "runs.zarr", "--test", "0.2", "--seed", "3", "-o", "parts")
    assert [line.partition(" runs")[0] for line in ended.out.splitlines()] == [
        "parts/train.zarr: 24",
        "parts/test.zarr: 6",
    ]
    run("runs", "join", "parts/train.zarr", "parts/test.zarr", "-o", "again.zarr")
    assert same(open_runs(tmp_path / "again.zarr"), whole)
    np.testing.assert_array_equal(
        np.sort(open_runs(tmp_path / "again.zarr").numbers, axis=0), np.sort(whole.numbers, axis=0)
    )


def test_parts_add_up_to_the_whole(run, refused, whole, tmp_path):
    run("runs", "split", "runs.zarr", "--test", "10", "-o", "parts")
    ended = run("runs", "add", "parts/train.zarr", "parts/test.zarr")
    assert ended.out.startswith("parts/train.zarr: 30 runs over angle (0..2)")
    assert same(open_runs(tmp_path / "parts/train.zarr"), whole)
    assert "10 of 40 runs repeat the condition of another" in refused(
        "runs", "add", "parts/train.zarr", "parts/test.zarr"
    )
    assert len(open_runs(tmp_path / "parts/train.zarr")) == 30


def test_nothing_is_replaced_unless_asked(run, refused, whole, tmp_path):
    run("runs", "split", "runs.zarr", "-o", "parts")
    before = open_runs(tmp_path / "parts/test.zarr").checksum
    assert refused("runs", "split", "runs.zarr", "--seed", "1", "-o", "parts").endswith("(--overwrite)")
    assert refused("runs", "join", "runs.zarr", "-o", "parts/test.zarr").endswith("(--overwrite)")
    assert open_runs(tmp_path / "parts/test.zarr").checksum == before
    run("runs", "split", "runs.zarr", "--seed", "1", "-o", "parts", "--overwrite")
    assert open_runs(tmp_path / "parts/test.zarr").checksum != before


def test_runs_that_disagree_are_refused(refused, stores_of_all_kinds, tmp_path):
    shutil.copytree(stores_of_all_kinds, tmp_path, dirs_exist_ok=True)
    before = open_runs(tmp_path / "block.zarr").checksum
    assert "axes is ['x', 'y', 'z'] there and ['x', 'y'] here" in refused(
        "runs", "join", "block.zarr", "volume.zarr", "-o", "all.zarr"
    )
    assert "one has a mesh that all its runs share" in refused("runs", "add", "block.zarr", "moving.zarr")
    assert "test=1 of 30 runs" in refused("runs", "split", "block.zarr", "--test", "1.0", "-o", "parts")
    assert (
        refused("runs", "split", "block.zarr", "--test", "half", "-o", "parts") == "test='half' is not a finite number"
    )
    assert refused("runs", "add", "none.zarr", "block.zarr").startswith("none.zarr does not exist")
    assert open_runs(tmp_path / "block.zarr").checksum == before
    assert not (tmp_path / "all.zarr").exists()
    assert not (tmp_path / "parts").exists()
