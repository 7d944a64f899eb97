import numpy as np
import pytest
import pyvista
import xarray

from export import labelled_fields
from sureflow.errors import SureflowError
from sureflow.export.exporters import write_dataset

BLOCKS = ("block", "block-points", "block-3d")
OTHERS = ("triangles", "triangles-points", "tetrahedra", "points")


@pytest.mark.parametrize("kind", [*BLOCKS, *OTHERS])
def test_paraview_finds_every_value_where_it_is(tmp_path, kind):
    fields = labelled_fields.prediction(kind)
    path = tmp_path / ("fields.vts" if kind in BLOCKS else "fields.vtu")
    write_dataset(fields, path)
    grid = pyvista.read(path)
    at_points = kind.endswith("points")
    data = grid.point_data if at_points else grid.cell_data
    places = grid.points if at_points else grid.cell_centers().points
    assert set(data.keys()) >= {"temperature (K)", "standard deviation of the temperature (K)"}
    np.testing.assert_allclose(data["temperature (K)"], fields["T"].values.ravel(), rtol=1e-6)
    for axis, name in enumerate(name for name in "xyz" if name in fields):
        np.testing.assert_allclose(places[:, axis], fields[name].values.ravel(), atol=1e-6)


def test_velocities_are_a_vector(tmp_path):
    fields = labelled_fields.prediction("block", bars=False)
    speed = fields["T"].assign_attrs(units="m/s", long_name="axial velocity")
    write_dataset(fields.assign(u1=speed, u2=2 * speed), tmp_path / "fields.vts")
    vector = pyvista.read(tmp_path / "fields.vts").cell_data["velocity (m/s)"]
    expected = np.stack([speed.values.ravel(), 2 * speed.values.ravel(), np.zeros(speed.size)], axis=1)
    np.testing.assert_allclose(vector, expected)


@pytest.mark.parametrize(
    ("kind", "ending", "words"), [("points", ".vts", "write .vtu"), ("block", ".vtu", "write .vts")]
)
def test_the_wrong_ending_says_the_right_one(tmp_path, kind, ending, words):
    with pytest.raises(SureflowError, match=words):
        write_dataset(labelled_fields.prediction(kind), tmp_path / f"fields{ending}")


def test_without_pyvista_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    with pytest.raises(SureflowError, match=r"pip install 'sureflow\[cfd\]'"):
        write_dataset(xarray.Dataset({"T": ("point", [1.0])}), tmp_path / "fields.vtu")
