from pathlib import Path

import pytest

from sureflow.files import put_in_place


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
