"""Time and memory of the evaluation of error bars, beside the Uncertainty Toolbox, on this machine in one run.

    python benchmarks/evaluate.py [points]

Synthetic predictions in float32. Seconds are those of the processor, which a busy machine does not change; memory is the
largest that was allocated at once beside the inputs. The sums of an evaluation go through the points in chunks; AUSE and the
rank correlation sort the points of one variable of one run.
"""

import os
import platform
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np

from sureflow.evaluate.tally import tallies
from sureflow.metrics.intervals import miscalibration_area
from sureflow.metrics.scoring import ause, gaussian_crps, rank_correlation

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import uncertainty_toolbox as toolbox

Measure = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


def all_sums(mean: np.ndarray, std: np.ndarray, truth: np.ndarray) -> float:
    return tallies(mean, std, truth, {"all": np.ones(mean.size, bool)})["all"].miscalibration


ROWS: dict[str, Measure] = {
    "miscalibration area": miscalibration_area,
    "miscalibration area, Uncertainty Toolbox": toolbox.miscalibration_area,
    "all sums of an evaluation, one variable": all_sums,
    "CRPS of every point": lambda mean, std, truth: float(gaussian_crps(mean, std, truth).mean()),
    "CRPS, Uncertainty Toolbox": toolbox.crps_gaussian,
    "AUSE": lambda mean, std, truth: ause(mean - truth, std),
    "rank correlation": lambda mean, std, truth: rank_correlation(mean - truth, std),
}


def prediction(points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """mean, std and truth, with bars that are too small."""
    rng = np.random.default_rng(0)
    mean, logarithm, error = (rng.standard_normal(points, np.float32) for _ in range(3))
    std = np.exp(logarithm - 3)
    return mean, std, mean + 1.5 * std * error


def main() -> None:
    points = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    values = prediction(points)
    print(f"{points:.0e} points; {platform.machine()}, {os.cpu_count()} cores\n")
    print("| what | value | CPU seconds | MB beside the inputs |\n|---|---:|---:|---:|")
    for name, measure in ROWS.items():
        tracemalloc.start()
        began = time.process_time()
        value = measure(*values)
        seconds = time.process_time() - began
        memory = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"| {name} | {value:.6f} | {seconds:.2f} | {memory:.0f} |", flush=True)


if __name__ == "__main__":
    main()
