import numpy as np
import pytest
import xarray as xr

import synthetic
from data.own_runs import KINDS, cloud, hexahedra, moving, structured
from sureflow.data.labels import runs_html
from sureflow.files import write_netcdf
from sureflow.physics.gases import PerfectGas


def test_flights_with_what_their_gas_tells():
    runs = synthetic.runs()
    labelled = runs.to_xarray()
    assert labelled["u1"].dims == ("case", "j", "i")
    assert labelled["u1"].attrs == {"units": "m/s", "long_name": "axial velocity"}
    assert labelled["node_x"].dims == ("node_j", "node_i")
    assert labelled["x"].attrs == {"units": "m"}
    assert labelled["mach"].attrs["units"] == "1"
    np.testing.assert_array_equal(labelled["steps"], np.ones(25))
    u1, u2, density, temperature = runs.array().reshape(25, 4, *synthetic.SHAPE).swapaxes(0, 1)
    np.testing.assert_allclose(labelled["pressure"], density * 287.0529 * temperature)
    np.testing.assert_allclose(labelled["mach_number"], np.hypot(u1, u2) / np.sqrt(1.4 * 287.0529 * temperature))
    assert labelled["mach_number"].attrs == {"units": "1", "long_name": "Mach number"}


def test_nothing_is_derived_where_it_is_given_or_unknown():
    runs = cloud(gas=PerfectGas())
    assert set(runs.to_xarray().data_vars) == {"p", "q", "drag"}
    fields = {"pressure": np.ones((5, 9)), "T": np.ones((5, 9)), "rho": np.ones((5, 9))}
    given = cloud(fields=fields, units={"T": "K", "rho": "kg/m3"}, gas=PerfectGas()).to_xarray()
    assert set(given.data_vars) == {"pressure", "T", "rho", "drag"}
    np.testing.assert_array_equal(given["pressure"], 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_labelled_runs_are_written_and_read(kind, tmp_path):
    labelled = KINDS[kind]().to_xarray()
    write_netcdf(labelled, tmp_path / "runs.nc")
    with xr.open_dataset(tmp_path / "runs.nc", engine="h5netcdf") as again:
        np.testing.assert_array_equal(again["p"], labelled["p"])
        assert set(again.coords) == set(labelled.coords)


def test_meshes_have_dimensions_of_their_own():
    assert structured().to_xarray()["x"].dims == ("j", "i")
    assert moving().to_xarray()["x"].dims == ("case", "j", "i")
    assert moving().to_xarray()["node_y"].dims == ("case", "node_j", "node_i")
    unstructured = hexahedra().to_xarray()
    assert unstructured["p"].dims == ("case", "point")
    assert unstructured["z"].dims == ("point",)
    assert unstructured["connectivity"].dims == ("corner",)
    assert cloud().to_xarray()["x"].dims == ("point",)


def test_notebooks_show_tables():
    text = runs_html(cloud(made_by={"tool": "<b>"}))
    assert "<b>5 runs</b>" in text
    assert "<td>angle</td><td>deg</td><td>0.5..8</td><td>log</td>" in text
    assert "of every run: drag" in text
    assert runs_html(cloud().select(slice(0, 0)))
    assert cloud()._repr_html_() == runs_html(cloud())
