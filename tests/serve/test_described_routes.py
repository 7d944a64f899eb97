"""Schemathesis draws requests from the description of the routes: none may fail, or be answered with what is not described."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks

from explore.trained import trained
from sureflow.serve import proposing
from sureflow.serve.served_model import Limits
from sureflow.serve.service import create_app

EXAMPLES = 50  # of each route
HOST = "testserver"  # under which schemathesis asks


# Hypothesis takes a draw from Python's own random numbers, by schemathesis or another thread, for one by the test.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
def test_no_drawn_request_fails(monkeypatch):
    own = proposing.propose
    monkeypatch.setattr(proposing, "propose", lambda model, count: own(model, 1))  # of which each takes a second
    # A machine that is busy with other tests is slow, which is no failure here.
    app = create_app({"shock": trained("interpolation")}, limits=Limits(seconds=600.0), hosts=[HOST])
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    found = {}
    for operation in schema.get_all_operations():
        route = operation.ok()
        found[route.label] = statuses(route)
    assert {"GET /v1/predict", "POST /v1/predict", "POST /v1/verdicts", "POST /v2/models/{name}/infer"} <= set(found)
    assert all(200 in found[route] for route in ("POST /v1/predict", "POST /v1/verdicts", "GET /v1/proposals"))


def statuses(route):
    """Of the answers of a route, half of them of the model that is there."""
    seen = set()

    @given(case=route.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case):
        for name in (None, "shock"):
            if name is not None:
                redirected(case, name)
            answer = case.call()
            assert answer.status_code < 500, (case, answer.content)
            case.validate_response(answer, checks=[checks.not_a_server_error])
            seen.add(answer.status_code)

    ask()
    return seen


def redirected(case, name):
    """The same for a model that is there."""
    if "name" in (case.path_parameters or {}):
        case.path_parameters["name"] = name
    if "model" in (case.query or {}):
        case.query["model"] = name
    if isinstance(case.body, dict) and "model" in case.body:
        case.body["model"] = name
    if isinstance(case.body, dict) and isinstance(case.body.get("parameters"), dict) and "inputs" not in case.body:
        values = list(case.body["parameters"].values())
        case.body["parameters"] = dict(zip(("mach", "altitude_km"), [*values, 20.0, 40.0], strict=False))
