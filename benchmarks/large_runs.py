"""Runs of millions of points through train, calibrate and predict: how long, and in how much memory.

    python benchmarks/large_runs.py                      # 60 runs x 2 million points x 5 fields in float32: 2.4 GB
    python benchmarks/large_runs.py --points 200000 --runs 30 --models interpolation

Runs are a formula on a cloud of points in three dimensions. Every stage is the command that a user runs, in a process of its
own. Private memory is what the process alone holds (anonymous pages); pages of mapped files belong to the system, which drops
them when it needs room, and are counted in resident memory only. With --growth, half the points and half the runs are timed
as well.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sureflow.data.header import Header, Parameter, Variable
from sureflow.data.layout import Contents
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.run_store import RunStore
from sureflow.data.schema import Status

FIELDS = {"u": "m/s", "v": "m/s", "w": "m/s", "p": "Pa", "T": "K"}


def make_store(path: Path, n_runs: int, n_points: int) -> None:
    """A store of runs over two parameters, one run in memory at a time."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (n_points, 3))
    parameters = np.column_stack([rng.uniform(5.0, 15.0, n_runs), rng.uniform(0.0, 4.0, n_runs)])
    header = Header(
        parameters=(Parameter("speed", "m/s"), Parameter("angle", "deg")),
        fields=tuple(Variable(name, unit) for name, unit in FIELDS.items()),
        axes=("x", "y", "z"),
        location="points",
    )
    store = RunStore.create(path, Contents(header, parameters, Topology(), Geometry(points), dtype="float32"))
    for case, condition in enumerate(parameters):
        store.write(case, fields_at(points, *condition), {}, Status.CONVERGED)


def fields_at(points: np.ndarray, speed: float, angle: float) -> np.ndarray:
    """A vortex that moves with the angle and grows with the speed."""
    x, y, z = points.T
    moved = np.exp(-((x - 0.1 * angle) ** 2 + y**2 + z**2) / (0.2 + 0.01 * speed))
    wave = np.tanh(4.0 * (x - 0.05 * speed + 0.1 * angle))
    return np.stack([speed * moved, speed * y * moved, angle * z * wave, 1e5 + speed**2 * wave, 300.0 + 9.0 * moved])


def watched(command: list[str]) -> tuple[float, float, float]:
    """Seconds, and the largest private and resident memory in GB, of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    largest = {"Anonymous": 0, "Rss": 0}

    def watch() -> None:
        while process.poll() is None:
            try:
                lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            except OSError:
                return
            for line in lines:
                name, _, rest = line.partition(":")
                if name in largest:
                    largest[name] = max(largest[name], int(rest.split()[0]))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
    return time.perf_counter() - began, largest["Anonymous"] / 1e6, largest["Rss"] / 1e6


def measure(folder: Path, model: str, n_runs: int, n_points: int) -> Iterator[tuple[str, float, float, float]]:
    """Every stage of one model, as it ends."""
    store, place = folder / f"runs-{n_runs}-{n_points}.zarr", folder / f"{model}-{n_runs}-{n_points}"
    if not store.exists():
        make_store(store, n_runs, n_points)
    sureflow = [sys.executable, "-m", "sureflow"]
    stages = {
        "train": [*sureflow, "train", str(store), "--model", model, "-o", str(place), "--overwrite"],
        "calibrate": [*sureflow, "calibrate", str(place), str(store)],
        "predict": [*sureflow, "predict", str(place), "speed=9", "angle=2.2", "-o", f"{place}.zarr", "--overwrite"],
    }
    for stage, command in stages.items():
        yield stage, *watched(command)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--models", default="interpolation,pod-gp")
    parser.add_argument("--folder", type=Path, help="where the runs are kept; a temporary one by default")
    parser.add_argument("--growth", action="store_true", help="also with half the points and with half the runs")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="sureflow-large-"))
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [(arguments.runs, arguments.points)]
    if arguments.growth:
        sizes += [(arguments.runs, arguments.points // 2), (arguments.runs // 2, arguments.points)]
    print(
        f"{'model':<15}{'runs':>5}{'points':>10}{'GB':>6}  {'stage':<10}{'seconds':>8}{'private GB':>12}{'resident GB':>13}"
    )
    try:
        for model in arguments.models.split(","):
            for n_runs, n_points in sizes:
                size = n_runs * n_points * len(FIELDS) * 4 / 1e9
                for stage, seconds, private, resident in measure(folder, model, n_runs, n_points):
                    print(
                        f"{model:<15}{n_runs:>5}{n_points:>10}{size:>6.2f}  {stage:<10}{seconds:>8.1f}{private:>12.2f}"
                        f"{resident:>13.2f}",
                        flush=True,
                    )
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
