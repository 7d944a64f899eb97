"""Meshes of OpenFOAM, which lists faces between cells, as cells with corners; in double precision."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sureflow.data.meshes import Cells
from sureflow.errors import SureflowError

TETRAHEDRON, HEXAHEDRON, PRISM, PYRAMID, CONVEX = 10, 12, 13, 14, 41  # VTK's types of cells
# Types by the numbers of faces, of triangles among them, and of corners.
SHAPES = {(4, 4, 4): TETRAHEDRON, (6, 0, 8): HEXAHEDRON, (5, 2, 6): PRISM, (5, 4, 5): PYRAMID}


@dataclass(frozen=True)
class FoamMesh:
    """`polyMesh`: faces as lists of points, the cells on their two sides, and the patches as ranges of faces."""

    points: Float[np.ndarray, "point 3"]
    corners: Int[np.ndarray, " corner"]
    offsets: Int[np.ndarray, " face_end"]
    owner: Int[np.ndarray, " face"]
    neighbour: Int[np.ndarray, " inner"]
    patches: dict[str, tuple[str, int, int]]  # type, first face, number of faces

    @property
    def n_cells(self) -> int:
        return int(max(self.owner.max(initial=-1), self.neighbour.max(initial=-1))) + 1


def read_mesh(folder: Path, points: Path | None = None) -> FoamMesh:
    """The mesh in a folder `polyMesh`; moving meshes have their points elsewhere."""
    for name in ("points", "faces", "owner", "neighbour", "boundary"):
        if not existing(folder / name):
            raise SureflowError(f"{folder} has no {name}: make the mesh of this case first")
    corners, offsets = read_faces(existing(folder / "faces"))
    patches = {}
    for name, entry in content(folder / "boundary"):
        patches[str(name)] = (str(entry["type"]), int(entry["startFace"]), int(entry["nFaces"]))
    place = np.asarray(content(points or folder / "points"), float).reshape(-1, 3)
    owner, neighbour = (np.asarray(content(folder / name), np.int64) for name in ("owner", "neighbour"))
    if len(offsets) != len(owner) + 1 or corners.max(initial=-1) >= len(place):
        raise ValueError(f"{folder.name}: {len(offsets) - 1} faces, {len(owner)} owners and {len(place)} points")
    return FoamMesh(place, corners, offsets, owner, neighbour, patches)


def existing(path: Path) -> Path | None:
    """The file, or its compressed twin."""
    return next((one for one in (path, path.with_name(path.name + ".gz")) if one.is_file()), None)


def content(path: Path) -> Any:
    """The list that a file consists of."""
    from foamlib import FoamFile

    found = existing(path)
    if found is None:
        raise SureflowError(f"{path} does not exist: the case is not complete")
    return FoamFile(found)[None]  # type: ignore[index]


def read_faces(path: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Corners of all faces one after the other, and where each face begins."""
    assert path is not None
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    head, _, rest = raw.partition(b"}")
    if b"faceCompactList" in head or b"binary" in head:
        offsets, corners = content(path.with_name("faces"))
        return np.asarray(corners, np.int64), np.asarray(offsets, np.int64)
    # 4(0 1 5 4) and so on: as plain numbers a hundred times faster than parsed.
    lines = b"\n".join(line for line in rest.split(b"\n") if not line.lstrip().startswith((b"//", b"/*", b"*")))
    numbers = np.array(lines.translate(bytes.maketrans(b"()", b"  ")).split(), np.int64)
    listed, count = numbers[1:], int(numbers[0])
    starts = np.empty(count, np.int64)
    place = 0
    for face in range(count):
        starts[face] = place
        place += int(listed[place]) + 1
    if place != listed.size:
        raise ValueError(f"{path.name} says {count} faces and has others")
    sizes = listed[starts]
    keep = np.ones(listed.size, bool)
    keep[starts] = False
    return listed[keep], np.concatenate([[0], np.cumsum(sizes)])


def cells_of_faces(mesh: FoamMesh) -> Cells:
    """Cells with corners in VTK's order; what is not a tetrahedron, hexahedron, prism or pyramid is a convex set of points."""
    n_cells, sizes = mesh.n_cells, np.diff(mesh.offsets)
    cell = np.concatenate([mesh.owner, mesh.neighbour])
    face = np.concatenate([np.arange(len(mesh.owner)), np.arange(len(mesh.neighbour))])
    outward = np.arange(len(cell)) < len(mesh.owner)
    order = np.argsort(cell, kind="stable")
    cell, face, outward = cell[order], face[order], outward[order]
    n_faces = np.bincount(cell, minlength=n_cells)
    n_triangles = np.bincount(cell, sizes[face] == 3, n_cells).astype(int)
    sets, set_ends = corner_sets(mesh, cell, face, n_cells)
    n_corners = np.diff(set_ends)
    simple = np.bincount(cell, sizes[face] > 4, n_cells) == 0
    types = np.full(n_cells, CONVEX)
    for (faces, triangles, corners), kind in SHAPES.items():
        fits = simple & (n_faces == faces) & (n_triangles == triangles) & (n_corners == corners)
        types[fits] = kind
    connectivity = sets.copy()
    first = np.concatenate([[0], np.cumsum(n_faces)])
    for kind in (TETRAHEDRON, HEXAHEDRON, PRISM, PYRAMID):
        chosen = np.flatnonzero(types == kind)
        if len(chosen):
            rows = first[chosen][:, None] + np.arange(int(n_faces[chosen[0]]))
            ordered = ordered_corners(mesh, kind, face[rows], outward[rows])
            connectivity[set_ends[chosen][:, None] + np.arange(ordered.shape[1])] = ordered
    return Cells(connectivity, set_ends, types.astype(np.int64))


def corner_sets(
    mesh: FoamMesh, cell: np.ndarray, face: np.ndarray, n_cells: int
) -> tuple[Int[np.ndarray, " corner"], Int[np.ndarray, " end"]]:
    """The corners of every cell, each once."""
    sizes = np.diff(mesh.offsets)[face]
    corners = mesh.corners[np.repeat(mesh.offsets[face], sizes) + within(sizes)]
    pairs = np.unique(np.repeat(cell, sizes) * len(mesh.points) + corners)
    counts = np.bincount(pairs // len(mesh.points), minlength=n_cells)
    return pairs % len(mesh.points), np.concatenate([[0], np.cumsum(counts)])


def within(sizes: np.ndarray) -> np.ndarray:
    """0, 1, ... for every size."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def ordered_corners(mesh: FoamMesh, kind: int, faces: np.ndarray, outward: np.ndarray) -> np.ndarray:
    """A base face of every cell, turned as VTK wants it, and the corners opposite to it."""
    sizes = np.diff(mesh.offsets)
    n_base = 3 if kind in (TETRAHEDRON, PRISM) else 4
    which = np.argmax(sizes[faces] == n_base, axis=1)
    rows = np.arange(len(faces))
    base = mesh.corners[mesh.offsets[faces[rows, which]][:, None] + np.arange(n_base)]
    # OpenFOAM's normals leave the owner; VTK's bases look into the cell, but for prisms.
    turned = outward[rows, which] != (kind == PRISM)
    base = np.where(turned[:, None], base[:, ::-1], base)
    neighbors = np.full((len(base), n_base), -1)
    for begin, end in edges(mesh, faces):
        for one, other in ((begin, end), (end, begin)):
            leaves = ~(other[:, None] == base).any(axis=1)
            for corner in range(n_base):
                hit = leaves & (one == base[:, corner]) & (other >= 0)
                neighbors[hit, corner] = other[hit]
    top = neighbors if kind in (HEXAHEDRON, PRISM) else neighbors[:, :1]
    if (top < 0).any():
        raise ValueError("the faces of a cell do not close")
    return np.concatenate([base, top], axis=1)


def edges(mesh: FoamMesh, faces: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Both ends of the n-th edge of the m-th face of all cells; -1 where a face has fewer."""
    sizes = np.diff(mesh.offsets)
    for column in faces.T:
        size, start = sizes[column], mesh.offsets[column]
        for edge in range(4):
            exists = edge < size
            begin = mesh.corners[start + np.minimum(edge, size - 1)]
            end = mesh.corners[start + (np.minimum(edge, size - 1) + 1) % size]
            yield np.where(exists, begin, -1), np.where(exists, end, -1)
