"""How fast runs are imported, beside the rate at which pyvista alone reads their files, and in how much memory.

    python benchmarks/import_speed.py [--runs 40] [--cells 1000000] [--folder files]

Binary .vtu files of hexahedra with three scalars and a vector, which a folder keeps for another time. Every stage is a process
of its own, one after the other: pyvista reading all files and keeping none, the import, then train, calibrate and predict on
what was imported. Rates are compared in processor seconds too, which other work on the machine disturbs less.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

READ = "import sys, pyvista\nfor path in sys.argv[1:]: pyvista.read(path)"
START = "import pyvista"
SUREFLOW = [sys.executable, "-m", "sureflow"]


class Stage(NamedTuple):
    """What a process took: seconds, seconds of processors, and its largest resident memory in GB."""

    seconds: float
    processor: float
    memory: float


def write_files(folder: Path, runs: int, cells: int) -> tuple[list[Path], float]:
    """The files, and the size of one run in memory in GB."""
    import pyvista

    side = round(cells ** (1 / 3)) + 1
    grid = pyvista.ImageData(dimensions=(side, side, side)).cast_to_unstructured_grid()
    x, y, z = grid.cell_centers().points.T / side
    files = [folder / f"v{1.0 + run / runs:.4f}.vtu" for run in range(runs)]
    for run, file in enumerate(files):
        speed = 1.0 + run / runs
        grid.cell_data["p"] = 1e5 * (1 + 0.1 * speed * np.sin(5 * x) * np.cos(4 * y))
        grid.cell_data["T"] = 300.0 + 20 * speed * z
        grid.cell_data["rho"] = 1.2 + 0.1 * speed * y
        grid.cell_data["U"] = np.stack([100 * speed * (1 + y), speed * x, speed * z], axis=1)
        if not file.exists():
            grid.save(file.with_suffix(".part.vtu"))
            file.with_suffix(".part.vtu").rename(file)
    return files, grid.actual_memory_size / 1e6


def timed(command: list[str]) -> Stage:
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command[:6])} ... ended with {status}")
    return Stage(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the files are kept; a temporary one by default")
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="sureflow-import-"))
    folder.mkdir(parents=True, exist_ok=True)
    store, model = str(folder / "runs.zarr"), str(folder / "model")
    try:
        files, size = write_files(folder, args.runs, args.cells)
        print(f"{args.runs} files of {args.cells:,} cells; one run is {size:.2f} GB in memory")
        print("stage               seconds   of processors   largest memory", flush=True)
        stages = {
            "import pyvista": [sys.executable, "-c", START],
            "pyvista.read": [sys.executable, "-c", READ, *map(str, files)],
            "sureflow import": [*SUREFLOW, "import", f"{folder}/v*.vtu", "--pattern", "v{speed}.vtu", "-o", store],
            "sureflow train": [*SUREFLOW, "train", store, "--model", "interpolation", "-o", model, "--overwrite"],
            "sureflow calibrate": [*SUREFLOW, "calibrate", model, store],
            "sureflow predict": [*SUREFLOW, "predict", model, "speed=1.31", "-o", f"{model}.vtu", "--overwrite"],
        }
        stages["sureflow import"].append("--overwrite")
        found = {}
        for name, command in stages.items():
            found[name] = stage = timed(command)
            print(f"{name:<20}{stage.seconds:<10.1f}{stage.processor:<16.1f}{stage.memory:.2f} GB", flush=True)
    finally:
        if args.folder is None:
            shutil.rmtree(folder)
    alone, ours = found["pyvista.read"], found["sureflow import"]
    print(
        f"rate of the import: {alone.seconds / ours.seconds:.0%} of pyvista's; {alone.processor / ours.processor:.0%} in "
    )
    print(f"processor seconds, with {(ours.memory - found['import pyvista'].memory) / size:.1f} runs in memory")


if __name__ == "__main__":
    main()
