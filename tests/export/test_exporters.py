import numpy as np
import pandas
import pytest
import xarray
import zarr

from export import labelled_fields
from sureflow.errors import Exists, SureflowError
from sureflow.export.exporters import EXPORTERS, write_dataset, writer

FIELDS = xarray.Dataset({"T": ("point", [1.0, 2.0])}, attrs={"verdict": "inside"})


def test_only_predictions_are_replaced(tmp_path):
    path = tmp_path / "fields.zarr"
    writer(path)(FIELDS)
    writer(path, overwrite=True)(FIELDS + 1)
    assert zarr.open_group(path, mode="r")["T"][:].tolist() == [2.0, 3.0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["fields.zarr"]


@pytest.mark.parametrize("kind", ["runs", "folder", "file"])
def test_nothing_else_is_replaced(tmp_path, kind):
    path = tmp_path / "mine.zarr"
    if kind == "runs":
        zarr.create_group(path, attributes={"schema": "sureflow-runs"})
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("mine")
    with pytest.raises(SureflowError, match="is not a prediction, and is not replaced"):
        writer(path, overwrite=True)
    assert path.exists()


def test_what_exists_is_kept_before_anything_is_computed(tmp_path):
    path = tmp_path / "fields.nc"
    path.write_text("mine")
    with pytest.raises(Exists, match=r"fields.nc exists: choose another name, or replace it"):
        writer(path)
    assert path.read_text() == "mine"


def test_a_failure_leaves_nothing_behind(tmp_path):
    path = tmp_path / "new" / "fields.png"
    with pytest.raises(SureflowError, match="x, y, z"):
        write_dataset(labelled_fields.prediction("block-3d"), path)
    assert not list(path.parent.iterdir())


def test_an_unknown_ending_names_the_known_ones(tmp_path):
    with pytest.raises(
        SureflowError,
        match=r"'.ncc' is not one of .nc, .*.vtkhdf.*.zarr, .csv; did you mean .nc\?",
    ):
        writer(tmp_path / "fields.ncc")


def test_a_user_s_own_exporter_writes_its_ending(tmp_path, monkeypatch):
    monkeypatch.setitem(EXPORTERS.entries, ".txt", lambda dataset, path: path.write_text(f"{dataset['T'].mean():g}"))
    write_dataset(FIELDS, tmp_path / "mean.txt")
    assert (tmp_path / "mean.txt").read_text() == "1.5"


@pytest.mark.parametrize("kind", labelled_fields.KINDS)
def test_every_mesh_goes_to_netcdf_zarr_and_csv(tmp_path, kind):
    fields = labelled_fields.prediction(kind)
    for ending in (".nc", ".zarr", ".csv"):
        write_dataset(fields, tmp_path / f"fields{ending}")
    with xarray.open_dataset(tmp_path / "fields.nc", engine="h5netcdf") as stored:
        xarray.testing.assert_equal(stored.load(), fields)
    with xarray.open_zarr(tmp_path / "fields.zarr", consolidated=False) as stored:
        np.testing.assert_array_equal(stored["T"], fields["T"])
    table = pandas.read_csv(tmp_path / "fields.csv")
    axes = [axis for axis in "xyz" if axis in fields]
    assert set(table.columns) == {*axes, "angle", "T", "T_std", "T_interval90"}
    assert list(table.columns)[-3:] == ["T", "T_std", "T_interval90"]
    np.testing.assert_array_equal(table["T"], fields["T"].values.ravel())
    np.testing.assert_array_equal(table["x"], fields["x"].values.ravel())


def test_several_conditions_are_rows_of_one_table(tmp_path):
    one = labelled_fields.prediction("block")
    fields = one.expand_dims("case").isel(case=[0, 0]).reset_coords("angle")
    both = fields.assign_coords(angle=("case", [4.0, 5.0]), x=one["x"], y=one["y"])
    write_dataset(both, tmp_path / "fields.csv")
    table = pandas.read_csv(tmp_path / "fields.csv")
    assert sorted(table["angle"].unique()) == [4.0, 5.0]
    assert len(table) == 2 * 24
    with pytest.raises(SureflowError, match=r"2 conditions do not fit one picture or VTK file"):
        write_dataset(both, tmp_path / "fields.png")
