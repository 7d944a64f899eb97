"""Accuracy per run: errors of the default model from few runs to many, in the training domain and outside of it.

    python benchmarks/few_runs.py paper runs.zarr            # the split of the paper, 6 to 205 runs
    python benchmarks/few_runs.py family family.zarr         # five parameters, 50 to 200 runs
    python benchmarks/few_runs.py paper runs.zarr 6 50       # from so many runs

Everything is chosen by leaving out training runs; test runs judge, once. MAE is in standard deviations of all training runs,
mean over fields and points. Subsets of the training runs are space-filling, as those of the studies' learning curves are.
"""

import sys
import time

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS, space_filling
from sureflow.runtime import keep_compiled_programs
from sureflow.surrogate.fit import make_surrogate
from sureflow.surrogate.specification import Specification

SIZES = {"paper": (6, 9, 16, 50, 205), "family": (50, 100, 200)}
SPLIT = {"paper": "paper", "family": "parts"}
POSITIVE = ("rho", "T")


def errors(surrogate: sf.Surrogate, runs: sf.Runs, space: Standard) -> tuple[float, int]:
    """Mean absolute error, and the number of values of density and temperature that are not positive."""
    found, unphysical = [], 0
    positive = [runs.names.index(name) for name in POSITIVE]
    for condition, truth in zip(runs.parameters, runs.each(), strict=True):
        mean = np.asarray(surrogate.raw_predictive(condition[None]).mean)[0]
        found.append(np.mean(np.abs(mean - truth).mean(axis=1) / space.std))
        unphysical += int((mean[positive] <= 0).sum())
    return float(np.mean(found)), unphysical


def main() -> None:
    keep_compiled_programs()
    study, store, *sizes = sys.argv[1:]
    runs = sf.open_runs(store)
    division = SPLITS[SPLIT[study]]()(runs)
    training, space = runs.select(division.train), Standard.of_fields(runs.select(division.train))
    inside, outside = (runs.select(division.test[domain]) for domain in ("in_domain", "out_of_domain"))
    print(
        "| runs | chosen | MAE in / out | not positive | leave-out MAE | choice and fit, CPU s |\n|---:|---|---|---:|---:|---:|"
    )
    for size in map(int, sizes) if sizes else SIZES[study]:
        some = training
        if size < len(training):
            some = training.select(space_filling(training.parameters, size))
        began = time.process_time()
        surrogate = make_surrogate(some, Specification())
        seconds = time.process_time() - began
        left_out = min(row["mae"] for row in surrogate.comparison if row["chosen"])
        (within, bad), (beyond, worse) = (errors(surrogate, tested, space) for tested in (inside, outside))
        print(
            f"| {size} | {surrogate.model_name}, {surrogate.spec.scaling} | {within:.2g} / {beyond:.2g} | {bad + worse} "
            f"| {left_out:.2g} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
