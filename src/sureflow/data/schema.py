"""What a store of runs holds, by name and unit: the one place that writers and readers agree on."""

import dataclasses
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow.errors import SureflowError
from sureflow.physics.gas import Gas, PerfectGas

SCHEMA = "sureflow-runs"
SCHEMA_VERSION = 1

VARIABLES = {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K"}
# As other programs show them; the last two are derived from the four.
LONG_NAMES = {
    "u1": "axial velocity",
    "u2": "radial velocity",
    "rho": "density",
    "T": "temperature",
    "pressure": "pressure",
    "mach_number": "Mach number",
}
PARAMETERS = {"mach": "1", "altitude_km": "km"}
FREE_STREAM = {"velocity": "m/s", "density": "kg/m3", "pressure": "Pa", "temperature": "K"}
POINTS = {"x": "m", "r": "m", "xi": "1", "eta": "1"}
NODES = {"node_x": "m", "node_r": "m"}

# Group attributes that say how the runs were made. Runs of one store differ in their condition alone.
MADE_BY = ("gas", "wall", "mesh", "scheme")

GASES: dict[str, type[Gas]] = {"perfect": PerfectGas}


class Status(enum.IntEnum):
    """What is known of a case; written after everything else of it."""

    TO_DO = 0
    CONVERGED = 1
    STALLED = 2
    FAILED = 3


@dataclass(frozen=True)
class Contents:
    """All of a store that is settled before its first run."""

    conditions: Float[np.ndarray, "case 2"]
    free_stream: Float[np.ndarray, "case 4"]
    nodes: Mapping[str, Float[np.ndarray, "nj+1 ni+1"]]  # by the names of NODES
    points: Mapping[str, Float[np.ndarray, "nj ni"]]  # by the names of POINTS
    record: tuple[str, ...]  # names of the numbers that are kept of every run
    made_by: Mapping[str, Any]  # by the names of MADE_BY, plain JSON values
    versions: Mapping[str, str]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of cells (nj, ni)."""
        nj, ni = self.points["x"].shape
        return nj, ni


def describe_gas(gas: Gas) -> dict[str, Any]:
    """Plain values that `gas_from` makes the same gas of."""
    model = next(name for name, kind in GASES.items() if type(gas) is kind)
    return {"model": model, **dataclasses.asdict(gas)}


def gas_from(description: Mapping[str, Any]) -> Gas:
    """The gas that a store was made with."""
    values = dict(description)
    model = values.pop("model", None)
    if model not in GASES:
        raise SureflowError(f"gas model {model!r} is not one of {', '.join(GASES)}; a newer sureflow may know it.")
    try:
        return GASES[model](**values)
    except TypeError:
        raise SureflowError(f"gas {dict(description)} is not described as this version of sureflow does.") from None


def first_difference(wanted: Any, stored: Any, name: str) -> str | None:
    """The first of two nested JSON values that differs, as 'mesh.settings.cells is [48, 48], not [64, 64]'."""
    if isinstance(wanted, Mapping) and isinstance(stored, Mapping):
        for key in [*wanted, *(key for key in stored if key not in wanted)]:
            difference = first_difference(wanted.get(key), stored.get(key), f"{name}.{key}")
            if difference:
                return difference
        return None
    if isinstance(wanted, Mapping) or isinstance(stored, Mapping):
        return f"{name} is {'not there but here' if stored is None else 'there and not here'}"
    return None if wanted == stored else f"{name} is {stored!r} there and {wanted!r} here"
