"""Commands as users call them, but in this process."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import kinds_of_runs
from sureflow.cli import main


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    remarks: str

    @property
    def sentence(self) -> str:
        """The last line on standard error."""
        return self.remarks.rstrip("\n").rpartition("\n")[2]


@pytest.fixture(scope="session")
def stores_of_all_kinds(tmp_path_factory) -> Path:
    """The same problem as a block, as a volume, and on a mesh that moves: to copy, never to change."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind in kinds_of_runs.KINDS:
        kinds_of_runs.runs(kind).save(folder / f"{kind}.zarr")
    return folder


@pytest.fixture
def call(monkeypatch, capsys, tmp_path) -> Callable[..., Ended]:
    """Runs the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | os.PathLike) -> Ended:
        monkeypatch.setattr(sys, "argv", ["sureflow", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture
def run(call) -> Callable[..., Ended]:
    """Runs a command that must succeed."""

    def run(*arguments: str | os.PathLike) -> Ended:
        ended = call(*arguments)
        assert ended.code == 0, ended.remarks
        return ended

    return run


@pytest.fixture
def refused(call) -> Callable[..., str]:
    """Runs a command that must end in one sentence, exit code 2 and nothing else; gives the sentence."""

    def refused(*arguments: str | os.PathLike) -> str:
        ended = call(*arguments)
        assert ended.code == 2, ended
        assert ended.out == ""
        assert "Traceback" not in ended.remarks
        assert ended.sentence.startswith("sureflow: ")
        return ended.sentence.removeprefix("sureflow: ")

    return refused
