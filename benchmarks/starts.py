"""Steps and processor time of the solver from a cold start, from the nearest run, and from what a model predicts.

Conditions lie between those of the runs, spread over their box. One table from one run:

    sureflow generate runs.zarr --preset paper
    python benchmarks/starts.py runs.zarr                      # 25 conditions
    python benchmarks/starts.py runs.zarr --model nbf/         # a model of your own
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import sureflow as sf
from sureflow.campaign.predicted import PredictedStarts
from sureflow.flow.solution import FlowSolution
from sureflow.flow.solve import Start, solve_flow
from sureflow.physics.free_stream import FlightCondition


def conditions(runs: sf.Runs, side: int) -> list[FlightCondition]:
    """side x side conditions inside the box of the runs, each halfway between two values of either parameter."""

    def between(values: np.ndarray) -> np.ndarray:
        known = np.unique(values)
        middles = 0.5 * (known[1:] + known[:-1])
        return middles[np.linspace(1, len(middles) - 2, side).round().astype(int)]

    return [FlightCondition(*map(float, pair)) for pair in itertools.product(*map(between, runs.parameters.T))]


def nearest(runs: sf.Runs, starts: PredictedStarts, condition: FlightCondition) -> Start:
    """The run whose condition is nearest, in widths of the box."""
    wanted = np.array([condition.mach, condition.altitude_km])
    case = int(np.argmin(np.linalg.norm((runs.parameters - wanted) / np.ptp(runs.parameters, axis=0), axis=1)))
    stream = FlightCondition(*map(float, runs.parameters[case])).free_stream(starts.gas)
    return Start(np.asarray(runs.fields[case], float).reshape(4, *starts.mesh.shape), stream)


def timed(solve: Callable[[], FlowSolution]) -> tuple[FlowSolution, float]:
    began = time.process_time()
    return solve(), time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--model", type=Path, help="a trained model; by default an interpolation of all runs")
    parser.add_argument("--side", type=int, default=5)
    arguments = parser.parse_args()
    runs = sf.open_runs(arguments.runs)
    model = sf.load(arguments.model) if arguments.model else sf.fit(runs, "interpolation", calibrate=False)
    starts = PredictedStarts.of(model)
    fixed = {"gas": starts.gas, "wall": starts.wall, "settings": starts.settings}
    table = Table("Mach", "km", "cold", "nearest run", "prediction", "cold / prediction", title="Steps to convergence")
    steps: dict[str, list[int]] = {}
    seconds: dict[str, list[float]] = {}
    chosen = conditions(runs, arguments.side)
    solve_flow(chosen[0], starts.mesh, **fixed)  # compiles
    for condition in chosen:
        ways: dict[str, Callable[[], Start | None]] = {
            "cold": lambda: None,
            "nearest run": lambda condition=condition: nearest(runs, starts, condition),
            "prediction": lambda condition=condition: starts.start(condition),
        }
        for way, start in ways.items():
            found, took = timed(lambda start=start, c=condition: solve_flow(c, starts.mesh, start=start(), **fixed))
            assert found.convergence.status == "converged", (condition, way)
            steps.setdefault(way, []).append(found.convergence.steps)
            seconds.setdefault(way, []).append(took)
        row = [steps[way][-1] for way in ways]
        table.add_row(f"{condition.mach:g}", f"{condition.altitude_km:g}", *map(str, row), f"{row[0] / row[2]:.1f}")
    medians = [statistics.median(steps[way]) for way in steps]
    table.add_row("median", "", *(f"{value:g}" for value in medians), f"{medians[0] / medians[2]:.1f}")
    times = [statistics.median(seconds[way]) for way in seconds]
    table.add_row("processor s", "", *(f"{value:.2f}" for value in times), f"{times[0] / times[2]:.1f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
