"""A trained model behind the service: what it is asked for, evaluated in batches."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from sureflow.errors import SureflowError
from sureflow.runtime import one_blas_thread
from sureflow.serve.gathering import Gathering, Result
from sureflow.surrogate.both_ways import both_ways
from sureflow.surrogate.labelled import labelled_arrays, prediction_arrays, worth
from sureflow.surrogate.mesh_bars import mesh_quantity_std
from sureflow.surrogate.model import Answer, Surrogate, refusal
from sureflow.uq.domain import Trust

MOST_VERDICTS = 4096  # conditions of one request, or of a batch


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
    """A model with its name and its batches of predictions."""

    def __init__(self, name: str, surrogate: Surrogate, limits: Limits):
        self.name, self.surrogate, self.limits = name, surrogate, limits
        self.predictions = Gathering(self._predictions, most=limits.batch, kept_bytes=limits.kept_bytes)
        self.sampled = Gathering(self._sampled, most=limits.batch, kept_bytes=1_000_000)
        self.verdicts = Gathering(self._verdicts, most=MOST_VERDICTS, kept_bytes=1_000_000)
        self.thread = ThreadPoolExecutor(1)  # for what takes long and must not hold predictions up

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

    async def results(self, conditions: np.ndarray, *, extrapolate: bool) -> list[Result]:
        """The prediction of every condition; refused where that is not to be trusted, unless an extrapolation is asked for."""
        if not extrapolate:  # before anything large is computed
            for one in await self.verdicts.results(conditions):
                if one.verdict.trust is Trust.REFUSED:
                    raise refusal(one.verdict)
        return await self.predictions.results(conditions)

    async def dataset(self, conditions: np.ndarray, *, extrapolate: bool, single: bool) -> xarray.Dataset:
        """A labelled prediction on the mesh."""
        arrays = [result.arrays for result in await self.results(conditions, extrapolate=extrapolate)]
        # A part of the bars that a condition lacks, such as that of the distance from the runs, is zero there.
        suffixes = dict.fromkeys(suffix for one in arrays for suffix in one)
        nothing = np.zeros_like(arrays[0][""])
        stacked = {suffix: np.stack([one.get(suffix, nothing) for one in arrays]) for suffix in suffixes}
        place = self.surrogate.place(conditions, extrapolate=True)
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

        return await self.predictions.call(predict)

    async def observed(self, conditions: np.ndarray, results: Sequence[Result]) -> list[dict[str, Any]] | None:
        """Quantities with their bars, of every condition; None where fields have none."""
        observer = self.surrogate.observer
        if observer is None:
            return None
        if results[0].quantities is None:
            results = await self.sampled.results(conditions)
        return [
            {
                quantity.name: {"value": value, "std": std, "unit": quantity.unit}
                for quantity, value, std in zip(observer.quantities, *result.quantities, strict=True)
            }
            for result in results
            if result.quantities is not None
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

    async def aside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Something else about the model, beside the predictions."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, function, *arguments)

    def close(self) -> None:
        self.predictions.close()
        self.sampled.close()
        self.verdicts.close()
        self.thread.shutdown(wait=False, cancel_futures=True)

    def _predictions(self, conditions: np.ndarray) -> list[Result]:
        surrogate, count = self.surrogate, len(conditions)
        calibrated = surrogate.calibration is not None and surrogate.calibration.quantities is not None
        # A condition far out may overflow, which its answer shows.
        with np.errstate(all="ignore"), one_blas_thread():
            answer = surrogate.answer(conditions, extrapolate=True)
            arrays = prediction_arrays(surrogate, answer)
            quantities = self._observed(conditions, answer) if calibrated else None
        return [
            Result(
                {suffix: values[case] for suffix, values in arrays.items()},
                answer.place.verdicts[case],
                None if quantities is None else quantities[case],
            )
            for case in range(count)
        ]

    def _verdicts(self, conditions: np.ndarray) -> list[Result]:
        return [Result({}, one) for one in self.surrogate.place(conditions, extrapolate=True).verdicts]

    def _sampled(self, conditions: np.ndarray) -> list[Result]:
        """Quantities of a model without calibrated bars of them, which samples of whole fields tell: they take long."""
        with np.errstate(all="ignore"), one_blas_thread():
            answer = self.surrogate.answer(conditions, extrapolate=True)
            found = self._observed(conditions, answer)
        return [Result({}, *both) for both in zip(answer.place.verdicts, found or (), strict=True)]

    def _observed(self, conditions: np.ndarray, answer: Answer) -> list[tuple[np.ndarray, np.ndarray]] | None:
        observer = self.surrogate.observer
        if observer is None:
            return None
        values, std, _ = both_ways(self.surrogate, conditions, answer, only_read=True)
        assert values is not None
        if std is None:
            return list(zip(values, np.full_like(values, np.nan), strict=True))
        mesh = mesh_quantity_std(self.surrogate, conditions, [quantity.name for quantity in observer.quantities])
        return list(zip(values, np.hypot(std, np.nan_to_num(mesh * np.abs(values))), strict=True))
