"""Cases for OpenFOAM's rhoCentralFoam: a body-fitted block as a wedge, and the fields that come back.

The schemes are those of OpenFOAM's own biconic tutorial (Kurganov's flux, local time stepping, viscous terms implicit)
with van Albada's limiter, which sureflow has as well. With the tutorial's van Leer limiter the pressure on the nose
goes on fluctuating and moves the drag by 10 % at Courant 0.4 on 32x32 cells.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sureflow.flow.mesh import FlowMesh
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.gases import PerfectGas
from sureflow.physics.wall import Wall

# The local time step counts the sides of the wedge as if waves left through them: a thin wedge has short steps at the
# axis. Pressure and convection are exact for any angle.
WEDGE_DEGREES = 5.0
UNIVERSAL_GAS_CONSTANT = 8314.47  # J/(kmol K), as OpenFOAM has it


@dataclass(frozen=True)
class March:
    """How far and in which steps OpenFOAM goes."""

    courant: float
    smoothing: float  # how much the time steps of neighbors may differ, relatively
    steps: int
    write_every: int


def header(kind: str, name: str) -> str:
    """The opening of an OpenFOAM file."""
    return f"FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"


def as_list(items: list[str]) -> str:
    """An OpenFOAM list."""
    return f"{len(items)}\n(\n" + "\n".join(items) + "\n)\n"


def write_wedge(folder: Path, node_x: np.ndarray, node_r: np.ndarray) -> None:
    """The block of nodes [j, i] as a wedge around x; cells at the axis are prisms, so that the axis has no face.

    Cell number i nj + j: neighbors across the layer are next to each other. The middle plane of the wedge is the mesh.
    """
    nj, ni = node_x.shape[0] - 1, node_x.shape[1] - 1
    half = math.tan(math.radians(WEDGE_DEGREES / 2.0))
    back = np.arange(node_x.size).reshape(node_x.shape)
    front = np.zeros_like(back)
    front[:, 0] = back[:, 0]
    front[:, 1:] = node_x.size + np.arange((nj + 1) * ni).reshape(nj + 1, ni)
    points = [(x, r, -r * half) for x, r in zip(node_x.ravel(), node_r.ravel(), strict=True)]
    points += [(x, r, r * half) for x, r in zip(node_x[:, 1:].ravel(), node_r[:, 1:].ravel(), strict=True)]

    def i_face(j: int, i: int) -> list[int]:  # normal towards growing i
        return [back[j, i], back[j + 1, i], front[j + 1, i], front[j, i]]

    def j_face(j: int, i: int) -> list[int]:  # normal towards growing j
        return [back[j, i], front[j, i], front[j, i + 1], back[j, i + 1]]

    def side(node: np.ndarray, j: int, i: int) -> list[int]:  # normal towards z
        return [node[j, i], node[j, i + 1], node[j + 1, i + 1], node[j + 1, i]]

    inner = []  # by owner, then by neighbor, as OpenFOAM wants them
    for i in range(ni):
        for j in range(nj):
            cell = i * nj + j
            inner += [(j_face(j + 1, i), cell, cell + 1)] if j + 1 < nj else []
            inner += [(i_face(j, i + 1), cell, cell + nj)] if i + 1 < ni else []
    cells = [(j, i) for i in range(ni) for j in range(nj)]
    patches = {
        "wall": ("wall", [(j_face(0, i)[::-1], i * nj) for i in range(ni)]),
        "outer": ("patch", [(j_face(nj, i), i * nj + nj - 1) for i in range(ni)]),
        "outflow": ("patch", [(i_face(j, ni), (ni - 1) * nj + j) for j in range(nj)]),
        "back": ("wedge", [(side(back, j, i)[::-1], i * nj + j) for j, i in cells]),
        "front": ("wedge", [(side(front, j, i), i * nj + j) for j, i in cells]),
    }
    faces, owner = [face for face, _, _ in inner], [cell for _, cell, _ in inner]
    boundary = []
    for name, (kind, members) in patches.items():
        boundary.append(f"{name} {{ type {kind}; nFaces {len(members)}; startFace {len(faces)}; }}")
        faces += [face for face, _ in members]
        owner += [cell for _, cell in members]

    def corners(face: list[int]) -> str:
        distinct = list(dict.fromkeys(face))
        return f"{len(distinct)}({' '.join(map(str, distinct))})"

    content = {
        "points": ("vectorField", [f"({x:.17g} {y:.17g} {z:.17g})" for x, y, z in points]),
        "faces": ("faceList", [corners(face) for face in faces]),
        "owner": ("labelList", [str(cell) for cell in owner]),
        "neighbour": ("labelList", [str(cell) for _, _, cell in inner]),
        "boundary": ("polyBoundaryMesh", boundary),
    }
    folder.mkdir(parents=True)
    for name, (kind, items) in content.items():
        (folder / name).write_text(header(kind, name) + as_list(items))


def field(name: str, kind: str, dimensions: str, free: str, wall: str) -> str:
    """A field that is uniform at first."""
    return (
        header(f"vol{kind}Field", name)
        + f"""
dimensions [{dimensions}];
internalField uniform {free};
boundaryField
{{
    wall {{ {wall} }}
    outer {{ type fixedValue; value uniform {free}; }}
    outflow {{ type zeroGradient; }}
    "(back|front)" {{ type wedge; }}
}}
"""
    )


def write_case(
    folder: Path, mesh: FlowMesh, free_stream: FreeStream, gas: PerfectGas, wall: Wall, march: March
) -> None:
    """The whole case: mesh, gas, schemes, free stream everywhere at first."""
    write_wedge(folder / "constant/polyMesh", np.asarray(mesh.node_x), np.asarray(mesh.node_r))
    velocity, pressure, temperature = free_stream.velocity, free_stream.pressure, free_stream.temperature
    files = {
        "0/U": field("U", "Vector", "0 1 -1 0 0 0 0", f"({velocity:.12g} 0 0)", "type noSlip;"),
        "0/p": field("p", "Scalar", "1 -1 -2 0 0 0 0", f"{pressure:.12g}", "type zeroGradient;"),
        "0/T": field(
            "T", "Scalar", "0 0 0 1 0 0 0", f"{temperature:.12g}", f"type fixedValue; value uniform {wall.temperature};"
        ),
        "constant/turbulenceProperties": header("dictionary", "turbulenceProperties") + "simulationType laminar;\n",
        "constant/thermophysicalProperties": header("dictionary", "thermophysicalProperties")
        + f"""
thermoType
{{
    type hePsiThermo; mixture pureMixture; transport sutherland; thermo hConst;
    equationOfState perfectGas; specie specie; energy sensibleInternalEnergy;
}}
mixture
{{
    specie {{ molWeight {UNIVERSAL_GAS_CONSTANT / gas.gas_constant:.10g}; }}
    thermodynamics {{ Cp {gas.cp:.10g}; Hf 0; }}
    transport {{ As 1.458e-6; Ts 110.4; }}
}}
""",
        "system/controlDict": header("dictionary", "controlDict")
        + f"""
application rhoCentralFoam; startFrom startTime; startTime 0; stopAt endTime; endTime {march.steps}; deltaT 1;
writeControl timeStep; writeInterval {march.write_every}; writeFormat binary; writePrecision 12; timePrecision 12;
DebugSwitches {{ SolverPerformance 0; }}
runTimeModifiable no; adjustTimeStep no; maxCo {march.courant}; rDeltaTSmoothingCoeff {march.smoothing};
""",
        "system/fvSchemes": header("dictionary", "fvSchemes")
        + """
fluxScheme Kurganov;
ddtSchemes { default localEuler; }
gradSchemes { default Gauss linear; }
divSchemes { default none; div(tauMC) Gauss linear; }
laplacianSchemes { default Gauss linear corrected; }
interpolationSchemes
{
    default linear; reconstruct(rho) vanAlbada; reconstruct(U) vanAlbadaV; reconstruct(T) vanAlbada;
}
snGradSchemes { default corrected; }
""",
        "system/fvSolution": header("dictionary", "fvSolution")
        + """
solvers
{
    "(rho|rhoU|rhoE)" { solver diagonal; }
    U { solver smoothSolver; smoother GaussSeidel; nSweeps 2; tolerance 1e-9; relTol 0.01; }
    e { $U; relTol 0.1; }
}
""",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read_field(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Components of a binary OpenFOAM field, (components, nj, ni)."""
    raw = path.read_bytes()
    found = re.search(rb"internalField\s+nonuniform List<(scalar|vector)>\s*(\d+)\s*\(", raw)
    if not found:
        raise ValueError(f"{path} has no nonuniform internal field.")
    components = 3 if found[1] == b"vector" else 1
    values = np.frombuffer(raw, dtype="<f8", count=int(found[2]) * components, offset=found.end())
    return values.reshape(shape[1], shape[0], components).transpose(2, 1, 0)


def read_fields(folder: Path, shape: tuple[int, int]) -> np.ndarray:
    """u1, u2, rho and T of one written time, (4, nj, ni)."""
    (u, v, _), (rho,), (temperature,) = (read_field(folder / name, shape) for name in ("U", "rho", "T"))
    return np.stack([u, v, rho, temperature])
