import os
from pathlib import Path

import pytest
import xarray

from sureflow.files import put_in_place, write_atomically, write_netcdf


def folder(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "file").write_text(content)
    return path


def test_a_folder_gives_way_only_when_asked(tmp_path):
    place, made = folder(tmp_path / "place", "old"), folder(tmp_path / "made", "new")
    with pytest.raises(OSError, match="not empty"):
        put_in_place(made, place, overwrite=False)
    assert (place / "file").read_text() == "old"
    put_in_place(made, place, overwrite=True)
    assert (place / "file").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_what_was_there_comes_back_if_nothing_can_take_its_place(tmp_path):
    place = folder(tmp_path / "place", "old")
    with pytest.raises(FileNotFoundError):
        put_in_place(tmp_path / "nothing", place, overwrite=True)
    assert (place / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "file"
    for content in (b"old", b"new and longer", b""):
        write_atomically(path, content)
        assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_beside(tmp_path, monkeypatch, step, kind):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise kind

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(kind):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_dataset_survives_a_netcdf_file(tmp_path):
    dataset = xarray.Dataset({"p": ("point", [1.0, 2.0], {"units": "Pa"})}, attrs={"verdict": "inside"})
    write_netcdf(dataset, tmp_path / "field.nc")
    with xarray.open_dataset(tmp_path / "field.nc") as found:
        assert found.identical(dataset)
