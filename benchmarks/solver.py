"""How fast the flow solver is, on one core: compilation, a second start, and microseconds per cell and implicit step.

    python benchmarks/solver.py

Each start is a process of its own with an empty or a filled compilation cache; the last one of every mesh compiles with XLA's
newer emitters of fused loops, which the solver turns off. Prints one table.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SINGLE_THREAD = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "OMP_NUM_THREADS": "1",
}


def child(cells: int, emitters: bool) -> None:
    """Time the first chunk of steps and two whole solutions in this process; prints JSON."""
    import resource
    import time

    import jax

    import sureflow.flow.compiling

    if emitters:
        sureflow.flow.compiling.compiled = jax.jit
    from sureflow.flow.mesh import MeshSettings, body_mesh
    from sureflow.flow.solve import solve_flow
    from sureflow.flow.steer import SolverSettings
    from sureflow.physics.free_stream import FlightCondition

    mesh, condition = body_mesh(settings=MeshSettings(cells=(cells, cells))), FlightCondition(10, 30)
    began = time.perf_counter()
    solve_flow(condition, mesh, settings=SolverSettings(most_steps=25, first_order_steps=25))
    first = time.perf_counter() - began
    solve_flow(condition, mesh)
    again = solve_flow(condition, mesh)
    print(
        json.dumps(
            {
                "first": first,
                "seconds": again.seconds,
                "steps": again.convergence.steps,
                "micro": again.seconds / again.convergence.steps / cells**2 * 1e6,
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def start(cells: int, cache: Path, emitters: bool) -> dict:
    """Run `child` in a process of its own."""
    environment = {**os.environ, **SINGLE_THREAD, "SUREFLOW_CACHE": str(cache)}
    command = [sys.executable, __file__, "--child", str(cells), str(int(emitters))]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """The table."""
    print(f"{'':24}{'first 25 steps':>16}{'whole solution':>16}{'steps':>8}{'us/cell/step':>14}{'memory':>10}")
    for cells in (32, 64):
        with tempfile.TemporaryDirectory() as cache:
            for name in ("empty cache", "filled cache", "emitters, empty"):
                found = start(cells, Path(cache), emitters=name.startswith("emitters"))
                print(
                    f"{cells} x {cells}, {name:15}{found['first']:14.1f} s{found['seconds']:14.2f} s{found['steps']:8}"
                    f"{found['micro']:14.2f}{found['memory']:7.0f} MB"
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]), bool(int(sys.argv[3])))
    else:
        main()
