"""VTK files for ParaView, through the optional pyvista."""

from pathlib import Path

import numpy as np

from sureflow.errors import SureflowError
from sureflow.flow.solution import FlowSolution


def require_pyvista() -> None:
    """Say how to get pyvista before anything is computed."""
    try:
        import pyvista  # noqa: F401
    except ImportError as error:
        raise SureflowError("--vtk needs pyvista, which is not installed: pip install 'sureflow[vtk]'.") from error


def write_vtk(path: Path, solution: FlowSolution) -> None:
    """A structured grid (.vts) in the plane z = 0 with the fields on its cells."""
    require_pyvista()
    import pyvista

    x, r = np.asarray(solution.mesh.node_x), np.asarray(solution.mesh.node_r)
    grid = pyvista.StructuredGrid(x[..., None], r[..., None], np.zeros_like(x)[..., None])
    u1, u2, rho, temperature = solution.fields

    def cells(field: np.ndarray) -> np.ndarray:
        return np.asarray(field).ravel(order="F")

    grid.cell_data["velocity (m/s)"] = np.stack([cells(u1), cells(u2), np.zeros(u1.size)], axis=1)
    grid.cell_data["density (kg/m3)"] = cells(rho)
    grid.cell_data["temperature (K)"] = cells(temperature)
    grid.cell_data["pressure (Pa)"] = cells(solution.pressure)
    grid.cell_data["Mach number"] = cells(solution.mach_number)
    grid.save(path)
