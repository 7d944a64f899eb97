"""Queries of requests: every key once, none that a route does not know, and numbers."""

from collections import Counter

from fastapi import Request

from sureflow.errors import SureflowError
from sureflow.serve.request_errors import named, quoted


def query_of(request: Request) -> dict[str, str]:
    """The values by their keys."""
    counts = Counter(name for name, _ in request.query_params.multi_items())
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise SureflowError(f"{quoted(twice)} is given twice in the query: give it once")
    return dict(request.query_params)


def require_query(request: Request, *known: str) -> None:
    """Refuse what would be ignored."""
    unknown = next((name for name in query_of(request) if name not in known), None)
    if unknown is not None:
        allowed = f"is not one of {', '.join(known)}" if known else "has no place in the query: give it in the body"
        raise SureflowError(f"the key {quoted(unknown)} {allowed}")


def number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SureflowError(f"{named(name)}={quoted(text)} is not a number") from None
