"""A sweep that sureflow did not compute: OpenFOAM's flow over a ramp, imported, learned from and predicted into ParaView's files.

    python benchmarks/openfoam_sweep.py [--folder sweep] [--cells 60x40]

24 runs of rhoCentralFoam, over the Mach number and the angle of the ramp, to which the mesh is fitted: 4 x 4 conditions to
learn from and 8 at random to test on. They stay in the folder, and are not computed again. The rest is what a user types:
import, train, calibrate, evaluate and predict. Prints errors and coverage, and writes the figures of docs/own-runs.md.
"""

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from openfoam_ramp import is_installed, solve_ramp, write_ramp

MISSING = "OpenFOAM's rhoCentralFoam is not installed: there is nothing to learn from. On Debian: apt install openfoam"
MACH, ANGLE = (2.2, 4.0), (4.0, 13.0)
PASSES = 3.0  # of the flow through the domain
RECIPE = """
pattern = "M{mach}_ramp{angle}"
units = {angle = "deg"}

[quantities.drag]
kind = "force"
field = "p"
patch = "ramp"
direction = [1.0, 0.0]
unit = "N/m"

[quantities.mean_pressure]
kind = "mean"
field = "p"
patch = "ramp"
unit = "Pa"
"""


def conditions() -> dict[str, list[tuple[float, float]]]:
    """Training conditions on a grid, test conditions at random inside of it."""
    rng = np.random.default_rng(0)
    test = np.column_stack([rng.uniform(*MACH, 8), rng.uniform(*ANGLE, 8)]).round(3)
    grid = [(float(mach), float(angle)) for mach in np.linspace(*MACH, 4) for angle in np.linspace(*ANGLE, 4)]
    return {"train": grid, "test": [(float(mach), float(angle)) for mach, angle in test]}


def compute(folder: Path, cells: tuple[int, int]) -> None:
    """All runs that are not there yet, two at a time."""
    wanted = [(folder / kind / f"M{m:.4g}_ramp{a:.4g}", m, a) for kind, rows in conditions().items() for m, a in rows]

    def run(job: tuple[Path, float, float]) -> None:
        case, mach, angle = job
        if not (case / "done").exists():
            write_ramp(case, mach, angle, cells, passes=PASSES)
            solve_ramp(case)
            (case / "done").touch()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, wanted))


def sureflow(*arguments: str | Path) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "sureflow", *map(str, arguments)]
    began = time.process_time(), time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(ended.stderr)
    print(f"$ sureflow {' '.join(map(str, arguments))}   # {time.perf_counter() - began[1]:.1f} s\n{ended.stdout}")
    return ended.stdout


def learn(folder: Path) -> None:
    """Everything that a user types, from the cases to a field for ParaView."""
    for kind in ("train", "test"):
        recipe = folder / f"{kind}.toml"
        recipe.write_text(f'source = "{folder / kind}"\n{RECIPE}')
        sureflow("import", "--config", recipe, "-o", folder / f"{kind}.zarr", "--overwrite")
    model = folder / "model"
    sureflow("train", folder / "train.zarr", "-o", model, "--overwrite")
    sureflow("calibrate", model, folder / "train.zarr")
    sureflow("evaluate", model, folder / "test.zarr")
    mach, angle = conditions()["test"][0]
    sureflow("predict", model, f"mach={mach}", f"angle={angle}", "-o", folder / "field.vtu", "--overwrite")


def judge(folder: Path) -> None:
    """Errors and coverage of the 8 test runs, in the disturbed flow too, and of the quantities."""
    import sureflow as sf

    model, runs = sf.load(folder / "model"), sf.open_runs(folder / "test.zarr")
    predicted = model.predict(**dict(zip(runs.parameter_names, runs.parameters.T, strict=True)))
    truth = runs.array()
    pressure = truth[:, runs.names.index("p")]
    disturbed = np.abs(pressure / 1e5 - 1.0) > 0.01
    print("field   error, all   error, disturbed   covered by 90 % intervals: all   disturbed")
    for variable, name in enumerate(runs.names):
        error = np.abs(predicted[name].values - truth[:, variable])
        size = truth[:, variable].std()
        inside = error <= predicted[f"{name}_interval90"].values
        print(
            f"{name:<8}{error.mean() / size:<13.4f}{error[disturbed].mean() / size:<19.4f}"
            f"{inside.mean():<33.2f}{inside[disturbed].mean():.2f}"
        )
    observer = model.observer
    found = model.quantities(**dict(zip(runs.parameter_names, runs.parameters.T, strict=True)))
    for column, quantity in enumerate(observer.quantities):
        expected = observer(truth, runs.parameters)[:, column]
        away = found[quantity.name].values - expected
        bars = found[f"{quantity.name}_std"].values
        print(
            f"{quantity.name}: mean error {np.abs(away / expected).mean():.2%}, within two bars in "
            f"{int((np.abs(away) <= 2 * bars).sum())} of {len(runs)} runs"
        )


def draw(folder: Path, picture: Path) -> None:
    """The prediction of the first test run as ParaView has it, beside OpenFOAM's own, the error and the bars."""
    import pyvista

    import sureflow as sf
    from sureflow.export.exporters import write_runs_to

    runs = sf.open_runs(folder / "test.zarr")
    mach, angle = conditions()["test"][0]
    case = int(np.argmin(np.abs(runs.parameters - [mach, angle]).sum(axis=1)))
    write_runs_to(runs, folder / "truth.vtu", [case], overwrite=True)
    predicted, truth = (pyvista.read(folder / name) for name in ("field.vtu", "truth.vtu"))
    predicted.cell_data["error"] = np.abs(predicted.cell_data["p"] - truth.cell_data["p"])
    plotter = pyvista.Plotter(shape=(2, 2), off_screen=True, window_size=(1200, 900))
    limits = [float(truth.cell_data["p"].min()), float(truth.cell_data["p"].max())]
    largest = [0.0, float(np.quantile(predicted.cell_data["error"], 0.99))]
    panels = {
        "pressure, predicted (kPa)": (predicted, "p", limits),
        "pressure, rhoCentralFoam (kPa)": (truth, "p", limits),
        "error (kPa)": (predicted, "error", largest),
        "standard deviation (kPa)": (predicted, "p_std", largest),
    }
    bar = {"position_x": 0.2, "position_y": 0.04, "width": 0.6, "height": 0.1, "n_labels": 2, "fmt": "%.3g"}
    for place, (title, (grid, name, scale)) in enumerate(panels.items()):
        plotter.subplot(place // 2, place % 2)
        shown = grid.copy()
        shown.cell_data[title] = 1e-3 * shown.cell_data[name]
        limits_here = [1e-3 * end for end in scale]
        plotter.add_mesh(shown, scalars=title, clim=limits_here, cmap="viridis", scalar_bar_args={"title": title} | bar)
        plotter.view_xy()
        plotter.camera.zoom(1.25)
        plotter.camera.position = np.add(plotter.camera.position, (0.0, -0.06, 0.0))
        plotter.camera.focal_point = np.add(plotter.camera.focal_point, (0.0, -0.06, 0.0))
    picture.parent.mkdir(parents=True, exist_ok=True)
    plotter.screenshot(picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("sweep"))
    parser.add_argument("--cells", default="60x40")
    parser.add_argument("--picture", type=Path, default=Path("docs/own-runs/ramp.png"))
    args = parser.parse_args()
    if not is_installed():
        sys.exit(MISSING)
    along, normal = map(int, args.cells.split("x"))
    compute(args.folder, (along, normal))
    learn(args.folder)
    judge(args.folder)
    draw(args.folder, args.picture)


if __name__ == "__main__":
    main()
