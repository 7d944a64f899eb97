"""Which importer reads what; and an importer of a user's own."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinds_of_runs
import sureflow
from sureflow.cli import app
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.importers import IMPORTERS


@pytest.fixture
def table_importer():
    """Runs of a line in a text file: a row a run, the parameter first."""

    def read(path: Path, *, unit: str = "Pa") -> Runs:
        rows = np.loadtxt(path, ndmin=2)
        points = np.linspace(0.0, 1.0, rows.shape[1] - 1)[:, None]
        return Runs.from_arrays({"angle": rows[:, 0]}, points, {"p": rows[:, 1:]}, {"p": unit})

    IMPORTERS.register(".rows", read)
    yield
    del IMPORTERS.entries[".rows"]


@pytest.fixture
def rows(tmp_path):
    angle = np.linspace(0.0, 3.0, 12)
    pressure = np.sin(angle[:, None] + np.linspace(0.0, 1.0, 9))
    np.savetxt(tmp_path / "runs.rows", np.column_stack([angle, pressure]))
    return tmp_path / "runs.rows"


def test_an_importer_of_ones_own_works_with_all_commands(table_importer, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (
        "info runs.rows",
        "runs split runs.rows --test 3 -o parts",
        "train runs.rows -o model --model interpolation",
        "calibrate model runs.rows",
        "predict model angle=1.3 -o field.nc",
        "train parts/train.zarr -o part --model interpolation",
        "evaluate part runs.rows",
        "curve runs.rows -o curve --models interpolation --sizes 6",
    ):
        ended = CliRunner().invoke(app, command.split(), catch_exceptions=False)
        assert ended.exit_code == 0, ended.output
    assert abs(sureflow.load("model").predict(angle=1.3).p[0] - np.sin(1.3)) < 0.01


def test_options_are_those_of_the_importer(table_importer, rows):
    assert sureflow.open_runs(rows, unit="bar").units == ("bar",)
    with pytest.raises(SureflowError, match=r"runs\.rows cannot be read with units"):
        sureflow.open_runs(rows, units={"p": "bar"})


def test_folders_are_stores_whatever_their_name(tmp_path):
    kinds_of_runs.runs("block").save(tmp_path / "my.runs")
    assert len(sureflow.open_runs(tmp_path / "my.runs")) == 30


def test_what_nothing_reads(tmp_path):
    (tmp_path / "runs.npy").write_text("")
    with pytest.raises(SureflowError, match=r"the ending ..npy. is not one of .*did you mean .npz\?"):
        sureflow.open_runs(tmp_path / "runs.npy")
    with pytest.raises(SureflowError, match="does not exist"):
        sureflow.open_runs(tmp_path / "nothing")
