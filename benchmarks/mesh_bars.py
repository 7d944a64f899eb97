"""Bars of the mesh, judged by runs on a mesh three times finer that no bar was learned from.

    python benchmarks/mesh_bars.py paper.zarr --folder mesh_bars        # the runs of the preset `paper`; some 15 minutes

Learns the error of the 64x64 mesh from 9 conditions at 32x32, 64x64 and 128x128, and asks for its bars at 12 others, drawn
once, which were computed at 192x192. Runs are kept in the folder, and an interrupted benchmark goes on. Finer runs start from
that on the mesh of the store. Prints the share of the disturbed points whose difference lies within the 90 %
bars, and how wide the bars are: their mean over the mean difference.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import sureflow as sf
from sureflow.campaign.campaign import Campaign
from sureflow.campaign.contents import follow_up
from sureflow.campaign.continuation import Computed
from sureflow.campaign.run import Case, run_campaign, solve_case
from sureflow.data.nesting import finer_cells, restricted
from sureflow.flow.solve import Start
from sureflow.physics.regions import DISTURBED, flow_regions
from sureflow.runtime import keep_compiled_programs
from sureflow.surrogate.mesh_bars import mesh_quantity_std, mesh_std, with_mesh_error

PAIRS = [(mach, altitude) for mach in (10.0, 20.0, 30.0) for altitude in (20.0, 40.0, 60.0)]
JUDGES, FINER, SEED = 12, 3, 2026
WITHIN = 1.6449
QUANTITIES = ("drag_coefficient", "stand_off", "q_stag_w_m2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("mesh_bars"))
    parser.add_argument("--as-is", action="store_true", help="judge by the runs that are there, and compute none")
    options = parser.parse_args()
    keep_compiled_programs()
    runs = sf.open_runs(options.store)
    judges = drawn(runs)
    coarser = computed(options, "pairs0.5", PAIRS, 0.5)
    finer = computed(options, "pairs2", PAIRS, 2, from_coarse(runs, 2))
    finest = computed(options, f"judges{FINER}", judges, FINER, from_coarse(runs, FINER))
    model = with_mesh_error(sf.fit(runs, "interpolation", calibrate=False), runs, finer, coarser)
    report(model, runs, finest)


def drawn(runs: sf.Runs) -> list[tuple[float, float]]:
    """Conditions of stored runs that have no pair."""
    others = sorted({(mach, altitude) for mach, altitude in runs.parameters.tolist()} - {*PAIRS})
    chosen = np.random.default_rng(SEED).choice(len(others), JUDGES, replace=False)
    return [others[index] for index in sorted(chosen)]


def computed(
    options: argparse.Namespace,
    name: str,
    conditions: list[tuple[float, float]],
    factor: float,
    solve: Callable[[Case], Computed] = solve_case,
) -> sf.Runs:
    """Runs on a mesh with so many times as many cells in each direction as that of the store."""
    campaign: Campaign = follow_up(options.store, conditions).refined(factor)
    path = options.folder / f"{name}.zarr"
    if options.as_is:
        return sf.open_runs(path)
    run_campaign(
        path,
        campaign,
        lambda runs: ThreadPoolExecutor(1),
        watch=lambda now: print(name, now.finished, flush=True),
        solve=solve,
    )
    return sf.open_runs(path)


def from_coarse(runs: sf.Runs, factor: int) -> Callable[[Case], Computed]:
    """Our solver, which starts from the run on the coarser mesh at the same condition."""
    cells = runs.topology.shape
    assert cells is not None

    def solve(case: Case) -> Computed:
        at = (runs.parameters == [case.condition.mach, case.condition.altitude_km]).all(axis=1)
        block = np.asarray(runs.fields[int(np.flatnonzero(at)[0])], float).reshape(-1, *cells)
        down, along = (finer_cells(n, factor) for n in cells)
        return solve_case(case._replace(start=Start(down @ block @ along.T, case.condition.free_stream(case.gas))))

    return solve


def report(model: sf.Surrogate, runs: sf.Runs, finest: sf.Runs) -> None:
    """Two tables: fields in the disturbed flow, and quantities."""
    rows = {name: ([], []) for name in runs.names}
    numbers = {name: ([], []) for name in QUANTITIES}
    shape = runs.topology.shape
    assert shape is not None
    assert runs.gas is not None
    places = {tuple(row): case for case, row in enumerate(runs.parameters.tolist())}
    for case, condition in enumerate(finest.parameters):
        own = places[tuple(condition.tolist())]
        ours, stream = np.asarray(runs.fields[own], float), runs.free_streams(np.array([own]))
        assert stream is not None
        disturbed = flow_regions(ours.reshape(-1, *shape), runs.gas, stream[0])[DISTURBED].ravel()
        std = mesh_std(model, condition[None], ours[None])[0]
        missed = np.abs(restricted(finest, case, FINER).reshape(ours.shape) - ours)
        for name, bars, errors in zip(runs.names, std[:, disturbed], missed[:, disturbed], strict=True):
            rows[name][0].append(bars)
            rows[name][1].append(errors)
        for name, relative in zip(QUANTITIES, mesh_quantity_std(model, condition[None], QUANTITIES)[0], strict=True):
            here, there = number(runs, own, name), number(finest, case, name)
            numbers[name][0].append(np.array([relative]))
            numbers[name][1].append(np.array([abs(there - here) / abs(here)]))
    print("| | within the 90 % bars | mean std over mean difference | mean difference |\n|---|---:|---:|---:|")
    every = ([], [])
    for name, (bars, errors) in {**rows, **numbers}.items():
        row(name, bars, errors)
        if name in rows:
            unit = float(np.mean(np.concatenate(errors)))
            every[0].extend(one / unit for one in bars)
            every[1].extend(one / unit for one in errors)
    row("all fields", *every)


def row(name: str, bars: list[np.ndarray], errors: list[np.ndarray]) -> None:
    std, missed = np.concatenate(bars), np.concatenate(errors)
    print(
        f"| {name} | {np.mean(missed <= WITHIN * std):.1%} | {std.mean() / missed.mean():.2f} | {missed.mean():.3g} |"
    )


def number(runs: sf.Runs, case: int, name: str) -> float:
    assert runs.numbers is not None
    return float(runs.numbers[case, [item.name for item in runs.header.numbers].index(name)])


if __name__ == "__main__":
    main()
