"""Runs on meshes that share nothing, brought onto one: values, masks, and whether the stated error covers the true one."""

import numpy as np
import pytest
import pyvista
from scipy.spatial import Delaunay

import sureflow as sf
from small_networks import SINGLE
from sureflow.data.locate import locate
from sureflow.data.measures import measures, vtk_cells
from sureflow.data.meshes import Cells, Geometry, Topology
from sureflow.errors import SureflowError
from sureflow.export.exporters import write_dataset
from sureflow.importers.assembly import centers
from sureflow.importers.import_settings import ImportSettings
from sureflow.importers.importing import import_runs
from sureflow.importers.resample import ValuePlaces, resample

RUNS = 12


def triangles(seed: int, n: int) -> tuple[np.ndarray, Topology]:
    """A square of triangles between nodes at random."""
    rng = np.random.default_rng(seed)
    nodes = np.stack(np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n)), axis=-1).reshape(-1, 2)
    inner = ((nodes > 0) & (nodes < 1)).all(axis=1)
    nodes[inner] += rng.uniform(-0.35, 0.35, (inner.sum(), 2)) / n
    corners = Delaunay(nodes).simplices.astype(np.int64)
    return nodes, Topology(cells=Cells(corners.ravel(), np.arange(0, corners.size + 1, 3), np.full(len(corners), 5)))


def truth(points: np.ndarray, angle: float) -> np.ndarray:
    """A smooth field, and one with a shock."""
    x, y = points.T
    return np.stack([np.sin(6 * x + 0.2 * angle) * np.cos(5 * y), np.tanh(20 * (x - 0.3 - 0.03 * angle + 0.2 * y))])


def places(seed: int, n: int, location: str) -> ValuePlaces:
    nodes, topology = triangles(seed, n)
    points = nodes if location == "points" else centers(nodes, topology)
    return ValuePlaces(Geometry(points, nodes), topology, location)


@pytest.mark.parametrize("location", ["cells", "points"])
def test_the_stated_error_covers_the_true_one_at_nine_of_ten_points(location):
    target, covered = places(100, 22, location), []
    for run in range(RUNS):
        source = places(run, 18 + run, location)
        found = resample(truth(source.geometry.points, run), source, target, "linear")
        assert found.inside.all()
        error = np.abs(found.fields - truth(target.geometry.points, run))
        covered.append((error <= 1.645 * found.std).mean(axis=1))
        # The shock has no overshoots, and the error is stated where it is large, not everywhere.
        assert np.abs(found.fields[1]).max() <= 1.0
        assert np.median(found.std[1]) < 0.1 * found.std[1].max()
    assert np.mean(covered, axis=0).min() > 0.9


def test_conservative_means_equal_integrals():
    source, target = places(0, 20, "cells"), places(100, 15, "cells")
    values = truth(source.geometry.points, 0)
    found = resample(values, source, target, "conservative")
    before, after = (
        rows @ measures(place.geometry.nodes, vtk_cells(place.topology))
        for rows, place in ((values, source), (found.fields, target))
    )
    np.testing.assert_allclose(after, before, rtol=1e-12)


def test_points_outside_are_marked():
    source, target = places(0, 20, "cells"), places(100, 20, "cells")
    shifted = ValuePlaces(
        Geometry(target.geometry.points + np.array([0.5, 0.0]), target.geometry.nodes), target.topology, "cells"
    )
    found = resample(truth(source.geometry.points, 0), source, shifted, "linear")
    beyond = shifted.geometry.points[:, 0] > 1.05
    assert not found.inside[beyond].any()
    assert found.inside[shifted.geometry.points[:, 0] < 0.98].all()
    assert np.isfinite(found.fields).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of runs on different meshes."""
    folder = tmp_path_factory.mktemp("different")
    for run in range(RUNS):
        nodes, topology = triangles(run, 12 + run % 4)
        cells = topology.cells
        listed = np.insert(cells.connectivity, cells.offsets[:-1], np.diff(cells.offsets))
        grid = pyvista.UnstructuredGrid(listed, cells.types.astype(np.uint8), np.pad(nodes, ((0, 0), (0, 1))))
        grid.cell_data["p"], grid.cell_data["T"] = truth(centers(nodes, topology), run)
        grid.save(folder / f"a{run}.vtu")
    return folder


def test_the_error_is_a_part_of_the_bars(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = ImportSettings(source=folder, pattern="a{angle}", mesh="resampled")
    import_runs(settings, "runs.zarr")
    runs = sf.open_runs("runs.zarr")
    assert runs.resampling is not None
    assert runs.own is not None
    np.testing.assert_array_equal(runs.resampling.coverage, 1.0)
    again = sf.read_runs(folder, pattern="a{angle}", mesh="resampled")
    np.testing.assert_allclose(again.resampling.std, runs.resampling.std, rtol=1e-9)
    model = sf.fit(runs, "interpolation", calibrate=False)
    field = model.predict(angle=4.5)
    np.testing.assert_allclose(field.p_std_resampling, runs.resampling.std[0])
    np.testing.assert_allclose(field.p_std**2, field.p_std_epistemic**2 + field.p_std_resampling**2)
    model.save("model")
    assert sf.load("model").predict(angle=4.5).identical(field)
    write_dataset(field, "field.vtu")
    # A selection, and another store of the same runs, know it as well.
    runs.select(slice(0, 6)).save("part.zarr")
    assert sf.open_runs("part.zarr").own.n_points == runs.own.n_points


def test_networks_learn_from_the_meshes_of_the_runs(folder):
    runs = sf.read_runs(folder, pattern="a{angle}", mesh="resampled", own_points=90)
    assert runs.own.is_moving
    case = 5
    expected = truth(runs.own.geometry_of(case).points, case)
    np.testing.assert_allclose(runs.own.fields[case], expected, rtol=1e-12)
    model = sf.fit(runs, SINGLE, calibrate=False)
    assert model.predict(angle=3.0).p.shape == (runs.n_points,)
    # Other values on the runs' own meshes make another network: it is these that it learns from.
    moved = sf.read_runs(folder, pattern="a{angle}", mesh="resampled", own_points=60)
    other = sf.fit(moved, SINGLE, calibrate=False)
    assert not np.array_equal(model.predict(angle=3.0).p, other.predict(angle=3.0).p)


def test_meshes_that_differ_are_not_resampled_unasked(folder):
    with pytest.raises(SureflowError, match=r"mesh=resampled"):
        sf.read_runs(folder, pattern="a{angle}")


def test_values_between_meshes_of_their_own_cells():
    here = places(0, 10, "cells")
    stencil = locate(here.geometry.points[:5], here.geometry, here.topology, "cells")
    np.testing.assert_allclose(stencil(here.geometry.points.T), here.geometry.points[:5].T, atol=1e-9)
