"""Stores of schema version 1: flights of a perfect gas over Mach number and altitude, on one structured mesh."""

import hashlib
from pathlib import Path

import numpy as np
import zarr
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.meshes import Geometry, Points, Topology
from sureflow.data.reader import StoreReader
from sureflow.validation import validated

VARIABLES = {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K"}
PARAMETERS = {"mach": "1", "altitude_km": "km"}
MADE_BY = ("gas", "wall", "mesh", "scheme")
AXES = ("x", "r")


class VersionOne(StoreReader):
    """A store of version 1, which is only read."""

    numbers_array = "record"

    @classmethod
    def open(cls, path: Path) -> "VersionOne":
        store = cls(path, zarr.open_group(path, mode="r"))
        store.check()
        return store

    def check(self) -> None:
        """Refuse metadata that do not fit together."""
        for name in (*MADE_BY, "versions"):
            if not isinstance(self.attributes.get(name), dict):
                raise ValueError(f"it does not say its {name}")
        nj, ni = self.attributes["shape"]
        cases = len(self)
        expected = {
            "fields": (cases, len(VARIABLES), nj * ni),
            "record": (cases, len(self.header.numbers)),
            **dict.fromkeys(PARAMETERS, (cases,)),
            **dict.fromkeys(AXES, (nj * ni,)),
            **{f"node_{axis}": (nj + 1, ni + 1) for axis in AXES},
        }
        for name, shape in expected.items():
            if self.array(name).shape != shape:
                raise ValueError(f"{name} has the shape {self.array(name).shape} instead of {shape}")

    def read_header(self) -> Header:
        made_by = {name: self.attributes[name] for name in MADE_BY}
        values = {
            "parameters": [{"name": name, "unit": unit} for name, unit in PARAMETERS.items()],
            "fields": [{"name": name, "unit": unit} for name, unit in VARIABLES.items()],
            "numbers": [{"name": str(name)} for name in self.array("record").attrs["names"]],  # type: ignore[union-attr]
            "axes": AXES,
            "stream": {"kind": "flight", "gas": made_by["gas"]},
            "made_by": made_by,
        }
        return validated(Header, values, str(self.path))

    def read_topology(self) -> Topology:
        return Topology(tuple(self.attributes["shape"]))

    @property
    def is_moving(self) -> bool:
        return False

    def read_described(self) -> dict[str, Points]:
        """None: the stored xi and eta are the places of the cells in the block."""
        return {}

    def parameters(self) -> Float[np.ndarray, "case parameter"]:
        return np.stack([self.complete(name) for name in PARAMETERS], axis=1)

    def read_geometry(self, case: int | None) -> Geometry:
        points, nodes = ([self.complete(start + axis) for axis in AXES] for start in ("", "node_"))
        return Geometry.blocks(points, nodes)

    def checksum(self) -> str:
        digest = hashlib.sha256()
        for name in (*PARAMETERS, "node_x", "node_r", "status"):
            digest.update(name.encode() + np.ascontiguousarray(self.whole(name)).tobytes())
        for case in np.flatnonzero(self.status()):
            digest.update(np.ascontiguousarray(self.fields(int(case))).tobytes())
        return digest.hexdigest()
