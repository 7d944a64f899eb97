"""Speed of training and prediction beside the machine's own matrix products, PyTorch and one flow solution.

One table from one run. Work is counted as 6 x the sum of inputs x outputs over the layers per member-sample in
training (forward, and twice that backward), 2 x in prediction; sampling, loss and optimizer are inside the time and
not in the count. The matrix product (2048 x 256 x 256, float32) is timed right before and after each measurement. What is
compared takes turns, since the machine's speed may change from one minute to the next.

    python benchmarks/training.py                              # without PyTorch
    python -m venv torch-venv && torch-venv/bin/pip install torch==2.13.0 numpy neuraloperator==2.0.0
    python benchmarks/training.py --torch-python torch-venv/bin/python
    python benchmarks/training.py --only fno --torch-python torch-venv/bin/python
    python benchmarks/training.py --only nbf

FNOs are counted in runs of 64 x 64 points, by wall time and by processor time: beside other work on a machine, the ratio of
the latter says more. Their work is that of all products, those with sines and cosines included. Of NBFs it is the networks for
the basis that are measured; the work of the optimizer, products of matrices as well, is counted.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from sureflow.heads import Deterministic
from sureflow.models import DeepONetSettings, FNOSettings
from sureflow.models.contract import Sizes
from sureflow.models.features import n_fourier_features
from sureflow.models.fno import Grid, inverse_transform, mix, transform
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Ensemble
from sureflow.train.batching import TrainingView, steps_per_epoch
from sureflow.train.loop import Rates, initial_state, take_step, train_epoch
from sureflow.train.nbf import STEPS, NBFSettings
from sureflow.train.networks import TrainedNetworks
from sureflow.train.optimizers import ITERATIONS
from sureflow.train.recipe import Recipe

PAPER = DeepONetSettings(fourier_octaves=0)
VARIABLES = 4
OURS = "sureflow"
# Inputs x outputs over the layers of the paper's network: two encoders, decoder.
MULTIPLICATIONS = 2 * (2 * 32 + 32 * 32) + 32 * 256 + 2 * 256 * 256 + 256


def seconds(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    jax.block_until_ready(function())
    return time.perf_counter() - began


@jax.jit
def products(x, w):
    """A hundred matrix products, one after the other."""
    return jax.lax.fori_loop(0, 100, lambda _, y: y @ w, x)


def gemm_rates() -> dict[str, float]:
    """Floating-point operations of 2048 x 256 x 256 products per second of either clock, medians of seven."""
    rng = np.random.default_rng(0)
    x, w = (jnp.asarray(rng.normal(size=(rows, 256)) / 16, jnp.float32) for rows in (2048, 256))
    products(x, w)
    work, found = 100 * 2 * 2048 * 256 * 256, []
    for _ in range(7):
        cpu = time.process_time()
        wall = seconds(lambda: products(x, w))
        found.append((work / wall, work / (time.process_time() - cpu)))
    return dict(zip(("wall", "processor"), map(statistics.median, zip(*found, strict=True)), strict=True))


def gemm_rate() -> float:
    return gemm_rates()["wall"]


def beside_gemm(measure: Callable[[], float]) -> tuple[float, float]:
    """A rate, and that of matrix products just before and after it."""
    before = gemm_rate()
    rate = measure()
    return rate, (before + gemm_rate()) / 2


def random_view(runs: int, points: int) -> TrainingView:
    rng = np.random.default_rng(0)
    shapes = ((points, 2), (runs, 2), (VARIABLES, runs, points))
    return TrainingView(*(jnp.asarray(rng.standard_normal(shape, np.float32)) for shape in shapes))


def recipe(members: int, batch: int, points_per_run: int) -> Recipe:
    return Recipe(PAPER, Deterministic(), Ensemble(members), TrainSettings(batch=batch, points_per_run=points_per_run))


def training_rate(runs: int, points: int, members: int, batch: int, points_per_run: int, repeats: int) -> float:
    """Member-samples per second over whole epochs of all networks, median."""
    view, plan = random_view(runs, points), recipe(members, batch, points_per_run)
    state, _ = train_epoch(initial_state(view, plan), 0, view, plan)
    samples = steps_per_epoch(runs, points_per_run, batch) * batch * members * VARIABLES
    rates = []
    for epoch in range(repeats):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(train_epoch(state, 1 + epoch, view, plan))
        rates.append(samples / (time.perf_counter() - began))
    return statistics.median(rates)


FNO, CELLS, FNO_RUNS, FNO_BATCH = FNOSettings(), 64, 40, 8


def fno_multiplications() -> int:
    """Of one run, forwards: lift, transforms and their inverses, spectra, local weights and projection."""
    width, modes, layers, points = FNO.width, FNO.modes, FNO.layers, CELLS**2
    along, across = CELLS * CELLS * 2 * modes, 2 * CELLS * modes * 2 * (2 * modes - 1)
    spectra = (2 * modes - 1) * modes * 4 * width
    layer = width * (2 * (along + across) + spectra + points * width)
    return points * 4 * width + layers * layer + points * FNO.hidden * (width + VARIABLES)


def fno_rates(members: int, repeats: int) -> dict[str, float]:
    """Runs per second of training, by wall time and by processor time, medians over epochs."""
    rng = np.random.default_rng(0)
    shapes = ((CELLS**2, 2), (FNO_RUNS, 2), (VARIABLES, FNO_RUNS, CELLS**2))
    view = TrainingView(*(jnp.asarray(rng.standard_normal(s, np.float32)) for s in shapes), (CELLS, CELLS))
    plan = Recipe(FNO, Deterministic(), Ensemble(members), TrainSettings(batch=FNO_BATCH))
    state, _ = train_epoch(initial_state(view, plan), 0, view, plan)
    rates = {"wall": [], "processor": []}
    for epoch in range(repeats):
        began, cpu = time.perf_counter(), time.process_time()
        state, _ = jax.block_until_ready(train_epoch(state, 1 + epoch, view, plan))
        rates["wall"].append(FNO_RUNS * members / (time.perf_counter() - began))
        rates["processor"].append(FNO_RUNS * members / (time.process_time() - cpu))
    return {clock: statistics.median(found) for clock, found in rates.items()}


def fno_table(arguments: argparse.Namespace) -> Table:
    """Ours and neuraloperator's in turns, equal sizes and steps."""
    table = Table("what", "clock", "runs/s", "GFLOP/s", "GEMM GFLOP/s", "share of GEMM", title="Training of an FNO")
    rounds, others, gemms = [], [], []
    for _ in range(arguments.rounds):
        before = gemm_rates()
        rounds.append(fno_rates(2, arguments.repeats))
        gemms.append({clock: (before[clock] + after) / 2 for clock, after in gemm_rates().items()})
        if arguments.torch_python:
            script = Path(__file__).with_name("training_neuraloperator.py")
            steps = FNO_RUNS // FNO_BATCH * arguments.repeats
            command = [arguments.torch_python, script, FNO.modes, FNO.width, FNO.layers, FNO_BATCH, steps, 1]
            found = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
            others.append(json.loads(found.stdout.splitlines()[-1]))
    for clock in ("wall", "processor"):
        ours, gemm = (statistics.median(rates[clock] for rates in found) for found in (rounds, gemms))
        work = 6 * fno_multiplications() * ours
        share = f"{work / gemm:.0%}"
        table.add_row("sureflow, 2 members", clock, f"{ours:.1f}", f"{work / 1e9:.1f}", f"{gemm / 1e9:.0f}", share)
        if others:
            other = statistics.median(rates[clock] for rates in others)
            faster = f"sureflow is {ours / other:.2f} x as fast"
            table.add_row("neuraloperator", clock, f"{other:.1f}", "", "", faster)
    return table


def fno_parts() -> dict[str, tuple[Callable[..., object], tuple[object, ...], int]]:
    """Parts of a training step by name: a function, what it is given, and its multiplications forwards for one run.

    Each is the gradient, by all that it is given, of the sum of squares of what the part makes of a batch.
    """
    rng = np.random.default_rng(0)
    grid, width, points = Grid((CELLS, CELLS), FNO.modes, FNO.padding), FNO.width, CELLS**2
    network = FNO.build(Sizes(2, 2, VARIABLES, grid.shape), VARIABLES, rng)
    layer, layers = network.layers[0], FNO.layers
    v = jnp.asarray(rng.standard_normal((FNO_BATCH, width, points), np.float32))
    spectrum = jax.vmap(lambda one: transform(one.reshape(-1, *grid.shape), grid))(v)

    def gradient(function):
        def total(*given):
            return jnp.sum(jax.vmap(function, (0, *(None for _ in given[1:])))(*given) ** 2)

        return lambda *given: jax.grad(total, tuple(range(len(given))))(*given)

    modes = FNO.modes
    along, across = CELLS * CELLS * 2 * modes, 2 * CELLS * modes * 2 * (2 * modes - 1)
    there = gradient(lambda one: transform(one.reshape(-1, *grid.shape), grid))
    back = gradient(lambda one: inverse_transform(one, grid))
    return {
        "Fourier transforms": (there, (v,), layers * width * (along + across)),
        "inverse transforms": (back, (spectrum,), layers * width * (along + across)),
        "mixing of spectra": (
            gradient(lambda one, real, imaginary: mix(real, imaginary, one)),
            (spectrum, layer.real, layer.imaginary),
            layers * width * (2 * modes - 1) * modes * 4 * width,
        ),
        "products at points": (gradient(lambda one, w: w @ one), (v, layer.local), layers * points * width**2),
        "gelu": (gradient(jax.nn.gelu), (v,), 0),
        "projection": (
            gradient(lambda one, w, last: last @ jax.nn.gelu(w @ one)),
            (v, network.hidden, network.last),
            points * FNO.hidden * (width + VARIABLES),
        ),
    }


def fno_shares(arguments: argparse.Namespace) -> Table:
    """Processor time of the parts of a step, each alone, beside that of the whole step."""
    table = Table(
        "part of a step", "processor ms", "of the whole step", "GFLOP/s", title="What an FNO's step consists of"
    )

    def milliseconds(function: Callable[[], object]) -> float:
        found = []
        for _ in range(2 + arguments.repeats):
            cpu = time.process_time()
            jax.block_until_ready(function())
            found.append(1e3 * (time.process_time() - cpu))
        return statistics.median(found[2:])

    whole = 1e3 * FNO_BATCH / fno_rates(1, arguments.repeats)["processor"]
    for name, (function, given, multiplications) in fno_parts().items():
        times = 1 if name == "projection" else FNO.layers
        took = times * milliseconds(partial(jax.jit(function), *given))
        rate = f"{6e-6 * FNO_BATCH * multiplications / took:.0f}" if multiplications else ""
        table.add_row(name, f"{took:.1f}", f"{took / whole:.0%}", rate)
    view = TrainingView(
        jnp.zeros((CELLS**2, 2)), jnp.zeros((1, 2)), jnp.zeros((VARIABLES, 1, CELLS**2)), (CELLS, CELLS)
    )
    state = initial_state(view, Recipe(FNO, Deterministic(), Ensemble(1), TrainSettings(batch=FNO_BATCH)))
    rates = Rates(1e-3, 1e-4, 1, 0.0)
    update = jax.jit(lambda state: take_step("adam", state.weights, state.moments, state.weights, rates, 1.0))
    took = milliseconds(lambda: update(state))
    table.add_row("optimizer", f"{took:.1f}", f"{took / whole:.0%}", "")
    table.add_row("the whole step", f"{whole:.1f}", "", f"{6e-6 * FNO_BATCH * fno_multiplications() / whole:.0f}")
    return table


NBF, FUNCTIONS = (
    NBFSettings(members=2),
    132,
)  # of which a network gives as many as 32 modes and the mean have, of four fields


def nbf_work() -> int:
    """Floating-point operations of one step of a basis: the layers, and what makes their momentum orthogonal."""
    inputs = n_fourier_features(2, NBF.fourier_octaves)
    sizes = list(pairwise([inputs, *[NBF.basis_width] * NBF.basis_layers, FUNCTIONS]))
    layers = 6 * NBF.train.batch * sum(a * b for a, b in sizes)
    return layers + sum(2 * ITERATIONS * min(pair) ** 2 * (2 * max(pair) + min(pair)) for pair in sizes)


def nbf_rates(repeats: int) -> dict[str, float]:
    """Floating-point operations of the training of all members per second of either clock, medians over epochs."""
    rng = np.random.default_rng(0)
    places, targets = rng.uniform(-1, 1, (CELLS**2, 2)), rng.standard_normal((CELLS**2, FUNCTIONS))
    ends = []
    replace(NBF, train=replace(NBF.train, epochs=1 + repeats)).train_basis(
        places,
        targets,
        n_fourier_features(2, NBF.fourier_octaves),
        lambda _: ends.append((time.perf_counter(), time.process_time())),
        None,
    )
    durations = np.median(np.diff(ends, axis=0), axis=0)
    return dict(zip(("wall", "processor"), NBF.members * STEPS * nbf_work() / durations, strict=True))


def nbf_table(arguments: argparse.Namespace) -> Table:
    table = Table(
        "what", "clock", "GFLOP/s", "GEMM GFLOP/s", "share of GEMM", title="Training of neural basis functions"
    )
    rounds = [(gemm_rates(), nbf_rates(arguments.repeats), gemm_rates()) for _ in range(arguments.rounds)]
    for clock in ("wall", "processor"):
        ours = statistics.median(found[clock] for _, found, _ in rounds)
        gemm = statistics.median((before[clock] + after[clock]) / 2 for before, _, after in rounds)
        table.add_row("sureflow, 2 members", clock, f"{ours / 1e9:.0f}", f"{gemm / 1e9:.0f}", f"{ours / gemm:.0%}")
    return table


def prediction_seconds(points: int, members: int, repeats: int) -> float:
    """One condition, all members and variables, median."""
    view, plan = random_view(3, points), recipe(members, 512, 512)
    weights = initial_state(view, plan).weights
    parameters = view.parameters[:1]

    def predict():
        return TrainedNetworks(plan, view.sizes, weights).predict(parameters, view.coordinates).mean

    seconds(predict)
    return statistics.median(seconds(predict) for _ in range(repeats))


def torch_rates(python: Path, batch: int, steps: int, networks: int) -> dict[str, float]:
    script = Path(__file__).with_name("training_torch.py")
    command = [python, script, batch, steps, networks]
    result = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def flow_seconds(cells: tuple[int, int]) -> float:
    """One flow solution at Mach 25 and 46 km on a mesh of as many cells, after compilation."""
    from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
    from sureflow.flow.solve import solve_flow
    from sureflow.physics.free_stream import FlightCondition

    mesh = body_mesh(SphereCone(), MeshSettings(cells=cells, mach=25.0))
    solve_flow(FlightCondition(24.0, 46.0), mesh)
    return seconds(lambda: solve_flow(FlightCondition(25.0, 46.0), mesh).fields)


def training_rates(arguments: argparse.Namespace, batch: int) -> tuple[dict[str, float], float]:
    """Member-samples per second by who trains, and the GEMM rate beside ours: medians over rounds in which all take turns."""
    steps, networks = steps_per_epoch(40, 512, batch), VARIABLES * arguments.members
    rounds, gemms = [], []
    for _ in range(arguments.rounds):
        ours, gemm = beside_gemm(lambda: training_rate(40, 4096, arguments.members, batch, 512, arguments.repeats))
        others = torch_rates(arguments.torch_python, batch, steps, networks) if arguments.torch_python else {}
        rounds.append({OURS: ours} | others)
        gemms.append(gemm)
    return {name: statistics.median(rates[name] for rates in rounds) for name in rounds[0]}, statistics.median(gemms)


def speed_table(arguments: argparse.Namespace) -> Table:
    table = Table("what", "batch", "k member-samples/s", "GFLOP/s", "GEMM GFLOP/s", "share of GEMM", title="Training")
    for batch in (512, 2048):
        rates, gemm = training_rates(arguments, batch)
        ours = rates.pop(OURS)
        work = 6 * MULTIPLICATIONS * ours
        what = f"sureflow, {arguments.members} members x {VARIABLES} variables"
        table.add_row(
            what, str(batch), f"{ours / 1e3:.0f}", f"{work / 1e9:.0f}", f"{gemm / 1e9:.0f}", f"{work / gemm:.0%}"
        )
        for name, other in rates.items():
            faster = f"sureflow is {ours / other:.2f} x as fast"
            table.add_row(f"PyTorch, {name}", str(batch), f"{other / 1e3:.0f}", "", "", faster)
    return table


def prediction_table(arguments: argparse.Namespace) -> Table:
    table = Table("what", "seconds", "GFLOP/s", "share of GEMM", title="Prediction, 4096 points")
    before = gemm_rate()
    duration = prediction_seconds(4096, arguments.members, arguments.repeats)
    gemm = (before + gemm_rate()) / 2
    # The condition's encoder runs once, not once a point: it is left out of the count.
    work = 2 * (MULTIPLICATIONS - 2 * 32 - 32 * 32) * 4096 * VARIABLES * arguments.members / duration
    ours = f"{arguments.members} members x {VARIABLES} variables"
    table.add_row(ours, f"{duration:.3f}", f"{work / 1e9:.0f}", f"{work / gemm:.0%}")
    if arguments.flow:
        flow = flow_seconds((64, 64))
        table.add_row("one flow solution, 64 x 64 cells", f"{flow:.3f}", "", f"{flow / duration:.1f} x the prediction")
    return table


def scaling_table() -> Table:
    """Seconds an epoch when one size is doubled; 2 is linear."""
    base = {"members": 1, "points_per_run": 512, "runs": 32}
    table = Table("doubled", "seconds an epoch", "ratio to base", title="Cost")

    def epoch_seconds(members: int, points_per_run: int, runs: int) -> float:
        samples = steps_per_epoch(runs, points_per_run, 512) * 512 * members * VARIABLES
        return samples / training_rate(runs, 4096, members, 512, points_per_run, 5)

    reference = epoch_seconds(**base)
    table.add_row("nothing", f"{reference:.3f}", "1")
    for name, value in base.items():
        doubled = epoch_seconds(**(base | {name: 2 * value}))
        table.add_row(name, f"{doubled:.3f}", f"{doubled / reference:.2f}")
    return table


def memory_table(members: int) -> Table:
    """Peak resident memory of this process after an epoch on the largest data the product promises."""
    view, plan = random_view(441, 8192), recipe(members, 2048, 16)
    jax.block_until_ready(train_epoch(initial_state(view, plan), 0, view, plan))
    table = Table("what", "GB", title="Peak resident memory")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    table.add_row(f"441 runs x 8192 points, {members} members, and all of the above", f"{peak:.2f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="in which sureflow and PyTorch train in turn")
    parser.add_argument("--torch-python", type=Path, help="interpreter of an environment with torch==2.13.0")
    parser.add_argument("--only", choices=["fno", "nbf"], help="one table alone")
    parser.add_argument("--no-flow", dest="flow", action="store_false", help="leave out the flow solution")
    arguments = parser.parse_args()
    console = Console(width=120)
    console.print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, jax {jax.__version__}")
    for name, make in (("fno", fno_table), ("fno", fno_shares), ("nbf", nbf_table)):
        if arguments.only in (None, name):
            console.print(make(arguments))
    if arguments.only:
        return
    for make in (lambda: speed_table(arguments), lambda: prediction_table(arguments), scaling_table):
        console.print(make())
    console.print(memory_table(arguments.members))


if __name__ == "__main__":
    main()
