"""`sureflow import`, as it is typed."""

import zipfile

import numpy as np
import pyvista

from importers import vtk_cases

OPTIONS = ("--pattern", "M{mach}_a{angle}")


def test_import_train_predict_paraview(run, tmp_path):
    vtk_cases.write(tmp_path / "cases")
    shown = run("import", "cases", *OPTIONS, "--dry-run").out
    assert "p from p: " in shown
    assert "one cell thick along z" in shown
    assert not (tmp_path / "runs.zarr").exists()
    assert "9 runs over mach (2..4), angle (0..10)" in run("import", "cases", *OPTIONS, "-o", "runs.zarr").out
    run("import", "--config", "runs.import.toml", "-o", "again.zarr")
    run("train", "runs.zarr", "-o", "model", "--model", "interpolation")
    run("predict", "model", "mach=2.5", "angle=4", "-o", "field.vtu")
    assert np.isfinite(pyvista.read("field.vtu").cell_data["p_std"]).all()
    (tmp_path / "conditions.csv").write_text("mach,angle\n2.5,4\n3.5,6\n")
    run("predict", "model", "--conditions", "conditions.csv", "-o", "sweep.pvd")
    assert pyvista.get_reader("sweep.pvd").time_values == [0.0, 1.0]
    assert (
        "100.0% of cases/M2_a0.vtu lies in"
        in run("predict", "model", "mach=2.5", "angle=4", "--on", "cases/M2_a0.vtu").out
    )
    run("runs", "export", "runs.zarr", "-o", "one.vtkhdf", "--run", "4")
    x, y, _ = pyvista.read("one.vtkhdf").cell_centers().points.T
    np.testing.assert_allclose(pyvista.read("one.vtkhdf").cell_data["p"], vtk_cases.pressure(x, y, 3.0, 5.0), rtol=1e-6)


def test_what_is_refused(refused, tmp_path):
    vtk_cases.write(tmp_path / "cases")
    assert "parameters is missing: give a table" in refused("import", "cases", "-o", "runs.zarr")
    assert "does not fit" in refused("import", "cases", "--pattern", "Ma{mach}", "-o", "runs.zarr")
    assert "no array 'Temp': its arrays are p, T, U" in refused(
        "import", "cases", *OPTIONS, "--field", "T=Temp", "-o", "runs.zarr"
    )
    assert "does not exist" in refused("import", "nothing", *OPTIONS, "-o", "runs.zarr")
    assert "did you mean fields" in refused("import", "--config", settings(tmp_path), "-o", "runs.zarr")
    assert not list(tmp_path.glob("*.zarr"))


def settings(folder):
    path = folder / "wrong.toml"
    path.write_text('source = "cases"\npattern = "M{mach}_a{angle}"\nfield = {p = "p"}\n')
    return path


def test_an_archive_is_to_be_unpacked(refused, tmp_path):
    with zipfile.ZipFile(tmp_path / "cases.zip", "w") as archive:
        for number in range(5000):
            archive.writestr(f"run{number}.vtu", b"")
    assert "cases.zip is an archive of 5000 files: unpack it" in refused(
        "import", "cases.zip", *OPTIONS, "-o", "r.zarr"
    )
