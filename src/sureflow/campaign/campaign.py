"""What a campaign computes: conditions, body, mesh, gas, wall and scheme, from a preset or a TOML file."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.flow.mesh import FlowMesh, MeshSettings, SphereCone, body_mesh
from sureflow.flow.steer import SolverSettings
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import GASES, Gas, PerfectGas
from sureflow.physics.wall import Wall
from sureflow.validation import read_preset, settings, shortened, validated

PACKAGE = "sureflow.campaign"
# More conditions than any campaign has; a slip in two lists is told at once instead of after minutes.
MOST_CONDITIONS = 100_000


@settings
class Conditions:
    """Every Mach number at every altitude; or `cases`, a list of pairs of Mach number and altitude."""

    mach: tuple[float, ...] = ()
    altitude_km: tuple[float, ...] = ()
    cases: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if bool(self.cases) == bool(self.mach or self.altitude_km):
            raise SureflowError(
                "conditions need mach and altitude_km for a grid, or cases as a list of pairs, but not both"
            )
        if len(self.mach) * len(self.altitude_km) + len(self.cases) > MOST_CONDITIONS:
            count = len(self.mach) * len(self.altitude_km) + len(self.cases)
            raise SureflowError(f"conditions are {count:,}: a campaign has at most {MOST_CONDITIONS:,}")
        for mach, altitude in self.pairs():
            FlightCondition(mach, altitude)  # refuses what is outside the envelope

    def pairs(self) -> Iterator[tuple[float, float]]:
        yield from ((mach, altitude) for mach in self.mach for altitude in self.altitude_km)
        yield from self.cases


@settings
class Campaign:
    """The union of some grids and lists of conditions, all on one mesh."""

    conditions: tuple[Conditions, ...]
    description: str = ""
    body: SphereCone = SphereCone()
    mesh: MeshSettings = MeshSettings()
    gas: Annotated[Gas, GASES] = PerfectGas()
    wall: Wall = Wall()
    solver: SolverSettings = SolverSettings()

    def __post_init__(self) -> None:
        pairs = self.pairs()
        if not pairs:
            raise SureflowError("conditions: give at least one Mach number and one altitude")
        lowest = pairs[0][0]
        if self.mesh.mach > lowest:
            raise SureflowError(
                f"mesh.mach={self.mesh.mach:g} is above the campaign's lowest Mach number {lowest:g}, whose bow shock "
                "would cross the outer boundary: lower it or leave it out"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str) -> Self:
        """Validate plain values; `source` is what an error names. The mesh is fitted to the lowest Mach number."""
        values = dict(values)
        if isinstance(values.get("gas"), Mapping):
            values["gas"] = {"model": PerfectGas.model, **values["gas"]}
        if isinstance(values.get("mesh", {}), Mapping):
            values["mesh"] = {"mach": _lowest_mach(values.get("conditions", ())), **values.get("mesh", {})}
        return validated(cls, values, source)

    def pairs(self) -> list[tuple[float, float]]:
        """Mach number and altitude in km of every case, each once, in rising order."""
        return sorted({pair for part in self.conditions for pair in part.pairs()})

    def flight_conditions(self) -> list[FlightCondition]:
        return [FlightCondition(mach, altitude) for mach, altitude in self.pairs()]

    def condition_array(self) -> Float[np.ndarray, "case 2"]:
        return np.array(self.pairs(), float)

    def build_mesh(self) -> FlowMesh:
        return body_mesh(self.body, self.mesh)


def _lowest_mach(conditions: Any) -> float:
    """Of conditions as plain values; what is wrong with them is said when the whole campaign is validated."""
    try:
        parts = validated(tuple[Conditions, ...], conditions)
    except SureflowError:
        parts = ()
    return min((mach for part in parts for mach, _ in part.pairs()), default=MeshSettings.mach)


def load_campaign(preset: str) -> Campaign:
    """A preset by name, or a TOML file by path."""
    source = preset if preset.endswith(".toml") else f"preset {shortened(preset)}"
    return Campaign.from_dict(read_preset(PACKAGE, preset), source)
