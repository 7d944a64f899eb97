"""OpenFOAM's own files (rhoCentralFoam over a ramp, 24 cells), in text, in binary and decomposed, beside what VTK reads."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import pyvista

import sureflow as sf
from sureflow.errors import SureflowError
from sureflow.importers import Wanted
from sureflow.importers.reading import importer_for
from sureflow.importers.snapshot import EVERYTHING

CASES = Path(__file__).parent.parent / "fixtures/openfoam"
ENTRIES = {"speed": "0/U:boundaryField.inlet.value[0]"}


def read(case: Path, wanted: Wanted = EVERYTHING):
    return importer_for(case)(case, wanted)


@pytest.fixture
def copy(tmp_path):
    """A copy to spoil."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(CASES / name, tmp_path / name))

    return copy


@pytest.mark.parametrize("name", ["ascii", "binary"])
def test_mesh_and_fields_are_those_that_vtk_reads_but_in_double_precision(copy, name):
    case = copy(name)
    found = read(case)
    (case / "case.foam").touch()
    reader = pyvista.OpenFOAMReader(case / "case.foam")
    reader.set_active_time_value(found.time)
    expected = reader.read()["internalMesh"]
    block, cells = found.blocks[0], found.blocks[0].topology.cells
    listed = np.insert(cells.connectivity, cells.offsets[:-1], np.diff(cells.offsets))
    grid = pyvista.UnstructuredGrid(listed, cells.types.astype(np.uint8), block.nodes)
    np.testing.assert_allclose(grid.compute_cell_sizes()["Volume"], expected.compute_cell_sizes()["Volume"], rtol=1e-5)
    np.testing.assert_allclose(grid.cell_centers().points, expected.cell_centers().points, atol=1e-7)
    for array in ("p", "T", "U", "rho"):
        np.testing.assert_allclose(block.on_cells[array], expected.cell_data[array], rtol=2e-7, atol=1e-5)
    # VTK's are rounded to float32.
    assert not np.array_equal(block.on_cells["p"], block.on_cells["p"].astype(np.float32))


def test_a_decomposed_case_is_put_together():
    whole, parts = read(CASES / "binary"), read(CASES / "decomposed")
    np.testing.assert_allclose(parts.blocks[0].on_cells["p"], whole.blocks[0].on_cells["p"], rtol=1e-12)
    np.testing.assert_array_equal(parts.blocks[0].nodes, whole.blocks[0].nodes)


def test_a_decomposed_case_without_the_whole_mesh(copy):
    case = copy("decomposed")
    shutil.rmtree(case / "constant/polyMesh")
    found = read(case)
    values = np.concatenate([block.on_cells["p"] for block in found.blocks])
    np.testing.assert_allclose(np.sort(values), np.sort(read(CASES / "binary").blocks[0].on_cells["p"]), rtol=1e-12)


def test_units_patches_and_parameters():
    runs = sf.read_runs(CASES / "ascii", entries=ENTRIES)
    assert runs.parameters[0, 0] == pytest.approx(3.0 * (1.4 * 287.0 * 300.0) ** 0.5)
    assert dict(zip(runs.names, runs.units, strict=True)) == {
        "T": "K", "u1": "m/s", "u2": "m/s", "p": "Pa", "rho": "kg/m3"
    }  # fmt: skip
    assert (runs.header.axes, runs.n_points) == (("x", "y"), 24)
    on_ramp = sf.read_runs(CASES / "ascii", entries=ENTRIES, blocks=["ramp"])
    assert on_ramp.n_points == 4
    np.testing.assert_allclose(on_ramp.fields[0][0][0], read(CASES / "ascii").patches[3].on_cells["T"][0])


def test_kinematic_pressure_is_not_taken_for_pascal(copy):
    case = copy("ascii")
    for path in case.glob("*/p"):
        path.write_text(path.read_text().replace("[1 -1 -2 0 0 0 0]", "[0 2 -2 0 0 0 0]"))
    runs = sf.read_runs(case, entries=ENTRIES)
    assert dict(zip(runs.names, runs.units, strict=True))["p"] == "m2/s2"


def test_units_that_differ_from_run_to_run(tmp_path):
    """One case of an incompressible solver among others of a compressible one."""
    for speed in (1, 2, 3):
        case = shutil.copytree(CASES / "ascii", tmp_path / f"U{speed}")
        for path in Path(case).glob("*/p") if speed == 2 else ():
            path.write_text(path.read_text().replace("[1 -1 -2 0 0 0 0]", "[0 2 -2 0 0 0 0]"))
    with pytest.raises(SureflowError, match=r"U2: p is in m2/s2, but in Pa in .*U1: convert one of them"):
        sf.read_runs(tmp_path, pattern="U{speed}")


def test_times(copy):
    case = copy("ascii")
    assert read(case).time == pytest.approx(0.000192019)
    assert read(case, Wanted(time=0.0)).time == 0.0
    with pytest.raises(SureflowError, match=r"has no time 7: its times are 0, 0\.000192019"):
        read(case, Wanted(time=7))
    shutil.rmtree(next(case.glob("0.*")))
    with pytest.raises(SureflowError, match="only its start: run it first"):
        read(case)


def test_a_case_that_is_half_reconstructed_or_half_there(copy):
    case = copy("decomposed")
    time = next((case / "processor0").glob("0.*")).name
    shutil.copytree(CASES / f"ascii/{time}", case / "0.0001")
    with pytest.raises(SureflowError, match=r"is reconstructed up to 0\.0001 and decomposed up to 0\.000192019"):
        read(case)
    shutil.rmtree(case / "0.0001")
    shutil.rmtree(case / f"processor1/{time}")
    with pytest.raises(SureflowError, match="processor1 ends at 0 while processor0 ends at"):
        read(case)


def test_files_that_are_cut_off(copy):
    case = copy("binary")
    time = next(case.glob("0.*"))
    whole = (time / "p").read_bytes()
    (time / "p").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SureflowError, match="binary"):
        read(case)
    (time / "p").write_bytes(whole)
    (case / "constant/polyMesh/owner").unlink()
    with pytest.raises(SureflowError, match="has no owner: make the mesh"):
        read(case)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("0/U:boundaryField.inlet.value", r"has 3 numbers: say which"),
        (
            "0/U:boundaryField.inflow.value[0]",
            r"has no entry boundaryField\.inflow\.value for speed: boundaryField has no",
        ),
        ("0/V:internalField", r"0/V, from which speed is to be read, does not exist"),
        ("0/U:boundaryField.inlet.type", r"must be a number"),
    ],
)
def test_entries_that_are_not_numbers(entry, words):
    with pytest.raises(SureflowError, match=words):
        sf.read_runs(CASES / "ascii", entries={"speed": entry})
