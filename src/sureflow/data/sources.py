"""The fields of runs, read one run at a time: from an array, from some or several other sources."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

Run = Float[np.ndarray, "variable point"]
Cases = Int[np.ndarray, " case"]


class FieldSource(ABC):
    """Fields in the precision in which they are kept; `source[case]` reads those of one run."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Numbers of cases, variables and points."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """float32 or float64."""

    @abstractmethod
    def __getitem__(self, case: int) -> Run:
        """The fields of one run."""

    def select(self, cases: Cases) -> "FieldSource":
        """Those of some runs, in this order."""
        return SelectedFields(self, cases)

    def array(self) -> Float[np.ndarray, "case variable point"]:
        """All at once, in float64."""
        values = np.empty(self.shape)
        for case in range(len(values)):
            values[case] = self[case]
        return values


@dataclass(frozen=True)
class ArrayFields(FieldSource):
    """Fields in memory."""

    values: Float[np.ndarray, "case variable point"]

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.values.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    def __getitem__(self, case: int) -> Run:
        return self.values[case]

    def select(self, cases: Cases) -> "ArrayFields":
        return ArrayFields(self.values[cases])

    def array(self) -> Float[np.ndarray, "case variable point"]:
        return np.asarray(self.values, float)


@dataclass(frozen=True)
class SelectedFields(FieldSource):
    """Some of the runs of another source, in an order of their own."""

    source: FieldSource
    cases: Cases

    @property
    def shape(self) -> tuple[int, int, int]:
        return (len(self.cases), *self.source.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self.source.dtype

    def __getitem__(self, case: int) -> Run:
        return self.source[int(self.cases[case])]

    def select(self, cases: Cases) -> "SelectedFields":
        return SelectedFields(self.source, self.cases[cases])


@dataclass(frozen=True)
class OrderedFields(FieldSource):
    """The variables of another source in another order."""

    source: FieldSource
    order: Int[np.ndarray, " variable"]

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.source.shape

    @property
    def dtype(self) -> np.dtype:
        return self.source.dtype

    def __getitem__(self, case: int) -> Run:
        return self.source[case][self.order]


@dataclass(frozen=True)
class JoinedFields(FieldSource):
    """The runs of several sources, one source after the other."""

    sources: tuple[FieldSource, ...]

    @cached_property
    def starts(self) -> Int[np.ndarray, " start"]:
        return np.cumsum([0, *(source.shape[0] for source in self.sources)])

    @property
    def shape(self) -> tuple[int, int, int]:
        return (int(self.starts[-1]), *self.sources[0].shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(*(source.dtype for source in self.sources))

    def __getitem__(self, case: int) -> Run:
        which, within = self.place(case)
        return np.asarray(self.sources[which][within], self.dtype)

    def place(self, case: int) -> tuple[int, int]:
        """Which source has a run, and its number there."""
        which = int(np.searchsorted(self.starts, case, side="right")) - 1
        return which, case - int(self.starts[which])
