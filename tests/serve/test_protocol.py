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
