"""Predictions on another mesh than that of the runs."""

import numpy as np
import pytest
import pyvista

import kinds_of_runs
import sureflow as sf
from sureflow.errors import SureflowError
from sureflow.export.exporters import write_dataset


@pytest.fixture(scope="module")
def model():
    return sf.fit(kinds_of_runs.runs("triangles"), "interpolation", calibrate=False)


def test_inside_as_at_points_and_nothing_outside(model, tmp_path):
    points = model.space.geometry.points
    low, high = points.min(axis=0), points.max(axis=0)
    spacing = (*(1.2 * (high - low) / 12), 1.0)
    grid = pyvista.ImageData(dimensions=(13, 13, 1), spacing=spacing, origin=(*low, 0.0)).cast_to_unstructured_grid()
    grid.save(tmp_path / "other.vtu")
    condition = dict(zip(model.parameter_names, model.domain.parameters.mean(axis=0), strict=True))
    found = model.predict(on=tmp_path / "other.vtu", **condition)
    inside = found.inside_mesh.values.astype(bool)
    assert 0 < inside.sum() < inside.size
    name = model.names[0]
    at = np.column_stack([found[axis].values for axis in model.space.axes])
    expected = model.predict(points=at[inside], **condition)
    np.testing.assert_array_equal(found[name].values[inside], expected[name].values)
    np.testing.assert_array_equal(found[f"{name}_std"].values[inside], expected[f"{name}_std"].values)
    assert np.isnan(found[name].values[~inside]).all()
    write_dataset(found, tmp_path / "field.vtu")
    np.testing.assert_array_equal(pyvista.read(tmp_path / "field.vtu").cell_data[name], found[name].values)


def test_what_does_not_fit(model, tmp_path):
    condition = dict(zip(model.parameter_names, model.domain.parameters.mean(axis=0), strict=True))
    pyvista.ImageData(dimensions=(3, 3, 1), origin=(1e3, 1e3, 0.0)).save(tmp_path / "far.vti")
    with pytest.raises(SureflowError, match="no point of the mesh lies inside that of the runs"):
        model.predict(on=tmp_path / "far.vti", **condition)
    pyvista.ImageData(dimensions=(3, 3, 3)).save(tmp_path / "solid.vti")
    with pytest.raises(SureflowError, match="has the axes x, y, z"):
        model.predict(on=tmp_path / "solid.vti", **condition)
