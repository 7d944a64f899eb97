import numpy as np
import pytest
import pyvista
import xarray

from export import labelled_fields
from sureflow.errors import Exists, SureflowError
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
    assert set(data.keys()) >= {"T", "T_std", "T_interval90"}
    np.testing.assert_allclose(data["T"], fields["T"].values.ravel(), rtol=1e-6)
    assert "T: K" in list(grid.field_data["units"])
    assert list(grid.field_data["verdict"]) == ["inside"]
    assert grid.field_data["angle"].tolist() == [4.0]
    for axis, name in enumerate(name for name in "xyz" if name in fields):
        np.testing.assert_allclose(places[:, axis], fields[name].values.ravel(), atol=1e-6)


def test_velocities_are_a_vector(tmp_path):
    fields = labelled_fields.prediction("block", bars=False)
    speed = fields["T"].assign_attrs(units="m/s", long_name="axial velocity")
    write_dataset(fields.assign(u1=speed, u2=2 * speed), tmp_path / "fields.vts")
    vector = pyvista.read(tmp_path / "fields.vts").cell_data["velocity"]
    expected = np.stack([speed.values.ravel(), 2 * speed.values.ravel(), np.zeros(speed.size)], axis=1)
    np.testing.assert_allclose(vector, expected)


@pytest.mark.parametrize("ending", [".vtu", ".vtkhdf"])
@pytest.mark.parametrize("kind", ["block", "block-3d", "triangles"])
def test_blocks_are_cells_as_well(tmp_path, kind, ending):
    fields = labelled_fields.prediction(kind)
    write_dataset(fields, tmp_path / f"fields{ending}")
    grid = pyvista.read(tmp_path / f"fields{ending}")
    np.testing.assert_allclose(grid.cell_data["T"], fields["T"].values.ravel(), rtol=1e-6)
    np.testing.assert_allclose(grid.cell_centers().points[:, 0], fields["x"].values.ravel(), atol=1e-6)
    # The axes of the box are ordered as in a mirror.
    assert (np.abs(grid.compute_cell_sizes()["Volume" if kind == "block-3d" else "Area"]) > 0.01).all()


def test_many_conditions_are_a_list(tmp_path):
    one = labelled_fields.prediction("block")
    many = one.drop_vars("angle").expand_dims(case=2).assign_coords(angle=("case", [4.0, 8.0]))
    many = many.assign(T=many["T"] + xarray.DataArray([0.0, 10.0], dims="case"))
    write_dataset(many, tmp_path / "sweep.pvd")
    reader = pyvista.get_reader(tmp_path / "sweep.pvd")
    assert reader.time_values == [4.0, 8.0]
    reader.set_active_time_value(8.0)
    np.testing.assert_allclose(reader.read()[0].cell_data["T"], many["T"].values[1].ravel(), rtol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep", "sweep.pvd"]
    with pytest.raises(Exists, match="sweep"):
        write_dataset(many, tmp_path / "sweep.pvd")
    write_dataset(many, tmp_path / "sweep.pvd", overwrite=True)
    (tmp_path / "sweep/notes.txt").write_text("mine")
    with pytest.raises(SureflowError, match="holds other files than predictions"):
        write_dataset(many, tmp_path / "sweep.pvd", overwrite=True)


def test_a_list_of_points_is_no_block(tmp_path):
    with pytest.raises(SureflowError, match=r"write \.vtu"):
        write_dataset(labelled_fields.prediction("points"), tmp_path / "fields.vts")


def test_without_pyvista_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    with pytest.raises(SureflowError, match=r"pip install 'sureflow\[cfd\]'"):
        write_dataset(xarray.Dataset({"T": ("point", [1.0])}), tmp_path / "fields.vtu")
