"""Every block of code in the README and the guides: parsed as printed, and run, as far as `printed_blocks` says."""

import re
import shlex
import shutil
import sys
import tomllib

import numpy as np
import pytest
import typer

import sureflow as sf
import synthetic
from printed_blocks import INSTEAD, NOT_RUN, PAGES, PYTHON_INSTEAD, PYTHON_NOT_RUN, blocks, kind
from sureflow.campaign.campaign import Campaign
from sureflow.cli import app, main
from sureflow.importers.import_settings import ImportSettings
from sureflow.study.agenda import MeshErrorSettings
from sureflow.validation import validated

BLOCKS = {f"{block.page}:{block.line}": block for page in PAGES for block in blocks(page)}
LINES = sorted({line for block in BLOCKS.values() if kind(block) == "shell" for line in block.commands})
STUDY = (
    'runs = "runs.zarr"\n[split]\nkind = "random"\ntest_runs = 3\n[[models]]\nlabel = "i"\nmodel = "interpolation"\n'
)
VALIDATED = {
    "conditions": Campaign.from_dict,
    "source": lambda given, name: validated(ImportSettings, given, name),
    "mesh_error": lambda given, name: validated(MeshErrorSettings, given["mesh_error"], name),
}


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("sureflow ")])
def test_every_command_is_parsed_as_printed(line):
    command, words = typer.main.get_command(app), shlex.split(line)[1:]
    context = command.make_context("sureflow", list(words), resilient_parsing=False)
    while hasattr(command, "resolve_command"):
        name, command, words = command.resolve_command(context, words)  # type: ignore[attr-defined]
        context = command.make_context(name, list(words), parent=context)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """What the guides take for granted, in small: runs, parts of them, files of another program, models."""
    folder = tmp_path_factory.mktemp("prepared")
    runs = synthetic.runs()
    runs.save(folder / "runs.zarr")
    for name, part in (("one", slice(0, 12)), ("other", slice(12, 20)), ("more", slice(20, 25))):
        runs.select(np.arange(25)[part]).save(folder / f"{name}.zarr")
    sf.fit(runs.select(np.arange(25) % 5 != 2), "interpolation").save(folder / "model")
    sf.fit(runs, "interpolation", calibrate=False).save(folder / "model-of-all")
    (folder / "list.csv").write_text("mach,altitude_km\n20,40\n25,46\n")
    (folder / "cases").mkdir()
    x = np.linspace(0, 1, 6)
    for mach in (2.0, 2.6, 3.2, 3.8):
        for angle in (4.0, 6.0, 9.0, 12.0):
            rows = np.column_stack([np.tile(x, 3), np.repeat(x[:3], 6), np.sin(mach * np.tile(x, 3) + angle)])
            np.savetxt(folder / f"cases/M{mach}_ramp{angle}.csv", rows, delimiter=",", header="x,y,p", comments="")
    return folder


def run_line(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", words)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = int(end.code or 0)
    said = capsys.readouterr()
    assert code == 0, said.err


def remove_made(words, folder):
    """What a line writes with -o, which an earlier line of the page may have written."""
    if "-o" in words and "--overwrite" not in words:
        made = folder / words[words.index("-o") + 1]
        shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)


def run_shell(block, folder, monkeypatch, capsys):
    for line in block.commands:
        if line.startswith(tuple(NOT_RUN)):
            continue
        words = shlex.split(INSTEAD.get(line, (line,))[0])
        remove_made(words, folder)
        if words[1:3] == ["runs", "add"]:  # to a store that does not have these runs yet
            shutil.rmtree(folder / words[3])
            shutil.copytree(folder / "one.zarr", folder / words[3])
        run_line(words, monkeypatch, capsys)


def python_names():
    mach, angle = np.meshgrid([2.0, 3.0, 4.0], [4.0, 8.0], indexing="ij")
    runs = synthetic.runs()
    return {
        "sf": sf,
        "mach": mach.ravel(),
        "angle": angle.ravel(),
        "points": np.random.default_rng(0).random((5, 2)),
        "p": np.ones((6, 5)),
        "T": np.ones((6, 5)),
        "runs": runs.select(np.arange(20)),
        "more": runs.select(np.arange(20, 25)),
    }


def run_python(block, names):
    if any(words in block.text for words in PYTHON_NOT_RUN):
        return
    text = block.text
    for printed, instead in PYTHON_INSTEAD.items():
        text = text.replace(printed, instead)
    for made in re.findall(r'\.save\("([^"]+)"\)', text):
        shutil.rmtree(made, ignore_errors=True)
    exec(compile(text, f"{block.page}:{block.line}", "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs(page, prepared, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    names = python_names()
    if page.endswith("own-runs.md"):
        shutil.rmtree(folder / "runs.zarr")
    else:
        names["model"] = sf.load("model")
    for block in blocks(page):
        match kind(block):
            case "shell":
                run_shell(block, folder, monkeypatch, capsys)
            case "python":
                before = dict(names)
                run_python(block, names)
                names = {**names, "runs": before["runs"]} if page.endswith("runs.md") else names
            case "toml":
                given = tomllib.loads(block.text)
                next(check for key, check in VALIDATED.items() if key in given)(given, page)
            case other:
                assert other == "words", block


def test_the_tables_name_what_is_printed():
    """An entry for a line that is gone is removed; there is a reason for each."""
    texts = "\n".join(block.text for block in BLOCKS.values())
    for printed in (*INSTEAD, *NOT_RUN):
        assert any(line.startswith(printed) or line == printed.strip() for line in LINES), printed
    for printed in (*PYTHON_NOT_RUN, *PYTHON_INSTEAD):
        assert printed in texts, printed
    assert all(reason for _, reason in INSTEAD.values())
    assert all((*NOT_RUN.values(), *PYTHON_NOT_RUN.values()))
