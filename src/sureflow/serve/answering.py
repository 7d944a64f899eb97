"""How requests are answered with the models of a service."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import numpy as np
from fastapi import HTTPException
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from sureflow.errors import SureflowError
from sureflow.serve import protocol
from sureflow.serve.formats import MEDIA
from sureflow.serve.guard import Counters
from sureflow.serve.plain_answers import AT_ONCE, PlainAnswer
from sureflow.serve.served_model import Limits, ServedModel
from sureflow.surrogate.labelled import worth
from sureflow.surrogate.model import Surrogate

# The first wrong value ends a list: to tell of all those of a large body would hold other requests up for seconds.
Row = Annotated[list[float], Field(fail_fast=True)]
Rows = Annotated[list[Row], Field(fail_fast=True)]
Numbers = float | Row
Names = Annotated[list[str], Field(min_length=1, fail_fast=True)]
# Numbers as text and the like are mistakes of the client.
STRICT = ConfigDict(extra="forbid", strict=True)


class VerdictRequest(BaseModel):
    """Conditions by the names of the parameters, each a number or a list of numbers."""

    model_config = STRICT
    model: str | None = None
    parameters: dict[str, Numbers]


class PredictRequest(BaseModel):
    """Conditions by the names of the parameters, each a number or a list of numbers."""

    model_config = STRICT
    model: str | None = None
    parameters: dict[str, Numbers]
    points: Rows | None = Field(default=None, description="Points to predict at instead of the mesh.")
    fields: Names | None = Field(default=None, description="Fields to answer with; by default all.")
    extrapolate: bool = Field(default=False, description="Also answer where the error bars are not known to hold.")


class Service:
    """Models by name, and how requests are answered with them."""

    def __init__(self, models: Mapping[str, Surrogate], limits: Limits):
        self.limits, self.counters = limits, Counters()
        self.models = {name: ServedModel(name, surrogate, limits) for name, surrogate in models.items()}
        self.first = next(iter(self.models))
        self.ready = True

    def model(self, name: str | None) -> ServedModel:
        chosen_name = name or self.first
        if chosen_name not in self.models:
            raise HTTPException(
                404, f"there is no model {chosen_name[:100]!r}: the models are {', '.join(self.models)}"
            )
        return self.models[chosen_name]

    async def predict(self, given: PredictRequest, format_: str) -> Response:
        """A prediction in the format that is asked for."""
        served = self.model(given.model)
        names = self._names(served, given.fields)
        conditions = served.conditions(given.parameters)
        points = None if given.points is None else served.located(given.points)
        if format_ == "vtk" and len(conditions) > 1:
            raise SureflowError(
                f"an answer as vtk holds one condition, and {len(conditions)} are asked for: ask for one at a time, or for "
                "format=netcdf"
            )
        n_points = served.surrogate.space.n_points if points is None else len(points)
        self.refuse_size(len(conditions), n_points, len(names), len(protocol.SUFFIXES), text=format_ == "json")
        if points is None:
            results = await served.results(conditions, extrapolate=given.extrapolate)
        else:
            results = await served.results_at(conditions, points, extrapolate=given.extrapolate)
        quantities = None
        if format_ in ("json", "binary"):
            quantities = await served.observed(conditions, results if points is None else None)
        single = not any(isinstance(value, list) for value in given.parameters.values())
        answer = PlainAnswer(served, names, conditions, given.parameters, points, results, quantities, single)
        body = await served.aside(answer.body, format_) if answer.takes_long(format_) else answer.body(format_)
        return Response(body, media_type=MEDIA[format_])

    async def infer(self, served: ServedModel, given: protocol.InferRequest, conditions: np.ndarray) -> Response:
        """A prediction as the protocol has it."""
        surrogate = served.surrogate
        asked = len(given.outputs) if given.outputs else len(surrogate.names) * len(protocol.SUFFIXES)
        text = not protocol.all_binary(given)
        size = self.refuse_size(len(conditions), surrogate.space.n_points, asked, text=text)
        results = await served.results(conditions, extrapolate=given.parameters.extrapolate)
        make = partial(protocol.response, served, given, results, worth(surrogate))
        body, headers = await served.aside(make) if size > AT_ONCE["json" if text else "binary"] else make()
        return Response(body, headers=headers)

    def _names(self, served: ServedModel, fields: list[str] | None) -> list[str]:
        names = list(served.surrogate.names)
        unknown = next((name for name in fields or () if name not in names), None)
        if unknown is not None:
            raise SureflowError(f"field {unknown[:100]!r} is not one of {', '.join(names)}")
        return [name for name in names if fields is None or name in fields]

    def refuse_size(self, *counts: int, text: bool) -> int:
        """How many numbers an answer has at most, if that is not too many."""
        size, limits = int(np.prod([float(count) for count in counts])), self.limits
        most = min(limits.json_values, limits.values) if text else limits.values
        if size > most:
            binary = f", or for up to {limits.values:,} in binary form" if most < limits.values else ""
            raise SureflowError(
                f"the answer would have {size:,} numbers, and {most:,} are allowed{' as JSON' if text else ''}: ask for fewer "
                f"conditions or fields{binary}"
            )
        return size

    def gauges(self) -> dict[str, float]:
        """By name and label, as Prometheus is told."""
        found: dict[str, float] = {}
        for name, served in self.models.items():
            gathering, label = served.predictions, f'{{model="{_escaped(name)}"}}'
            found |= {
                f"sureflow_batches{label}": gathering.batches,
                f"sureflow_conditions_computed{label}": gathering.computed,
                f"sureflow_conditions_kept{label}": gathering.found,
                f"sureflow_conditions_waiting{label}": gathering.waiting,
            }
        return found


def _escaped(label: str) -> str:
    """A value between quotes, as Prometheus reads it."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
