"""Cases for OpenFOAM's rhoCentralFoam: supersonic flow of air over a ramp, whose angle and Mach number vary.

The schemes are those of OpenFOAM's own oblique-shock tutorial. The mesh comes from blockMesh, is one cell thick, and follows
the ramp, so that its cells are connected alike in all runs and its nodes are not the same in any two.
"""

import math
import os
import shutil
import subprocess
from pathlib import Path

DEBIAN_ROOT = "/usr/share/openfoam"
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "1000000000", "MALLOC_MMAP_THRESHOLD_": "1000000000"}  # a fifth faster
GAMMA, GAS_CONSTANT = 1.4, 287.0  # J/(kg K)
PRESSURE, TEMPERATURE = 1e5, 300.0  # of the free stream
BEFORE, RAMP, HEIGHT = 0.3, 0.7, 0.8  # meters


def is_installed() -> bool:
    return all(map(shutil.which, ("blockMesh", "rhoCentralFoam")))


def header(kind: str, name: str) -> str:
    return f"FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"


def block_mesh(angle: float, cells: tuple[int, int]) -> str:
    """Two blocks: before the ramp, and above it."""
    rise = RAMP * math.tan(math.radians(angle))
    corners = [(0, 0), (BEFORE, 0), (BEFORE + RAMP, rise), (0, HEIGHT), (BEFORE, HEIGHT), (BEFORE + RAMP, HEIGHT)]
    vertices = "\n".join(f"({x:.12g} {y:.12g} {z:g})" for z in (0, 0.1) for x, y in corners)
    along, normal = cells
    first = round(along * BEFORE / (BEFORE + RAMP))
    return f"""
convertToMeters 1;
vertices ( {vertices} );
blocks
(
    hex (0 1 4 3 6 7 10 9) ({first} {normal} 1) simpleGrading (1 1 1)
    hex (1 2 5 4 7 8 11 10) ({along - first} {normal} 1) simpleGrading (1 1 1)
);
boundary
(
    inlet {{ type patch; faces ((0 6 9 3)); }}
    outlet {{ type patch; faces ((2 5 11 8)); }}
    wall {{ type wall; faces ((0 1 7 6)); }}
    ramp {{ type wall; faces ((1 2 8 7)); }}
    top {{ type symmetryPlane; faces ((3 9 10 4) (4 10 11 5)); }}
    sides {{ type empty; faces ((0 3 4 1) (1 4 5 2) (6 7 10 9) (7 8 11 10)); }}
);
"""


def field(kind: str, name: str, dimensions: str, free: str, walls: str) -> str:
    return (
        header(f"vol{kind}Field", name)
        + f"""
dimensions [{dimensions}];
internalField uniform {free};
boundaryField
{{
    inlet {{ type fixedValue; value uniform {free}; }}
    outlet {{ type zeroGradient; }}
    "(wall|ramp)" {{ type {walls}; }}
    top {{ type symmetryPlane; }}
    sides {{ type empty; }}
}}
"""
    )


def files(mach: float, angle: float, cells: tuple[int, int], *, binary: bool, passes: float) -> dict[str, str]:
    """The case, file by file; it ends after the flow has passed through `passes` times."""
    speed = mach * math.sqrt(GAMMA * GAS_CONSTANT * TEMPERATURE)
    end = passes * (BEFORE + RAMP) / speed
    return {
        "system/blockMeshDict": header("dictionary", "blockMeshDict") + block_mesh(angle, cells),
        "0/U": field("Vector", "U", "0 1 -1 0 0 0 0", f"({speed:.12g} 0 0)", "slip"),
        "0/p": field("Scalar", "p", "1 -1 -2 0 0 0 0", f"{PRESSURE:.12g}", "zeroGradient"),
        "0/T": field("Scalar", "T", "0 0 0 1 0 0 0", f"{TEMPERATURE:.12g}", "zeroGradient"),
        "constant/turbulenceProperties": header("dictionary", "turbulenceProperties") + "simulationType laminar;\n",
        "constant/thermophysicalProperties": header("dictionary", "thermophysicalProperties")
        + f"""
thermoType
{{
    type hePsiThermo; mixture pureMixture; transport const; thermo hConst;
    equationOfState perfectGas; specie specie; energy sensibleInternalEnergy;
}}
mixture
{{
    specie {{ molWeight {8314.47 / GAS_CONSTANT:.10g}; }}
    thermodynamics {{ Cp {GAMMA / (GAMMA - 1) * GAS_CONSTANT:.10g}; Hf 0; }}
    transport {{ mu 0; Pr 1; }}
}}
""",
        "system/controlDict": header("dictionary", "controlDict")
        + f"""
application rhoCentralFoam; startFrom startTime; startTime 0; stopAt endTime; endTime {end:.6g}; deltaT 1e-7;
writeControl adjustableRunTime; writeInterval {end:.6g}; writeFormat {"binary" if binary else "ascii"};
writePrecision 10; timePrecision 8; adjustTimeStep yes; maxCo 0.4; maxDeltaT 1; runTimeModifiable no;
""",
        "system/fvSchemes": header("dictionary", "fvSchemes")
        + """
fluxScheme Kurganov;
ddtSchemes { default Euler; }
gradSchemes { default Gauss linear; }
divSchemes { default none; div(tauMC) Gauss linear; }
laplacianSchemes { default Gauss linear corrected; }
interpolationSchemes
{
    default linear; reconstruct(rho) vanLeer; reconstruct(U) vanLeerV; reconstruct(T) vanLeer;
}
snGradSchemes { default corrected; }
""",
        "system/fvSolution": header("dictionary", "fvSolution")
        + """
solvers
{
    "(rho|rhoU|rhoE)" { solver diagonal; }
    U { solver smoothSolver; smoother GaussSeidel; nSweeps 2; tolerance 1e-9; relTol 0.01; }
    h { $U; tolerance 1e-10; relTol 0; }
    e { $U; tolerance 1e-10; relTol 0; }
}
""",
    }


def write_ramp(
    folder: Path, mach: float, angle: float, cells: tuple[int, int], *, binary: bool = True, passes: float = 4.0
) -> None:
    for name, text in files(mach, angle, cells, binary=binary, passes=passes).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def solve_ramp(folder: Path) -> None:
    """Mesh and flow, on one core; the log stays in the folder."""
    environment = {"WM_PROJECT_DIR": DEBIAN_ROOT} | os.environ | KEEP_MEMORY
    with (folder / "log").open("w") as log:
        for program in ("blockMesh", "rhoCentralFoam"):
            command = ["nice", "-n", "10", program]
            subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=True)
