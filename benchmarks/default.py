"""The default surrogate on the paper's split: seconds to train and calibrate, milliseconds to predict, and its quantities.

    python benchmarks/default.py runs.zarr

Training compares the whole-field models by cross-validation over the training runs, as `sureflow train` does, and calibration
goes by folds over them. A prediction is one whole field with its calibrated bars. The last table holds stand-off, pressures
and drag read off predicted fields against those of the test runs.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from sureflow.choose import ComparisonSettings, compare
from sureflow.data.dataset import Dataset
from sureflow.data.split import PaperDomains
from sureflow.learn import learn
from sureflow.runtime import keep_compiled_programs
from sureflow.surrogate import Surrogate
from sureflow.trust import body_of, calibrate, observer, quantities

T = TypeVar("T")

SCALING = "freestream"
INSIDE, OUTSIDE = np.array([[25.0, 46.0]]), np.array([[30.0, 22.0]])
TEN_PERCENT_OUTSIDE = 1.6449  # standard deviations of a Gaussian


def timed(what: str, function: Callable[[], T]) -> T:
    began = time.perf_counter()
    result = function()
    print(f"| {what} | {time.perf_counter() - began:.0f} s |", flush=True)
    return result


def milliseconds(function: Callable[[], object], repeats: int = 30) -> float:
    function()
    durations = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        durations.append(time.perf_counter() - began)
    return 1e3 * statistics.median(durations)


def train(training: Dataset) -> Surrogate:
    print("| what | time |\n|---|---:|")
    found = timed("cross-validation of all candidates", lambda: compare(training, ComparisonSettings(), SCALING))
    for candidate in found.candidates:
        print(f"| of which {candidate.model}, left-out MAE {candidate.mae:.2g} | {candidate.seconds:.0f} s |")
    chosen = timed(f"fit of {found.settings.name}", lambda: learn(training, found.settings, scaling=SCALING))
    body = body_of(chosen, training.gas)
    assert body is not None
    return timed("calibration by folds", lambda: calibrate(chosen, training, folds=True, observe=observer(body)))


def quantity_table(surrogate: Surrogate, runs: Dataset, domains: dict[str, np.ndarray]) -> None:
    body = body_of(surrogate, runs.gas)
    assert body is not None
    print(
        "\n| quantity | domain | runs | relative error | relative std | runs inside 90 % |\n|---|---|---:|---:|---:|---:|"
    )
    for domain, mask in domains.items():
        truth = observer(body)(runs.fields[mask], runs.parameters[mask])
        found = [
            quantities(surrogate, body, mach=mach, altitude_km=altitude) for mach, altitude in runs.parameters[mask]
        ]
        for index, quantity in enumerate(body.quantities):
            value = np.array([float(one[quantity.name]) for one in found])
            std = np.array([float(one[f"{quantity.name}_std"]) for one in found])
            error = np.abs(value - truth[:, index])
            inside = (error <= TEN_PERCENT_OUTSIDE * std).mean()
            print(
                f"| {quantity.name} | {domain} | {mask.sum()} | {np.mean(error / np.abs(truth[:, index])):.1e} "
                f"| {np.mean(std / np.abs(value)):.1e} | {inside:.0%} |"
            )


def main() -> None:
    keep_compiled_programs()
    runs = Dataset.from_store(sys.argv[1])
    split = PaperDomains()(runs)
    surrogate = train(runs.select(split.train))
    for where, condition in (("inside", INSIDE), ("extrapolated", OUTSIDE)):
        duration = milliseconds(partial(surrogate.predictive, condition))
        print(f"| prediction of a whole field, {where} | {duration:.1f} ms |")
    quantity_table(surrogate, runs, split.test)


if __name__ == "__main__":
    main()
