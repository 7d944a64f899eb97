import numpy as np

from sureflow import scratch


def test_large_arrays_lie_in_a_file(monkeypatch):
    assert not isinstance(scratch.empty((3, 4)), np.memmap)
    monkeypatch.setattr(scratch, "IN_MEMORY", 64)
    array = scratch.empty((3, 4), np.float32)
    assert not isinstance(array, np.memmap)
    array = scratch.empty((3, 8), np.float32)
    assert isinstance(array, np.memmap)
    array[:] = np.arange(24).reshape(3, 8)
    np.testing.assert_array_equal(array[2], np.arange(16, 24))


def test_blocks_cover_all_points(monkeypatch):
    monkeypatch.setattr(scratch, "BLOCK", 8 * 10 * 3)
    found = list(scratch.blocks(10, 10))
    assert [(block.start, block.stop) for block in found] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert [block.stop for block in scratch.blocks(2, 10**9)] == [1, 2]
