"""Every mistake ends in one sentence, exit code 2 and no traceback, and nothing is written."""

import subprocess
import sys

import pytest
import zarr

from campaigns import TINY_TOML, run, tiny
from sureflow.cli import main
from sureflow.data.store import open_runs


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Runs the command in an empty folder; gives its exit code, output and remarks."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sureflow", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("solve --mach 50 --altitude 46", "mach=50 is outside 2..40"),
        ("solve --mach nan --altitude 46", "mach=nan is outside 2..40"),
        ("solve --mach 25 --altitude -1", "altitude=-1 km is outside 0..86 km"),
        ("solve --mach 25 --altitude inf", "altitude=inf km is outside 0..86 km"),
        ("solve --mach 25 --altitude 46 --cells 0x0", "cells=0x0 is outside 8x8..2048x2048"),
        ("solve --mach 25 --altitude 46 --cells 64", "cells='64' is not a size"),
        ("solve --mach 25 --altitude 46 --cells 9999x64", "cells=9999x64 is outside"),
        ("solve --mach 25 --altitude 46 --cells -8x8", "cells='-8x8' is not a size"),
        ("solve --mach 25 --altitude 46 --wall-spacing nan", "wall_spacing=nan m must be 1e-8 m or more"),
        ("solve --mach 25 --altitude 46 --wall-spacing 1", "wall_spacing=1 m times 64 cells does not fit"),
        ("solve --mach 25 --altitude 46 --wall sticky", "wall='sticky' is unknown; choose one of isothermal"),
        ("solve --mach 25 --altitude 46 --wall-temperature nan", "wall temperature=nan K is outside"),
        ("solve --mach 25 --altitude 46 -o .", ". is no place for results"),
        ("solve --mach 25 --altitude 46 -o .. --overwrite", ".. is no place for results"),
        ("solve --mach 25 --altitude 46 -o /", "/ is no place for results"),
        ("generate .", ". is no place for results"),
        ("generate ..", ".. is no place for results"),
        ("generate /", "/ is no place for results"),
        ("generate runs.zarr --preset papr", "preset 'papr' is unknown; did you mean paper?"),
        ("generate runs.zarr --shard 3/2", "shard=3/2 must be i/N"),
        ("generate runs.zarr --shard half", "shard='half' is not i/N"),
        ("generate runs.zarr --workers 0", "workers=0 must be at least 1"),
        ("generate runs.zarr --workers 2 --scheduler tcp://x:1", "--workers and --scheduler exclude each other"),
        ("info nowhere.zarr", "nowhere.zarr does not exist"),
        ("info nowhere.zarr --figure plot.docx", "figure='plot.docx' is not a picture"),
    ],
)
def test_one_sentence(call, tmp_path, arguments, sentence):
    code, out, remarks = call(*arguments.split())
    assert code == 2
    assert out == ""
    assert remarks.startswith(f"sureflow: {sentence}")
    assert remarks.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", ["solve --mach 25", "solve --mach fast --altitude 3", "generate --prest quick", "sovle"]
)
def test_unknown_options_and_commands(call, tmp_path, arguments):
    code, out, remarks = call(*arguments.split())
    assert code == 2
    assert out == ""
    assert "Traceback" not in remarks
    assert list(tmp_path.iterdir()) == []


def test_results_are_not_overwritten(call, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    for flag in ([], ["--overwrite"]):
        code, _, remarks = call("solve", "--mach", "25", "--altitude", "46", "-o", "mine", *flag)
        assert code == 2
        assert "mine holds thesis.txt, and is not a folder of sureflow results" in remarks
    (tmp_path / "solution-M25-46km").mkdir()
    (tmp_path / "solution-M25-46km/summary.json").write_text("{}")
    code, _, remarks = call("solve", "--mach", "25", "--altitude", "46")
    assert code == 2
    assert "solution-M25-46km exists; choose another folder with --output, or replace it with --overwrite" in remarks
    assert (tmp_path / "mine/thesis.txt").read_text() == "years of work"


def test_stores_that_are_not_ours_or_made_otherwise(call, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    zarr.create_group(tmp_path / "other.zarr")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("mine")
    run(tmp_path / "runs.zarr", tiny(wall={"temperature": 1000.0}))
    for store, sentence in [
        ("other.zarr", "other.zarr is a Zarr store, but not one of sureflow's runs"),
        ("folder", "folder is not a store of runs"),
        ("runs.zarr", "runs.zarr was made with other settings: wall.temperature is 1000.0 there and 1500.0 here"),
    ]:
        code, _, remarks = call("generate", store, "--preset", "tiny.toml")
        assert code == 2
        assert remarks.startswith(f"sureflow: {sentence}")
        if store != "runs.zarr":
            assert call("generate", store, "--preset", "tiny.toml", "--overwrite")[0] == 2
    assert (tmp_path / "folder/file").read_text() == "mine"


def test_a_damaged_store_is_named(call, tmp_path):
    run(tmp_path / "runs.zarr", tiny())
    (tmp_path / "runs.zarr/fields/c/1/0/0").write_bytes(b"garbage")
    code, out, remarks = call("info", "runs.zarr")
    assert (code, out) == (2, "")
    assert remarks.startswith("sureflow: runs.zarr is damaged: the fields of case 1 cannot be read")
    assert remarks.count("\n") == 1


def test_a_scheduler_that_is_not_there(call, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    code, _, remarks = call("generate", "runs.zarr", "--preset", "tiny.toml", "--scheduler", "nonsense://x")
    assert code == 2
    assert remarks.startswith("sureflow: No Dask scheduler answers at 'nonsense://x'")
    with open_runs(tmp_path / "runs.zarr") as runs:  # is read without a scheduler, even now
        assert not runs["status"].values.any()


def test_help_imports_nothing_heavy():
    heavy = ["jax", "numpy", "zarr", "dask", "xarray", "matplotlib", "pydantic", "equinox"]
    code = f"import sys, sureflow.cli; print([name for name in {heavy} if name in sys.modules])"
    end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert end.stdout.strip() == "[]"
