"""How requests are answered with the models of a service."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray
from fastapi import HTTPException
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from sureflow.data.header import ADDED
from sureflow.errors import SureflowError
from sureflow.serve import protocol
from sureflow.serve.formats import MEDIA, binary_body, file_body, json_body
from sureflow.serve.guard import Counters
from sureflow.serve.served_model import Limits, ServedModel
from sureflow.surrogate.labelled import worth
from sureflow.surrogate.model import Surrogate

Numbers = float | list[float]


class PredictRequest(BaseModel):
    """Conditions by the names of the parameters, each a number or a list of numbers."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = None
    parameters: dict[str, Numbers]
    points: list[list[float]] | None = Field(default=None, description="Points to predict at instead of the mesh.")
    fields: list[str] | None = Field(default=None, description="Fields to answer with; by default all.")
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
        single = not any(isinstance(value, list) for value in given.parameters.values())
        if format_ in ("netcdf", "vtk") or given.points is not None:
            return await self._labelled(served, given, names, conditions, format_, single=single)
        self.refuse_size(len(conditions), served.surrogate.space.n_points, len(names))
        results = await served.results(conditions, extrapolate=given.extrapolate)
        suffixes = [suffix for suffix in protocol.SUFFIXES if suffix in results[0].arrays]
        arrays = {
            name + suffix: np.stack([result.arrays[suffix][served.surrogate.names.index(name)] for result in results])
            for name in names
            for suffix in suffixes
        }
        header = {
            "model": served.name,
            "parameters": given.parameters,
            "verdict": [str(result.verdict) for result in results],
            "bars": worth(served.surrogate),
            "quantities": await served.observed(conditions, results),
        }
        if single:
            header |= {"verdict": header["verdict"][0], "quantities": header["quantities"] and header["quantities"][0]}
            arrays = {name: values[0] for name, values in arrays.items()}
        if format_ == "binary":
            return Response(
                binary_body(header, arrays | _moved(served.surrogate, conditions)), media_type=MEDIA["binary"]
            )
        units = dict(zip(served.surrogate.names, served.surrogate.units, strict=True))
        fields = {
            name: {"unit": units[name]}
            | {(suffix.lstrip("_") or "mean"): arrays[name + suffix].astype(np.float32) for suffix in suffixes}
            for name in names
        }
        return Response(json_body({**header, "fields": fields}), media_type=MEDIA["json"])

    async def _labelled(
        self,
        served: ServedModel,
        given: PredictRequest,
        names: list[str],
        conditions: np.ndarray,
        format_: str,
        *,
        single: bool,
    ) -> Response:
        """Through a labelled dataset: files, and answers at points."""
        n_points = served.surrogate.space.n_points if given.points is None else len(given.points)
        self.refuse_size(len(conditions), n_points, len(names))
        if given.points is None:
            dataset = await served.dataset(conditions, extrapolate=given.extrapolate, single=single)
        else:
            dataset = await served.at_points(given.parameters, given.points, extrapolate=given.extrapolate)
        others = [name for name in served.surrogate.names if name not in names]
        parts = tuple(name + ending for name in others for ending in ADDED)
        kept = dataset.drop_vars([v for v in map(str, dataset.data_vars) if v in others or v.startswith(parts)])
        if format_ in ("netcdf", "vtk"):
            content = await served.aside(file_body, kept, served.surrogate, format_)
            return Response(content, media_type=MEDIA[format_])
        arrays = {
            f"{name}{end}": np.ascontiguousarray(kept[f"{name}{end}"])
            for name in names
            for end in protocol.SUFFIXES
            if f"{name}{end}" in kept
        }
        header = {"model": served.name, "parameters": given.parameters, **_attributes(dataset)}
        if format_ == "binary":
            return Response(binary_body(header, arrays), media_type=MEDIA["binary"])
        return Response(json_body({**header, "fields": arrays}), media_type=MEDIA["json"])

    def _names(self, served: ServedModel, fields: list[str] | None) -> list[str]:
        names = list(served.surrogate.names)
        unknown = next((name for name in fields or () if name not in names), None)
        if unknown is not None:
            raise SureflowError(f"field {unknown[:100]!r} is not one of {', '.join(names)}")
        return [name for name in names if fields is None or name in fields]

    def refuse_size(self, *counts: int) -> None:
        size = int(np.prod([float(count) for count in counts]) * len(protocol.SUFFIXES))
        if size > self.limits.values:
            raise SureflowError(
                f"the answer would have {size:,} numbers, and {self.limits.values:,} are allowed: ask for fewer conditions or "
                "fields"
            )

    def gauges(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, served in self.models.items():
            gathering, label = served.predictions, f'{{model="{name}"}}'
            found |= {
                f"sureflow_batches{label}": gathering.batches,
                f"sureflow_conditions_computed{label}": gathering.computed,
                f"sureflow_conditions_kept{label}": gathering.found,
            }
        return found


def _moved(surrogate: Surrogate, conditions: np.ndarray) -> dict[str, np.ndarray]:
    """The nodes of a mesh that moves, at a single condition."""
    if surrogate.space.moving is None or len(conditions) > 1:
        return {}
    geometry = surrogate.space.at(conditions[0])
    nodes = geometry.points if geometry.nodes is None else geometry.nodes
    return {f"node_{axis}": values for axis, values in zip(surrogate.space.axes, nodes.T, strict=True)}


def _attributes(dataset: xarray.Dataset) -> dict[str, Any]:
    return {name: dataset.attrs[name] for name in ("verdict", "bars")}
