import pytest

from explore.trained import network, of_kind, trained
from serve.local_client import local_client


@pytest.mark.parametrize(
    "model", [trained("interpolation"), of_kind("moving"), network()], ids=["bars", "own", "network"]
)
def test_metadata_lists_what_is_answered(model):
    middle = (model.domain.lower + model.domain.upper) / 2
    tensors = [
        {"name": name, "shape": [1], "datatype": "FP64", "data": [value]}
        for name, value in zip(model.parameter_names, middle.tolist(), strict=True)
    ]
    with local_client({"model": model}) as client:
        described = client.get("/v2/models/model").json()["outputs"]
        body = {"inputs": tensors, "parameters": {"extrapolate": True}}
        answered = client.post("/v2/models/model/infer", json=body).json()["outputs"]
    assert [one["name"] for one in described] == [one["name"] for one in answered]
    assert all(one["shape"] == [-1, model.space.n_points] for one in described)


def asked(client, data=(24,), datatype="FP64", shape=(1,), **more):
    """An answer at a Mach number that is given like this."""
    mach = {"name": "mach", "shape": list(shape), "datatype": datatype, "data": list(data)}
    altitude = {"name": "altitude_km", "shape": [1], "datatype": "FP32", "data": [45]}
    body = {"inputs": [mach, altitude], "outputs": [{"name": "T"}]} | more
    answer = client.post("/v2/models/shock/infer", json=body)
    return answer.status_code, answer.json()


def test_numbers_that_fit_their_datatype(client):
    status, wanted = asked(client)
    assert status == 200
    for given in (
        {"datatype": "INT32"},
        {"datatype": "INT16", "data": [24.0]},
        {"data": [[24]], "shape": [1, 1]},
        {"parameters": {"priority": 3}},
    ):
        assert asked(client, **given) == (200, wanted)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"datatype": "INT32", "data": [24.7]}, "the input 'mach' has the value 24.7, which is no INT32: give FP64"),
        ({"datatype": "INT16", "data": [40000]}, "the input 'mach' has the value 40000, which is no INT16: give FP64"),
        ({"data": [True]}, "the input 'mach' has the value true, which is not a number"),
        ({"data": ["24"]}, "the input 'mach' has the value '24', which is not a number"),
        ({"data": [[24], [1, 2]]}, "the input 'mach' has the value [...], which is not a number"),
        ({"parameters": {"extrapolate": "true"}}, "parameters.extrapolate='true' is not true or false"),
        ({"parameters": {"extrapolate": 1}}, "parameters.extrapolate=1 is not true or false"),
        ({"parameters": {"binary_data_output": "no"}}, "parameters.binary_data_output='no' is not true or false"),
    ],
)
def test_values_that_would_be_taken_for_others(client, given, words):
    assert asked(client, **given) == (422, {"error": words})


def test_binary_data_that_do_not_fit(client):
    tensor = {"name": "mach", "shape": [1], "datatype": "FP64"}
    for size, words in {7: "must be a multiple of the 8 bytes of FP64", 8: "lie within the body"}.items():
        body = {"inputs": [tensor | {"parameters": {"binary_data_size": size}}]}
        answer = client.post("/v2/models/shock/infer", json=body)
        assert answer.status_code == 422
        assert words in answer.json()["error"]
