"""Files of arrays: the format of the safetensors library, written and mapped without copies."""

import hashlib
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import load_file, save_file

from sureflow import tensorfile
from sureflow.errors import SureflowError
from sureflow.tensorfile import DTYPES, checksum, map_tensors, write_tensors

some_array = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda name: arrays(DTYPES[name], array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
some_arrays = st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), some_array, max_size=4)


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


@given(tensors=some_arrays)
def test_the_library_reads_what_is_written(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("tensors") / "some.safetensors"
    write_tensors(path, tensors)
    assert_same(load_file(path), tensors)


@given(tensors=some_arrays)
def test_what_the_library_writes_is_read(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("tensors") / "some.safetensors"
    save_file(tensors, path, metadata={"by": "the library"})
    assert_same(map_tensors(path, checksum(path)), tensors)


@pytest.fixture
def stored(tmp_path):
    """A file, its checksum and its arrays."""
    tensors = {"a": np.arange(6.0).reshape(2, 3), "b": np.arange(40, dtype=np.float32), "c": np.arange(3)}
    return tmp_path / "some.safetensors", write_tensors(tmp_path / "some.safetensors", tensors), tensors


def test_arrays_are_mapped_and_cannot_be_changed(stored):
    path, expected, tensors = stored
    found = map_tensors(path, expected)
    assert_same(found, tensors)
    assert all(isinstance(array.base, np.memmap) for array in found.values())
    with pytest.raises(ValueError, match="read-only"):
        found["a"][0, 0] = 1.0


def test_arrays_in_any_order_of_memory_and_bytes_are_written_row_by_row(tmp_path):
    array = np.arange(12.0).reshape(3, 4)
    given_as = {"columns": np.asfortranarray(array), "some": array[::2, ::-1], "swapped": array.astype(">f8")}
    write_tensors(tmp_path / "file", given_as)
    for name, found in load_file(tmp_path / "file").items():
        np.testing.assert_array_equal(found, given_as[name])


def test_pieces_join_to_the_same_file(stored, monkeypatch):
    path, whole, tensors = stored
    monkeypatch.setattr(tensorfile, "PIECE", 16)
    assert write_tensors(path.with_name("other"), tensors) == whole
    assert path.with_name("other").read_bytes() == path.read_bytes()


def test_of_a_large_file_pages_are_checked(stored, monkeypatch):
    path, whole, tensors = stored
    assert whole == hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(tensorfile, "CHECKED_WHOLE", 100)
    monkeypatch.setattr(tensorfile, "PAGE", 8)
    large = write_tensors(path, tensors)
    assert large != whole
    assert_same(map_tensors(path, large), tensors)
    # Another model of the same shapes is another file.
    assert write_tensors(path, {**tensors, "b": tensors["b"] + 1}) != large
    with pytest.raises(SureflowError, match="checksum differs"):
        map_tensors(path, large)


def regions(path) -> dict[str, int]:
    """A byte in every part of a file."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length]
    return {
        "length": 0,
        "brace": 8,
        "name": 8 + header.index(b'"a"') + 1,
        "dtype": 8 + header.index(b"F64"),
        "shape": 8 + header.index(b'"shape": [') + len(b'"shape": ['),
        "place": 8 + header.index(b"data_offsets") + len(b'data_offsets": ['),
        "padding": 8 + length - 1,
        "first array": 8 + length,
        "last array": len(content) - 1,
    }


REGIONS = ("length", "brace", "name", "dtype", "shape", "place", "padding", "first array", "last array")


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_a_flipped_bit_is_noticed_wherever_it_is(stored, region, flip):
    path, expected, _ = stored
    content = bytearray(path.read_bytes())
    content[regions(path)[region]] ^= flip
    path.write_bytes(content)
    with pytest.raises(SureflowError, match=r"is damaged or truncated|checksum differs"):
        map_tensors(path, expected)


@pytest.mark.parametrize("keep", [0, 4, 8, 30, -8, -1])
def test_a_truncated_file_is_refused(stored, keep):
    path, expected, _ = stored
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(SureflowError, match="is damaged or truncated"):
        map_tensors(path, expected)


def test_what_follows_the_last_array_is_refused(stored):
    path, expected, _ = stored
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(SureflowError, match="is damaged or truncated"):
        map_tensors(path, expected)


def test_a_header_that_is_absurd_is_refused(stored):
    path, expected, _ = stored
    for length in (2**63 - 1, 2**64 - 1):
        path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
        with pytest.raises(SureflowError, match="is damaged or truncated"):
            map_tensors(path, expected)


def test_a_type_of_array_that_is_not_known_is_refused(tmp_path):
    with pytest.raises(SureflowError, match=r"'text' has the type <U3; a file holds arrays of bool, float16, float32"):
        write_tensors(tmp_path / "file", {"text": np.array(["abc"])})
    path = tmp_path / "other"
    save_file({"a": np.ones(2, np.float16)}, path)
    path.write_bytes(path.read_bytes().replace(b'"F16"', b'"BF16"').replace(b"}} ", b"}}"))
    with pytest.raises(SureflowError, match="'a' has the type BF16, which is not read here"):
        map_tensors(path, checksum(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SureflowError, match=r"some\.safetensors is missing"):
        map_tensors(tmp_path / "some.safetensors", "")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(stored, monkeypatch, step):
    path, expected, tensors = stored

    def fail(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        write_tensors(path, {"a": np.zeros(5)})
    monkeypatch.undo()
    assert_same(map_tensors(path, expected), tensors)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_first_array_begins_at_a_multiple_of_64_bytes(stored):
    content = stored[0].read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert (8 + length) % 64 == 0
    assert json.loads(content[8 : 8 + length])["a"] == {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]}
