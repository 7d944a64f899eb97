"""Wrong requests: the sentences that answer them."""

import pytest

CONDITION = {"mach": 24, "altitude_km": 45}
LONG = "x" * 100_000
INFER = "/v2/models/shock/infer"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ([1], "the body is not an object: give one with keys of model, parameters"),
        ({}, "parameters is missing: give it"),
        ({"parameters": 3}, "parameters=3 is not an object"),
        ({"parameters": {**CONDITION, "mach": True}}, "parameters.mach=true is not a number"),
        ({"parameters": {**CONDITION, "mach": "24"}}, "parameters.mach='24' is not a number"),
        ({"parameters": {**CONDITION, "mach": None}}, "parameters.mach=null is not a number"),
        ({"parameters": {**CONDITION, "mach": [24, "x"]}}, "parameters.mach[1]='x' is not a number"),
        ({"parameters": {**CONDITION, "mach": [[24]]}}, "parameters.mach[0]=[...] is not a number"),
        ({"parameters": {**CONDITION, "": "x"}}, "parameters.''='x' is not a number"),
        ({"parameters": {**CONDITION, "": 1}}, "'' is not a parameter: this model takes mach, altitude_km"),
        (
            {"parameters": {"Mach": 24}},
            "'Mach' is not a parameter: this model takes mach, altitude_km; did you mean mach?",
        ),
        ({"parameters": CONDITION, "field": ["T"]}, "the key 'field' is not one of model, parameters"),
    ],
)
def test_wrong_bodies(client, body, words):
    for path in ("/v1/predict", "/v1/verdicts"):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith(words)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"fields": "T"}, "fields='T' is not a list"),
        ({"fields": []}, "fields has 0 values: give at least 1"),
        ({"extrapolate": 1}, "extrapolate=1 is not true or false"),
        ({"points": [1]}, "points[0]=1 is not a list"),
        ({"points": [[0.1, "2"]]}, "points[0][1]='2' is not a number"),
    ],
)
def test_wrong_parts_of_a_prediction(client, more, words):
    answer = client.post("/v1/predict", json={"parameters": CONDITION} | more)
    assert (answer.status_code, answer.json()) == (422, {"error": words})


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"inputs": []}, "inputs has 0 values: give at least 1"),
        ({"inputs": [{"name": "mach", "shape": [1]}]}, "inputs[0].datatype is missing: give it"),
        (
            {"inputs": [{"name": "mach", "shape": ["1"], "datatype": "FP64"}]},
            "inputs[0].shape[0]='1' is not a whole number",
        ),
        (
            {"inputs": [{"name": "mach", "shape": [1], "datatype": "FP16"}]},
            "inputs[0].datatype='FP16' is not 'FP32', 'FP64', 'INT32', 'INT64' or 'INT16'",
        ),
    ],
)
def test_wrong_requests_of_the_protocol(client, request_, words):
    answer = client.post(INFER, json=request_)
    assert (answer.status_code, answer.json()) == (422, {"error": words})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/predict", {"parameters": {**CONDITION, LONG: 1}}),
        ("/v1/predict", {"parameters": {**CONDITION, LONG: LONG}}),
        ("/v1/predict", {"parameters": CONDITION, LONG: 1}),
        ("/v1/predict", {"parameters": {**CONDITION, **{f"name{k}": 1 for k in range(10_000)}}}),
        (INFER, {"inputs": [{"name": LONG, "shape": [1], "datatype": "FP64", "data": [1]}]}),
        (INFER, {"inputs": [{"name": LONG, "shape": [2], "datatype": "FP64", "data": [1]}]}),
        (INFER, {"inputs": [{"name": LONG, "shape": [1], "datatype": LONG, "data": [1]}]}),
    ],
)
def test_long_names_and_values_are_not_repeated_in_full(client, path, body):
    answer = client.post(path, json=body)
    assert answer.status_code == 422
    assert len(answer.json()["error"]) < 400


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("predict?mach=24&altitude_km=45&extrapolate=x", "extrapolate='x' is not true or false"),
        ("proposals?count=51", "count='51' is too large: give at most 50"),
        ("proposals?count=0", "count='0' is too small: give at least 1"),
        ("proposals?count=x", "count='x' is not a whole number"),
    ],
)
def test_wrong_values_in_queries(client, query, words):
    answer = client.get(f"/v1/{query}")
    assert (answer.status_code, answer.json()) == (422, {"error": words})
