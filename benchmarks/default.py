"""The default surrogate on the paper's split: seconds to train and calibrate, milliseconds to predict, bars and quantities.

    python benchmarks/default.py runs.zarr               # all training runs
    python benchmarks/default.py runs.zarr 16            # so many of them, chosen space-filling
    python benchmarks/default.py runs.zarr 205 interpolation       # a model by name, without the comparison

Training compares the whole-field models by cross-validation over the training runs, as `sureflow train` does, and calibration
goes by folds over them. A prediction is one whole field with its calibrated bars. The second table compares the model's own bars
with the calibrated ones on the test runs, the last one quantities read off predicted fields with those of the test runs.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

import sureflow as sf
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS, space_filling
from sureflow.evaluate.evaluation import evaluate
from sureflow.runtime import keep_compiled_programs
from sureflow.surrogate.calibrate import calibrate
from sureflow.surrogate.choose import compare
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import ComparisonSettings, Specification, specification

T = TypeVar("T")

SCALING = "freestream"
INSIDE, OUTSIDE = {"mach": 25.0, "altitude_km": 46.0}, {"mach": 30.0, "altitude_km": 22.0}
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


def train(training: sf.Runs, model: str | None = None) -> sf.Surrogate:
    print("| what | time |\n|---|---:|")
    if model is not None:
        given = specification({"model": model, "scaling": SCALING})
        fitted = timed(f"fit of {model}", lambda: learn(training, given))
        return timed("calibration by folds", lambda: calibrate(fitted, training, folds=True))
    found = timed("cross-validation of all candidates", lambda: compare(training, ComparisonSettings(), SCALING))
    for one in found.candidates:
        print(f"| of which {one.model}, left-out MAE {one.mae:.2g} in {one.folds} folds | {one.seconds:.0f} s |")
    spec = Specification(found.settings, SCALING)
    chosen = timed(f"fit of {found.settings.name}", lambda: learn(training, spec))
    return timed("calibration by folds", lambda: calibrate(chosen, training, folds=True))


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
    observer = surrogate.observer
    assert observer is not None
    print(
        "\n| quantity | domain | runs | relative error | relative std | runs inside 90 % |\n|---|---|---:|---:|---:|---:|"
    )
    for domain, mask in domains.items():
        tested = runs.select(mask)
        truth = observer(tested.array(), tested.parameters)
        asked = dict(zip(tested.parameter_names, tested.parameters.T, strict=True))
        found = surrogate.quantities(extrapolate=True, **asked)
        for index, quantity in enumerate(observer.quantities):
            value, std = found[quantity.name].values, found[f"{quantity.name}_std"].values
            error = np.abs(value - truth[:, index])
            inside = (error <= TEN_PERCENT_OUTSIDE * std).mean()
            print(
                f"| {quantity.name} | {domain} | {len(tested)} | {np.mean(error / np.abs(truth[:, index])):.1e} "
                f"| {np.mean(std / np.abs(value)):.1e} | {inside:.0%} |"
            )


def main() -> None:
    keep_compiled_programs()
    runs = sf.open_runs(sys.argv[1])
    division = SPLITS["paper"]()(runs)
    training = runs.select(division.train)
    space = Standard.of_fields(training)
    if len(sys.argv) > 2:
        training = training.select(space_filling(training.parameters, int(sys.argv[2])))
    surrogate = train(training, sys.argv[3] if len(sys.argv) > 3 else None)
    for where, condition in (("inside", INSIDE), ("extrapolated", OUTSIDE)):
        duration = milliseconds(partial(surrogate.predict, extrapolate=True, **condition))
        print(f"| prediction of a whole field with names and units, {where} | {duration:.1f} ms |")
    bars_table(surrogate, runs, division.test, space)
    quantity_table(surrogate, runs, division.test)


if __name__ == "__main__":
    main()
