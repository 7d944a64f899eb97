"""The routes of the service."""

from collections.abc import Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from sureflow.explore.explorer import served_explorer
from sureflow.serve import protocol
from sureflow.serve.answering import Numbers, PredictRequest, Service, VerdictRequest
from sureflow.serve.formats import MEDIA, chosen, json_body
from sureflow.serve.front_pages import docs_page, index_page
from sureflow.serve.guard import Guard
from sureflow.serve.mistakes import answer_mistakes, described_mistakes
from sureflow.serve.queries import number, query_of, require_query
from sureflow.serve.request_bodies import body_schema, parsed
from sureflow.serve.served_model import MOST_VERDICTS, Limits
from sureflow.surrogate.model import Surrogate

RESERVED = ("model", "format", "fields", "extrapolate")  # in the query of /v1/predict, beside the parameters


def create_app(
    models: Mapping[str, Surrogate],
    *,
    token: str | None = None,
    limits: Limits | None = None,
    hosts: Collection[str] = (),
) -> FastAPI:
    """The application, which any ASGI server runs; without a token, for the names of this machine and for `hosts`."""
    service = Service(models, limits or Limits())

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        yield
        service.ready = False
        for served in service.models.values():
            served.close()

    app = FastAPI(
        title="sureflow",
        version="1",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=described_mistakes(token),
    )
    app.state.service = service
    answer_mistakes(app)
    _add_protocol(app, service)
    _add_plain(app, service)
    _add_pages(app, service)
    guarded = partial(Guard, token=token, limits=service.limits, counters=service.counters, hosts=hosts)
    app.add_middleware(guarded)  # type: ignore[arg-type]
    return app


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
        return await protocol.metadata(service.model(name))

    async def model_ready(name: str) -> dict[str, Any]:
        """Whether a model can be asked."""
        return {"name": service.model(name).name, "ready": True}

    async def infer(name: str, request: Request) -> Response:
        """Fields with their bars at conditions, one tensor a parameter; `parameters.extrapolate` allows what is refused."""
        served = service.model(name)
        given, rest = await parsed(request, protocol.InferRequest)
        conditions = protocol.conditions_of(served, given, rest)
        return await service.infer(served, given, conditions)

    for version, base in {"": "/v2/models/{name}", "_of_version": "/v2/models/{name}/versions/1"}.items():
        add = partial(app.add_api_route, tags=["Open Inference Protocol"], include_in_schema=not version)
        add(base, metadata, methods=["GET"], name=f"metadata{version}")
        add(f"{base}/ready", model_ready, methods=["GET"], name=f"model_ready{version}")
        add(
            f"{base}/infer",
            infer,
            methods=["POST"],
            name=f"infer{version}",
            openapi_extra=body_schema(protocol.InferRequest),
        )


def _add_plain(app: FastAPI, service: Service) -> None:
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": {"type": "number"}, "description": words}
        for name, words in _described_parameters(service).items()
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
        given = {name: text for name, text in query_of(request).items() if name not in RESERVED}
        values: dict[str, Numbers] = {name: number(name, text) for name, text in given.items()}
        names = None if fields is None else fields.split(",")
        asked = PredictRequest(model=model, parameters=values, fields=names, extrapolate=extrapolate)
        return await service.predict(asked, chosen(format, request.headers.get("accept", "")))

    @app.post("/v1/predict", tags=["plain"], openapi_extra=body_schema(PredictRequest))
    async def predict_many(request: Request, format: str | None = None) -> Response:
        """Predictions at several conditions, or at points."""
        require_query(request, "format")
        given, _ = await parsed(request, PredictRequest)
        return await service.predict(given, chosen(format, request.headers.get("accept", "")))

    @app.get("/metrics", response_class=PlainTextResponse, tags=["operation"])
    async def metrics() -> str:
        """Counts and times for Prometheus."""
        return service.counters.text(service.gauges())

    @app.post("/v1/verdicts", tags=["plain"], openapi_extra=body_schema(VerdictRequest))
    async def verdicts(request: Request) -> Response:
        """Whether predictions at conditions can be trusted, without the predictions."""
        require_query(request)
        given, _ = await parsed(request, VerdictRequest)
        served = service.model(given.model)
        conditions = served.conditions(given.parameters, most=MOST_VERDICTS)
        found = await served.placed(conditions)
        answer = {"trust": [one.trust for one in found], "verdict": [str(one) for one in found]}
        return Response(json_body(answer), media_type=MEDIA["json"])

    @app.get("/v1/proposals", tags=["plain"])
    async def proposals(request: Request, count: int = Query(5, ge=1, le=50), model: str | None = None) -> Response:
        """The conditions of the runs that would teach the model most."""
        require_query(request, "count", "model")
        served = service.model(model)
        told = {"model": served.name, **await served.proposals.first(count)}
        return Response(json_body(told), media_type=MEDIA["json"])


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


def _described_parameters(service: Service) -> dict[str, str]:
    """Of all models: which of them takes one depends on the model."""
    takers: dict[str, list[str]] = {}
    for served in service.models.values():
        for name in served.surrogate.parameter_names:
            takers.setdefault(name, []).append(served.name)
    return {
        name: f"A parameter of the model {' and of '.join(models)}, which needs all of its own."
        for name, models in takers.items()
    }
