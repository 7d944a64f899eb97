import errno
import json
import resource
import shutil
import zlib
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
import zarr

import synthetic
from data.own_runs import ANGLES, KINDS, cloud, hexahedra, moving
from sureflow import scratch
from sureflow.data.checksums import CHECKSUMS
from sureflow.data.disk import explain_writing, refuse_nameless, remove_store
from sureflow.data.header import Variable
from sureflow.data.run_store import RunStore
from sureflow.data.runs import Runs
from sureflow.data.schema import Status
from sureflow.data.store import add_runs, contents_of, open_runs, open_store, write_runs
from sureflow.errors import Exists, SureflowError
from sureflow.files import write_atomically
from sureflow.report.overview import overview, remarks

CONDITIONS = synthetic.grid()[:6]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def contents():
    return synthetic.contents(CONDITIONS)


@pytest.fixture
def store(contents, tmp_path):
    return RunStore.create(tmp_path / "runs.zarr", contents)


def some_run(store, case=2, status=Status.CONVERGED):
    fields = np.random.default_rng(case).random((4, store.n_points))
    store.write(case, fields, {"steps": float(case)}, status)
    return fields


def same_files(one, other):
    contents = [
        {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}
        for path in (one, other)
    ]
    return contents[0] == contents[1]


# Cases


def test_a_case_comes_back_bit_for_bit(store):
    fields = some_run(store)
    again = RunStore.open(store.path)
    np.testing.assert_array_equal(again.fields(2), fields)
    assert again.status().tolist() == [0, 0, 1, 0, 0, 0]
    assert again.numbers_of(2) == {"steps": 2.0}
    assert np.isnan(again.numbers()[0, 0])


def test_the_layout_is_what_readers_rely_on(store, contents):
    some_run(store)
    with xr.open_zarr(store.path, consolidated=False) as runs:
        assert runs["fields"].dims == ("case", "variable", "point")
        assert runs["fields"].attrs == {"names": ["u1", "u2", "rho", "T"], "units": ["m/s", "m/s", "kg/m3", "K"]}
        assert runs["parameters"].attrs == {"names": ["mach", "altitude_km"], "units": ["1", "km"]}
        assert runs["points"].dims == ("point", "axis")
        assert runs["nodes"].attrs == {"names": ["x", "r"], "crc32": zlib.crc32(store.geometry().nodes.tobytes())}
        assert runs.attrs["schema"] == "sureflow-runs"
        assert runs.attrs["schema_version"] == 2
        assert runs.attrs["topology"] == {"kind": "structured", "shape": list(synthetic.SHAPE)}
        assert runs.attrs["header"]["made_by"]["gas"]["model"] == "perfect"
        assert runs.attrs["header"]["stream"]["kind"] == "flight"
        np.testing.assert_array_equal(runs["points"].values, contents.geometry.points)
        np.testing.assert_array_equal(runs["parameters"].values, CONDITIONS)
    group = zarr.open_group(store.path, mode="r")
    chunks = {name: group[name].chunks for name in ("fields", "parameters", "numbers", "status")}
    assert chunks == {"fields": (1, 4, 48), "parameters": (1, 2), "numbers": (1, 1), "status": (1,)}


def test_the_status_is_written_last(store, monkeypatch):
    order = []
    original = zarr.Array.__setitem__

    def watch(array, selection, value):
        order.append(array.basename)
        original(array, selection, value)

    monkeypatch.setattr(zarr.Array, "__setitem__", watch)
    some_run(store)
    assert order == ["fields", "numbers", CHECKSUMS, "status"]
    order.clear()
    store.forget(2)
    assert order[0] == "status"


def test_creation_leaves_nothing_half_made(contents, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sureflow.data.run_store.write_contents", fail)
    with pytest.raises(SureflowError, match="is full: make room and do the same again"):
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
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
        with pytest.raises(SureflowError, match=r"the disk of .* is full: make room .* finished cases are kept"):
            some_run(store, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert RunStore.open(store.path).status().tolist() == [0, 1, 0, 0, 0, 0]
    assert not list(store.path.rglob("*.partial"))
    some_run(store, 2)
    assert store.status_of(2) is Status.CONVERGED


def test_leftovers_of_killed_writes_are_swept(store, contents, tmp_path):
    some_run(store)
    for name in ("fields/c/2/0/0.abc.partial", "numbers/c/2/0.abc.partial", "status/c/2.abc.partial"):
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
    assert np.isnan(store.numbers()).all()


def test_the_checksum_tells_runs_apart(store):
    empty = store.checksum()
    some_run(store)
    one = store.checksum()
    some_run(store, 3)
    assert len({empty, one, store.checksum()}) == 3
    some_run(store, 3, Status.STALLED)
    assert len({empty, one, store.checksum()}) == 3


def test_a_converged_run_is_complete(store):
    fields = np.zeros((4, 48))
    fields[2, 3] = np.nan
    with pytest.raises(
        SureflowError, match="case 0 has missing or non-finite fields, so it cannot be stored as converged"
    ):
        store.write(0, fields, {"steps": 1.0}, Status.CONVERGED)
    store.write(0, fields, {"steps": 1.0}, Status.FAILED)
    with pytest.raises(SureflowError, match=r"case 1 has the numbers \['nonsense'\], but the store has \['steps'\]"):
        store.write(1, fields, {"nonsense": 1.0}, Status.FAILED)
    assert store.status().tolist() == [3, 0, 0, 0, 0, 0]


# Damage


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


@pytest.mark.parametrize(
    ("chunk", "what"),
    [
        ("parameters/c/1/0", "parameters"),
        ("points/c/0/0", "points"),
        ("nodes/c/0/0", "nodes"),
        ("points/c/1/0/0", "the points of case 1"),
        ("connectivity/c/0", "connectivity"),
        ("fields/c/1/0/0", "the fields of case 1"),
        ("numbers/c/1/0", "the numbers of case 1"),
    ],
)
def test_what_is_missing_is_not_read_as_values(chunk, what, tmp_path):
    kind = "moving" if what == "the points of case 1" else "hexahedra" if "connect" in chunk else "structured"
    path = tmp_path / "runs.zarr"
    KINDS[kind]().save(path)
    (path / chunk).unlink()
    with pytest.raises(SureflowError, match=rf"is damaged: {what} cannot be read \(.*missing\)"):
        open_runs(path).checksum  # noqa: B018


def exchange(folder, one, other):
    """Two files of a store that change places."""
    first, second = (folder / one).read_bytes(), (folder / other).read_bytes()
    assert len(first) > 0
    (folder / one).write_bytes(second)
    (folder / other).write_bytes(first)


def train_on(path):
    """What a training reads."""
    runs = open_runs(path)
    return [(runs.fields[case], runs.geometry_of(case)) for case in range(len(runs))]


@pytest.mark.parametrize("array", ["fields", "parameters", "numbers", "points", "nodes", CHECKSUMS])
def test_chunks_that_changed_places_are_noticed(array, tmp_path):
    """Each of them is whole, so that its own checksum says nothing."""
    runs = replace(moving(), numbers=np.arange(len(ANGLES))[:, None] * 1.0)
    runs = replace(runs, header=replace(runs.header, numbers=(Variable("drag"),)))
    runs.save(tmp_path / "runs.zarr")
    chunks = sorted(path for path in (tmp_path / f"runs.zarr/{array}/c").rglob("*") if path.is_file())
    exchange(tmp_path, chunks[1].relative_to(tmp_path), chunks[2].relative_to(tmp_path))
    with pytest.raises(SureflowError, match=r"runs.zarr is damaged: .*: its checksum differs"):
        overview(open_store(tmp_path / "runs.zarr"))
    with pytest.raises(SureflowError, match="its checksum differs"):
        train_on(tmp_path / "runs.zarr")


def test_a_status_in_the_wrong_place_is_noticed(store):
    some_run(store, 0)
    some_run(store, 1, Status.FAILED)
    exchange(store.path, "status/c/0", "status/c/1")
    with pytest.raises(SureflowError, match=r"the status of case 0 cannot be read .*its checksum differs"):
        open_runs(store.path)


def test_a_mesh_of_another_array_is_noticed(tmp_path):
    """The coordinates along and off the body have the shape of the points."""
    points = {"physical": np.arange(6.0).reshape(3, 2), "body-fitted": np.ones((3, 2))}
    Runs.from_arrays({"a": [1.0, 2.0]}, points, {"p": np.ones((2, 3))}).save(tmp_path / "runs.zarr")
    (tmp_path / "runs.zarr/points/c/0/0").write_bytes((tmp_path / "runs.zarr/body_fitted/c/0/0").read_bytes())
    with pytest.raises(SureflowError, match=r"points cannot be read .*its checksum differs"):
        open_runs(tmp_path / "runs.zarr")


def test_stores_without_checksums_are_read_and_added_to(tmp_path):
    cloud().save(tmp_path / "runs.zarr")
    shutil.rmtree(tmp_path / f"runs.zarr/{CHECKSUMS}")
    with pytest.raises(SureflowError, match=r"runs.zarr is damaged: its metadata cannot be read .*checksums"):
        open_runs(tmp_path / "runs.zarr")
    del zarr.open_group(tmp_path / "runs.zarr").attrs[CHECKSUMS]
    more = replace(cloud(), parameters=cloud().parameters * 1.1)
    add_runs(tmp_path / "runs.zarr", more)
    runs = open_runs(tmp_path / "runs.zarr")
    np.testing.assert_array_equal(runs.fields[len(ANGLES)], more.fields[0])
    assert not (tmp_path / f"runs.zarr/{CHECKSUMS}").exists()


def test_a_checksum_that_is_gone_is_noticed(store):
    some_run(store)
    shutil.rmtree(store.path / CHECKSUMS / "c/2")
    with pytest.raises(SureflowError, match=r"the status of case 2 cannot be read .its checksum is missing"):
        open_runs(store.path)


def test_who_reads_meets_what_others_write(store, contents):
    """A case that another process finishes, forgets and computes again."""
    reader = RunStore.open(store.path)
    assert not reader.status().any()
    some_run(store)
    assert reader.status()[2] == Status.CONVERGED
    store.forget(2)
    fields = np.full((4, store.n_points), 2.0)
    store.write(2, fields, {"steps": 7.0}, Status.STALLED)
    np.testing.assert_array_equal(reader.fields(2), fields)
    assert reader.status()[2] == Status.STALLED


def test_numbers_that_are_not_known_are_no_damage(tmp_path):
    runs = KINDS["structured"]()
    assert runs.numbers is not None
    unknown = replace(runs, numbers=np.full_like(runs.numbers, np.nan))
    unknown.save(tmp_path / "runs.zarr")
    assert np.isnan(open_runs(tmp_path / "runs.zarr").numbers).all()
    assert open_store(tmp_path / "runs.zarr").unreadable() == []


def test_a_status_that_is_gone_is_noticed(store):
    some_run(store)
    (store.path / "status/c/2").unlink()
    assert store.interrupted() == [2]
    assert open_runs(store.path).left_out == {"to do": len(store) - 1, "interrupted": 1}
    assert ("interrupted", "case 2 has fields but no status: compute it again, or restore it from a copy") in remarks(
        overview(store)
    )


def test_what_is_not_ours_is_refused(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    zarr.create_group(tmp_path / "other.zarr")
    for name, sentence in [
        ("nowhere", "does not exist: give the path of a store"),
        ("file", "is not a store of runs"),
        ("folder", "is not a store of runs"),
        ("other.zarr", "is a Zarr store, but not one of sureflow's"),
    ]:
        for use in (open_runs, remove_store, lambda path: add_runs(path, cloud())):
            with pytest.raises(SureflowError, match=sentence):
                use(tmp_path / name)
    with pytest.raises(SureflowError, match="is not a store of runs"):
        cloud().save(tmp_path / "folder", overwrite=True)
    assert len(list(tmp_path.iterdir())) == 3


def test_damaged_metadata_is_named(store):
    marks = store.path / "zarr.json"
    whole = json.loads(marks.read_text())
    for change, sentence in [
        ({"schema_version": 99}, "has schema version 99, and this sureflow reads versions up to 2: read it with the"),
        ({"topology": {"kind": "structured", "shape": None}}, "is damaged: its metadata cannot be read"),
        ({"header": None}, "the header of"),
        ({"versions": None}, "is damaged: its metadata cannot be read"),
    ]:
        marks.write_text(json.dumps(whole | {"attributes": whole["attributes"] | change}))
        with pytest.raises(SureflowError, match=sentence):
            open_runs(store.path)
    marks.write_text("{")
    with pytest.raises(SureflowError, match=r"is damaged: its zarr.json cannot be read"):
        open_runs(store.path)
    marks.write_text(json.dumps(whole))
    (store.path / "fields/zarr.json").unlink()
    with pytest.raises(SureflowError, match="is damaged: its metadata cannot be read"):
        open_runs(store.path)


def test_a_mesh_that_does_not_fit_is_damage(tmp_path):
    path = tmp_path / "runs.zarr"
    hexahedra().save(path)
    connectivity = zarr.open_group(path)["connectivity"]
    connectivity[3] = 99
    connectivity.attrs["crc32"] = zlib.crc32(connectivity[:].tobytes())
    with pytest.raises(SureflowError, match=r"is damaged: the cells refer to the nodes 0..99, but there are only 27"):
        open_runs(path)


def test_what_may_not_be_read_is_not_damaged(store, monkeypatch):
    some_run(store)

    def forbidden(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(zarr.Array, "__getitem__", forbidden)
    with pytest.raises(SureflowError, match=r"fields of case 2 cannot be read \(Permission denied\)") as raised:
        store.is_readable(2)
    assert "damaged" not in str(raised.value)


def deny(path):
    with explain_writing(path):
        raise OSError(errno.EACCES, "Permission denied")


def test_other_errors_of_the_system_are_explained(tmp_path):
    with pytest.raises(
        SureflowError, match=r"cannot be written \(Permission denied\): change its permissions"
    ) as raised:
        deny(tmp_path)
    assert isinstance(raised.value.__cause__, OSError)


def test_results_need_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path, tmp_path.parent):
        with pytest.raises(SureflowError, match="cannot hold results: give a new name"):
            refuse_nameless(path)


# Contents


def test_other_contents_are_refused(store, contents):
    store.refuse_other_contents(contents)
    runs = synthetic.runs(CONDITIONS)
    other_gas = synthetic.contents(CONDITIONS)
    header = other_gas.header
    object.__setattr__(header, "made_by", {"gas": header.made_by["gas"] | {"gamma": 1.3}})
    moved = synthetic.contents(CONDITIONS)
    moved.geometry.nodes[3] += 0.1
    for other, sentence in [
        (other_gas, "gas.gamma is 1.4 there and 1.3 here"),
        (synthetic.contents(CONDITIONS[:4]), "the number of conditions is 6 there and 4 here"),
        (synthetic.contents(CONDITIONS + 1), r"condition 0 \(mach, altitude_km\) is \[10.0, 20.0\] there and \[11.0"),
        (synthetic.contents(CONDITIONS, (8, 6)), "the cells are not connected alike"),
        (moved, "the mesh nodes are not the same"),
        (contents_of(cloud(), {}), "gas is there and not here"),
    ]:
        with pytest.raises(Exists, match=f"was made with other settings \\({sentence}"):
            store.refuse_other_contents(other)
    assert store.difference(contents_of(runs, {"jax": "1"})) is None


# Runs


@each_kind
def test_runs_come_back_from_a_store(kind, tmp_path):
    runs = KINDS[kind]()
    runs.save(tmp_path / "runs.zarr")
    again = open_runs(tmp_path / "runs.zarr")
    assert again.header == runs.header
    assert again.topology == runs.topology
    assert again.checksum == runs.checksum
    np.testing.assert_array_equal(again.numbers, runs.numbers)
    for case in range(len(runs)):
        for one, other in zip(again.geometry_of(case).arrays(), runs.geometry_of(case).arrays(), strict=True):
            np.testing.assert_array_equal(one, other)
    train, test = again.split(test=2)
    assert (
        Runs.join([train, test]).select(np.argsort(Runs.join([train, test]).parameters[:, 0])).checksum == runs.checksum
    )


def test_coordinates_of_ones_own_and_single_precision_are_kept(tmp_path):
    points = {"physical": np.arange(6.0).reshape(3, 2), "body-fitted": np.ones((3, 2))}
    runs = Runs.from_arrays({"a": [1.0, 2.0]}, points, {"p": np.random.default_rng(0).random((2, 3), np.float32)})
    runs.save(tmp_path / "runs.zarr")
    again = open_runs(tmp_path / "runs.zarr")
    assert again.fields.dtype == np.float32
    assert again.known_coordinates == ("physical", "body-fitted")
    assert again.checksum == runs.checksum


def test_a_store_is_overwritten_only_if_asked(tmp_path):
    path = tmp_path / "runs.zarr"
    cloud().save(path)
    with pytest.raises(Exists, match="exists already: choose another path"):
        cloud().save(path)
    opened = open_runs(path)
    opened.select(slice(0, 3)).save(path, overwrite=True)
    assert len(open_runs(path)) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["runs.zarr"]
    opened.fields[0]
    with pytest.raises(SureflowError, match="was replaced or removed since it was opened: open it again"):
        opened.fields[4]


def test_what_cannot_be_kept_is_not_written(tmp_path):
    p, q = cloud().array().swapaxes(0, 1)
    path = tmp_path / "runs.zarr"
    for runs, sentence in [
        (cloud(fields={"p": p * np.nan, "q": q}), "p of the run at angle=0.5 has 9 missing"),
        (cloud().select(np.array([0, 1, 1])), "1 of 3 runs repeat the condition of another"),
        (cloud().select(slice(0, 0)), "there are no runs to write"),
    ]:
        with pytest.raises(SureflowError, match=sentence):
            write_runs(runs, path)
    assert not list(tmp_path.iterdir())


@each_kind
def test_runs_are_added(kind, tmp_path):
    path = tmp_path / "runs.zarr"
    more = KINDS[kind](ANGLES + 0.25)
    KINDS[kind]().save(path)
    opened = open_runs(path)
    add_runs(path, more)
    assert open_runs(path).checksum == Runs.join([KINDS[kind](), more]).checksum
    assert opened.checksum == KINDS[kind]().checksum  # what was opened before is what it was
    with pytest.raises(SureflowError, match=r"5 of 15 runs repeat the condition of another.* at angle=0.75"):
        add_runs(path, more)


def test_runs_that_do_not_fit_are_not_added(tmp_path):
    path = tmp_path / "runs.zarr"
    cloud().save(path)
    with pytest.raises(SureflowError, match=r"do not match those of .*: p.unit is '' there and 'Pa' here"):
        add_runs(path, cloud(ANGLES + 1, units={"angle": "deg", "drag": "N"}))
    with pytest.raises(SureflowError, match=r"p of the run at angle=1.5 has 9 missing"):
        add_runs(path, cloud(ANGLES + 1, fields={"p": np.full((5, 9), np.nan), "q": np.zeros((5, 9))}))
    assert open_runs(path).checksum == cloud().checksum


class Kill(BaseException):
    """What no code expects."""


def test_runs_are_never_half_there(tmp_path, monkeypatch):
    """A kill before every single write of an addition leaves the runs of before; the next addition is complete."""
    path, fresh = tmp_path / "runs.zarr", tmp_path / "fresh.zarr"
    runs, more, other = (moving(ANGLES[:2] + shift) for shift in (0.0, 0.25, 0.35))
    runs.save(fresh)
    left = 0

    def mortal(function):
        def write(*arguments, **named):
            nonlocal left
            if left == 0:
                raise Kill
            left -= 1
            return function(*arguments, **named)

        return write

    with monkeypatch.context() as patch:
        patch.setattr(zarr.Array, "__setitem__", mortal(zarr.Array.__setitem__))
        patch.setattr(zarr.Array, "resize", mortal(zarr.Array.resize))
        patch.setattr("sureflow.data.run_store.write_atomically", mortal(write_atomically))
        for writes in range(100):
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(fresh, path)
            left = writes
            try:
                add_runs(path, more)
                break
            except Kill:
                left = 1000
                assert open_runs(path).checksum == runs.checksum
                if writes % 4:
                    continue
                cases = RunStore.open(path, writable=True).append(other.parameters)
                assert RunStore.open(path).status().tolist() == [1, 1, 0, 0]
                assert list(cases) == [2, 3]
                add_runs(path, more)
                assert open_runs(path).checksum == Runs.join([runs, more]).checksum
    assert writes > 10
    assert open_runs(path).checksum == Runs.join([runs, more]).checksum


def test_appended_cases_are_to_do(store):
    some_run(store)
    cases = store.append(np.array([[11.0, 21.0], [12.0, 22.0]]))
    assert list(cases) == [6, 7]
    assert store.status().tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    some_run(store, 7)
    runs = open_runs(store.path)
    np.testing.assert_array_equal(runs.parameters, [CONDITIONS[2], [12.0, 22.0]])
    assert runs.left_out == {"to do": 6}


def test_runs_are_read_when_they_are_needed(tmp_path, monkeypatch):
    path = tmp_path / "runs.zarr"
    moving().save(path)
    read = []
    original = RunStore.fields
    monkeypatch.setattr(RunStore, "fields", lambda store, case: read.append(case) or original(store, case))
    runs = open_runs(path)
    assert read == []
    runs.select(np.array([3, 1])).fields[0]
    runs.fields[3]
    assert read == [3]  # once: they are few enough to be kept
    monkeypatch.setattr(scratch, "IN_MEMORY", 10)
    large = open_runs(path)
    for _ in range(2):
        large.fields[0]
    assert read == [3, 0, 0]


def test_stores_of_all_versions_have_one_interface(store):
    some_run(store)
    reader = open_store(store.path)
    assert len(reader) == 6
    assert reader.versions == {}
    assert reader.checksum() == store.checksum()
    assert reader.header.numbers[0].name == "steps"
    assert reader.geometry().points.shape == (48, 2)
