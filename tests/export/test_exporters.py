import pytest
import xarray as xr
import zarr

from sureflow.errors import SureflowError
from sureflow.report.prediction import writer

FIELDS = xr.Dataset({"T": ("point", [1.0, 2.0])}, attrs={"verdict": "inside"})


def test_only_predictions_are_replaced(tmp_path):
    path = tmp_path / "fields.zarr"
    writer(path, overwrite=False)(FIELDS)
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
