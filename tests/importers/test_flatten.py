"""Volumes, surfaces, sections, and meshes that are two-dimensional in truth."""

from pathlib import Path

import numpy as np
import pytest
import pyvista

import sureflow as sf


def imported(folder: Path, mesh: pyvista.DataSet, **options) -> sf.Runs:
    """Three runs of p = 1e5 + a x on the cells of a mesh, and of the velocity (a, radius, 0)."""
    for a in (1, 2, 3):
        x, y, _ = mesh.cell_centers().points.T.astype(float)
        mesh.cell_data["p"] = 1e5 + a * x
        mesh.cell_data["U"] = np.stack([a + 0.0 * x, y, 0.0 * x], axis=1)
        mesh.save(folder / f"a{a}.{'vtp' if isinstance(mesh, pyvista.PolyData) else 'vtu'}")
    return sf.read_runs(folder, pattern="a{a}", **options)


def wedge(degrees: float, *, hole: float) -> pyvista.UnstructuredGrid:
    """A block between two planes through the x axis, as OpenFOAM has cases around an axis."""
    half = np.radians(degrees / 2)
    x, r, angle = np.meshgrid(np.linspace(0, 2, 6), np.linspace(hole, 1, 5), [-half, half], indexing="ij")
    return pyvista.StructuredGrid(x, r * np.cos(angle), r * np.sin(angle)).cast_to_unstructured_grid()


@pytest.mark.parametrize("hole", [0.0, 0.2])
def test_a_wedge_is_a_plane_through_its_axis(tmp_path, hole):
    runs = imported(tmp_path, wedge(5.0, hole=hole))
    assert (runs.header.axes, runs.n_points, runs.names) == (("x", "r"), 20, ("p", "u1", "u2"))
    points = runs.geometry_of(0).points
    np.testing.assert_allclose(runs.fields[1][0], 1e5 + 2.0 * points[:, 0])
    # The radius is the distance from the axis, not the height of the inclined side.
    nodes = runs.geometry_of(0).nodes
    np.testing.assert_allclose([nodes.min(axis=0), nodes.max(axis=0)], [(0.0, hole), (2.0, 1.0)], atol=1e-7)
    whole = imported(tmp_path, wedge(5.0, hole=hole), flat=False)
    assert whole.header.axes == ("x", "y", "z")


def test_a_wide_sector_stays_three_dimensional(tmp_path):
    assert imported(tmp_path, wedge(60.0, hole=0.2)).header.axes == ("x", "y", "z")


def test_volumes_surfaces_and_sections(tmp_path):
    box = pyvista.ImageData(dimensions=(5, 4, 3), spacing=(0.25, 0.3, 0.4))
    sphere = pyvista.Sphere(theta_resolution=12, phi_resolution=9)
    kinds = {
        "volume": (box.cast_to_unstructured_grid(), ("x", "y", "z")),
        "surface": (sphere, ("x", "y", "z")),
        "strips": (sphere.strip(), ("x", "y", "z")),
        "across": (box.slice(normal=(0, 0, 1)), ("x", "y")),
        "oblique": (box.slice(normal=(1, 1, 0.3)), ("x", "y", "z")),
    }
    for name, (mesh, axes) in kinds.items():
        (tmp_path / name).mkdir()
        mesh.clear_data()
        runs = imported(tmp_path / name, mesh)
        if name == "strips":
            check_strips(runs, mesh)
            continue
        assert (runs.header.axes, runs.header.location, runs.n_points) == (axes, "cells", mesh.n_cells), name
        # The mean of the corners: VTK's own center of a pentagon is another one.
        np.testing.assert_allclose(runs.geometry_of(0).points[:, 0], mesh.cell_centers().points[:, 0], atol=6e-3)
        np.testing.assert_allclose(runs.fields[1][0], 1e5 + 2.0 * mesh.cell_centers().points[:, 0])


def check_strips(runs: sf.Runs, mesh: pyvista.PolyData) -> None:
    """Strips become their triangles, each with the value of its strip."""
    assert mesh.n_strips == mesh.n_cells
    triangles = mesh.triangulate()
    assert (runs.header.location, runs.n_points) == ("cells", triangles.n_cells)
    np.testing.assert_allclose(runs.geometry_of(0).points, triangles.cell_centers().points, atol=1e-6)
    lengths = [strip.n_points - 2 for strip in mesh.cell]
    np.testing.assert_allclose(runs.fields[1][0], 1e5 + 2.0 * np.repeat(mesh.cell_centers().points[:, 0], lengths))


def test_models_of_a_surface(tmp_path):
    """A surface in space is learned and predicted like a volume."""
    import_folder = tmp_path / "surface"
    import_folder.mkdir()
    model = sf.fit(imported(import_folder, pyvista.Sphere(theta_resolution=12, phi_resolution=9)), "interpolation")
    field = model.predict(a=2.5)
    np.testing.assert_allclose(field.p, 1e5 + 2.5 * field.x, rtol=1e-9)
