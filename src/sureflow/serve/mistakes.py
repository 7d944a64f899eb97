"""Requests that are wrong: each is answered with one sentence and the status that says whose mistake it is."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from sureflow.errors import Refused, SureflowError
from sureflow.serve.formats import MEDIA, json_body
from sureflow.serve.gathering import Overloaded
from sureflow.serve.guard import LOG
from sureflow.serve.request_errors import sentence

STRANGERS = {415: "A page from elsewhere must send JSON", 421: "The request is for another host"}


class Mistake(BaseModel):
    """Why a request was not answered, in one sentence."""

    error: str


def described_mistakes(token: str | None) -> dict[int | str, dict[str, Any]]:
    """What any route may answer in place of what it was asked for."""
    return {
        status: {"description": words, "model": Mistake}
        for status, words in {
            **(STRANGERS if token is None else {401: "The token is missing or wrong"}),
            404: "There is no such model",
            408: "The body did not arrive in time",
            413: "The body is too large",
            422: "The request is wrong, or its conditions are refused",
            503: "The service is stopping, or too much is waiting",
            504: "The answer takes too long",
        }.items()
    }


def _error(status: int, sentence: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    return Response(json_body({"error": sentence, **more}), status, headers, media_type=MEDIA["json"])


def answer_mistakes(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return _error(422, str(error), verdict="refused")

    @app.exception_handler(Overloaded)
    async def overloaded(request: Request, error: Overloaded) -> Response:
        return _error(503, str(error), {"Retry-After": "1"})

    @app.exception_handler(SureflowError)
    async def wrong(request: Request, error: SureflowError) -> Response:
        return _error(422, str(error))

    @app.exception_handler(StarletteHTTPException)
    async def http(request: Request, error: StarletteHTTPException) -> Response:
        headers = {"Allow": _allowed(app, request)} if error.status_code == 405 else error.headers
        return _error(error.status_code, str(error.detail), headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # A place begins with the part of the request, such as "query", which a client does not write.
        return _error(422, sentence([{**one, "loc": one["loc"][1:]} for one in error.errors()]))

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        LOG.error("a request failed", exc_info=error)
        return _error(500, "the service failed; its log says more")


def _allowed(app: FastAPI, request: Request) -> str:
    """The methods of a path, which may have a route for each."""
    routes = [route for route in app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in routes for method in getattr(route, "methods", None) or ()}))
