"""The contract of a whole-field model: a condition gives the fields at all points of the mesh that the runs share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from typing import ClassVar, Self

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from sureflow.errors import SureflowError
from sureflow.predictive import Predictive

Inputs = Float[np.ndarray, "case parameter"]
Fields = Float[np.ndarray, "case variable point"]
Samples = Float[np.ndarray, "sample case variable point"]


class FieldModel(ABC):
    """A fitted model: a frozen dataclass whose fields are arrays, which is all that an artifact keeps of it.

    Inputs and fields are those of the normalized space, in float64.
    """

    @abstractmethod
    def predict(self, inputs: Inputs) -> Predictive:
        """Mean and parts (case, variable, point)."""

    @abstractmethod
    def samples(self, inputs: Inputs, count: int, rng: np.random.Generator) -> Samples:
        """Fields that the model holds for possible, each one whole: `count` draws, or at most all members."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Row by row in memory, as files hold them: the order of a sum, and so its last bit, must not change on loading."""
        names = [field.name for field in dataclass_fields(self)]  # type: ignore[arg-type]
        return {name: np.ascontiguousarray(getattr(self, name)) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        names = {field.name for field in dataclass_fields(cls)}  # type: ignore[arg-type]
        if names != set(arrays):
            raise SureflowError(f"a {cls.__name__} has the arrays {sorted(names)}; found: {sorted(arrays)}")
        return cls(**arrays)


class FieldModelSettings(ABC):
    """What fixes a whole-field model besides the data (a frozen dataclass); `uq` says where its error bars come from."""

    uq: ClassVar[str]
    fitted: ClassVar[type[FieldModel]]

    @abstractmethod
    def _fit(self, inputs: Inputs, fields: Fields) -> FieldModel:
        """The model of runs at distinct conditions, of which there are enough."""

    def fit(self, inputs: Inputs, fields: Fields) -> FieldModel:
        """The model of these runs, from normalized inputs and fields."""
        require_distinct(inputs)
        require_runs(inputs, getattr(self, "name"))  # noqa: B009 (a field of every settings class)
        # Matrices of a few hundred rows: beside other work, threads of BLAS that wait for each other cost many times more
        # than they bring.
        with threadpool_limits(1, user_api="blas"):
            model = self._fit(inputs, fields)
        return self.fitted.from_arrays(model.arrays())


def require_distinct(inputs: Inputs) -> None:
    """Two runs at one condition leave no model that passes through both."""
    distinct, first = np.unique(inputs, axis=0, return_index=True)
    if len(distinct) < len(inputs):
        again = np.setdiff1d(np.arange(len(inputs)), first)
        raise SureflowError(
            f"{len(again)} of {len(inputs)} runs repeat the condition of another, the first of them is run {again[0]}: "
            "leave one of each out"
        )


def varying(inputs: Inputs) -> np.ndarray:
    """Mask of the parameters that vary over the runs; the others say nothing about the fields."""
    return np.ptp(inputs, axis=0) > 0


def require_runs(inputs: Inputs, model: str) -> None:
    """As many runs as a straight line over all varying parameters takes, and one to spare."""
    n_varying = int(varying(inputs).sum())
    if n_varying == 0:
        raise SureflowError(f"all {len(inputs)} runs are at one condition: {model} needs a parameter that varies")
    fewest = n_varying + 2
    if len(inputs) < fewest:
        raise SureflowError(
            f"{len(inputs)} runs are too few for {model} over {n_varying} parameters: it needs {fewest}"
        )
