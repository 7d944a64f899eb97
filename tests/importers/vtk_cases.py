"""Folders of small VTK files with known values, as a CFD program would leave them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyvista

MACH, ANGLE = (2.0, 3.0, 4.0), (0.0, 5.0, 10.0)
CONDITIONS = [(mach, angle) for mach in MACH for angle in ANGLE]


def pressure(x: np.ndarray, y: np.ndarray, mach: float, angle: float) -> np.ndarray:
    return 1e5 * (1.0 + 0.1 * mach * np.sin(3.0 * x + 0.1 * angle) + 0.05 * y)


def slab(cells: tuple[int, int] = (8, 5), stretch: float = 0.0) -> pyvista.UnstructuredGrid:
    """One cell thick along z, as two-dimensional cases of three-dimensional programs are."""
    grid = pyvista.ImageData(dimensions=(cells[0] + 1, cells[1] + 1, 2), spacing=(1 / cells[0], 1 / cells[1], 0.1))
    mesh = grid.cast_to_unstructured_grid()
    mesh.points = mesh.points.astype(float)
    mesh.points[:, 1] *= 1.0 + stretch * mesh.points[:, 0]
    return mesh


def solved(mesh: pyvista.DataSet, mach: float, angle: float) -> pyvista.DataSet:
    """The mesh with p, T and U on its cells."""
    x, y, _ = mesh.cell_centers().points.T.astype(float)
    mesh.cell_data["p"] = pressure(x, y, mach, angle)
    mesh.cell_data["T"] = 300.0 + 10.0 * angle * y
    mesh.cell_data["U"] = np.stack([100.0 * mach * (1.0 + y), angle * x, 0.0 * x], axis=1)
    return mesh


def write(folder: Path, mesh: Callable[[float, float], pyvista.DataSet] = lambda mach, angle: slab()) -> Path:
    """A file for every condition."""
    folder.mkdir(parents=True, exist_ok=True)
    for mach, angle in CONDITIONS:
        solved(mesh(mach, angle), mach, angle).save(folder / f"M{mach:g}_a{angle:g}.vtu")
    return folder
