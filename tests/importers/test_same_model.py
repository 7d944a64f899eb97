"""The same runs through files of several programs and from arrays: the same model comes of them, number by number."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import pyvista
from foamlib import FoamFieldFile

import sureflow as sf
from importers import format_files
from sureflow.importers.assembly import centers
from sureflow.importers.reading import importer_for

CASE = Path(__file__).parent.parent / "fixtures/openfoam/ascii"
MACH = np.linspace(2.0, 4.0, 11).round(1)
NAMES = ("p", "T", "rho")


def fields(points: np.ndarray, mach: float) -> dict[str, np.ndarray]:
    """With a shock that moves with the Mach number; numbers of six digits, which text holds exactly."""
    x, y = points[:, 0], points[:, 1]
    behind = np.tanh(8.0 * (y - 0.2 * x - 0.1 * mach))
    found = {"p": 1e5 * (2.0 - behind), "T": 300.0 + 40.0 * mach * (1.0 - behind), "rho": 1.2 + 0.1 * mach * x}
    return {name: np.array([float(f"{value:.6g}") for value in values]) for name, values in found.items()}


def as_openfoam(folder: Path) -> sf.Runs:
    for mach in MACH:
        case = Path(shutil.copytree(CASE, folder / f"M{mach:.1f}"))
        block = importer_for(case)(case).blocks[0]
        time = next(case.glob("0.*"))
        for name, values in fields(centers(block.nodes, block.topology), mach).items():
            file = FoamFieldFile(time / name)
            file.internal_field = values
    return sf.read_runs(folder, pattern="M{mach}", fields={name: name for name in NAMES})


def as_vtu(folder: Path) -> sf.Runs:
    block = importer_for(CASE)(CASE).blocks[0]
    cells = block.topology.cells
    listed = np.insert(cells.connectivity, cells.offsets[:-1], np.diff(cells.offsets))
    for mach in MACH:
        grid = pyvista.UnstructuredGrid(listed, cells.types.astype(np.uint8), block.nodes)
        for name, values in fields(centers(block.nodes, block.topology), mach).items():
            grid.cell_data[name] = values
        grid.save(folder / f"M{mach:.1f}.vtu")
    return sf.read_runs(folder, pattern="M{mach}", fields={name: name for name in NAMES})


def from_arrays(like: sf.Runs) -> sf.Runs:
    """The mesh of other runs, and fields straight from the formula."""
    geometry = like.geometry_of(0)
    found = [fields(geometry.points, mach) for mach in MACH]
    return sf.Runs.from_arrays(
        {"mach": MACH},
        geometry.points,
        {name: [run[name] for run in found] for name in NAMES},
        {"p": "Pa", "T": "K", "rho": "kg/m3"},
        nodes=geometry.nodes,
        cells=like.topology.cells,
        axes=like.header.axes,
    )


def require_equal_models(runs: list[sf.Runs]) -> None:
    models = [sf.fit(one, "interpolation") for one in runs]
    expected, *others = (model.predict(mach=2.9) for model in models)
    assert np.isfinite(expected.p_interval90).all()
    for other in others:
        assert set(other) == set(expected)
        for name in expected:
            ours, theirs = np.ravel(other[name]), np.ravel(expected[name])
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_openfoam_vtu_and_arrays(tmp_path):
    (tmp_path / "foam").mkdir()
    (tmp_path / "vtu").mkdir()
    runs = [as_openfoam(tmp_path / "foam"), as_vtu(tmp_path / "vtu")]
    runs.append(from_arrays(runs[1]))
    np.testing.assert_array_equal(runs[0].array(), runs[1].array())
    np.testing.assert_array_equal(runs[2].array(), runs[1].array())
    require_equal_models(runs)


@pytest.mark.parametrize("ending", [".cgns", ".vts", ".npz"])
def test_cgns_and_others_on_points(tmp_path, ending):
    """On the nodes of a block; an archive of points has no cells, and the same model."""
    runs = []
    for kind in {".nc", ending}:
        folder = tmp_path / kind[1:]
        folder.mkdir()
        for mach in MACH:
            path = folder / f"M{mach:.1f}{kind}"
            scaled_run(path, mach)
        runs.append(sf.read_runs(folder, pattern="M{mach}", fields={"p": pressure_in(kind)}))
    np.testing.assert_allclose(runs[0].array(), runs[1].array(), rtol=1e-15)
    require_equal_models(runs)


def pressure_in(kind: str) -> str:
    return "Pressure" if kind in (".cgns", ".vts") else "p"


def scaled_run(path: Path, mach: float) -> None:
    """One file of the formats' tests, with the pressure times the square of the Mach number."""
    if path.suffix == ".vts":
        grid = format_files.on_points(format_files.grid())
        grid.point_data["Pressure"] *= mach**2
        grid.save(path)
        return
    format_files.FORMATS[path.suffix][0](path)
    if path.suffix == ".npz":
        columns = dict(np.load(path))
        np.savez(path, **columns | {"p": columns["p"] * mach**2})
        return
    where = "Base/flow/FlowSolution/Pressure/ data" if path.suffix == ".cgns" else "p"
    with h5py.File(path, "r+") as file:
        file[where][...] = file[where][...] * mach**2
