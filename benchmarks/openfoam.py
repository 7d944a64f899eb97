"""Time to a steady state against OpenFOAM's rhoCentralFoam: same equations, mesh and criterion, one core each.

    python benchmarks/openfoam.py [--mach 10] [--altitude 30] [--cells 64x64]

The criterion, the same for both codes and evaluated from their histories afterwards: the processor time after which
drag (pressure and friction on the forebody) and stand-off stay within 0.1 % of their final values, which are the means
over the last tenth of the steps. OpenFOAM may end in a limit cycle wider than that, so the table also has the times to
0.1 % for averages over the last tenth of the steps so far, and to 1 %. OpenFOAM runs until its averages have stayed
within 0.1 % for half of its steps or its time is up, sureflow until it is converged by its own rules.

OpenFOAM starts from the free stream, at the best of three Courant numbers. Besides the limiter and the wedge (see
openfoam_case.py) it is helped by cells numbered along the wall's normals, the stiff direction of its Gauss-Seidel
solver; by time steps of neighbors that may differ by 10 % and not by the 2 % of its default; and by memory that is not
handed back to the system after every step, which makes it a fifth faster.

Its Sutherland gas has the conductivity of Eucken's relation, whatever Prandtl number is given. sureflow takes that
Prandtl number here (0.690), so that both solve the same equations.
"""

import argparse
import json
import math
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np

from openfoam_case import March, read_fields, write_case
from sureflow.flow import solve
from sureflow.flow.mesh import FlowMesh, MeshSettings, SphereCone, body_mesh
from sureflow.physics import quantities
from sureflow.physics.free_stream import FlightCondition, FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.physics.quantities import FlowField
from sureflow.physics.wall import Wall

MISSING = "OpenFOAM's rhoCentralFoam is not installed: nothing to compare with. On Debian: apt install openfoam"
DEBIAN_ROOT = "/usr/share/openfoam"
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000"}
CRITERIA = {"0.1 %": (1e-3, False), "averages": (1e-3, True), "1 %": (1e-2, False)}  # tolerance, of averages
GAS = PerfectGas(prandtl=1.4 / (1.32 + 1.77 * 0.4))  # Eucken's relation for gamma 1.4
WALL = Wall()


@dataclass
class History:
    """A run: processor time, steps, stand-off, drag coefficient, its friction part and pitot ratio, a row a look."""

    name: str
    rows: list[list[float]] = field(default_factory=list)
    note: str = ""
    failed: bool = False

    def last(self, share: float) -> np.ndarray:
        """The rows of the last share of the steps."""
        rows = np.array(self.rows)
        return rows[rows[:, 1] >= (1.0 - share) * rows[-1, 1]]

    def settled(self, criterion: str, held: float = 0.1) -> float:
        """Processor time after which stand-off and drag stay at their final values.

        It is infinite if they have not done so for the share `held` of the steps.
        """
        tolerance, averaged = CRITERIA[criterion]
        if self.failed or len(self.rows) < 2:
            return math.inf
        rows = np.array(self.rows)
        steps, values = rows[:, 1], rows[:, 2:4]
        if averaged:
            first = np.searchsorted(steps, 0.9 * steps)
            values = np.array([values[begin : end + 1].mean(axis=0) for end, begin in enumerate(first)])
        off = np.abs(values / self.last(0.1)[:, 2:4].mean(axis=0) - 1.0).max(axis=1)
        inside = np.concatenate([np.nonzero(off > tolerance)[0] + 1, [0]]).max()
        return rows[inside, 0] if inside < len(rows) and steps[inside] <= (1.0 - held) * steps[-1] else math.inf


def measure(flow: FlowField) -> list[float]:
    """What a row has besides time and steps; the same functions for both codes."""
    pressure_drag, friction_drag = quantities.drag_coefficients(flow)
    pitot = quantities.stagnation_pressure(flow) / flow.free_stream.pressure
    return [quantities.stand_off(flow), pressure_drag + friction_drag, friction_drag, pitot]


def log_entries(log: Path, process: subprocess.Popen) -> Iterator[tuple[int, float]]:
    """Steps and processor seconds that OpenFOAM reports, as they come, until it ends."""
    step, rest, ended = 0, "", False
    with log.open() as lines:
        while not ended:
            ended = process.poll() is not None
            *complete, rest = (rest + lines.read()).split("\n")
            for line in complete:
                if line.startswith("Time = "):
                    step = int(line.split()[2])
                elif line.startswith("ExecutionTime = "):
                    yield step, float(line.split()[2])
            time.sleep(1.0)


def run_openfoam(folder: Path, mesh: FlowMesh, free_stream: FreeStream, march: March, limit: float) -> History:
    """Run a case until its final values are known, it diverges or its time is up."""
    write_case(folder, mesh, free_stream, GAS, WALL, march)
    history = History(f"rhoCentralFoam, Courant {march.courant:g}")
    nodes = np.asarray(mesh.node_x), np.asarray(mesh.node_r)
    environment = {"WM_PROJECT_DIR": DEBIAN_ROOT} | os.environ | KEEP_MEMORY
    with (folder / "log").open("w") as log:
        command = ["nice", "-n", "10", "rhoCentralFoam"]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        for step, seconds in log_entries(folder / "log", process):
            if step % march.write_every:
                continue
            fields = read_fields(folder / str(step), mesh.shape)
            shutil.rmtree(folder / str(step - march.write_every), ignore_errors=step <= march.write_every)
            flow = FlowField(*nodes, fields, GAS, free_stream, WALL, SphereCone().nose_radius)
            history.rows.append([seconds, step, *measure(flow)])
            stand_off, drag, *_ = history.rows[-1][2:]
            print(f"{history.name}: {step} steps, {seconds:.0f} s, {stand_off:.4f}, {drag:.5f}", file=sys.stderr)
            if step >= 20 * march.write_every and math.isfinite(history.settled("averages", held=0.5)):
                return history
            if seconds > limit:
                history.note = f"stopped after {seconds:.0f} s"
                return history
        history.failed = process.returncode != 0
        history.note = "diverged" if history.failed else f"stopped after {march.steps} steps"
    finally:
        process.terminate()
        process.wait()
    return history


def run_sureflow(args: argparse.Namespace) -> None:
    """Solve twice in this process, on one core, and print the histories as JSON; the script runs itself for this."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    mesh, condition = problem(args)
    histories = [solved(mesh, condition) for _ in range(2)]
    print(json.dumps([asdict(history) for history in histories]))


def solved(mesh: FlowMesh, condition: FlightCondition) -> History:
    """The history of one solution, through the monitor that decides on convergence anyway."""
    history, monitored, steps = History(""), solve.monitored, [0]
    began = time.process_time()

    def record(flow: FlowField) -> np.ndarray:
        history.rows.append([time.process_time() - began, steps[-1], *measure(flow)])
        return monitored(flow)

    with mock.patch.object(solve, "monitored", record):
        solution = solve.solve_flow(condition, mesh, gas=GAS, wall=WALL, progress=lambda p: steps.append(p.step))
    history.note, history.failed = solution.convergence.status, solution.convergence.status != "converged"
    return history


def sureflow_histories(cache: Path) -> list[History]:
    """A start of the program that compiles, one that finds the compiled programs, and a second solution in that one."""
    environment = os.environ | {"SUREFLOW_CACHE": str(cache), "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    command = ["nice", "-n", "10", sys.executable, __file__, *sys.argv[1:], "--child"]
    outputs = [subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout for _ in range(2)]
    (compiling, _), (warm, following) = ([History(**h) for h in json.loads(output)] for output in outputs)
    compiling.name, warm.name = "sureflow, compiling", "sureflow, compiled before"
    following.name = "sureflow, next run in one program"
    return [compiling, warm, following]


def problem(args: argparse.Namespace) -> tuple[FlowMesh, FlightCondition]:
    """Mesh and condition of both codes."""
    along, normal = (int(n) for n in args.cells.split("x"))
    mesh = body_mesh(SphereCone(), MeshSettings(cells=(along, normal), mach=args.mach))
    return mesh, FlightCondition(args.mach, args.altitude)


def print_table(histories: list[History]) -> None:
    """One row a run: processor seconds, means over the last tenth of the steps, half the range of the drag there."""
    times = "".join(f"{name:>10}" for name in CRITERIA)
    print(f"{'':44}{times}{'stand-off':>11}{'drag':>9}{'friction':>10}{'pitot':>8}{'swing':>8}")
    for history in histories:
        last = history.last(0.1)[:, 2:] if history.rows else np.full((1, 4), math.nan)
        stand_off, drag, friction, pitot = last.mean(axis=0)
        times = "".join(f"{history.settled(criterion):10.1f}" for criterion in CRITERIA)
        swing = np.ptp(last[:, 1]) / 2.0 / drag
        values = f"{stand_off:11.4f}{drag:9.4f}{friction:10.5f}{pitot:8.2f}{swing:8.2%}"
        print(f"{history.name:44}{times}{values}  {history.note}")


def print_ratios(theirs: list[History], ours: list[History]) -> None:
    """The best of OpenFOAM's times over each of ours; infinite where OpenFOAM does not come to a steady state."""
    for run in ours:
        ratios = (min(history.settled(c) for history in theirs) / run.settled(c) for c in CRITERIA)
        print(f"{'ratio to ' + run.name:44}{''.join(f'{ratio:10.1f}' for ratio in ratios)}")


def compare(args: argparse.Namespace, scratch: Path) -> None:
    """Run both codes and print the table."""
    mesh, condition = problem(args)
    free_stream = condition.free_stream(GAS)
    ours, theirs = sureflow_histories(scratch / "cache"), []
    for courant in args.courant:
        march = March(courant, args.smoothing, args.steps, args.every)
        theirs.append(run_openfoam(scratch / f"courant-{courant:g}", mesh, free_stream, march, args.limit))
        (scratch / "histories.json").write_text(json.dumps([asdict(history) for history in ours + theirs]))
    wall = f"wall at {WALL.temperature:g} K"
    print(f"Mach {args.mach:g} at {args.altitude:g} km, {args.cells} cells, {wall}, laminar, perfect gas")
    print(f"{platform.machine()}, {os.cpu_count()} cores, one used by each code; processor seconds to a steady state")
    print_table(theirs + ours)
    print_ratios(theirs, ours)


def main() -> None:
    """Read the options; leave with a sentence where OpenFOAM is missing."""
    parser = argparse.ArgumentParser(description="Time to a steady state: sureflow against OpenFOAM's rhoCentralFoam.")
    parser.add_argument("--mach", type=float, default=10.0)
    parser.add_argument("--altitude", type=float, default=30.0, help="km")
    parser.add_argument("--cells", default="64x64", help="along the body x normal to it")
    parser.add_argument("--courant", type=float, nargs="+", default=[0.1, 0.15, 0.2])
    parser.add_argument("--smoothing", type=float, default=0.1, help="how much time steps of neighbors may differ")
    parser.add_argument("--every", type=int, default=200, help="steps of OpenFOAM between looks at drag and stand-off")
    parser.add_argument("--steps", type=int, default=1_000_000, help="most steps of OpenFOAM")
    parser.add_argument("--limit", type=float, default=900.0, help="most processor seconds of each OpenFOAM run")
    parser.add_argument("--keep", type=Path, help="new folder for the OpenFOAM cases, instead of a temporary one")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that OpenFOAM is ended as well
    if args.child:
        run_sureflow(args)
    elif shutil.which("rhoCentralFoam") is None:
        print(MISSING)
    elif args.keep:
        args.keep.mkdir(parents=True)
        compare(args, args.keep)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            compare(args, Path(scratch))


if __name__ == "__main__":
    main()
