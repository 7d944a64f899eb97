"""The answers of /v1/predict in all forms, and what is too large."""

import struct
import threading

import numpy as np
import orjson
import pytest

from explore.trained import trained
from serve.local_client import local_client
from sureflow.serve import plain_answers
from sureflow.serve.formats import PIECE, json_body, large_json_body
from sureflow.serve.served_model import Limits

CONDITION = {"mach": 21.0, "altitude_km": 43.0}
SEVERAL = {"mach": [20.0, 21.0], "altitude_km": 40.0}
POINTS = [[-0.5, 0.3], [-0.4, 0.5], [-0.45, 0.4]]


def shape_of(answer):
    """The names of an answer with the kinds of their values, numbers apart."""
    if isinstance(answer, dict):
        return {name: shape_of(value) for name, value in answer.items()}
    return "numbers" if isinstance(answer, list) and not isinstance(answer[0], dict | str) else type(answer)


@pytest.mark.parametrize("parameters", [CONDITION, SEVERAL])
def test_answers_at_points_are_as_those_on_the_mesh(client, parameters):
    body = {"parameters": parameters, "fields": ["T", "rho"]}
    on_mesh = client.post("/v1/predict", json=body).json()
    at_points = client.post("/v1/predict", json={**body, "points": POINTS}).json()
    assert shape_of(at_points) == shape_of(on_mesh)
    same = ("model", "parameters", "verdict", "bars", "quantities")
    assert [at_points[name] for name in same] == [on_mesh[name] for name in same]
    own = trained("interpolation").predict(**parameters, points=POINTS)
    for ending in ("std", "interval90", "band90"):
        assert np.allclose(at_points["fields"]["T"][ending], own[f"T_{ending}"].values, rtol=1e-6)
    assert np.allclose(at_points["fields"]["T"]["mean"], own["T"].values, rtol=1e-6)


def test_binary_answers_at_points(client):
    body = {"parameters": SEVERAL, "points": POINTS, "fields": ["T"]}
    answer = client.post("/v1/predict?format=binary", json=body).content
    (length,) = struct.unpack("<I", answer[:4])
    header = orjson.loads(answer[4 : 4 + length])
    assert header["verdict"] == ["inside", "inside"]
    assert header["arrays"][0] == {"name": "T", "shape": [2, 3]}
    wanted = trained("interpolation").predict(**SEVERAL, points=POINTS)["T"].values
    assert np.allclose(np.frombuffer(answer[4 + length :], "<f4")[:6].reshape(2, 3), wanted, rtol=1e-6)


@pytest.mark.parametrize("points", [[[0.1], [0.1, 0.2]], [[9.0, 9.0]], [[0.1]]])
def test_points_that_are_none(client, points):
    answer = client.post("/v1/predict", json={"parameters": CONDITION, "points": points})
    assert answer.status_code == 422
    assert "point" in answer.json()["error"]


def test_several_conditions_do_not_fit_vtk(client):
    answer = client.post("/v1/predict?format=vtk", json={"parameters": SEVERAL})
    assert answer.status_code == 422
    assert "2 are asked for: ask for one at a time, or for format=netcdf" in answer.json()["error"]


def test_json_may_be_smaller_than_binary_numbers():
    limits = Limits(values=10**6, json_values=20)
    tensors = [{"name": name, "shape": [1], "datatype": "FP64", "data": [value]} for name, value in CONDITION.items()]
    with local_client({"shock": trained("interpolation")}, limits=limits) as client:
        answer = client.get("/v1/predict", params=CONDITION)
        assert answer.status_code == 422
        assert "20 are allowed as JSON" in answer.json()["error"]
        assert "for up to 1,000,000 in binary form" in answer.json()["error"]
        assert client.get("/v1/predict", params={**CONDITION, "format": "binary"}).status_code == 200
        assert client.post("/v2/models/shock/infer", json={"inputs": tensors}).status_code == 422
        few = [{"name": "T"}] * 2
        refused = client.post("/v2/models/shock/infer", json={"inputs": tensors, "outputs": few}).json()["error"]
        assert f"would have {2 * trained('interpolation').space.n_points:,} numbers" in refused
        binary = {"inputs": tensors, "parameters": {"binary_data_output": True}}
        assert client.post("/v2/models/shock/infer", json=binary).status_code == 200


def test_large_bodies_are_made_in_a_thread_of_their_own(client, monkeypatch):
    threads = []
    own = plain_answers.PlainAnswer.body

    def body(answer, format_):
        threads.append(threading.current_thread().name)
        return own(answer, format_)

    monkeypatch.setattr(plain_answers.PlainAnswer, "body", body)
    few = client.get("/v1/predict", params=CONDITION).json()
    monkeypatch.setitem(plain_answers.AT_ONCE, "json", 10)
    assert client.get("/v1/predict", params=CONDITION).json() == few
    at_once, apart = threads
    assert not at_once.startswith("ThreadPoolExecutor")
    assert apart.startswith("ThreadPoolExecutor")


def test_json_in_pieces_is_the_same():
    values = {
        "a": {"few": np.arange(3, dtype="f4"), "none": None, 'odd "name"': [1.0, float("nan")]},
        "long": np.linspace(0, 1, 2 * PIECE + 7, dtype="f4"),
        "cases": [{"rows": np.ones((3, PIECE), "f4"), "wide": np.ones((2, PIECE + 1))}, {}],
        "empty": np.zeros((0, 4), "f4"),
        "words": ["x", "y"],
    }
    assert large_json_body(values) == json_body(values)
