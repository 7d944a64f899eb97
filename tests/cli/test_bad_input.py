"""Every mistake ends in one sentence, exit code 2 and no traceback, and nothing is written."""

import json
import os
import subprocess
import sys

import pytest
import zarr

import synthetic
from campaigns import TINY_TOML, tiny
from campaigns import run as compute
from sureflow.data.store import open_store


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("solve --mach 50 --altitude 46", "mach=50 is outside 2..40"),
        ("solve --mach nan --altitude 46", "mach=nan is outside 2..40"),
        ("solve --mach 25 --altitude -1", "altitude=-1 km is outside 0..86 km"),
        ("solve --mach 25 --altitude inf", "altitude=inf km is outside 0..86 km"),
        ("solve --mach 25 --altitude 46 --cells 0x0", "mesh: cells=0x0 is outside 8x8..2048x2048"),
        ("solve --mach 25 --altitude 46 --cells 64", "cells='64' is not a size"),
        ("solve --mach 25 --altitude 46 --cells 9999x64", "mesh: cells=9999x64 is outside"),
        ("solve --mach 25 --altitude 46 --cells -8x8", "cells='-8x8' is not a size"),
        ("solve --mach 25 --altitude 46 --wall-spacing nan", "mesh: wall_spacing=nan"),
        ("solve --mach 25 --altitude 46 --wall-spacing 1", "wall_spacing=1 m times 64 cells does not fit"),
        ("solve --mach 25 --altitude 46 --wall sticky", "wall: kind='sticky'"),
        ("solve --mach 25 --altitude 46 --wall-temperature nan", "wall: temperature=nan"),
        ("solve --mach 25 --altitude 46 -o .", ". cannot hold results"),
        ("solve --mach 25 --altitude 46 -o .. --overwrite", ".. cannot hold results"),
        ("solve --mach 25 --altitude 46 -o /", "/ cannot hold results"),
        ("generate .", ". cannot hold results"),
        ("generate ..", ".. cannot hold results"),
        ("generate /", "/ cannot hold results"),
        (
            "generate runs.zarr --preset papr",
            "preset 'papr' is not one of adiabatic, family, paper, quick; did you mean paper?",
        ),
        ("generate runs.zarr --shard 3/2", "shard=3/2 must be i/N"),
        ("generate runs.zarr --shard half", "shard='half' is not i/N"),
        ("generate runs.zarr --workers 0", "workers=0 must be at least 1"),
        ("generate runs.zarr --workers 2 --scheduler tcp://x:1", "--workers and --scheduler exclude each other"),
        ("info nowhere.zarr", "nowhere.zarr does not exist"),
        ("info nowhere.zarr --figure plot.docx", "figure='plot.docx' is not a picture"),
        ("runs join nowhere.zarr -o all.zarr", "nowhere.zarr does not exist"),
        ("train nowhere.npz -o model", "nowhere.npz does not exist"),
        ("train nowhere.toml -o model", "nowhere.toml cannot be read"),
        ("calibrate model nowhere.zarr", "nowhere.zarr does not exist"),
        ("predict model angle=1", "model is not a trained model: there is no such folder"),
        ("curve nowhere.zarr", "nowhere.zarr does not exist"),
        ("curve nowhere.zarr --models interpolation,interpolation", "models 'interpolation,interpolation' names one"),
        ("curve nowhere.zarr --sizes 4,many", "sizes '4,many' must be positive whole numbers"),
        ("curve nowhere.zarr --sizes 0", "sizes '0' must be positive whole numbers"),
        (
            "study --preset qick",
            "preset 'qick' is not one of family, kinds, methods, nearest, paper, quick; did you mean quick?",
        ),
        ("report nowhere", "nowhere"),
    ],
)
def test_one_sentence(refused, tmp_path, arguments, sentence):
    assert refused(*arguments.split()).startswith(sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", ["solve --mach 25", "solve --mach fast --altitude 3", "generate --prest quick", "sovle", "runs jion"]
)
def test_unknown_options_and_commands(call, tmp_path, arguments):
    ended = call(*arguments.split())
    assert ended.code == 2
    assert ended.out == ""
    assert "Traceback" not in ended.remarks
    assert list(tmp_path.iterdir()) == []


def test_results_are_not_overwritten(refused, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    for flag in ([], ["--overwrite"]):
        sentence = refused("solve", "--mach", "25", "--altitude", "46", "-o", "mine", *flag)
        assert sentence.startswith("mine holds thesis.txt, and is not a folder of sureflow results")
    (tmp_path / "solution-M25-46km").mkdir()
    (tmp_path / "solution-M25-46km/summary.json").write_text("{}")
    sentence = refused("solve", "--mach", "25", "--altitude", "46")
    assert sentence == ("solution-M25-46km exists: choose another folder, or allow it to be replaced (--overwrite)")
    assert (tmp_path / "mine/thesis.txt").read_text() == "years of work"


def test_stores_that_are_not_ours_or_made_otherwise(refused, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    zarr.create_group(tmp_path / "other.zarr")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_text("mine")
    compute(tmp_path / "runs.zarr", tiny(wall={"temperature": 1000.0}))
    for store, sentence in [
        ("other.zarr", "other.zarr is a Zarr store, but not one of sureflow's runs"),
        ("folder", "folder is not a store of runs"),
        ("runs.zarr", "runs.zarr was made with other settings (wall.temperature is 1000.0 there and 1500.0 here"),
    ]:
        assert refused("generate", store, "--preset", "tiny.toml").startswith(sentence)
        if store != "runs.zarr":
            refused("generate", store, "--preset", "tiny.toml", "--overwrite")
    assert (tmp_path / "folder/file").read_text() == "mine"


def test_a_damaged_store_is_named(refused, tmp_path):
    synthetic.write_store(tmp_path / "runs.zarr")
    chunk = next(path for path in (tmp_path / "runs.zarr/fields/c/1").rglob("*") if path.is_file())
    chunk.write_bytes(b"garbage")
    assert refused("info", "runs.zarr").startswith("runs.zarr is damaged: the fields of case 1 cannot be read")


def test_a_store_or_model_of_a_newer_version_is_named(run, refused, tmp_path):
    synthetic.write_store(tmp_path / "runs.zarr")
    run("train", "runs.zarr", "-o", "model", "--model", "interpolation")
    marks, manifest = tmp_path / "runs.zarr/zarr.json", tmp_path / "model/model.json"
    content = json.loads(marks.read_text())
    content["attributes"]["schema_version"] = 3
    marks.write_text(json.dumps(content))
    manifest.write_text(manifest.read_text().replace('"schema_version": 3', '"schema_version": 4'))
    assert refused("info", "runs.zarr").startswith(
        "runs.zarr has schema version 3, and this sureflow reads versions up to 2"
    )
    assert refused("predict", "model", "mach=25", "altitude_km=46").startswith(
        "model/model.json has schema version 4; this sureflow reads"
    )


def test_a_scheduler_that_is_not_there(refused, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    sentence = refused("generate", "runs.zarr", "--preset", "tiny.toml", "--scheduler", "nonsense://x")
    assert "Dask scheduler answers at 'nonsense://x'" in sentence
    assert not open_store(tmp_path / "runs.zarr").status().any()


def test_a_folder_without_permission(refused, tmp_path, monkeypatch):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "secret.zarr")

    monkeypatch.setattr("sureflow.importers.reading.open_runs", forbidden)
    sentence = refused("runs", "join", "runs", "-o", "all.zarr")
    assert sentence == (
        "secret.zarr cannot be read or written (Permission denied): change its permissions, or choose another path"
    )


def test_help_imports_nothing_heavy():
    heavy = ["jax", "numpy", "zarr", "dask", "xarray", "matplotlib", "pydantic", "equinox", "pandas", "rich"]
    code = f"import sys, sureflow.cli; print([name for name in {heavy} if name in sys.modules])"
    end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert end.stdout.strip() == "[]"


def test_a_command_speaks_before_it_imports_anything_heavy(tmp_path):
    """The first words come before JAX does."""
    code = (
        "import os, sys; from sureflow.cli import main\n"
        "class Listener:\n"
        "    def write(self, words): os._exit('jax' in sys.modules)\n"
        "sys.stderr = Listener(); sys.argv = ['sureflow', *sys.argv[1:]]; main()"
    )
    for arguments in ("train r.zarr -o m", "info r.zarr", "solve --mach 25 --altitude 46", "predict m a=1", "study"):
        assert subprocess.run([sys.executable, "-c", code, *arguments.split()], cwd=tmp_path).returncode == 0


LONG = "a" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        f"predict {LONG} mach=1",
        f"info {LONG}",
        f"train {LONG}.zarr -o model",
        f"train {LONG}.toml -o model",
        f"generate {LONG}",
        f"solve --mach 25 --altitude 46 -o {LONG}",
        f"report {LONG}",
        f"study -o {LONG}",
    ],
)
def test_a_name_that_is_too_long(refused, tmp_path, arguments):
    sentence = refused(*arguments.split())
    assert "too long" in sentence
    assert len(sentence) < 300
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("uq=[]", "uq='[]' is not one of"),
        ("coordinates=[]", "coordinates must be a valid string"),
        ("train=[]", "model.train must be a table"),
        ("head=[]", "model.head: give the name of a head or a table"),
        ("train.epochs=" + "9" * 5000, "'train.epochs=999"),
        ("a=" + "[" * 5000, "'a=[[["),
        ("model=" + "{a=" * 400 + "1" + "}" * 400, "'model={a={a="),
    ],
)
def test_settings_of_another_kind(refused, tmp_path, setting, sentence):
    assert refused("train", "nowhere.zarr", "-o", "model", "--set", setting).startswith(sentence)
    (tmp_path / "mine.toml").write_text(f'runs = "nowhere.zarr"\noutput = "model"\n{setting}\n')
    refused("train", "mine.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_the_version(run):
    assert run("--version").out.startswith("sureflow ")


def test_a_defect_of_ours_is_called_one(call, monkeypatch):
    def broken(*_: object) -> None:
        raise TypeError("unhashable type: 'list'")

    monkeypatch.setattr("sureflow.report.page.write_report", broken)
    ended = call("report", "study")
    assert ended.code == 70
    assert "a defect of sureflow (TypeError: unhashable type: 'list'): please report it" in ended.sentence
    assert "Traceback" not in ended.remarks
    monkeypatch.setenv("SUREFLOW_TRACEBACK", "1")
    with pytest.raises(TypeError):
        call("report", "study")


def test_whoever_reads_may_leave(tmp_path):
    """`sureflow info | head`: no traceback, also where the last lines are flushed."""
    synthetic.write_store(tmp_path / "runs.zarr")
    for command in ("info runs.zarr --json", "--help", "predict nowhere a=1"):
        reader, writer = os.pipe()
        os.close(reader)
        end = subprocess.run(
            [sys.executable, "-m", "sureflow", *command.split()], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE
        )
        os.close(writer)
        assert b"Traceback" not in end.stderr
        assert b"Exception ignored" not in end.stderr


def test_names_that_a_terminal_cannot_show(tmp_path):
    """LANG=C, and a name that is not UTF-8 at all."""
    synthetic.write_store(tmp_path / "läufe.zarr")
    plain = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name, code in (("läufe.zarr".encode(), 0), (b"l\xe4ufe.zarr", 2)):
        end = subprocess.run(
            [sys.executable.encode(), b"-m", b"sureflow", b"info", name], cwd=tmp_path, capture_output=True, env=plain
        )
        assert end.returncode == code, end.stderr
        assert b"Traceback" not in end.stderr
