"""What a campaign computes: conditions, body, mesh, gas, wall and scheme, from a preset or a TOML file."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pydantic
from jaxtyping import Float
from pydantic.dataclasses import dataclass

from sureflow.errors import SureflowError
from sureflow.flow.mesh import Mesh, MeshSettings, SphereCone, body_mesh
from sureflow.flow.steer import SolverSettings
from sureflow.physics.free_stream import FlightCondition
from sureflow.physics.gas import Gas, PerfectGas
from sureflow.physics.wall import Wall
from sureflow.validation import STRICT, explain


@dataclass(frozen=True, config=STRICT)
class Grid:
    """Every Mach number at every altitude."""

    mach: tuple[float, ...]
    altitude_km: tuple[float, ...]

    def __post_init__(self):
        for mach, altitude in self.pairs():
            FlightCondition(mach, altitude)  # refuses what is outside the envelope

    def pairs(self) -> Iterator[tuple[float, float]]:
        return ((mach, altitude) for mach in self.mach for altitude in self.altitude_km)


@dataclass(frozen=True, config=STRICT)
class GasSettings:
    """The gas, by name and constants."""

    model: Literal["perfect"] = "perfect"
    gamma: float = PerfectGas.gamma
    gas_constant: float = PerfectGas.gas_constant
    prandtl: float = PerfectGas.prandtl

    def __post_init__(self):
        if not 1.05 <= self.gamma <= 5 / 3:
            raise SureflowError(f"gas.gamma={self.gamma:g} is outside 1.05..5/3; air has 1.4.")
        for name in ("gas_constant", "prandtl"):
            if not getattr(self, name) > 0:
                raise SureflowError(f"gas.{name}={getattr(self, name):g} must be positive.")

    def build(self) -> Gas:
        return PerfectGas(gamma=self.gamma, gas_constant=self.gas_constant, prandtl=self.prandtl)


@dataclass(frozen=True, config=STRICT)
class Campaign:
    """The union of some grids of conditions, all on one mesh."""

    conditions: tuple[Grid, ...]
    description: str = ""
    body: SphereCone = field(default_factory=SphereCone)
    mesh: MeshSettings = field(default_factory=MeshSettings)
    gas: GasSettings = field(default_factory=GasSettings)
    wall: Wall = field(default_factory=Wall)
    solver: SolverSettings = field(default_factory=SolverSettings)

    def __post_init__(self):
        pairs = self.pairs()
        if not pairs:
            raise SureflowError("conditions is empty; give at least one Mach number and one altitude.")
        lowest = pairs[0][0]
        if self.mesh.mach > lowest:
            raise SureflowError(
                f"mesh.mach={self.mesh.mach:g} is above the campaign's lowest Mach number {lowest:g}, whose bow shock "
                "would cross the outer boundary; lower it or leave it out."
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str) -> Self:
        """Validate plain values; `source` is what an error names. The mesh is fitted to the lowest Mach number."""
        values = dict(values)
        try:
            if isinstance(values.get("mesh", {}), Mapping):
                values["mesh"] = {"mach": _lowest_mach(values.get("conditions", ())), **values.get("mesh", {})}
            return pydantic.TypeAdapter(cls).validate_python(values)
        except pydantic.ValidationError as error:
            raise SureflowError(f"{source}: {explain(error, cls)}") from error
        except SureflowError as error:
            raise SureflowError(f"{source}: {error}") from error

    def pairs(self) -> list[tuple[float, float]]:
        """Mach number and altitude in km of every case, each once, in rising order."""
        return sorted({pair for grid in self.conditions for pair in grid.pairs()})

    def flight_conditions(self) -> list[FlightCondition]:
        return [FlightCondition(mach, altitude) for mach, altitude in self.pairs()]

    def condition_array(self) -> Float[np.ndarray, "case 2"]:
        return np.array(self.pairs(), float)

    def build_mesh(self) -> Mesh:
        return body_mesh(self.body, self.mesh)


def _lowest_mach(conditions: Any) -> float:
    """Of grids as plain values; what is wrong with them is said when the whole campaign is validated."""
    try:
        grids = pydantic.TypeAdapter(tuple[Grid, ...]).validate_python(conditions)
    except pydantic.ValidationError:
        grids = ()
    return min((mach for grid in grids for mach, _ in grid.pairs()), default=MeshSettings.mach)


def preset_names() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in preset_folder().iterdir() if entry.name.endswith(".toml")
    )


def load_campaign(preset: str) -> Campaign:
    """A preset by name, or a TOML file by path."""
    if preset.endswith(".toml"):
        return read_campaign(Path(preset))
    names = preset_names()
    if preset not in names:
        nearest = difflib.get_close_matches(preset, names, n=1, cutoff=0.4)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        raise SureflowError(f"preset {preset!r} is unknown; {hint}There are {', '.join(names)}, or give a .toml file.")
    text = (preset_folder() / f"{preset}.toml").read_text(encoding="utf-8")
    return Campaign.from_dict(tomllib.loads(text), f"preset {preset}")


def read_campaign(path: Path) -> Campaign:
    """A campaign of the user's own."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SureflowError(f"{path} cannot be read ({reason}); give the path of a campaign's TOML file.") from error
    except tomllib.TOMLDecodeError as error:
        raise SureflowError(f"{path} is not valid TOML: {error}.") from error
    return Campaign.from_dict(values, str(path))


def preset_folder():
    return resources.files("sureflow.campaign") / "presets"
