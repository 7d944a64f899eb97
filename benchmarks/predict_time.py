"""Processor time of `sureflow predict` in a new process, and what of it is imports.

python benchmarks/predict_time.py --runs 5
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sureflow as sf

GOAL = 1.5  # seconds of processor time


def flows(count: int = 40, cells: int = 4096) -> sf.Runs:
    """Smooth fields over two parameters, as large as those of the solver."""
    rng = np.random.default_rng(0)
    points, conditions = rng.random((cells, 2)), rng.random((count, 2))
    waves = [np.sin(a + 3 * points[:, 0] + b * points[:, 1]) for a, b in conditions]
    return sf.Runs.from_arrays({"a": conditions[:, 0], "b": conditions[:, 1]}, points, {"p": waves, "T": waves})


def seconds(command: list[str]) -> float:
    """User and system time of a command that must succeed."""
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    repeats = parser.parse_args().runs
    slowest = 0.0
    print("| what | median (s) | most (s) |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        rows = {"python -c pass": [sys.executable, "-c", "pass"]}
        rows["sureflow --version"] = [sys.executable, "-m", "sureflow", "--version"]
        for model in ("interpolation", "pod-gp"):
            sf.fit(flows(), model).save(Path(folder) / model)
            rows[f"predict, {model}"] = [
                *(
                    sys.executable,
                    "-m",
                    "sureflow",
                    "predict",
                    str(Path(folder) / model),
                    "a=0.4",
                    "b=0.6",
                    "--extrapolate",
                )
            ]
        for name, command in rows.items():
            times = [seconds(command) for _ in range(repeats)]
            print(f"| {name} | {statistics.median(times):.2f} | {max(times):.2f} |", flush=True)
            slowest = max(slowest, statistics.median(times))
    return slowest > GOAL


if __name__ == "__main__":
    sys.exit(main())
