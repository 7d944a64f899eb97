import json
import re

import numpy as np
import pytest
import pyvista
import xarray as xr
from typer.testing import CliRunner

from sureflow.cli import app
from sureflow.cli.inputs import parse_cells
from sureflow.cli.solve import refuse_to_overwrite
from sureflow.errors import SureflowError

COARSE = ["solve", "--mach", "20", "--altitude", "40", "--cells", "32x32", "--wall-spacing", "1e-4"]


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """One coarse run with all its files, and what the command printed."""
    folder = tmp_path_factory.mktemp("solve") / "out"
    result = CliRunner().invoke(app, [*COARSE, "--vtk", "--mirror", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result.stdout


def test_the_summary_is_shown_and_written(solved):
    folder, text = solved
    assert "Mach 20 at 40 km: converged in" in text
    for words in ("stand-off", "drag coefficient", "balance errors"):
        assert words in text
    assert re.search(r"stagnation pressure +\S+ Pa \(pitot ratio \S+ p_inf\)\nstagnation heat flux +\S+ W/m2 \(", text)
    assert "outside the model" in text
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["converged"] is True
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["fields.nc", "fields.png", "fields.vts", "residual.png", "summary.json", "surface.png"]


def test_the_fields_have_names_units_and_derived_ones(solved):
    with xr.open_dataset(solved[0] / "fields.nc", engine="h5netcdf") as fields:
        units = {name: fields[name].attrs["units"] for name in fields.data_vars}
        assert units == {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K", "pressure": "Pa", "mach_number": "1"}
        assert fields["u1"].dims == ("j", "i")
        assert fields["node_x"].shape == (33, 33)
        np.testing.assert_allclose(fields["pressure"], fields["rho"] * 287.0529 * fields["T"], rtol=1e-12)


def test_paraview_sees_the_same_cells(solved):
    folder, _ = solved
    grid = pyvista.read(folder / "fields.vts")
    with xr.open_dataset(folder / "fields.nc", engine="h5netcdf") as fields:
        assert grid.n_cells == 1024
        centers = grid.cell_centers().points
        order = np.lexsort(np.round(centers[:, :2], 6).T)
        flat = {name: fields[name].values.ravel() for name in ("x", "r", "pressure", "u1")}
        expected = np.lexsort(np.round(np.column_stack([flat["x"], flat["r"]]), 6).T)
        np.testing.assert_allclose(centers[order, 0], flat["x"][expected], atol=1e-6)
        np.testing.assert_allclose(grid.cell_data["pressure"][order], flat["pressure"][expected], rtol=1e-6)
        np.testing.assert_allclose(grid.cell_data["velocity"][order, 0], flat["u1"][expected], rtol=1e-6)


def test_json_is_all_that_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*COARSE, "--json"])
    summary = json.loads(result.stdout)
    assert result.exit_code == 0
    assert summary["mach"] == 20
    assert summary["altitude_km"] == 40
    for key in ("steps", "residual_drop", "stand_off", "pitot_ratio", "q_stag_w_m2", "drag_coefficient", "seconds"):
        assert isinstance(summary[key], int | float)
    assert set(summary["balance_error"]) == {"mass", "momentum", "energy"}
    assert list(summary["shock_radius_m"]) == ["0.1524", "0.6", "1.0"]
    assert list(summary["cp_over_cpmax"]) == ["20", "40", "60"]
    assert list(tmp_path.iterdir()) == []


def test_overwriting_replaces_the_folder(solved):
    folder, _ = solved
    (folder / "fields.png").write_text("old")
    result = CliRunner().invoke(app, [*COARSE, "-o", str(folder), "--overwrite", "--vtk"])
    assert result.exit_code == 0
    assert (folder / "fields.png").read_bytes() != b"old"
    assert (folder / "fields.nc").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_without_pyvista_the_way_to_get_it_is_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    result = CliRunner().invoke(app, [*COARSE, "--vtk"])
    assert isinstance(result.exception, SureflowError)
    assert "pip install 'sureflow[cfd]'" in str(result.exception)


def test_sizes():
    assert parse_cells("64x48") == (64, 48)
    assert parse_cells("64X48") == (64, 48)
    for text in ("", "x", "64", "64x", "6.4x64", "64x64x64"):
        with pytest.raises(SureflowError, match="is not a size"):
            parse_cells(text)


def test_files_that_are_not_results_are_never_replaced(tmp_path):
    for name in ("summary.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(SureflowError, match=r"holds notes\.txt, and is not a folder of sureflow results"):
        refuse_to_overwrite(tmp_path, overwrite=True)


def test_a_place_that_cannot_be_made_is_refused_before_solving(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SureflowError, match="cannot be made in"):
        refuse_to_overwrite(tmp_path / "file" / "results", overwrite=False)
