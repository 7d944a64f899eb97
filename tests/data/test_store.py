import errno
import json
import resource

import numpy as np
import pytest
import xarray as xr
import zarr

from campaigns import same_files, tiny
from sureflow.campaign.run import campaign_contents
from sureflow.data.schema import Status
from sureflow.data.store import RunStore, explain_writing, remove_store
from sureflow.errors import SureflowError


@pytest.fixture(scope="module")
def contents():
    campaign = tiny()
    return campaign_contents(campaign, campaign.build_mesh())


@pytest.fixture
def store(contents, tmp_path):
    return RunStore.create(tmp_path / "runs.zarr", contents)


def some_run(store, case=2, status=Status.CONVERGED):
    fields = np.random.default_rng(case).random((4, *store.shape))
    store.write(case, fields, {name: float(case) for name in store.record_names}, status)
    return fields


def test_a_case_comes_back_bit_for_bit(store):
    fields = some_run(store)
    again = RunStore.open(store.path)
    np.testing.assert_array_equal(again.fields(2), fields)
    assert again.status().tolist() == [0, 0, 1, 0, 0, 0]
    assert again.records()["steps"][2] == 2.0
    assert np.isnan(again.records()["steps"][0])


def test_the_layout_is_what_readers_rely_on(store, contents):
    some_run(store)
    with xr.open_zarr(store.path, consolidated=False) as runs:
        assert runs["fields"].dims == ("case", "variable", "point")
        assert runs["fields"].attrs["variables"] == ["u1", "u2", "rho", "T"]
        assert runs["fields"].attrs["units"] == ["m/s", "m/s", "kg/m3", "K"]
        assert runs["free_stream"].attrs["names"] == ["velocity", "density", "pressure", "temperature"]
        assert runs.attrs["schema"] == "sureflow-runs"
        assert runs.attrs["parameters"] == ["mach", "altitude_km"]
        assert runs.attrs["shape"] == [16, 16]
        assert runs.attrs["gas"]["model"] == "perfect"
        np.testing.assert_array_equal(runs["x"].values.reshape(16, 16), contents.points["x"])
        np.testing.assert_array_equal(runs["node_r"].values, contents.nodes["node_r"])
        assert runs["altitude_km"].values.tolist() == [40, 46, 40, 46, 40, 46]
    group = zarr.open_group(store.path, mode="r")
    assert group["fields"].chunks == (1, 4, 256)
    assert group["status"].chunks == (1,)


def test_the_status_is_written_last(store, monkeypatch):
    order = []
    original = zarr.Array.__setitem__

    def watch(array, selection, value):
        order.append(array.basename)
        original(array, selection, value)

    monkeypatch.setattr(zarr.Array, "__setitem__", watch)
    some_run(store)
    assert order == ["fields", "record", "status"]
    order.clear()
    store.forget(2)
    assert order[0] == "status"


def test_creation_leaves_nothing_half_made(contents, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sureflow.data.store.write_contents", fail)
    with pytest.raises(SureflowError, match="is full; make room and run the same command again"):
        RunStore.create(tmp_path / "runs.zarr", contents)
    assert list(tmp_path.iterdir()) == []


def test_creation_never_replaces_what_is_there(store, contents):
    some_run(store)
    with pytest.raises(SureflowError, match="cannot be written"):
        RunStore.create(store.path, contents)
    assert store.status_of(2) is Status.CONVERGED
    assert [path.name for path in store.path.parent.iterdir()] == ["runs.zarr"]


def test_a_full_disk_loses_nothing(store):
    """A limit on the size of files stands for the disk: the system refuses the write of the fields' chunk."""
    some_run(store, 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(SureflowError, match=r"The disk of .* is full; make room .* finished cases are kept"):
            some_run(store, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert RunStore.open(store.path).status().tolist() == [0, 1, 0, 0, 0, 0]
    assert not list(store.path.rglob("*.partial"))
    some_run(store, 2)
    assert store.status_of(2) is Status.CONVERGED


def test_leftovers_of_killed_writes_are_swept(store, contents, tmp_path):
    some_run(store)
    for name in ("fields/c/2/0/0.abc.partial", "record/c/2/0.abc.partial", "status/c/2.abc.partial"):
        (store.path / name).write_text("half")
    store.sweep([0, 1])
    assert len(list(store.path.rglob("*.partial"))) == 3
    store.sweep([2])
    clean = RunStore.create(tmp_path / "clean.zarr", contents)
    some_run(clean)
    assert same_files(store.path, clean.path)


def test_forgetting_makes_a_case_one_to_do(store, contents, tmp_path):
    some_run(store)
    store.forget(2)
    clean = RunStore.create(tmp_path / "clean.zarr", contents)
    assert store.status().tolist() == clean.status().tolist()
    assert store.checksum() == clean.checksum()
    assert np.isnan(store.records()["steps"]).all()


def test_the_checksum_tells_runs_apart(store):
    empty = store.checksum()
    some_run(store)
    one = store.checksum()
    some_run(store, 3)
    assert len({empty, one, store.checksum()}) == 3
    some_run(store, 3, Status.STALLED)
    assert len({empty, one, store.checksum()}) == 3


@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_a_damaged_chunk_is_noticed(store, damage):
    some_run(store)
    chunk = store.path / "fields/c/2/0/0"
    raw = bytearray(chunk.read_bytes())
    if damage == "flip":
        raw[100] ^= 1
        chunk.write_bytes(raw)
    elif damage == "cut":
        chunk.write_bytes(raw[:50])
    else:
        chunk.unlink()
    with pytest.raises(SureflowError, match="is damaged: the fields of case 2 cannot be read"):
        store.checksum()
    assert store.unreadable() == [2]


def test_what_is_not_ours_is_refused(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    zarr.create_group(tmp_path / "other.zarr")
    for name, sentence in [
        ("nowhere", "does not exist; `sureflow generate"),
        ("file", "is not a store of runs"),
        ("folder", "is not a store of runs"),
        ("other.zarr", "is a Zarr store, but not one of sureflow's"),
    ]:
        with pytest.raises(SureflowError, match=sentence):
            RunStore.open(tmp_path / name)
        with pytest.raises(SureflowError, match=sentence):
            remove_store(tmp_path / name)
    assert len(list(tmp_path.iterdir())) == 3


def test_damaged_metadata_is_named(store):
    marks = store.path / "zarr.json"
    whole = json.loads(marks.read_text())
    for change, sentence in [
        ({"schema_version": 99}, "has schema version 99, this sureflow reads 1"),
        ({"shape": [3, 3]}, "is damaged: its metadata cannot be read"),
        ({"gas": None}, "is damaged: its metadata cannot be read"),
    ]:
        marks.write_text(json.dumps(whole | {"attributes": whole["attributes"] | change}))
        with pytest.raises(SureflowError, match=sentence):
            RunStore.open(store.path)
    marks.write_text("{")
    with pytest.raises(SureflowError, match=r"is damaged: its zarr.json cannot be read"):
        RunStore.open(store.path)
    marks.write_text(json.dumps(whole))
    (store.path / "fields/zarr.json").unlink()
    with pytest.raises(SureflowError, match="is damaged: its metadata cannot be read"):
        RunStore.open(store.path)


def test_a_record_with_other_names_is_a_bug(store):
    with pytest.raises(ValueError, match="the record of case 0"):
        store.write(0, np.zeros((4, 16, 16)), {"nonsense": 1.0}, Status.CONVERGED)
    assert store.status_of(0) is Status.TO_DO


def test_what_may_not_be_read_is_not_damaged(store, monkeypatch):
    some_run(store)

    def forbidden(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(zarr.Array, "__getitem__", forbidden)
    with pytest.raises(SureflowError, match=r"fields of case 2 cannot be read \(Permission denied\)") as raised:
        store.is_readable(2)
    assert "damaged" not in str(raised.value)
    assert "--overwrite" not in str(raised.value)


def deny(path):
    with explain_writing(path):
        raise OSError(errno.EACCES, "Permission denied")


def test_other_errors_of_the_system_are_explained(tmp_path):
    with pytest.raises(SureflowError, match=r"cannot be written \(Permission denied\); choose another path") as raised:
        deny(tmp_path)
    assert isinstance(raised.value.__cause__, OSError)
