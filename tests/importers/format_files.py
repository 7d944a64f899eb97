"""One small file of every format: p = 1e5 + 100 x + 10 y, T = 300 + y and the velocity (10 x, y, 0), on nodes or cells."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyvista
import xarray

N_X, N_Y = 4, 3  # nodes


def grid() -> pyvista.StructuredGrid:
    """A plane block, in double precision."""
    x, y = np.meshgrid(np.linspace(0.0, 1.5, N_X), np.linspace(0.0, 1.0, N_Y), indexing="ij")
    mesh = pyvista.StructuredGrid(x[..., None], y[..., None], 0.0 * x[..., None])
    return mesh


def values(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    return {"p": 1e5 + 100.0 * x + 10.0 * y, "T": 300.0 + y, "u1": 10.0 * x, "u2": 1.0 * y}


def on_points(mesh: pyvista.DataSet) -> pyvista.DataSet:
    found = values(*mesh.points[:, :2].T)
    mesh.point_data["Pressure"], mesh.point_data["Temperature"] = found["p"], found["T"]
    mesh.point_data["Velocity"] = np.column_stack([found["u1"], found["u2"], 0 * found["u1"]])
    return mesh


def on_cells(mesh: pyvista.DataSet) -> pyvista.DataSet:
    found = values(*mesh.cell_centers().points[:, :2].T)
    mesh.cell_data["Pressure"], mesh.cell_data["Temperature"] = found["p"], found["T"]
    mesh.cell_data["Velocity"] = np.column_stack([found["u1"], found["u2"], 0 * found["u1"]])
    return mesh


def write_vtk(path: Path) -> None:
    mesh = on_cells(grid())
    kinds: dict[str, Callable[[], pyvista.DataObject]] = {
        ".vts": lambda: mesh,
        ".vtk": lambda: mesh,
        ".vtu": mesh.cast_to_unstructured_grid,
        ".vtkhdf": mesh.cast_to_unstructured_grid,
        ".vtp": lambda: on_cells(mesh.extract_surface(algorithm="dataset_surface")),
        ".vtmb": lambda: pyvista.MultiBlock({"inner": pyvista.MultiBlock({"left": halves()[0], "right": halves()[1]})}),
        ".vtm": lambda: pyvista.MultiBlock({"left": halves()[0], "right": halves()[1]}),
        ".vti": lambda: on_cells(pyvista.ImageData(dimensions=(N_X, N_Y, 1), spacing=(0.5, 0.5, 1.0))),
        ".vtr": lambda: on_cells(pyvista.RectilinearGrid(np.linspace(0, 1.5, N_X), np.linspace(0, 1.0, N_Y), [0.0])),
    }
    kinds[path.suffix]().save(path)


def halves() -> tuple[pyvista.DataSet, pyvista.DataSet]:
    whole = on_cells(grid()).cast_to_unstructured_grid()
    left = whole.cell_centers().points[:, 0] < 0.9
    return whole.extract_cells(np.flatnonzero(left)), whole.extract_cells(np.flatnonzero(~left))


def write_parallel(path: Path) -> None:
    """A .pvtu and its pieces."""
    names = []
    for number, half in enumerate(halves()):
        names.append(f"piece{number}.vtu")
        half.clear_point_data()
        for name in [name for name in half.cell_data if name not in ("Pressure", "Temperature", "Velocity")]:
            half.cell_data.remove(name)
        half.save(path.parent / names[-1])
    pieces = "".join(f'<Piece Source="{name}"/>' for name in names)
    arrays = "".join(
        f'<PDataArray type="Float64" Name="{name}" NumberOfComponents="{width}"/>'
        for name, width in (("Pressure", 1), ("Temperature", 1), ("Velocity", 3))
    )
    path.write_text(
        '<?xml version="1.0"?><VTKFile type="PUnstructuredGrid" version="0.1" byte_order="LittleEndian">'
        f'<PUnstructuredGrid GhostLevel="0"><PCellData>{arrays}</PCellData><PPoints><PDataArray type="Float64" '
        f'NumberOfComponents="3"/></PPoints>{pieces}</PUnstructuredGrid></VTKFile>'
    )


def write_pieces(path: Path) -> None:
    """VTK's parallel files and partitioned sets, mostly in two pieces, with VTK's own writers."""
    from vtkmodules import vtkIOParallelXML
    from vtkmodules.vtkCommonDataModel import vtkPartitionedDataSet

    mesh = on_cells(grid())
    if path.suffix == ".vtpd":
        data, writer = vtkPartitionedDataSet(), vtkIOParallelXML.vtkXMLPartitionedDataSetWriter()
        for number, half in enumerate(halves()):
            data.SetPartition(number, half)
    else:
        kinds = {".pvts": "StructuredGrid", ".pvtp": "PolyData", ".pvti": "ImageData", ".pvtr": "RectilinearGrid"}
        writer = getattr(vtkIOParallelXML, f"vtkXMLP{kinds[path.suffix]}Writer")()
        data = {
            ".pvts": mesh,
            ".pvtp": on_cells(mesh.extract_surface(algorithm="dataset_surface")),
            ".pvti": on_cells(pyvista.ImageData(dimensions=(N_X, N_Y, 1), spacing=(0.5, 0.5, 1.0))),
            ".pvtr": on_cells(pyvista.RectilinearGrid(np.linspace(0, 1.5, N_X), np.linspace(0, 1.0, N_Y), [0.0])),
        }[path.suffix]
        n_pieces = 1 if path.suffix == ".pvtp" else 2  # a surface, VTK would write twice
        writer.SetNumberOfPieces(n_pieces)
        writer.SetEndPiece(n_pieces - 1)
    writer.SetInputData(data)
    writer.SetFileName(str(path))
    writer.Write()


def write_times(path: Path) -> None:
    """A list of two times, of which the last one counts."""
    mesh = on_cells(grid())
    mesh.save(path.parent / "late.vts")
    mesh.cell_data["Pressure"] += 1.0
    mesh.save(path.parent / "early.vts")
    sets = "".join(f'<DataSet timestep="{time}" file="{name}.vts"/>' for time, name in ((0, "early"), (2, "late")))
    path.write_text(f'<VTKFile type="Collection" version="0.1"><Collection>{sets}</Collection></VTKFile>')


def write_tecplot(path: Path) -> None:
    points = grid().points
    found = values(*points[:, :2].T)
    columns = [points[:, 0], points[:, 1], found["p"], found["T"], found["u1"], found["u2"]]
    rows = "\n".join(" ".join(f"{value:.9g}" for value in row) for row in np.column_stack(columns))
    names = '"X", "Y", "Pressure", "Temperature", "X Velocity", "Y Velocity"'
    path.write_text(f'TITLE = "run"\nVARIABLES = {names}\nZONE T="flow", I={N_X}, J={N_Y}, F=POINT\n{rows}\n')


def write_su2_csv(path: Path) -> None:
    """Titles in quotes, and a comma at the end of every row, as SU2 writes them."""
    points = grid().points
    found = values(*points[:, :2].T)
    columns = [np.arange(len(points)), points[:, 0], points[:, 1], *(found[name] for name in ("p", "T", "u1", "u2"))]
    rows = "".join(", ".join(f"{value:.15e}" for value in row) + ",\n" for row in np.column_stack(columns))
    path.write_text('"PointID","x","y","Pressure","Temperature","Velocity_x","Velocity_y"\n' + rows)


def write_su2_restart(path: Path) -> None:
    points = grid().points
    found = values(*points[:, :2].T)
    names = ("x", "y", "Pressure", "Temperature", "Velocity_x", "Velocity_y")
    rows = np.column_stack([points[:, 0], points[:, 1], *(found[name] for name in ("p", "T", "u1", "u2"))])
    head = np.array([535532, len(names), len(points), 1, 8], "<i4").tobytes()
    titles = b"".join(name.encode().ljust(33, b"\0") for name in names)
    path.write_bytes(head + titles + np.ascontiguousarray(rows, "<f8").tobytes() + b"\0" * 72)


def write_ensight(path: Path) -> None:
    """EnSight Gold in text: a file each for the mesh and every variable."""
    points = grid().points
    found = values(*points[:, :2].T)
    name = path.stem
    path.write_text(
        f"FORMAT\ntype: ensight gold\nGEOMETRY\nmodel: {name}.geo\nVARIABLE\nscalar per node: Pressure {name}.p\n"
        f"scalar per node: Temperature {name}.t\nvector per node: Velocity {name}.u\n"
    )
    lines = [f"{value: .5e}" for value in points.T.ravel()]
    block = f"block\n{N_X:10d}{N_Y:10d}{1:10d}\n"
    start = "run\nmesh\nnode id assign\nelement id assign\n"
    (path.parent / f"{name}.geo").write_text(f"{start}part\n{1:10d}\nflow\n{block}" + "\n".join(lines) + "\n")
    velocity = np.concatenate([found["u1"], found["u2"], 0 * found["u1"]])
    for ending, numbers in (("p", found["p"]), ("t", found["T"]), ("u", velocity)):
        rows = "\n".join(f"{value: .5e}" for value in numbers)
        (path.parent / f"{name}.{ending}").write_text(f"{ending}\npart\n{1:10d}\nblock\n{rows}\n")


def write_plot3d(path: Path) -> None:
    """Binary, of several blocks, with the conserved variables of rho = p, rho u = (u1, u2), rho E = T."""
    points = grid().points
    found = values(*points[:, :2].T)
    shape = np.array([1, N_X, N_Y, 1], "<i4")
    path.write_bytes(shape.tobytes() + np.ascontiguousarray(points.T, "<f4").tobytes())
    solution = [found["p"], found["u1"], found["u2"], 0 * found["u1"], found["T"]]
    state = np.array([2.0, 0.0, 1e6, 0.0], "<f4")
    path.with_suffix(".q").write_bytes(shape.tobytes() + state.tobytes() + np.array(solution, "<f4").tobytes())


def write_cgns(path: Path) -> None:
    """A structured zone in CGNS's layout of HDF5, with the solution on its nodes."""
    points = grid().points.reshape(N_Y, N_X, 3)
    found = values(points[..., 0], points[..., 1])

    def node(parent: h5py.Group, name: str, label: str, data: object = None) -> h5py.Group:
        made = parent.create_group(name)
        array = None if data is None else np.frombuffer(data, "i1") if isinstance(data, bytes) else np.asarray(data)
        kinds = {"i1": "C1", "i4": "I4", "i8": "I8", "f8": "R8"}
        code = "MT" if array is None else kinds[array.dtype.str[1:]]
        for key, text, length in (("name", name, 33), ("label", label, 33), ("type", code, 3)):
            made.attrs.create(key, np.array(text.encode(), f"S{length}"), dtype=f"S{length}")
        made.attrs["flags"] = np.array([1], "i4")
        if array is not None:
            made.create_dataset(" data", data=array)
        return made

    with h5py.File(path, "w") as file:
        for key, text, length in (
            ("name", "HDF5 MotherNode", 33),
            ("label", "Root Node of HDF5 File", 33),
            ("type", "MT", 3),
        ):
            file.attrs.create(key, np.array(text.encode(), f"S{length}"), dtype=f"S{length}")
        file.create_dataset(" format", data=np.frombuffer(b"IEEE_LITTLE_32\0", "i1"))
        file.create_dataset(" hdf5version", data=np.frombuffer(b"HDF5 Version 1.8.17".ljust(33, b"\0"), "i1"))
        node(file, "CGNSLibraryVersion", "CGNSLibraryVersion_t", np.array([3.4], "f4").astype("f8").astype("f8"))
        base = node(file, "Base", "CGNSBase_t", np.array([2, 2], "i4"))
        size = np.array([[N_X, N_Y], [N_X - 1, N_Y - 1], [0, 0]], "i4")
        zone = node(base, "flow", "Zone_t", size)
        node(zone, "ZoneType", "ZoneType_t", b"Structured")
        mesh = node(zone, "GridCoordinates", "GridCoordinates_t")
        for axis, name in enumerate(("CoordinateX", "CoordinateY")):
            node(mesh, name, "DataArray_t", points[..., axis])
        solution = node(zone, "FlowSolution", "FlowSolution_t")
        node(solution, "GridLocation", "GridLocation_t", b"Vertex")
        names = {"Pressure": "p", "Temperature": "T", "VelocityX": "u1", "VelocityY": "u2"}
        for name, key in names.items():
            node(solution, name, "DataArray_t", found[key])


def columns() -> dict[str, np.ndarray]:
    points = grid().points
    found = values(*points[:, :2].T)
    return {"x": points[:, 0], "y": points[:, 1], **found}


def write_npz(path: Path) -> None:
    np.savez(path, **columns())


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name, numbers in columns().items():
            file.create_dataset(f"flow/{name}", data=numbers)
        file["flow/p"].attrs["units"] = "Pa"


def write_netcdf(path: Path) -> None:
    """A grid whose axes are coordinates."""
    x, y = np.linspace(0.0, 1.5, N_X), np.linspace(0.0, 1.0, N_Y)
    found = values(*np.meshgrid(x, y))
    fields = {name: (("y", "x"), numbers) for name, numbers in found.items()}
    dataset = xarray.Dataset(fields, {"x": x, "y": y})
    dataset["p"].attrs["units"] = "Pa"
    dataset.to_netcdf(path, engine="h5netcdf")


# The ending, what writes it, where values are, and the digits that survive.
FORMATS = {
    **dict.fromkeys(
        (".vts", ".vtk", ".vtu", ".vtkhdf", ".vtp", ".vtm", ".vtmb", ".vti", ".vtr"), (write_vtk, "cells", 1e-12)
    ),
    **dict.fromkeys((".pvts", ".pvtp", ".pvti", ".pvtr", ".vtpd"), (write_pieces, "cells", 1e-12)),
    ".pvtu": (write_parallel, "cells", 1e-12),
    ".pvd": (write_times, "cells", 1e-12),
    ".tec": (write_tecplot, "points", 1e-6),
    ".csv": (write_su2_csv, "points", 1e-12),
    ".dat": (write_su2_restart, "points", 1e-12),
    ".case": (write_ensight, "points", 1e-5),
    ".xyz": (write_plot3d, "points", 1e-6),
    ".cgns": (write_cgns, "points", 1e-12),
    ".npz": (write_npz, "points", 1e-12),
    ".h5": (write_hdf5, "points", 1e-12),
    ".nc": (write_netcdf, "points", 1e-12),
}
