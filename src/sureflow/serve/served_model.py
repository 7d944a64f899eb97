"""A trained model behind the service: what it is asked for, evaluated in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from sureflow.errors import SureflowError
from sureflow.serve.gathering import Gathering, Result
from sureflow.surrogate.labelled import labelled_arrays, prediction_arrays, worth
from sureflow.surrogate.model import Surrogate
from sureflow.uq.domain import Place


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for."""

    body_bytes: int = 1_000_000
    conditions: int = 256
    points: int = 100_000
    values: int = 20_000_000  # numbers in one answer
    seconds: float = 60.0
    batch: int = 32
    kept_bytes: int = 128_000_000


class ServedModel:
    """A model with its name, its batches of predictions and its batches of quantities."""

    def __init__(self, name: str, surrogate: Surrogate, limits: Limits):
        self.name, self.surrogate, self.limits = name, surrogate, limits
        self.fields = Gathering(self._fields, most=limits.batch, kept_bytes=limits.kept_bytes)
        self.quantities = Gathering(self._quantities, most=limits.batch, kept_bytes=1_000_000)

    def conditions(self, parameters: Mapping[str, Any], most: int | None = None) -> np.ndarray:
        """Conditions by name, or a sentence about what is wrong with them."""
        conditions = self.surrogate.conditions(parameters)
        allowed = most or self.limits.conditions
        if len(conditions) > allowed:
            raise SureflowError(f"{len(conditions)} conditions are more than the {allowed} that one request may have")
        if not len(conditions):
            raise SureflowError("there are no conditions: give at least one value of every parameter")
        if conditions.size and np.abs(conditions).max() > 1e30:
            raise SureflowError("conditions must be numbers of ordinary size")
        return conditions

    async def arrays(self, conditions: np.ndarray, *, extrapolate: bool) -> tuple[list[Result], Place]:
        """Arrays (variable, point) of every condition by what follows the name of a field in theirs, and the verdicts."""
        place = self.surrogate.place(conditions, extrapolate=extrapolate)
        return await self.fields.results(conditions), place

    async def dataset(self, conditions: np.ndarray, *, extrapolate: bool, single: bool) -> xarray.Dataset:
        """A labelled prediction on the mesh."""
        results, place = await self.arrays(conditions, extrapolate=extrapolate)
        # A part of the bars that a condition lacks, such as that of the distance from the runs, is zero there.
        suffixes = dict.fromkeys(suffix for result in results for suffix in result)
        nothing = np.zeros_like(results[0][""])
        stacked = {suffix: np.stack([result.get(suffix, nothing) for result in results]) for suffix in suffixes}
        return labelled_arrays(self.surrogate, stacked, place, None, single=single)

    async def at_points(
        self, parameters: Mapping[str, Any], points: Sequence[Any], *, extrapolate: bool
    ) -> xarray.Dataset:
        """A labelled prediction at points."""
        if len(points) > self.limits.points:
            raise SureflowError(
                f"{len(points)} points are more than the {self.limits.points} that one request may have"
            )

        def predict() -> xarray.Dataset:
            return self.surrogate.predict(points=points, extrapolate=extrapolate, **parameters)

        return await self.fields.call(predict)

    async def observed(self, conditions: np.ndarray, *, extrapolate: bool) -> list[dict[str, Any]] | None:
        """Quantities with their bars, of every condition; None where fields have none."""
        if self.surrogate.observer is None:
            return None
        self.surrogate.place(conditions, extrapolate=extrapolate)
        quantities = self.surrogate.observer.quantities
        return [
            {
                quantity.name: {"value": value, "std": std, "unit": quantity.unit}
                for quantity, value, std in zip(quantities, result["value"], result["std"], strict=True)
            }
            for result in await self.quantities.results(conditions)
        ]

    def description(self) -> dict[str, Any]:
        """Names, units and ranges."""
        surrogate = self.surrogate
        domain, limits = surrogate.domain, surrogate.header.limits
        parameters = [
            {
                "name": parameter.name,
                "unit": parameter.unit,
                "trained_on": [low, high],
                "limits": [
                    None if not np.isfinite(edge) else edge for edge in limits.get(parameter.name, (np.inf, np.inf))
                ],
            }
            for parameter, low, high in zip(surrogate.header.parameters, domain.lower, domain.upper, strict=True)
        ]
        return {
            "name": self.name,
            "model": surrogate.model_name,
            "parameters": parameters,
            "fields": [{"name": one.name, "unit": one.unit} for one in surrogate.header.fields],
            "points": surrogate.space.n_points,
            "axes": list(surrogate.space.axes),
            "shape": surrogate.space.shape,
            "runs": len(domain.parameters),
            "bars": worth(surrogate),
            "quantities": [one.name for one in surrogate.observer.quantities] if surrogate.observer else [],
        }

    def close(self) -> None:
        self.fields.close()
        self.quantities.close()

    def _fields(self, conditions: np.ndarray) -> list[Result]:
        with np.errstate(all="ignore"):  # a condition far out may overflow, which its answer shows
            arrays = prediction_arrays(self.surrogate, self.surrogate.answer(conditions, extrapolate=True))
        return [{suffix: values[case] for suffix, values in arrays.items()} for case in range(len(conditions))]

    def _quantities(self, conditions: np.ndarray) -> list[Result]:
        observer = self.surrogate.observer
        assert observer is not None
        with np.errstate(all="ignore"):
            values, std = self.surrogate.observed(observer, conditions)
        bars = np.full_like(values, np.nan) if std is None else std
        return [{"value": value, "std": bar} for value, bar in zip(values, bars, strict=True)]
