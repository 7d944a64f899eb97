"""Bodies of requests: read as what a route takes, and described for the list of routes."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import Request
from pydantic import BaseModel, ValidationError

from sureflow.errors import SureflowError
from sureflow.serve import protocol
from sureflow.serve.request_errors import quoted, sentence

MOST_DIGITS = 12  # of a length in bytes; Python refuses to read numbers of thousands of them


async def parsed(request: Request, kind: type[Any]) -> tuple[Any, bytes]:
    """The body as a request of this kind, and the bytes after it."""
    body = await request.body()
    length = request.headers.get(protocol.LENGTH)
    told = length is None or (len(length) <= MOST_DIGITS and length.isascii() and length.isdigit())
    if not told or int(length or 0) > len(body):
        raise SureflowError(f"the header {protocol.LENGTH} must say how many bytes of the body are JSON")
    end = len(body) if length is None else int(length)
    content = _read(body[:end])
    try:
        return kind.model_validate(content), body[end:]
    except ValidationError as error:
        raise SureflowError(sentence(error.errors(include_url=False), kind.model_fields)) from None


def _read(text: bytes) -> Any:
    """JSON; refused where an object has a key twice, of which orjson would keep the last."""
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SureflowError(f"the body is not JSON: {str(error)[:200]}") from None
    try:
        # What orjson has accepted, so that all that is still to be found are keys. 1 MB takes 8 ms.
        json.loads(text.decode(), object_pairs_hook=_require_once, parse_int=float)
    except RecursionError:
        raise SureflowError("the body is nested too deeply: give lists of numbers") from None
    return content


def _require_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise SureflowError(f"{quoted(twice)} is given twice in the body: give it once")


def body_schema(kind: type[BaseModel]) -> dict[str, Any]:
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
