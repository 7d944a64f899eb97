"""What a campaign computes: conditions, body, mesh, gas, wall and scheme, from a preset or a TOML file."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from jaxtyping import Float
from pydantic import PositiveFloat

from sureflow.campaign.designs import BODY, DESIGNS, FLIGHT, PARAMETERS, Conditions, Row
from sureflow.data.drawn import DrawnFrom
from sureflow.errors import SureflowError
from sureflow.flow.mesh import FlowMesh, MeshSettings, SphereCone, body_mesh, nested
from sureflow.flow.steer import SolverSettings
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gases import GASES, Gas, PerfectGas
from sureflow.physics.wall import WALL_KINDS, Wall
from sureflow.validation import read_preset, settings, shortened, validated

PACKAGE = "sureflow.campaign"


class RunSetup(NamedTuple):
    """What is computed in one run."""

    condition: FlightCondition
    body: SphereCone
    wall: Wall


@settings
class Campaign:
    """The union of some designs of conditions; body and wall are those of all runs but in what the conditions vary.

    With `meshes = "shared"` all runs have one mesh, fitted to the lowest Mach number; with "fitted" each has its own, fitted
    to its body and Mach number, of one topology. By default the mesh is shared unless the body varies.

    Parts of the conditions may be of coarser levels. `rows` are those of the finest; see `at_level` for the others.
    """

    conditions: tuple[Conditions, ...]
    description: str = ""
    body: SphereCone = SphereCone()
    mesh: MeshSettings = MeshSettings()
    meshes: Literal["shared", "fitted"] = "shared"
    gas: Annotated[Gas, GASES] = PerfectGas()
    wall: Wall = Wall()
    solver: SolverSettings = SolverSettings()
    parts: tuple[str, ...] = ()  # names of the parts of the conditions, if they have any
    refinement: PositiveFloat = (
        1.0  # of meshes that are fitted to each run: how many times as many cells in each direction
    )

    def __post_init__(self) -> None:
        rows = self.rows()
        if not self.conditions:
            raise SureflowError("conditions: give at least one Mach number and one altitude")
        for row in rows:
            self.setup(row)  # refuses what is outside the envelope
        for level in filter(None, self.levels):
            try:
                self.at_level(level)
            except SureflowError as error:
                raise SureflowError(f"level={level}: {error}") from None
        if not rows:
            return
        if self.meshes == "fitted":
            return
        if self.refinement != 1.0:
            raise SureflowError(
                f'refinement={self.refinement:g} is only for meshes = "fitted": set the cells of the shared mesh instead'
            )
        if set(BODY) & set(self.parameter_names):
            raise SureflowError('meshes="shared" does not fit bodies that vary: choose "fitted", or leave it out')
        lowest = rows[0][0]
        if self.mesh.mach > lowest:
            raise SureflowError(
                f"mesh.mach={self.mesh.mach:g} is above the campaign's lowest Mach number {lowest:g}, whose bow shock "
                "would cross the outer boundary: lower it or leave it out"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str) -> Self:
        """Validate plain values; `source` is what an error names. A shared mesh is fitted to the lowest Mach number."""
        values, parts = dict(values), _parts(values.get("conditions", ()))
        if isinstance(values.get("gas"), Mapping):
            values["gas"] = {"model": PerfectGas.model, **values["gas"]}
        if isinstance(values.get("mesh", {}), Mapping):
            lowest = min((row["mach"] for part in parts for row in part.rows()), default=MeshSettings.mach)
            values["mesh"] = {"mach": lowest, **values.get("mesh", {})}
        if any(set(BODY) & part.names for part in parts):
            values = {"meshes": "fitted", **values}
        values = {"parts": tuple(dict.fromkeys(part.name for part in parts if part.name)), **values}
        return validated(cls, values, source)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """What varies: Mach number and altitude, and all that some part of the conditions sets."""
        named = set(FLIGHT).union(*(part.names for part in self.conditions))
        return tuple(name for name in PARAMETERS if name in named)

    @cached_property
    def _parts_of_rows(self) -> dict[tuple[float, ...], str]:
        """The name of the part of every condition; one that is in several belongs to the first."""
        common = {**asdict(self.body), "wall_temperature": self.wall.temperature}
        common |= {"wall_kind": float(WALL_KINDS.index(self.wall.kind))}
        found: dict[tuple[float, ...], str] = {}
        for part in self.conditions:
            for row in part.rows() if part.level == 0 else ():
                found.setdefault(tuple((common | row)[name] for name in self.parameter_names), part.name)
        return found

    @property
    def drawn_from(self) -> tuple[DrawnFrom, ...]:
        """The ranges of the parts that fill them, for runs of the finest level."""
        parts = (part for part in self.conditions if part.level == 0 and DESIGNS[part.kind].fills)
        return tuple(
            DrawnFrom({name: (low, high) for name, (low, high) in part.given.items()}, part.name) for part in parts
        )

    def rows(self) -> list[tuple[float, ...]]:
        """The parameters of every case, each once, in rising order."""
        return sorted(self._parts_of_rows)

    def part_of(self, row: tuple[float, ...]) -> float:
        """The place in `parts` of the part that a condition comes from; NaN for none of them."""
        name = self._parts_of_rows.get(row, "")
        return float(self.parts.index(name)) if name else float("nan")

    def table(self) -> Float[np.ndarray, "case parameter"]:
        return np.array(self.rows(), float)

    def setup(self, row: tuple[float, ...]) -> RunSetup:
        """Flight condition, body and wall of a case."""
        values: Row = dict(zip(self.parameter_names, row, strict=True))
        condition = FlightCondition(*(values.pop(name) for name in FLIGHT))
        body = replace(self.body, **{name: values.pop(name) for name in BODY if name in values})
        temperature = values.get("wall_temperature", self.wall.temperature)
        kind = WALL_KINDS[int(values["wall_kind"])] if "wall_kind" in values else self.wall.kind
        return RunSetup(condition, body, Wall(kind, temperature))

    @property
    def levels(self) -> list[int]:
        """How often cells are merged in the meshes that have runs, the finest first: [0] of a campaign on one mesh."""
        own = {part.level for part in self.conditions}
        return [*range(min(own), max(own) + 1)]

    def at_level(self, level: int) -> Self:
        """The campaign on the mesh whose cells are merged so often: its own conditions, and those of all finer levels.

        What differs between two levels is seen where both were computed, and the coarser runs are the cheaper ones.
        """
        if level == 0:
            return replace(self, conditions=tuple(part for part in self.conditions if part.level == 0))
        there = tuple(replace(part, level=0) for part in self.conditions if part.level <= level)
        return replace(self, conditions=there).refined(0.5**level)

    def refined(self, factor: float) -> Self:
        """The same campaign with so many times as many cells in each direction, on a mesh that is nested with its own."""
        if not 0 < factor < np.inf:
            raise SureflowError(f"refine={factor:g} must be a positive number, such as 2 or 0.5")
        mesh = nested(self.body, self.mesh, self.refinement * factor)  # refuses cells that cannot be merged
        if self.meshes == "fitted":
            return replace(self, refinement=self.refinement * factor)
        return replace(self, mesh=mesh)

    def build_mesh(self) -> FlowMesh:
        """The mesh that all runs share."""
        return self._mesh_about(self.body, self.mesh)

    def mesh_for(self, setup: RunSetup) -> FlowMesh:
        """The mesh that is fitted to one run."""
        return self._mesh_about(setup.body, replace(self.mesh, mach=setup.condition.mach))

    def _mesh_about(self, body: SphereCone, settings: MeshSettings) -> FlowMesh:
        """Refined meshes are nested with the one that is not, about every body."""
        return body_mesh(body, settings if self.refinement == 1.0 else nested(body, settings, self.refinement))


def _parts(conditions: Any) -> tuple[Conditions, ...]:
    """Conditions from plain values; what is wrong with them is said when the whole campaign is validated."""
    try:
        return validated(tuple[Conditions, ...], conditions)
    except SureflowError:
        return ()


def load_campaign(preset: str) -> Campaign:
    """A preset by name, or a TOML file by path."""
    source = preset if preset.endswith(".toml") else f"preset {shortened(preset)}"
    return Campaign.from_dict(read_preset(preset, PACKAGE), source)
