"""The harness of benchmarks/faults.py in its short form: seconds, one of each kind."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOME = {
    "kills": 6,
    "random": 2,
    "full": 3,
    "mutations": 25,
    "studies": 0,
    "inputs": 250,
    "asked": 0,
    "workers": 0,
    "signals": 0,
}


def harness(tmp_path, **changes):
    options = [f"--{name}={count}" for name, count in ({**SOME, "limits": 0} | changes).items()]
    command = [sys.executable, str(ROOT / "benchmarks/faults.py"), *options, "--minutes=5", "--results=found.json"]
    source = {"PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **source})
    return ended, json.loads((tmp_path / "found.json").read_text())


def test_a_little_of_everything_survives(tmp_path):
    ended, found = harness(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert found["kills at each file operation in turn"]["tried"] >= 6
    assert found["command lines and TOML files generated from a grammar"]["tried"] >= 250
    assert found["command lines and TOML files generated from a grammar"]["done"] > 5
    assert found["files damaged, swapped or deleted"]["refused"] > 10
    again, same = harness(tmp_path)  # rows that are finished are not tried again
    assert same == found
    assert again.returncode == 0


def test_the_harness_finds_what_is_broken(tmp_path):
    """Chunks that changed places, and are not compared with their checksums."""
    (tmp_path / "spoiled.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'benchmarks')!r})\nimport faults\n"
        "import faults_files\nfrom sureflow.data.run_store import RunStore\n"
        "faults_files.KINDS = ('swap',)\nRunStore.verify = lambda *given: None\nsys.exit(faults.main())\n"
    )
    options = [f"--{name}={75 if name == 'mutations' else 0}" for name in (*SOME, "limits")]
    ended = subprocess.run(
        [sys.executable, "spoiled.py", *options, "--minutes=5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "goes unnoticed" in ended.stderr


CLOCKS = """
import random, sys, time
sys.path.insert(0, {benchmarks!r})
from pathlib import Path
from faults_jobs import answer, campaign, formula, inline, prepare, train
from sureflow.campaign.run import run_campaign
from sureflow.data.store import open_runs
from sureflow.surrogate.workshop import calibrate_in

def all_of_it(folder):
    folder.mkdir()
    prepare(folder)
    train(folder)()
    calibrate_in(folder / "model", open_runs(folder / "runs.zarr"))
    run_campaign(folder / "made/made.zarr", campaign(), inline, solve=formula)
    return [answer(folder / "model"), answer(folder / "made")]

calm = all_of_it(Path("calm"))
rng, now = random.Random(0), time.time
time.time = lambda: now() + rng.choice((-1e9, -86400.0, 0.0, 3600.0, 1e9))
assert all_of_it(Path("jumping")) == calm
"""


def test_a_clock_that_jumps_changes_nothing(tmp_path):
    """Forward by decades and back before the epoch of file systems, at every look at it."""
    program = CLOCKS.format(benchmarks=str(ROOT / "benchmarks"))
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
