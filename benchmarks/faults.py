"""What survives: kills at every file operation, full disks, damaged and hostile files, fuzzed input, signals, limits.

    python benchmarks/faults.py --kills 1000 --mutations 2000 --inputs 10000 --asked 10000 --minutes 60 --results faults.json

Everything is small, seeded, and bounded in time; the table says how much was tried. Work is done in forked children of a
process that has imported everything and started nothing, so that a kill costs a fraction of a second. With `--results`, rows
that are finished are kept in that file and not tried again.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from faults_files import hostile, mutate, mutate_study
from faults_inputs import fuzz
from faults_jobs import prepare
from faults_kills import LOST, SILENT, TRACEBACK, Goes, fill_disk, kill_at_random, kill_everywhere
from faults_live import ask_while_replaced, kill_workers, memory_limits, real_full_disk, signals
from faults_shim import child

GOALS = {
    "kills": 1000,
    "random": 100,
    "full": 100,
    "mutations": 2000,
    "studies": 100,
    "inputs": 10000,
    "asked": 10000,
    "workers": 60,
    "signals": 60,
    "limits": 24,
}
Test = Callable[[Path, Goes, Counter], None]


def tests(seed: int, operations: int) -> list[tuple[str, str, Test]]:
    """What is tried, the goal that bounds it, and how."""
    return [
        ("limits on memory, predict and train", "limits", memory_limits),
        ("hostile models and stores", "limits", hostile),
        ("files damaged, swapped or deleted", "mutations", lambda *given: mutate(*given, seed)),
        ("files of a study, the same", "studies", lambda *given: mutate_study(*given, seed)),
        ("command lines and TOML files generated from a grammar", "inputs", lambda *given: fuzz(*given, seed)),
        ("kills at each file operation in turn", "kills", lambda *given: kill_everywhere(*given, operations)),
        ("kills at random moments", "random", lambda *given: kill_at_random(*given, seed)),
        ("disk full from the n-th operation on", "full", fill_disk),
        ("a small disk that is full", "full", real_full_disk),
        ("signals at random moments", "signals", lambda *given: signals(*given, seed)),
        ("predictions while the model is retrained and recalibrated 50 times", "asked", ask_while_replaced),
        ("Dask workers killed in campaigns of 100 runs", "workers", kill_workers),
    ]


def row(name: str, found: Counter) -> str:
    return f"| {name} | {found['tried']:,} | {found[LOST]} | {found[SILENT]} | {found[TRACEBACK]} |"


def tried(test: Test, most: int, until: float) -> Counter:
    """One row, in a folder of its own."""
    found: Counter = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sureflow-faults-") as folder:
        code, said = child(lambda: prepare(Path(folder)))
        assert code == 0, said
        test(Path(folder), lambda: found["tried"] < most and time.monotonic() < until, found)
    found["seconds"] = round(time.monotonic() - began)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, goal in GOALS.items():
        parser.add_argument(f"--{name}", type=int, default=goal // 10)
    parser.add_argument("--operations", type=int, default=120, help="of a job, at most, at which it is killed")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, help="JSON file that keeps finished rows")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rows: dict[str, dict] = (
        json.loads(options.results.read_text()) if options.results and options.results.exists() else {}
    )
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="sureflow-cache-") as cache:
        os.environ["SUREFLOW_CACHE"] = cache
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (*sys.path[:1], os.environ.get("PYTHONPATH"))))
        for name, goal, test in tests(options.seed, options.operations):
            if name not in rows and getattr(options, goal) and time.monotonic() < until:
                rows[name] = dict(tried(test, getattr(options, goal), until))
                if options.results:
                    options.results.write_text(json.dumps(rows, indent=1))
            if name in rows:
                print(row(name, Counter(rows[name])), flush=True)
    print(f"\n| what | tried | {LOST} | {SILENT} | {TRACEBACK} |\n|---|---:|---:|---:|---:|")
    print("\n".join(row(name, Counter(found)) for name, found in rows.items()))
    return any(found.get(kind) for found in rows.values() for kind in (LOST, SILENT, TRACEBACK))


if __name__ == "__main__":
    sys.exit(main())
