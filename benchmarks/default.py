"""The default surrogate on the split of the paper, or on the parts of a campaign: seconds, milliseconds, bars and quantities.

    python benchmarks/default.py runs.zarr               # all training runs
    python benchmarks/default.py runs.zarr 16            # so many of them, chosen space-filling
    python benchmarks/default.py runs.zarr 205 interpolation       # a model by name, without the comparison
    python benchmarks/default.py family.zarr 100         # the campaign `family`

`sureflow train` and `sureflow calibrate` are run as a user runs them, in processes of their own, with imports and files: training
compares models by leaving out training runs, and calibration goes by folds over them. A prediction is one whole field with its
calibrated bars. The second table compares the model's own bars with the calibrated ones on the test runs, the last one
quantities read off predicted fields, and learned as numbers, with those of the test runs.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS, space_filling
from sureflow.evaluate.evaluation import evaluate
from sureflow.evaluate.observed import quantity_rows
from sureflow.runtime import keep_compiled_programs


def timed(*command: str) -> None:
    """Run a command of sureflow, and print its seconds and those of the processors."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "sureflow", *command], check=True, capture_output=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"| sureflow {command[0]} | {seconds:.1f} s | {busy:.1f} s |", flush=True)


def milliseconds(function: Callable[[], object], repeats: int = 30) -> float:
    function()
    durations = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        durations.append(time.perf_counter() - began)
    return 1e3 * statistics.median(durations)


def train(training: sf.Runs, model: str | None = None) -> sf.Surrogate:
    with tempfile.TemporaryDirectory() as folder:
        store, trained = Path(folder, "train.zarr"), Path(folder, "model")
        training.save(store)
        print("| command | seconds | of the processors |\n|---|---:|---:|")
        timed("train", str(store), "-o", str(trained), *([] if model is None else ["--model", model]))
        timed("calibrate", str(trained), str(store))
        compared = json.loads((trained / "provenance.json").read_text())["comparison"] or []
        surrogate = sf.load(trained)
    if compared:
        print("\n| candidate | scaling | left-out MAE | at the sides | folds | chosen |\n|---|---|---:|---:|---:|---|")
    for one in compared:
        beyond = "" if one["mae_beyond"] is None else f"{one['mae_beyond']:.2g}"
        chosen = "yes" if one["chosen"] else ""
        print(f"| {one['model']} | {one['scaling']} | {one['mae']:.2g} | {beyond} | {one['folds']} | {chosen} |")
    return surrogate


def bars_table(surrogate: sf.Surrogate, runs: sf.Runs, domains: dict[str, np.ndarray], space: Standard) -> None:
    print(
        "\n| domain | bars | MAE | miscalibration area | 90 % intervals hold | rms of error / std | inside | mean std / MAE |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for bars, predict in (("own", surrogate.raw_predictive), ("calibrated", surrogate.predictive)):
        rows = evaluate(predict, runs, domains, space, regions=["all"]).rows
        for row in (row for row in rows if row["variable"] == "mean"):
            verdicts = surrogate.place(runs.parameters[domains[row["domain"]]], extrapolate=True).verdicts
            inside = sum(verdict.trust == "inside" for verdict in verdicts)
            print(
                f"| {row['domain']} | {bars} | {row['mae']:.2g} | {row['miscalibration']:.3f} | {row['coverage90']:.0%} "
                f"| {row['z_rms']:.2g} | {inside} of {len(verdicts)} | {row['mean_std'] / row['mae']:.1f} |",
                flush=True,
            )


def quantity_table(surrogate: sf.Surrogate, runs: sf.Runs, domains: dict[str, np.ndarray]) -> None:
    print(
        "\n| quantity | domain | runs | read off the field: mean relative error | runs inside 90 % "
        "| learned as a number: mean relative error | runs inside 90 % |\n|---|---|---:|---:|---:|---:|---:|"
    )
    for row in quantity_rows(surrogate, runs, domains):
        cells = [f"| {row['quantity']} | {row['domain']} | {row['n_runs']} "]
        for prefix, way in (("", "field"), ("number_", "gp")):
            if f"{prefix}relative_error" in row:
                star = " *" if row.get("better") == way else ""
                cells.append(f"| {row[f'{prefix}relative_error']:.1e}{star} | {row[f'{prefix}coverage90']:.0%} ")
            else:
                cells.append("| | ")
        print("".join(cells) + "|")
    print("\nA star marks who errs less on training runs left out. Along the wall, shares are of faces.")


def main() -> None:
    keep_compiled_programs()
    runs = sf.open_runs(sys.argv[1])
    division = SPLITS["parts" if runs.header.made_by.get("parts") else "paper"]()(runs)
    training = runs.select(division.train)
    space = Standard.of_fields(training)
    if len(sys.argv) > 2:
        training = training.select(space_filling(training.parameters, int(sys.argv[2])))
    surrogate = train(training, sys.argv[3] if len(sys.argv) > 3 else None)
    low, high = training.parameters.min(axis=0), training.parameters.max(axis=0)
    for where, share in (("inside", 0.6), ("extrapolated", 1.1)):
        condition = dict(zip(training.parameter_names, (low + share * (high - low)).tolist(), strict=True))
        duration = milliseconds(partial(surrogate.predict, extrapolate=True, **condition))
        print(f"\nA whole field with names, units and calibrated bars, {where}: {duration:.1f} ms")
    bars_table(surrogate, runs, division.test, space)
    quantity_table(surrogate, runs, division.test)


if __name__ == "__main__":
    main()
