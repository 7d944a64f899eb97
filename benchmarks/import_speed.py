"""How fast runs are imported, beside the rate at which pyvista alone reads their files, and in how much memory.

    python benchmarks/import_speed.py [--runs 40] [--cells 1000000]

Binary .vtu files of hexahedra with three scalars and a vector. Both stages are processes of their own, one after the other.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

READ = "import sys, pyvista; [pyvista.read(path) for path in sys.argv[1:]]"


def write_files(folder: Path, runs: int, cells: int) -> list[Path]:
    import pyvista

    side = round(cells ** (1 / 3)) + 1
    grid = pyvista.ImageData(dimensions=(side, side, side)).cast_to_unstructured_grid()
    x, y, z = grid.cell_centers().points.T / side
    for run in range(runs):
        speed = 1.0 + run / runs
        grid.cell_data["p"] = 1e5 * (1 + 0.1 * speed * np.sin(5 * x) * np.cos(4 * y))
        grid.cell_data["T"] = 300.0 + 20 * speed * z
        grid.cell_data["rho"] = 1.2 + 0.1 * speed * y
        grid.cell_data["U"] = np.stack([100 * speed * (1 + y), speed * x, speed * z], axis=1)
        grid.save(folder / f"v{speed:.4f}.vtu")
    return sorted(folder.glob("*.vtu"))


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds, and the largest resident memory in GB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    status, largest = Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        try:
            lines = status.read_text().splitlines()
        except OSError:
            break
        largest = max([largest, *(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))])
        time.sleep(0.05)
    process.wait()
    return time.perf_counter() - began, largest / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--cells", type=int, default=1_000_000)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sureflow-import-"))
    try:
        files = write_files(folder, args.runs, args.cells)
        reading = timed([sys.executable, "-c", READ, *map(str, files)])
        command = [sys.executable, "-m", "sureflow", "import", str(folder), "--pattern", "v{speed}.vtu"]
        importing = timed([*command, "-o", str(folder / "runs.zarr")])
    finally:
        shutil.rmtree(folder)
    print(f"{args.runs} files of {args.cells:,} cells     seconds   largest memory")
    for name, (seconds, memory) in (("pyvista.read", reading), ("sureflow import", importing)):
        print(f"{name:<32}{seconds:<10.1f}{memory:.2f} GB")
    print(f"rate of the import: {reading[0] / importing[0]:.0%} of pyvista's")


if __name__ == "__main__":
    main()
