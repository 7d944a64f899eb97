"""The whole sweep, unattended: computes the 441 runs of the preset `paper` and writes the record of how they converged.

    python benchmarks/sweep.py [--store verify/paper.zarr] [--docs docs/verification]

Resumes what is in the store already. Writes sweep.csv (a row a run) and sweep.png (over the Mach-altitude plane), prints one
table of what was asked and what was found, and ends with exit code 1 if anything asked is missed.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from sureflow.campaign.run import provenance_path
from sureflow.data.reader import StoreReader
from sureflow.data.schema import Status
from sureflow.data.store import open_store
from sureflow.flow.solution import CRITERIA
from sureflow.report.figures import draw_campaign, save

CRITERIA_NAMES = list(CRITERIA)


def main() -> int:
    """Run, record, judge."""
    options = arguments()
    began = time.perf_counter()
    command = [sys.executable, "-m", "sureflow", "generate", str(options.store), "--preset", options.preset]
    subprocess.run(command, check=True)
    seconds = time.perf_counter() - began
    store = open_store(options.store)
    options.docs.mkdir(parents=True, exist_ok=True)
    write_record(store, options.docs / "sweep.csv")
    title = f"{len(store.status())} runs, {' x '.join(map(str, reversed(store.topology.shape or ())))} cells"
    save(
        draw_campaign(store.parameters(), store.status(), by_name(store)["steps"], title=title),
        options.docs / "sweep.png",
    )
    judged = judge(store)
    write_judgement(judged, options.docs / "sweep.md")
    for name, asked, found, holds in judged:
        print(f"{name:44} {asked:>16} {found:>22}  {'yes' if holds else 'NO'}")
    print(
        f"\n{seconds:.0f} s for what was left to do; all jobs of this store: {all_seconds(options.store):.0f} s (asked: 1800)"
    )
    return 0 if all(holds for *_, holds in judged) else 1


def arguments() -> argparse.Namespace:
    """Options of the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--store", type=Path, default=Path("verify/paper.zarr"))
    parser.add_argument("--docs", type=Path, default=Path("docs/verification"))
    return parser.parse_args()


def by_name(store: StoreReader) -> dict[str, np.ndarray]:
    """The numbers of all runs by their names."""
    return dict(zip((number.name for number in store.header.numbers), store.numbers().T, strict=True))


def write_record(store: StoreReader, path: Path) -> None:
    """A row a run: condition, how it ended, and every number of its record to five digits."""
    records = by_name(store)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["mach", "altitude_km", "status", *records])
        for case, ((mach, altitude), status) in enumerate(zip(store.parameters(), store.status(), strict=True)):
            numbers = [f"{values[case]:.5g}" for values in records.values()]
            writer.writerow([f"{mach:g}", f"{altitude:g}", Status(status).name.lower(), *numbers])


def judge(store: StoreReader) -> list[tuple[str, str, str, bool]]:
    """What is asked of every run, and the worst that was found."""
    status, records = store.status(), by_name(store)
    converged = int((status == Status.CONVERGED).sum())
    coldest, offset = records["lowest_temperature_ratio"].min(), records["axis_shock_offset_cells"].max()
    free, dip = records["undisturbed_cells"].min(), records["heat_flux_dip"].max()
    balance = max(np.abs(records[f"balance_error_{q}"]).max() for q in ("mass", "momentum", "energy"))
    ended = [CRITERIA_NAMES[int(code)] for code in records["criterion"]]
    others = ", ".join(f"{ended.count(name)} {name}" for name in CRITERIA_NAMES if ended.count(name))
    unfrozen = records["unfrozen_residual_drop"].max()
    return [
        ("runs converged", f"all {len(status)}", f"{converged}", converged == len(status)),
        ("by which criterion", "", others, True),
        ("largest residual, limiter and sensor free", "", f"{unfrozen:.1e}", True),
        ("steps, median and most", "", f"{np.median(records['steps']):.0f}, {records['steps'].max():.0f}", True),
        ("coldest cell over free stream", ">= 0.98", f"{coldest:.4f}", bool(coldest >= 0.98)),
        ("shock on the axis off its neighbors, cells", "< 1", f"{offset:.3f}", bool(offset < 1.0)),
        ("dip of the heat flux on the axis", "0", f"{dip:.2%}", bool(dip == 0)),
        ("undisturbed cells at the outer boundary", ">= 3", f"{free:.0f}", bool(free >= 3)),
        ("largest balance error", "< 0.005", f"{balance:.1e}", bool(balance < 5e-3)),
    ]


def write_judgement(judged: list[tuple[str, str, str, bool]], path: Path) -> None:
    """The same as a table, for benchmarks/verification.py."""
    head = ["over all runs", "asked", "found", "holds"]
    rows = [[name, asked, found, "yes" if holds else "no"] for name, asked, found, holds in judged]
    lines = [head, ["---"] * len(head), *rows]
    path.write_text("".join("| " + " | ".join(line) + " |\n" for line in lines))


def all_seconds(store: Path) -> float:
    """Wall-clock time of all jobs that worked on a store, from its provenance."""
    jobs = json.loads(provenance_path(store).read_text())["jobs"]
    return sum(job["seconds"] for job in jobs)


if __name__ == "__main__":
    sys.exit(main())
