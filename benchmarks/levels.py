"""One level or two, at equal processor seconds: errors of models of fine runs alone, and of few fine and many coarse ones.

    sureflow runs levels paper.zarr coarse.zarr -o levels.zarr     # coarse: the same conditions with `generate --refine 0.5`
    python benchmarks/levels.py levels.zarr --figure docs/next-runs/levels.png

Budgets are those of 6 to 25 fine runs of the paper's training set, space-filling. Two levels spend half of a budget on each,
which was settled before any test run was looked at; coarse runs are at the fine conditions and at others of the training set.
A run costs its recorded steps times the processor seconds of a step on its mesh, measured here, one mesh after the other.
Prints the mean absolute error on the paper's test sets, in standard deviations of all training runs.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

import sureflow as sf
from few_runs import errors
from sureflow.campaign.contents import follow_up
from sureflow.data.layout import level_path
from sureflow.data.normalize import Standard
from sureflow.data.splits import SPLITS, space_filling
from sureflow.flow.solve import solve_flow
from sureflow.report.figures import save
from sureflow.runtime import keep_compiled_programs

BUDGETS = (6, 9, 12, 16, 25)  # in fine runs
CONDITION = (20.0, 40.0)
FEWEST = 4  # fine runs that a model needs
ONE = {"interpolation": "interpolation", "aligned": "aligned"}
TWO = {
    "levels (interpolation)": "levels",
    "levels (pod-gp)": {"name": "levels", "coarse": "pod-gp", "difference": "pod-gp"},
    "levels (aligned coarse runs)": {"name": "levels", "coarse": "aligned"},
}
SCALING = {"aligned": "similarity", "levels (aligned coarse runs)": "similarity"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    keep_compiled_programs()
    every = sf.open_runs(options.store)
    assert every.coarser is not None
    division = SPLITS["paper"]()(every)
    training = every.select(division.train)
    tests = [every.select(division.test[domain]) for domain in ("in_domain", "out_of_domain")]
    space = Standard.of_fields(training)
    prices = [price(options.store, level, runs) for level, runs in ((0, every), (1, every.coarser))]
    print(f"a run costs {prices[0]:.2f} CPU s on the fine mesh, {prices[1]:.2f} on the coarse one\n")
    print("| CPU s | model | fine runs | coarse runs | MAE in | MAE out |\n|---:|---|---:|---:|---:|---:|")
    curves: dict[str, list[tuple[float, float, float]]] = {}
    for budget in BUDGETS:
        for name, model in (ONE | TWO).items():
            runs = chosen(training, budget, prices) if name in TWO else fine(training, budget)
            surrogate = sf.fit(runs, model, scaling=SCALING.get(name, "auto"), calibrate=False)
            inside, outside = (errors(surrogate, tested, space)[0] for tested in tests)
            coarse = len(runs.coarser) if runs.coarser else 0
            spent = len(runs) * prices[0] + coarse * prices[1]
            curves.setdefault(name, []).append((spent, inside, outside))
            print(f"| {spent:.0f} | {name} | {len(runs)} | {coarse} | {inside:.2g} | {outside:.2g} |", flush=True)
    if options.figure:
        options.figure.parent.mkdir(parents=True, exist_ok=True)
        save(draw(curves), options.figure)


def fine(training: sf.Runs, count: int) -> sf.Runs:
    return replace(training.select(space_filling(training.parameters, count)), coarser=None)


def chosen(training: sf.Runs, budget: int, prices: list[float]) -> sf.Runs:
    """Half of the budget for fine runs, the rest for coarse ones at their conditions and others."""
    some = fine(training, max(FEWEST, round(budget / 2)))
    count = int((budget - len(some)) * prices[0] / prices[1])
    assert training.coarser is not None
    here = {tuple(row) for row in some.parameters.tolist()}
    conditions = [
        tuple(row) for row in training.parameters[space_filling(training.parameters, min(count, len(training)))]
    ]
    wanted = {*here, *[row for row in conditions if row not in here][: max(count - len(here), 0)]}
    return some.with_coarser(
        training.coarser.select(np.array([tuple(row) in wanted for row in training.coarser.parameters.tolist()]))
    )


def price(store: Path, level: int, runs: sf.Runs) -> float:
    """Processor seconds of a typical run: median steps times those of a step, compiled before."""
    campaign = follow_up(level_path(store, level), [CONDITION])
    mesh, setup = campaign.build_mesh(), campaign.setup(CONDITION)
    pace = 0.0
    for _ in range(2):
        began = time.process_time()
        solution = solve_flow(setup.condition, mesh, gas=campaign.gas, wall=setup.wall, settings=campaign.solver)
        pace = (time.process_time() - began) / solution.convergence.steps
    assert runs.numbers is not None
    return pace * float(np.median(runs.numbers[:, [item.name for item in runs.header.numbers].index("steps")]))


def draw(curves: dict[str, list[tuple[float, float, float]]]) -> Figure:
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    ticks = [5, 10, 20], [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02]
    for column, (axis, title) in enumerate(zip(figure.subplots(1, 2), ("in-domain", "out-of-domain"), strict=True), 1):
        for name, rows in curves.items():
            style = "o-" if name in ONE else "s--"
            axis.plot([row[0] for row in rows], [row[column] for row in rows], style, label=name, markersize=4)
        axis.set(xscale="log", yscale="log", xlabel="processor seconds", title=title)
        for one, places in zip((axis.xaxis, axis.yaxis), ticks, strict=True):
            one.set_major_locator(FixedLocator(places))
            one.set_major_formatter("{x:g}")
            one.set_minor_locator(NullLocator())
    figure.axes[0].set_ylabel("mean absolute error (standard deviations)")
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    main()
