"""The routes of the service."""

from collections.abc import Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import numpy as np
import orjson
import xarray
from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from sureflow.acquire.proposals import propose
from sureflow.errors import Refused, SureflowError
from sureflow.explore.explorer import served_explorer
from sureflow.serve import protocol
from sureflow.serve.formats import MEDIA, binary_body, chosen, file_body, json_body
from sureflow.serve.front_pages import docs_page, index_page
from sureflow.serve.guard import LOG, Counters, Guard
from sureflow.serve.served_model import MOST_VERDICTS, Limits, ServedModel
from sureflow.surrogate.labelled import worth
from sureflow.surrogate.model import Surrogate

RESERVED = ("model", "format", "fields", "extrapolate")  # in the query of /v1/predict, beside the parameters
Numbers = float | list[float]


class PredictRequest(BaseModel):
    """Conditions by the names of the parameters, each a number or a list of numbers."""

    model_config = ConfigDict(extra="forbid")
    model: str | None = None
    parameters: dict[str, Numbers]
    points: list[list[float]] | None = Field(default=None, description="Points to predict at instead of the mesh.")
    fields: list[str] | None = Field(default=None, description="Fields to answer with; by default all.")
    extrapolate: bool = Field(default=False, description="Also answer where the error bars are not known to hold.")


class Mistake(BaseModel):
    """Why a request was not answered, in one sentence."""

    error: str


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
        self._refuse_size(len(conditions), served.surrogate.space.n_points, len(names))
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
        self._refuse_size(len(conditions), n_points, len(names))
        if given.points is None:
            dataset = await served.dataset(conditions, extrapolate=given.extrapolate, single=single)
        else:
            dataset = await served.at_points(given.parameters, given.points, extrapolate=given.extrapolate)
        others = [name for name in served.surrogate.names if name not in names]
        endings = ("", "_std", "_interval90", "_band90")
        dropped = [v for v in dataset.data_vars for name in others if v == name or str(v).startswith(f"{name}_")]
        kept = dataset.drop_vars(dropped)
        if format_ in ("netcdf", "vtk"):
            content = await served.aside(file_body, kept, served.surrogate, format_)
            return Response(content, media_type=MEDIA[format_])
        arrays = {
            f"{name}{end}": np.ascontiguousarray(kept[f"{name}{end}"])
            for name in names
            for end in endings
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

    def _refuse_size(self, *counts: int) -> None:
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


def create_app(models: Mapping[str, Surrogate], *, token: str | None = None, limits: Limits | None = None) -> FastAPI:
    """The application, which any ASGI server runs."""
    service = Service(models, limits or Limits())

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        service.ready = False
        for served in service.models.values():
            served.close()

    app = FastAPI(
        title="sureflow", version="1", lifespan=lifespan, docs_url=None, redoc_url=None, responses=_mistakes(token)
    )
    app.state.service = service
    _add_errors(app)
    _add_protocol(app, service)
    _add_plain(app, service)
    _add_pages(app, service)
    app.add_middleware(Guard, token=token, limits=service.limits, counters=service.counters)  # type: ignore[arg-type]
    return app


def _mistakes(token: str | None) -> dict[int | str, dict[str, Any]]:
    """What any route may answer in place of what it was asked for."""
    return {
        status: {"description": words, "model": Mistake}
        for status, words in {
            **({} if token is None else {401: "The token is missing or wrong"}),
            404: "There is no such model",
            408: "The body did not arrive in time",
            413: "The body is too large",
            422: "The request is wrong, or its conditions are refused",
            503: "The service is stopping",
            504: "The answer takes too long",
        }.items()
    }


def _error(status: int, sentence: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    return Response(json_body({"error": sentence, **more}), status, headers, media_type=MEDIA["json"])


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return _error(422, str(error), verdict="refused")

    @app.exception_handler(SureflowError)
    async def wrong(request: Request, error: SureflowError) -> Response:
        return _error(422, str(error))

    @app.exception_handler(StarletteHTTPException)
    async def http(request: Request, error: StarletteHTTPException) -> Response:
        headers = {"Allow": _allowed(app, request)} if error.status_code == 405 else error.headers
        return _error(error.status_code, str(error.detail), headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _error(422, _sentence(error.errors()))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        LOG.error("a request failed", exc_info=error)
        return _error(500, "the service failed; its log says more")


def _allowed(app: FastAPI, request: Request) -> str:
    """The methods of a path, which may have a route for each."""
    routes = [route for route in app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in routes for method in getattr(route, "methods", None) or ()}))


def _sentence(errors: Any) -> str:
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where or 'the body'}: {first['msg']}"[:300]


async def parsed(request: Request, kind: type[Any]) -> tuple[Any, bytes]:
    """The body as a request of this kind, and the bytes after it."""
    body = await request.body()
    length = request.headers.get(protocol.LENGTH)
    if length is not None and not (length.isascii() and length.isdigit() and int(length) <= len(body)):
        raise SureflowError(f"the header {protocol.LENGTH} must say how many bytes of the body are JSON")
    end = len(body) if length is None else int(length)
    try:
        content = orjson.loads(body[:end])
    except orjson.JSONDecodeError as error:
        raise SureflowError(f"the body is not JSON: {str(error)[:200]}") from None
    try:
        return kind.model_validate(content), body[end:]
    except ValidationError as error:
        raise SureflowError(_sentence(error.errors(include_url=False))) from None


def _body_schema(kind: type[BaseModel]) -> dict[str, Any]:
    schema = kind.model_json_schema()
    resolved = _resolved(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": resolved}}}}


def _resolved(schema: Any, known: Mapping[str, Any]) -> Any:
    """A schema with what it refers to in its place: a description of routes keeps such parts elsewhere."""
    if isinstance(schema, list):
        return [_resolved(one, known) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(known[schema["$ref"].rpartition("/")[2]], known)
    return {key: _resolved(value, known) for key, value in schema.items()}


def _add_protocol(app: FastAPI, service: Service) -> None:
    @app.get("/v2", tags=["Open Inference Protocol"])
    async def server() -> dict[str, Any]:
        """The server and what it can do."""
        return {"name": "sureflow", "version": "1", "extensions": ["binary_tensor_data"]}

    @app.get("/v2/health/live", tags=["Open Inference Protocol"])
    async def live() -> dict[str, bool]:
        """Whether the server runs."""
        return {"live": True}

    @app.get("/v2/health/ready", tags=["Open Inference Protocol"])
    async def ready() -> dict[str, bool]:
        """Whether all models can be asked."""
        if not service.ready:
            raise HTTPException(503, "the service is stopping")
        return {"ready": True}

    async def metadata(name: str) -> dict[str, Any]:
        """Inputs and outputs of a model."""
        return protocol.metadata(service.model(name))

    async def model_ready(name: str) -> dict[str, Any]:
        """Whether a model can be asked."""
        return {"name": service.model(name).name, "ready": True}

    async def infer(name: str, request: Request) -> Response:
        """Fields with their bars at conditions, one tensor a parameter; `parameters.extrapolate` allows what is refused."""
        served = service.model(name)
        given, rest = await parsed(request, protocol.InferRequest)
        conditions = protocol.conditions_of(served, given, rest)
        asked = len(given.outputs) if given.outputs else len(served.surrogate.names)
        service._refuse_size(len(conditions), served.surrogate.space.n_points, asked)
        extrapolate = given.parameters.get("extrapolate", False) is True
        results = await served.results(conditions, extrapolate=extrapolate)
        body, headers = protocol.response(served, given, results, worth(served.surrogate))
        return Response(body, headers=headers)

    for base in ("/v2/models/{name}", "/v2/models/{name}/versions/1"):
        versioned = "versions" in base
        add = partial(app.add_api_route, tags=["Open Inference Protocol"], include_in_schema=not versioned)
        add(base, metadata, methods=["GET"], name=f"metadata{versioned}")
        add(f"{base}/ready", model_ready, methods=["GET"], name=f"model_ready{versioned}")
        add(
            f"{base}/infer",
            infer,
            methods=["POST"],
            name=f"infer{versioned}",
            openapi_extra=_body_schema(protocol.InferRequest),
        )


def _add_plain(app: FastAPI, service: Service) -> None:
    parameters = [
        {"name": name, "in": "query", "required": True, "schema": {"type": "number"}}
        for name in service.models[service.first].surrogate.parameter_names
    ]

    @app.get("/v1/models", tags=["plain"])
    async def models() -> list[dict[str, Any]]:
        """The models with the names, units and ranges of their parameters."""
        return [served.description() for served in service.models.values()]

    @app.get("/v1/predict", tags=["plain"], openapi_extra={"parameters": parameters})
    async def predict(
        request: Request,
        model: str | None = None,
        format: str | None = None,
        fields: str | None = None,
        extrapolate: bool = False,
    ) -> Response:
        """A prediction at one condition, its parameters by name; as JSON, binary float32 numbers, netCDF or VTK."""
        given = {name: text for name, text in request.query_params.items() if name not in RESERVED}
        if len(request.query_params.multi_items()) != len(request.query_params):
            raise SureflowError("a parameter is given twice: give it once")
        values: dict[str, Numbers] = {name: _number(name, text) for name, text in given.items()}
        names = None if fields is None else fields.split(",")
        asked = PredictRequest(model=model, parameters=values, fields=names, extrapolate=extrapolate)
        return await service.predict(asked, chosen(format, request.headers.get("accept", "")))

    @app.post("/v1/predict", tags=["plain"], openapi_extra=_body_schema(PredictRequest))
    async def predict_many(request: Request, format: str | None = None) -> Response:
        """Predictions at several conditions, or at points."""
        given, _ = await parsed(request, PredictRequest)
        return await service.predict(given, chosen(format, request.headers.get("accept", "")))

    @app.get("/metrics", response_class=PlainTextResponse, tags=["operation"])
    async def metrics() -> str:
        """Counts and times for Prometheus."""
        return service.counters.text(service.gauges())

    @app.post("/v1/verdicts", tags=["plain"], openapi_extra=_body_schema(PredictRequest))
    async def verdicts(request: Request) -> Response:
        """Whether predictions at conditions can be trusted, without the predictions."""
        given, _ = await parsed(request, PredictRequest)
        served = service.model(given.model)
        conditions = served.conditions(given.parameters, most=MOST_VERDICTS)
        found = (await served.aside(partial(served.surrogate.place, conditions, extrapolate=True))).verdicts
        answer = {"trust": [one.trust for one in found], "verdict": [str(one) for one in found]}
        return Response(json_body(answer), media_type=MEDIA["json"])

    @app.get("/v1/proposals", tags=["plain"])
    async def proposals(count: int = Query(5, ge=1, le=50), model: str | None = None) -> Response:
        """The conditions of the runs that would teach the model most."""
        served = service.model(model)
        found = await served.aside(partial(propose, served.surrogate, count=count))
        return Response(
            json_body({"model": served.name, "conditions": found.to_dict("records")}), media_type=MEDIA["json"]
        )


def _add_pages(app: FastAPI, service: Service) -> None:
    pages: dict[str, str] = {}

    @app.get("/explore/{name}", response_class=HTMLResponse, include_in_schema=False)
    async def page(name: str) -> str:
        served = service.model(name)
        if name not in pages:
            pages[name] = await served.aside(served_explorer, served.surrogate, name, "..")
        return pages[name]

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def index() -> str:
        return index_page([served.description() for served in service.models.values()])

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs() -> str:
        return docs_page(app.openapi())


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SureflowError(f"{name[:100]}={text[:100]!r} is not a number") from None
