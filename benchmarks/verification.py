"""Makes docs/verification.md: what the flow solver was checked against, with figures.

    python benchmarks/verification.py          # some minutes on one core

The cases are those of the tests, on finer meshes where that says more. The record of the 441-run sweep comes from
benchmarks/sweep.py (`make verify`), which writes beside it.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from flow import flat_plate, manufactured, sod, sphere, uniform
from sureflow.flow.mesh import MeshSettings, SphereCone, body_mesh
from sureflow.flow.solve import FlowSolution, solve_flow
from sureflow.physics.correlations import billig_stand_off, fay_riddell, pitot_ratio, seiff_stand_off
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.wall import Wall
from sureflow.report.figures import save
from sureflow.runtime import double_precision

BODY = SphereCone()
ORDER_CASES = {"Euler, plane": (False, False), "Euler, axisymmetric": (True, False)}
ORDER_CASES |= {"Navier-Stokes, plane": (False, True), "Navier-Stokes, axisymmetric": (True, True)}


def main() -> None:
    """Run every check, draw, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    folder = parser.parse_args().docs / "verification"
    folder.mkdir(parents=True, exist_ok=True)
    sections = [f(folder) for f in (at_30_km, heat_flux, stand_off, uniform_flow, orders, shock_tube, plate, sweep)]
    (folder.parent / "verification.md").write_text(HEAD + "\n".join(sections))


HEAD = """# Verification of the flow solver

Written by `python benchmarks/verification.py`; the tests check the same on coarser meshes. All meshes are those of the
RAM-C II sphere-cone unless said otherwise, the gas is perfect air with gamma 1.4, Prandtl number 0.71 and Sutherland
viscosity, the wall 1500 K.

"""


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def solution_at(mach: float, altitude: float, settings: MeshSettings, wall: Wall | None = None) -> FlowSolution:
    """One run from scratch."""
    print(f"Mach {mach:g} at {altitude:g} km, {settings.cells}, wall spacing {settings.wall_spacing:g} m", flush=True)
    return solve_flow(FlightCondition(mach, altitude), body_mesh(BODY, settings), wall=wall)


def at_30_km(folder: Path) -> str:
    """Pitot pressure, stand-off, surface pressure and balances against theory."""
    solutions = {mach: solution_at(mach, 30, MeshSettings()) for mach in (10, 20, 30)}
    save(surface_pressures(solutions), folder / "surface.png")
    rows = []
    for mach, solution in solutions.items():
        record, exact = solution.record(), sphere.fit_shock(mach).stand_off
        balance = max(abs(record[f"balance_error_{q}"]) for q in ("mass", "momentum", "energy"))
        rows.append(
            [
                f"{mach}",
                f"{record['pitot_ratio']:.2f}",
                f"{pitot_ratio(mach):.2f}",
                f"{100 * (record['pitot_ratio'] / pitot_ratio(mach) - 1):+.2f} %",
                f"{record['stand_off']:.4f}",
                f"{exact:.4f}",
                f"{100 * (record['stand_off'] / exact - 1):+.2f} %",
                f"{seiff_stand_off(mach):.4f} .. {billig_stand_off(mach):.4f}",
                f"{balance:.1e}",
                f"{record['axis_shock_offset_cells']:.3f}",
            ]
        )
    head = ["Mach", "pitot p02/p1", "exact", "error", "stand-off / R", "fitted shock", "error", "Seiff .. Billig"]
    fine, coarse = sphere.fit_shock(30), sphere.fit_shock(30, 8, 6)
    return (
        "## At 30 km, 64x64 cells\n\n"
        + table([*head, "largest balance error", "shock off the axis fit (cells)"], rows)
        + "\nThe stand-off is the outermost half-rise of the pressure on the stagnation line. That of the fitted shock "
        "solves the steady Euler equations around a sphere by polynomials (tests/flow/sphere.py). At Mach 30 lower degrees "
        f"change it by {abs(coarse.stand_off / fine.stand_off - 1):.0e}, mass is kept to {abs(fine.mass_error):.0e} and the "
        f"entropy of the wall to {fine.entropy_error:.0e}, neither of which was imposed. A perfect gas has its shock nearer to "
        "the body than the band of the correlations by Seiff, Lobb and Billig, which rest on experiments: the solver is "
        "below it at all three Mach numbers, as the fitted shock is. `benchmarks/openfoam.py` compares with "
        "rhoCentralFoam on the same mesh.\n\n![surface pressure](verification/surface.png)\n"
    )


def surface_pressures(solutions: dict[int, FlowSolution]) -> Figure:
    """On the nose, beside that of the fitted shock and of Newtonian theory."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    for (mach, solution), style in zip(solutions.items(), "os^", strict=True):
        surface, largest = solution.surface(), (solution.record()["pitot_ratio"] - 1) * solution.free_stream.pressure
        # The cone has one angle all along, on which its points would lie in a heap.
        nose = surface.angle_deg < 90 - BODY.half_angle_deg - 0.1
        ratio = surface.pressure_coefficient[nose] * solution.field.dynamic_pressure / largest
        axis.plot(surface.angle_deg[nose], ratio, style, markersize=4, fillstyle="none", label=f"computed, Mach {mach}")
    angle = np.linspace(0, np.degrees(sphere.LAST_ANGLE), 100)
    fitted = [sphere.fit_shock(30).cp_over_cpmax(a) for a in angle]
    axis.plot(angle, fitted, "k--", linewidth=1, label="fitted shock, Mach 30")
    angle = np.linspace(0, 90, 100)
    axis.plot(angle, np.cos(np.radians(angle)) ** 2, "k-", linewidth=1, label="modified Newtonian theory")
    axis.set(
        xlabel="angle from the stagnation point (degrees)", ylabel="$C_p / C_{p,max}$", xlim=(0, 90), ylim=(0, 1.05)
    )
    axis.legend(frameon=False)
    return figure


def heat_flux(folder: Path) -> str:
    """Stagnation heat flux against Fay-Riddell, with the wall spacing."""
    rows = []
    for mach, altitude in ((10, 30), (25, 46)):
        for spacing in (3e-5, 1e-5, 3e-6):
            solution = solution_at(mach, altitude, MeshSettings(cells=(32, 96), wall_spacing=spacing))
            record, heat = solution.record(), solution.surface().heat_flux
            expected = fay_riddell(solution.free_stream, solution.gas, BODY.nose_radius, 1500.0)  # type: ignore[arg-type]
            rows.append(
                [
                    f"{mach}, {altitude}",
                    f"{spacing:g}",
                    f"{record['wall_cell_reynolds']:.1f}",
                    f"{record['q_stag_w_m2']:.4g}",
                    f"{expected:.4g}",
                    f"{record['q_stag_w_m2'] / expected:.3f}",
                    "yes" if heat[0] == heat.max() else "no",
                ]
            )
    head = ["Mach, km", "wall spacing (m)", "wall-cell Reynolds number", "q (W/m2)", "Fay-Riddell", "ratio"]
    return "## Stagnation heat flux, 32x96 cells\n\n" + table([*head, "largest on the axis"], rows)


def stand_off(folder: Path) -> str:
    """Mesh halving of an inviscid sphere."""
    rows, exact = [], sphere.fit_shock(10).stand_off
    for n in (16, 32, 64):
        mesh = body_mesh(SphereCone.sphere(0.1), MeshSettings(cells=(n // 2, n), wall_spacing=0.005 / n))
        print(f"sphere, {n // 2}x{n}", flush=True)
        record = solve_flow(FlightCondition(10, 30), mesh, wall=Wall("slip")).record()
        error = 100 * (record["stand_off"] / exact - 1)
        rows.append([f"{n // 2}x{n}", f"{record['stand_off']:.5f}", f"{error:+.2f} %", f"{record['pitot_ratio']:.3f}"])
    return "## Stand-off of an inviscid sphere at Mach 10, by mesh halving\n\n" + table(
        ["cells", f"stand-off / R (fitted shock {exact:.5f})", "error", f"pitot ratio (exact {pitot_ratio(10):.3f})"],
        rows,
    )


def uniform_flow(folder: Path) -> str:
    """What the metrics alone make of a free stream."""
    largest = uniform.largest_residual(body_mesh(BODY, MeshSettings()))
    return (
        f"## Uniform free stream\n\nOn 64x64 cells its largest residual is {largest:.1e} of the largest flux of "
        "mass through a face.\n"
    )


def orders(folder: Path) -> str:
    """Manufactured solutions."""
    sizes, rows = (16, 24, 32), []
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axis = figure.subplots()
    for (name, case), marker in zip(ORDER_CASES.items(), "os^D", strict=True):
        print(f"manufactured: {name}", flush=True)
        with double_precision():
            errors = [manufactured.error(n, *case)[0] for n in sizes]
        order = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        rows.append([name, *(f"{e:.3e}" for e in errors), f"{order:.2f}"])
        axis.loglog(sizes, errors, marker=marker, markersize=5, linewidth=1, label=f"{name}: {order:.2f}")
    axis.loglog(sizes, errors[0] * 0.5 * (sizes[0] / np.array(sizes)) ** 2, "k--", linewidth=1, label="second order")
    axis.set(xlabel="cells along a side", ylabel="mean error", xticks=sizes, xticklabels=[str(n) for n in sizes])
    decades = [digit * 10.0**power for power in (-6, -5, -4) for digit in (1, 2, 5)]
    low, high = axis.get_ylim()
    ticks = [tick for tick in decades if low <= tick <= high]
    axis.set_yticks(ticks, [f"{tick:.0e}".replace("e-0", "e-") for tick in ticks])
    axis.minorticks_off()
    axis.legend(frameon=False, loc="lower left")
    save(figure, folder / "orders.png")
    head = ["manufactured solution", *(f"{n}x{n}" for n in sizes), "fitted order"]
    return "## Order of accuracy, limiter off\n\n" + table(head, rows) + "\n![orders](verification/orders.png)\n"


def shock_tube(folder: Path) -> str:
    """Sod's problem."""
    print("Sod's shock tube", flush=True)
    x, density = sod.computed_sod()
    exact = sod.exact_sod((x - 0.5) / sod.TIME)
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axis = figure.subplots()
    axis.plot(x, exact, "k-", linewidth=1, label="exact")
    axis.plot(x, density[0], "o", markersize=3, fillstyle="none", label="computed, 200 cells")
    axis.set(xlabel="x", ylabel="density")
    axis.legend(frameon=False)
    save(figure, folder / "sod.png")
    error = np.abs(density[0] - exact).mean()
    return (
        f"## Sod's shock tube\n\nMean error of the density on 200 cells: {error:.4f}.\n\n![Sod](verification/sod.png)\n"
    )


def plate(folder: Path) -> str:
    """Flat plate."""
    print("flat plate", flush=True)
    station, expected = flat_plate.SHEAR_AT
    _, x, shear = flat_plate.wall_shear()
    found = float(np.interp(station, x, shear))
    return (
        "## Laminar flat plate at Mach 2.9\n\n"
        f"Wall shear at x = {station} m: {found:.3f} Pa; similarity solution: {expected} Pa "
        f"({100 * (found / expected - 1):+.1f} %).\n"
    )


def sweep(folder: Path) -> str:
    """The record of the 441 runs, if it was made."""
    if not (folder / "sweep.md").exists():
        return ""
    return (
        "## The 441 runs\n\nWritten by `make verify`; [sweep.csv](verification/sweep.csv) has a row a run.\n\n"
        + (folder / "sweep.md").read_text()
        + "\n![sweep](verification/sweep.png)\n"
    )


if __name__ == "__main__":
    main()
