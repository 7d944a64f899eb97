"""Every format: values, units and places as they were written, to the precision of the file; and what is no such file."""

import logging
import lzma
from pathlib import Path

import h5py
import numpy as np
import pytest
import pyvista
import xarray

import sureflow as sf
from importers import format_files
from sureflow.errors import SureflowError
from sureflow.importers import IMPORTERS, SnapshotReader
from sureflow.importers.listing import list_files
from sureflow.importers.reading import importer_for
from sureflow.importers.vtk_files import raising

FIXTURES = Path(__file__).parent.parent / "fixtures/formats"
# Plot3D has conserved variables; the test files put other fields in their places.
CONSERVED = {"p": "Density", "T": "StagnationEnergy", "u1": "Momentum[0]", "u2": "Momentum[1]"}


def written(folder: Path, ending: str) -> Path:
    write, _, _ = format_files.FORMATS[ending]
    for mach in (2, 3):
        (folder / f"M{mach}").mkdir()
        write(folder / f"M{mach}/run{ending}")
    return folder


@pytest.mark.parametrize("ending", format_files.FORMATS)
def test_values_units_and_places(tmp_path, ending):
    _, location, precision = format_files.FORMATS[ending]
    source = f"{written(tmp_path, ending)}/*/run{ending}"
    fields = CONSERVED if ending == ".xyz" else {}
    runs = sf.read_runs(source, pattern="M{mach}/", fields=fields)
    assert (runs.header.location, runs.header.axes) == (location, ("x", "y"))
    units = {"p": "Pa", "T": "K", "u1": "m/s", "u2": "m/s"}
    assert dict(zip(runs.names, runs.units, strict=True)) == units
    x, y = runs.geometry_of(0).points.T
    assert len(x) == (6 if location == "cells" else 12)
    assert (x.min(), x.max()) == pytest.approx((0.25, 1.25) if location == "cells" else (0.0, 1.5), rel=1e-6)
    for name, expected in format_files.values(x, y).items():
        np.testing.assert_allclose(
            runs.fields[1][runs.names.index(name)], expected, rtol=precision, atol=1e-4 * (precision > 1e-7)
        )


@pytest.mark.parametrize("ending", [".pvtu", ".pvts", ".vtm", ".vtpd", ".pvd"])
def test_pieces_in_the_folder_are_not_runs(tmp_path, ending):
    runs = sf.read_runs(written(tmp_path, ending), pattern="M{mach}/")
    assert (len(runs), runs.n_points) == (2, 6)


def test_cells_that_pieces_share_count_once(tmp_path):
    for mach in (2, 3):
        mesh = format_files.on_cells(format_files.grid()).cast_to_unstructured_grid()
        mesh.cell_data["vtkGhostType"] = np.array([0, 0, 1, 0, 0, 1], np.uint8)
        mesh.save(tmp_path / f"M{mach}.vtu")
    assert sf.read_runs(tmp_path, pattern="M{mach}").n_points == 4


def test_both_kinds_of_netcdf_and_columns_in_them(tmp_path):
    for mach in (2, 3):
        columns = {name: ("n", numbers) for name, numbers in format_files.columns().items()}
        xarray.Dataset(columns).to_netcdf(tmp_path / f"M{mach}.nc", engine="scipy" if mach == 2 else "h5netcdf")
    runs = sf.read_runs(tmp_path, pattern="M{mach}")
    for name, expected in format_files.values(*runs.geometry_of(0).points.T).items():
        for case in (0, 1):
            np.testing.assert_array_equal(runs.fields[case][runs.names.index(name)], expected)


def test_fields_on_cells_are_not_smeared_into_points_unless_asked(tmp_path):
    """A shock between two cells stays between them, though another field is on points."""
    for mach in (2, 3):
        grid = format_files.grid()
        grid.cell_data["p"] = np.where(grid.cell_centers().points[:, 0] < 0.6, 1e5, 2e5)
        grid.point_data["T"] = 300.0 + grid.points[:, 1]
        grid.save(tmp_path / f"M{mach}.vts")
    runs = sf.read_runs(tmp_path, pattern="M{mach}")
    assert runs.header.location == "cells"
    assert set(runs.fields[0][runs.names.index("p")]) == {1e5, 2e5}
    np.testing.assert_allclose(runs.fields[0][runs.names.index("T")], 300.0 + runs.geometry_of(0).points[:, 1])
    asked = sf.read_runs(tmp_path, pattern="M{mach}", location="points")
    assert set(asked.fields[0][asked.names.index("p")]) == {1e5, 1.5e5, 2e5}


def csv_run(folder: Path, text: str) -> sf.Runs:
    for mach in (2, 3):
        (folder / f"M{mach}.csv").write_text(text)
    return sf.read_runs(folder, pattern="M{mach}")


def test_tables_as_programs_write_them(tmp_path):
    german = csv_run(tmp_path, "x [m];y [m];Pressure [bar]\n0;0,5;1,25\n1;0;2\n")
    assert (german.units, german.fields[0].tolist()) == (("bar",), [[1.25, 2.0]])
    titles = '"Pressure (Pa)","Velocity[i] (m/s)","Velocity[j] (m/s)","X (m)","Y (m)","Z (m)"'
    star = csv_run(tmp_path, f"{titles}\n1e5,3,4,0,0,0\n2e5,5,6,1,2,0\n")
    assert (star.names, star.units) == (("p", "u1", "u2"), ("Pa", "m/s", "m/s"))
    assert star.fields[0].tolist() == [[1e5, 2e5], [3, 5], [4, 6]]
    with pytest.raises(SureflowError, match=r"M2\.csv: p is 'oops' in row 2, which is not a number"):
        csv_run(tmp_path, "x,y,p\n0,0,1\n1,0,oops\n")
    # Remarks are no field, though not every row has one.
    assert csv_run(tmp_path, "x,y,p,note\n0,0,1,start\n1,0,2,\n2,0,3,end\n").names == ("p",)


@pytest.mark.parametrize("ending", [ending for ending in IMPORTERS if ending not in (".zarr", ".foam", ".pvd")])
@pytest.mark.parametrize("content", [b"", bytes(range(256)) * 8, b"solid nothing\n" * 40])
def test_what_is_no_such_file_is_one_sentence(tmp_path, ending, content):
    path = tmp_path / f"run{ending}"
    path.write_bytes(content)
    for companion in (".dat.h5", ".dat", ".q"):
        (tmp_path / f"run{companion}").write_bytes(content)
    reader = importer_for(path)
    assert isinstance(reader, SnapshotReader)
    with pytest.raises(SureflowError) as refused:
        reader(path)
    assert f"run{'.dat' if ending == '.cas' else ending}" in str(refused.value) or "run." in str(refused.value)
    assert "\n" not in str(refused.value)


def unpacked(name: str, folder: Path) -> Path:
    (folder / name).write_bytes(lzma.decompress((FIXTURES / f"{name}.xz").read_bytes()))
    return folder / name


def test_fluent(tmp_path):
    path, solution = unpacked("room.cas.h5", tmp_path), unpacked("room.dat.h5", tmp_path)
    runs = sf.read_runs([path], entries={"mach": f"{setting(tmp_path)}:mach"})
    assert runs.n_points == 4338
    assert runs.header.axes == ("x", "y")
    with h5py.File(solution) as file:
        expected = np.asarray(file["results/1/phase-1/cells/SV_T/1"])
    np.testing.assert_array_equal(runs.fields[0][runs.names.index("T")], expected)
    assert dict(zip(runs.names, runs.units, strict=True))["rho"] == "kg/m3"
    (tmp_path / "room.dat.h5").unlink()
    with pytest.raises(SureflowError, match=r"room\.dat\.h5 is missing"):
        importer_for(path)(path)


def setting(folder: Path) -> str:
    (folder / "{stem}.json".format(stem="room")).write_text('{"mach": 0.1}')
    return "{stem}.json"


def test_cgns_in_adf(tmp_path):
    path = unpacked("sqnz_s.adf.cgns", tmp_path)
    found = importer_for(path)(path)
    assert sum(block.n_cells for block in found.blocks) == sum(np.prod(block.topology.shape) for block in found.blocks)
    density = found.blocks[0].on_cells["Density"]
    assert density.dtype == np.float64
    # The file has these very numbers, in either byte order.
    raw = path.read_bytes()
    assert density[:4].astype(">f8").tobytes() in raw or density[:4].astype("<f8").tobytes() in raw


@pytest.mark.parametrize(
    ("ending", "part", "share"),
    [
        (".case", "run.geo", 0.02),  # VTK does not survive this one
        (".case", "run.geo", 0.6),
        (".case", "run.t", 0.97),
        (".pvts", "run_0.vts", 0.6),  # nor this one
        (".pvtr", "run_0.vtr", 0.85),  # nor this one
        (".vtk", "run.vtk", 0.97),
        (".vtu", "run.vtu", 0.97),
        (".cgns", "run.cgns", 0.9),
        (".tec", "run.tec", 0.3),  # and here it finds no end
    ],
)
def test_files_that_are_cut_off_are_one_sentence(tmp_path, monkeypatch, ending, part, share):
    monkeypatch.setattr("sureflow.importers.apart.PATIENCE", 10.0)
    format_files.FORMATS[ending][0](tmp_path / f"run{ending}")
    whole = (tmp_path / part).read_bytes()
    (tmp_path / part).write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(SureflowError, match=r"cut off") as refused:
        importer_for(tmp_path / f"run{ending}")(tmp_path / f"run{ending}")
    assert "run" in str(refused.value)
    assert "\n" not in str(refused.value)
    # The next file is read as if nothing had happened.
    (tmp_path / part).write_bytes(whole)
    assert importer_for(tmp_path / f"run{ending}")(tmp_path / f"run{ending}").blocks


def test_ensight_6_with_several_numbers_a_line(tmp_path):
    """All nodes are listed once, whichever parts use them; numbers fill their columns, so that none but signs are between."""
    path = tmp_path / "run.case"
    path.write_text(
        "FORMAT\ntype: ensight\nGEOMETRY\nmodel: run.geo\nVARIABLE\nscalar per node: Pressure run.p\n"
        "vector per node: Velocity run.u\n"
    )
    points = -format_files.grid().points
    pressure, velocity = format_files.values(*points[:, :2].T)["p"], -1.0 - np.abs(points)
    nodes = "".join("".join(f"{value:12.5e}" for value in point) + "\n" for point in points)
    parts = ""
    for part, corners in enumerate([(1, 2, 6, 5), (2, 3, 7, 6)], 1):
        parts += f"part {part}\npiece\nquad4\n{1:8d}\n" + "".join(f"{corner:8d}" for corner in corners) + "\n"
    start = "run\nmesh\nnode id assign\nelement id assign\ncoordinates\n"
    (tmp_path / "run.geo").write_text(f"{start}{len(points):8d}\n{nodes}{parts}")
    for name, numbers in (("p", pressure), ("u", velocity.ravel())):
        rows = [numbers[begin : begin + 6] for begin in range(0, len(numbers), 6)]
        text = "\n".join("".join(f"{value:12.5e}" for value in row) for row in rows)
        (tmp_path / f"run.{name}").write_text(f"{name}\n{text}\n")
    found = importer_for(path)(path)
    assert len(found.blocks) == 2
    np.testing.assert_allclose(found.blocks[0].on_nodes["Pressure"], pressure, rtol=1e-5)
    np.testing.assert_allclose(found.blocks[1].on_nodes["Velocity"], velocity, rtol=1e-5)
    whole = (tmp_path / "run.u").read_text()
    (tmp_path / "run.u").write_text(whole[: len(whole) // 2])
    with pytest.raises(SureflowError, match="cut off"):
        importer_for(path)(path)


@pytest.mark.parametrize("kind", ["rectilinear", "uniform"])
def test_blocks_of_ensight_gold_that_do_not_list_their_nodes(tmp_path, kind):
    path = tmp_path / "run.case"
    format_files.write_ensight(path)
    axes = [np.linspace(0.0, 1.5, format_files.N_X), np.linspace(0.0, 1.0, format_files.N_Y), np.zeros(1)]
    steps = [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]
    geometry = (tmp_path / "run.geo").read_text()
    head, size = geometry.partition("block\n")[0], geometry.partition("block\n")[2].partition("\n")[0]
    numbers = np.concatenate(axes) if kind == "rectilinear" else np.array(steps)
    rows = "".join(f"{value:12.5e}\n" for value in numbers)
    (tmp_path / "run.geo").write_text(f"{head}block {kind}\n{size}\n{rows}")
    (block,) = importer_for(path)(path).blocks
    np.testing.assert_allclose(block.nodes, format_files.grid().points, atol=1e-6)


def test_a_name_that_no_file_can_have_is_no_piece(tmp_path):
    format_files.write_parallel(tmp_path / "run.pvtu")
    text = (tmp_path / "run.pvtu").read_bytes()
    (tmp_path / "run.pvtu").write_bytes(text.replace(b"<Piece ", b'<Piece Source="a\0b"/><Piece ', 1))
    assert list_files([tmp_path]) == [tmp_path / "run.pvtu"]


def test_only_pyvista_is_silent_while_vtk_reads(tmp_path, caplog):
    from vtkmodules.vtkCommonCore import vtkLogger

    (tmp_path / "run.vtu").write_text("<VTKFile")
    before = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_WARNING)
    try:
        with pytest.raises(SureflowError):
            importer_for(tmp_path / "run.vtu")(tmp_path / "run.vtu")
        assert vtkLogger.GetCurrentVerbosityCutoff() == vtkLogger.VERBOSITY_WARNING
    finally:
        vtkLogger.SetStderrVerbosity(vtkLogger.ConvertToVerbosity(before))
    assert not caplog.messages
    with raising():
        logging.getLogger("another").error("heard")
        logging.getLogger().error("heard as well")
        pyvista.core.utilities.observers.Observer().log_message("ERROR", "not heard")
    assert caplog.messages == ["heard", "heard as well"]


@pytest.mark.parametrize("name", ["run.szplt", "run.plt"])
def test_binary_tecplot_says_the_way_out(tmp_path, name):
    (tmp_path / name).write_bytes(b"#!TDV112" + bytes(100))
    with pytest.raises(SureflowError, match="export it as CGNS, VTK or Tecplot ASCII"):
        importer_for(tmp_path / name)(tmp_path / name)


def test_a_restart_that_is_cut_off(tmp_path):
    format_files.write_su2_restart(tmp_path / "restart.dat")
    whole = (tmp_path / "restart.dat").read_bytes()
    (tmp_path / "restart.dat").write_bytes(whole[:400])
    with pytest.raises(SureflowError, match="is cut off: it has 400 bytes"):
        importer_for(tmp_path / "restart.dat")(tmp_path / "restart.dat")
