"""The answers of /v1/predict: one header and one set of arrays, on the mesh or at points, in every form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sureflow.data.header import ADDED
from sureflow.data.meshes import Points
from sureflow.serve import protocol
from sureflow.serve.formats import binary_body, file_body, json_body, large_json_body
from sureflow.serve.gathering import Result
from sureflow.serve.served_model import ServedModel
from sureflow.surrogate.labelled import labelled_arrays, worth

# Numbers that are a body within some milliseconds; files always take longer.
AT_ONCE = {"json": 40_000, "binary": 400_000}


@dataclass(frozen=True)
class PlainAnswer:
    """Predictions of a model at conditions, for some of its fields; a `single` condition has no axis of cases."""

    served: ServedModel
    names: Sequence[str]
    conditions: np.ndarray
    parameters: Mapping[str, Any]  # as they were given
    points: Points | None
    results: Sequence[Result]
    quantities: Sequence[Mapping[str, Any]] | None
    single: bool

    def body(self, format_: str) -> bytes:
        """The answer in this form. Large ones take long: they are made in a thread."""
        if format_ == "binary":
            return binary_body(self.header, self.arrays | self._moved)
        if format_ == "json":
            write = json_body if self.size <= AT_ONCE["json"] else large_json_body
            return write({**self.header, "fields": self._fields})
        return self._file(format_)

    def takes_long(self, format_: str) -> bool:
        """Whether other requests would notice that the body is made."""
        return self.size > AT_ONCE.get(format_, 0)

    @property
    def size(self) -> int:
        """In numbers."""
        n_points = self.results[0].arrays[""].shape[1]
        return len(self.results) * len(self.names) * len(self._suffixes) * n_points

    @property
    def header(self) -> dict[str, Any]:
        """What is told of the whole prediction; of several conditions, the verdict and the quantities of each."""
        verdicts = [str(result.verdict) for result in self.results]
        return {
            "model": self.served.name,
            "parameters": self.parameters,
            "verdict": self._of_cases(verdicts),
            "bars": worth(self.served.surrogate),
            "quantities": self.quantities and self._of_cases(self.quantities),
        }

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """Values (case, point) by the names of fields and what follows them."""
        column = self.served.surrogate.names.index
        return {
            name + suffix: self._of_cases(np.stack([one.arrays[suffix][column(name)] for one in self.results]))
            for name in self.names
            for suffix in self._suffixes
        }

    @property
    def _fields(self) -> dict[str, dict[str, Any]]:
        units = dict(zip(self.served.surrogate.names, self.served.surrogate.units, strict=True))
        return {
            name: {"unit": units[name]}
            | {suffix.lstrip("_") or "mean": self.arrays[name + suffix].astype(np.float32) for suffix in self._suffixes}
            for name in self.names
        }

    @property
    def _suffixes(self) -> list[str]:
        return [suffix for suffix in protocol.SUFFIXES if suffix in self.results[0].arrays]

    @property
    def _moved(self) -> dict[str, np.ndarray]:
        """The nodes of a mesh that moves, at a single condition."""
        space = self.served.surrogate.space
        if space.moving is None or len(self.conditions) > 1 or self.points is not None:
            return {}
        geometry = space.at(self.conditions[0])
        nodes = geometry.points if geometry.nodes is None else geometry.nodes
        return {f"node_{axis}": values for axis, values in zip(space.axes, nodes.T, strict=True)}

    def _file(self, format_: str) -> bytes:
        """Through a labelled dataset."""
        surrogate = self.served.surrogate
        arrays = [result.arrays for result in self.results]
        # A part of the bars that a condition lacks, such as that of the distance from the runs, is zero there.
        nothing = np.zeros_like(arrays[0][""])
        suffixes = dict.fromkeys(suffix for one in arrays for suffix in one)
        stacked = {suffix: np.stack([one.get(suffix, nothing) for one in arrays]) for suffix in suffixes}
        place = surrogate.place(self.conditions, extrapolate=True)
        dataset = labelled_arrays(surrogate, stacked, place, self.points, single=self.single)
        others = [name for name in surrogate.names if name not in self.names]
        parts = tuple(name + ending for name in others for ending in ADDED)
        dropped = [v for v in map(str, dataset.data_vars) if v in others or v.startswith(parts)]
        return file_body(dataset.drop_vars(dropped), surrogate, format_)

    def _of_cases(self, values: Any) -> Any:
        return values[0] if self.single else values
