"""Modules of the user's that the commands import."""

import os
import subprocess
import sys

PLUGIN = """
from sureflow.data.splits import SPLITS, AllRuns
from sureflow.validation import settings

@SPLITS.add
@settings
class Everything(AllRuns):
    kind = "everything"
"""


def run(folder, plugins: str) -> subprocess.CompletedProcess:
    toml = folder / "experiment.toml"
    toml.write_text('runs = "none.zarr"\noutput = "model"\n[split]\nkind = "everything"\n')
    environment = os.environ | {
        "SUREFLOW_PLUGINS": plugins,
        "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-m", "sureflow", "train", str(toml)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


def test_what_a_module_registers_can_be_chosen(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    assert "split.kind='everything' is not one of" in run(tmp_path, "").stderr
    chosen = run(tmp_path, "mine")
    assert chosen.returncode == 2
    assert "none.zarr" in chosen.stderr.splitlines()[-1]  # the split is known; the runs are what is missing


def test_a_module_that_is_not_there_is_named(tmp_path):
    refused = run(tmp_path, "nowhere")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "sureflow: SUREFLOW_PLUGINS names 'nowhere', which cannot be imported (No module named 'nowhere')\n"
    )
