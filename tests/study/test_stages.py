import pytest

from sureflow.study.stages import Stage, content_hash


def test_files_of_an_output_folder_are_made_again(tmp_path):
    def make():
        (tmp_path / "figures").mkdir(exist_ok=True)
        for name in ("a.png", "b.png"):
            (tmp_path / "figures" / name).write_text(name)

    stage = Stage("report", {"results": "1"}, ["figures"], make)
    assert stage.to_do(tmp_path) == "to do"
    stage.run(tmp_path)
    assert stage.to_do(tmp_path) is None
    (tmp_path / "figures" / "a.png").unlink()
    assert stage.to_do(tmp_path) == "figures is damaged or was changed"
    stage.run(tmp_path)
    assert stage.to_do(tmp_path) is None


def test_a_folder_is_hashed_by_names_and_contents(tmp_path):
    assert content_hash(tmp_path / "none") is None
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a").write_text("1")
    before = content_hash(tmp_path / "one")
    (tmp_path / "one" / "a").rename(tmp_path / "one" / "b")
    renamed = content_hash(tmp_path / "one")
    (tmp_path / "one" / "b").write_text("2")
    assert len({before, renamed, content_hash(tmp_path / "one")}) == 3


def test_temporary_files_go_after_the_record(tmp_path, monkeypatch):
    def make():
        (tmp_path / "model").write_text("m")
        (tmp_path / "checkpoint").write_text("c")

    stage = Stage("train", {}, ["model"], make, temporary=["checkpoint"])

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sureflow.study.stages.write_atomically", killed)
        with pytest.raises(KeyboardInterrupt):
            stage.run(tmp_path)
    assert (tmp_path / "checkpoint").exists()
    stage.run(tmp_path)
    assert not (tmp_path / "checkpoint").exists()
    assert stage.to_do(tmp_path) is None
