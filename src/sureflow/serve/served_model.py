"""A trained model behind the service: what it is asked for, evaluated in batches."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from sureflow.data.meshes import Points
from sureflow.errors import SureflowError
from sureflow.runtime import one_blas_thread
from sureflow.serve.gathering import Gathering, Result
from sureflow.serve.proposing import Proposing
from sureflow.serve.request_errors import LONGEST, quoted
from sureflow.surrogate.asked import located, refusal
from sureflow.surrogate.labelled import prediction_arrays, quantity_columns, quantity_names, worth
from sureflow.surrogate.model import Answer, Surrogate
from sureflow.uq.domain import Trust, Verdict

MOST_VERDICTS = 4096  # conditions of one request
PIECE = 256  # of them, placed together in some milliseconds


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for, and all of them together."""

    body_bytes: int = 1_000_000
    conditions: int = 256
    points: int = 100_000
    values: int = 20_000_000  # numbers in one answer
    json_values: int = 5_000_000  # the same as text, of eleven bytes each
    seconds: float = 60.0
    batch: int = 32
    queued: int = 2048  # conditions that wait for a model
    kept_bytes: int = 128_000_000


class ServedModel:
    """A model with its name and its batches of predictions."""

    def __init__(self, name: str, surrogate: Surrogate, limits: Limits):
        self.name, self.surrogate, self.limits = name, surrogate, limits
        gathering = partial(Gathering, most=limits.batch, queued=limits.queued)
        self.predictions = gathering(self._predictions, kept_bytes=limits.kept_bytes)
        self.sampled = gathering(self._sampled, kept_bytes=1_000_000)
        self.verdicts = Gathering(self._verdicts, most=PIECE, kept_bytes=1_000_000, queued=16 * MOST_VERDICTS)
        self.proposals = Proposing(surrogate)
        self.thread = ThreadPoolExecutor(1)  # for pages, files and large answers, which must not hold predictions up

    def conditions(self, parameters: Mapping[str, Any], most: int | None = None) -> np.ndarray:
        """Conditions by name, or a sentence about what is wrong with them."""
        self._require_known(parameters)
        conditions = self.surrogate.conditions(parameters)
        allowed = most or self.limits.conditions
        if len(conditions) > allowed:
            raise SureflowError(f"{len(conditions)} conditions are more than the {allowed} that one request may have")
        if not len(conditions):
            raise SureflowError("there are no conditions: give at least one value of every parameter")
        if conditions.size and np.abs(conditions).max() > 1e30:
            raise SureflowError("conditions must be numbers of ordinary size")
        return conditions

    def _require_known(self, given: Iterable[str]) -> None:
        """Refuse a name that is none of the model's; one alone is told, since there may be thousands."""
        names = self.surrogate.parameter_names
        unknown = next((name for name in given if name not in names), None)
        if unknown is not None:
            nearest = get_close_matches(unknown[:LONGEST].lower(), names, 1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            raise SureflowError(f"{quoted(unknown)} is not a parameter: this model takes {', '.join(names)}{hint}")

    async def results(self, conditions: np.ndarray, *, extrapolate: bool) -> list[Result]:
        """The prediction of every condition; refused where that is not to be trusted, unless an extrapolation is asked for."""
        await self.require_trusted(conditions, extrapolate=extrapolate)
        return await self.predictions.results(conditions)

    async def results_at(self, conditions: np.ndarray, points: Points, *, extrapolate: bool) -> list[Result]:
        """The same at points, without quantities."""
        await self.require_trusted(conditions, extrapolate=extrapolate)
        found: list[Result] = []
        for piece in _pieces(conditions, self.limits.batch):  # between which others have their turn
            found += await self.predictions.call(self._at_points, piece, points, conditions=len(piece))
        return found

    async def require_trusted(self, conditions: np.ndarray, *, extrapolate: bool) -> None:
        """Refuse conditions before anything large is computed."""
        if extrapolate:
            return
        for verdict in await self.placed(conditions):
            if verdict.trust is Trust.REFUSED:
                raise refusal(verdict)

    async def placed(self, conditions: np.ndarray) -> list[Verdict]:
        """Whether predictions can be trusted. A few at a time, so that a single condition need not wait for a whole map."""
        pieces = [await self.verdicts.results(piece) for piece in _pieces(conditions, PIECE)]
        return [one.verdict for piece in pieces for one in piece]

    def located(self, points: Sequence[Any]) -> Points:
        """Points as an array, or a sentence about what is wrong with them."""
        if len(points) > self.limits.points:
            raise SureflowError(
                f"{len(points)} points are more than the {self.limits.points} that one request may have"
            )
        return located(points, len(self.surrogate.space.axes))

    async def observed(
        self, conditions: np.ndarray, results: Sequence[Result] | None = None
    ) -> list[dict[str, Any]] | None:
        """Quantities with their bars, of every condition; None where fields have none. `results` on the mesh may hold them."""
        if self.surrogate.observer is None:
            return None
        if not self._tells_quantities:
            results = await self.sampled.results(conditions)
        elif results is None:
            results = await self.predictions.results(conditions)
        return [dict(result.quantities) for result in results or () if result.quantities is not None]

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
        for one in (self.predictions, self.sampled, self.verdicts, self.proposals):
            one.close()
        self.thread.shutdown(wait=False, cancel_futures=True)

    @property
    def _tells_quantities(self) -> bool:
        """Whether predictions come with quantities: their calibrated bars cost nothing beside the fields."""
        return self.surrogate.calibration is not None and self.surrogate.calibration.quantities is not None

    def _predictions(self, conditions: np.ndarray) -> list[Result]:
        # A condition far out may overflow, which its answer shows.
        with np.errstate(all="ignore"), one_blas_thread():
            answer = self.surrogate.answer(conditions, extrapolate=True)
            quantities = self._observed(answer) if self._tells_quantities else None
            return self._of_answer(answer, quantities)

    def _at_points(self, conditions: np.ndarray, points: Points) -> list[Result]:
        with np.errstate(all="ignore"), one_blas_thread():
            return self._of_answer(self.surrogate.answer(conditions, points, extrapolate=True), None)

    def _of_answer(self, answer: Answer, quantities: Sequence[Mapping[str, Any]] | None) -> list[Result]:
        arrays = prediction_arrays(self.surrogate, answer)
        return [
            Result(
                {suffix: values[case] for suffix, values in arrays.items()},
                verdict,
                None if quantities is None else quantities[case],
            )
            for case, verdict in enumerate(answer.place.verdicts)
        ]

    def _verdicts(self, conditions: np.ndarray) -> list[Result]:
        return [Result({}, one) for one in self.surrogate.place(conditions, extrapolate=True).verdicts]

    def _sampled(self, conditions: np.ndarray) -> list[Result]:
        """Quantities of a model without calibrated bars of them, which samples of whole fields tell: they take long."""
        with np.errstate(all="ignore"), one_blas_thread():
            answer = self.surrogate.answer(conditions, extrapolate=True)
            found = self._observed(answer)
        return [Result({}, *both) for both in zip(answer.place.verdicts, found or (), strict=True)]

    def _observed(self, answer: Answer) -> list[dict[str, Any]] | None:
        """By condition and name: what is read off the fields, and beside it what was learned as a number."""
        if self.surrogate.observer is None:
            return None
        columns = quantity_columns(self.surrogate, answer.place, answer)
        return [_told(columns, case) for case in range(len(answer.place.conditions))]


def _pieces(conditions: np.ndarray, most: int) -> Iterator[np.ndarray]:
    return (conditions[start : start + most] for start in range(0, len(conditions), most))


def _told(columns: Mapping[str, tuple], case: int) -> dict[str, Any]:
    def told(name: str) -> dict[str, float | None]:
        return {
            "value": columns[name][1][case],
            "std": columns[f"{name}_std"][1][case] if f"{name}_std" in columns else None,
        }

    found = {name: told(name) | {"unit": columns[name][2]["units"]} for name in quantity_names(columns)}
    for name, quantity in found.items():
        learned = f"{name}_gp"
        if learned in columns:
            better = {"field": "field", "gp": "learned"}.get(columns[learned][2].get("better", ""))
            quantity |= {"learned": told(learned), "better": better}
    return found
