"""Trainings killed with SIGKILL: the same command goes on and comes to the same weights, bit for bit.

    sureflow generate quick.zarr --preset quick
    python benchmarks/training_killed.py quick.zarr --folder killed      # some 6 minutes

Trains every kind of network once to its end, and once killed twice, each time after a new checkpoint.
"""

import argparse
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

KINDS = {
    "fno": ("--model", "fno", "--uq", "ensemble", "--set", "members=2", "--set", "train.epochs=6"),
    "nbf": ("--model", "nbf", "--set", "model.members=2", "--set", "model.train.epochs=5"),
    "neural-process": ("--model", "neural-process", "--set", "train.epochs=6"),
    "mixture": ("--uq", "mixture", "--set", "train.epochs=6"),
    "dropout": ("--uq", "dropout", "--set", "train.epochs=6"),
    "mve": ("--uq", "mve", "--set", "members=2", "--set", "train.epochs=6"),
}
KILLS = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("killed"))
    parser.add_argument("--only", nargs="+", choices=KINDS, default=[*KINDS])
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    different = 0
    print("| model | killed | weights |\n|---|---:|---|")
    for kind in options.only:
        whole, cut = (options.folder / f"{kind}-{end}" for end in ("whole", "killed"))
        finish(options.runs, kind, whole)
        kills = sum(killed(options.runs, kind, cut) for _ in range(KILLS))
        finish(options.runs, kind, cut)
        same = weights(whole) == weights(cut)
        different += not same
        print(f"| {kind} | {kills} | {'the same' if same else 'DIFFERENT'} |", flush=True)
    return 1 if different else 0


def command(runs: Path, kind: str, model: Path) -> list[str]:
    return [sys.executable, "-m", "sureflow", "train", str(runs), *KINDS[kind], "-o", str(model)]


def finish(runs: Path, kind: str, model: Path) -> None:
    subprocess.run(command(runs, kind, model), check=True, capture_output=True)


def killed(runs: Path, kind: str, model: Path) -> int:
    """1 if the training was killed after it had written a checkpoint, 0 if it was done before that."""
    before = newest_checkpoint(model)
    process = subprocess.Popen(command(runs, kind, model), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and newest_checkpoint(model) == before:
        time.sleep(0.01)
    if process.poll() is not None:
        return 0
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return 1


def newest_checkpoint(model: Path) -> float:
    return max((path.stat().st_mtime for path in model.glob("*checkpoint*")), default=0.0)


def weights(model: Path) -> str:
    files = sorted(model.glob("weights-*.safetensors"))
    assert files, f"{model} has no weights"
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
