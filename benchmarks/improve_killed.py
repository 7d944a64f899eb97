"""The closed loop, unattended and killed: from 6 runs of the paper's plane to a mean bar of 0.002.

    python benchmarks/improve_killed.py --folder improve      # some 5 minutes on two cores

Runs `sureflow improve` twice from the same 6 runs: once to its end, and once killed with SIGKILL two times on the way. Prints
the rounds, and whether both came to the same runs, bit for bit, and the same rounds but for their seconds.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import sureflow as sf

CONDITIONS = [(10, 20), (30, 20), (20, 40), (12, 58), (30, 60), (14, 38)]
CAMPAIGN = """
[[conditions]]
cases = [{cases}]

[mesh]
cells = [64, 64]
wall_spacing = 3e-5
mach = 10.0
"""
ASKED = ("--target", "0.002", "--most-runs", "60", "--batch", "2", "--workers", "1", "--region")
REGION = "[ranges]\nmach = [10, 30]\naltitude_km = [20, 60]\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("improve"))
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "start.toml").write_text(CAMPAIGN.format(cases=", ".join(str(list(one)) for one in CONDITIONS)))
    (folder / "region.toml").write_text(REGION)
    call("generate", folder / "start.zarr", "--preset", folder / "start.toml")
    for name in ("whole", "killed"):
        if not (folder / f"{name}.zarr").exists():
            shutil.copytree(folder / "start.zarr", folder / f"{name}.zarr")
    kills = 0
    for after in (2, 4):  # rounds
        kills += killed(folder, after)
    for name in ("killed", "whole"):
        subprocess.run(command(folder, name), check=True)
    found = {name: rounds(folder, name) for name in ("whole", "killed")}
    print("| runs | mean bar | largest bar |\n|---:|---:|---:|")
    for one in found["killed"]:
        print(f"| {one['runs']} | {one['mean_bar']:.2g} | {one['largest_bar']:.2g} |")
    same = [sf.open_runs(folder / f"{name}.zarr").checksum for name in found]
    alike = [[{**one, "seconds": 0} for one in every] for every in found.values()]
    ended, again = found["killed"][-1]["ended"], alike[0] == alike[1]
    print(f"\n{ended}; killed {kills} times; same runs: {same[0] == same[1]}; same rounds: {again}")
    return 0 if same[0] == same[1] and alike[0] == alike[1] else 1


def command(folder: Path, name: str) -> list[str]:
    asked = [folder / f"{name}.zarr", "-o", folder / name, *ASKED, folder / "region.toml"]
    return [sys.executable, "-m", "sureflow", "improve", *map(str, asked)]


def call(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "sureflow", *map(str, words)], check=True)


def rounds(folder: Path, name: str) -> list[dict]:
    log = folder / name / "rounds.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def killed(folder: Path, after: int) -> int:
    """Start the loop, and kill it and its workers in the middle of a round's runs."""
    if len(rounds(folder, "killed")) > after:
        return 0
    process = subprocess.Popen(command(folder, "killed"), start_new_session=True)
    while len(rounds(folder, "killed")) < after and process.poll() is None:
        time.sleep(0.05)
    time.sleep(1.0)
    if process.poll() is not None:
        return 0
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return 1


if __name__ == "__main__":
    sys.exit(main())
