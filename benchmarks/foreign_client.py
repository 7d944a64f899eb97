"""A client of another library against a running service: NVIDIA's tritonclient, which knows nothing of sureflow.

    pip install 'tritonclient[http]'             # in an environment of its own; sureflow need not be there
    sureflow serve model/ & python benchmarks/foreign_client.py [127.0.0.1:8000]

Asks for the middle of the trained ranges of every model, with tensors in JSON and in binary form, and compares the answers with
those of /v1/predict.
"""

import json
import sys
import urllib.parse
import urllib.request

import numpy as np
import tritonclient.http as triton


def get(url: str) -> dict:
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def compare(client: triton.InferenceServerClient, address: str, model: dict) -> None:
    name, parameters = model["name"], model["parameters"]
    middle = {one["name"]: float(np.mean(one["trained_on"])) for one in parameters}
    described = client.get_model_metadata(name)
    assert client.is_model_ready(name)
    assert [one["name"] for one in described["inputs"]] == list(middle)
    plain = get(f"http://{address}/v1/predict?{urllib.parse.urlencode({'model': name, **middle})}")
    for binary in (False, True):
        inputs = [triton.InferInput(one, [1], "FP64") for one in middle]
        for tensor, value in zip(inputs, middle.values(), strict=True):
            tensor.set_data_from_numpy(np.array([value]), binary_data=binary)
        outputs = [triton.InferRequestedOutput(one["name"], binary_data=binary) for one in described["outputs"]]
        answer = client.infer(name, inputs, outputs=outputs)
        for field, values in plain["fields"].items():
            for suffix in ("mean", "std"):
                found = answer.as_numpy(field if suffix == "mean" else f"{field}_std")
                np.testing.assert_allclose(found[0], values[suffix], rtol=1e-6)
        verdict = answer.get_response()["parameters"]["verdict"]
        assert verdict == plain["verdict"]
        print(f"{name}: {'binary' if binary else 'JSON'} tensors as /v1/predict has them; {verdict}")


def main() -> None:
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8000"
    client = triton.InferenceServerClient(address)
    assert client.is_server_live()
    assert client.is_server_ready()
    for model in get(f"http://{address}/v1/models"):
        compare(client, address, model)


if __name__ == "__main__":
    main()
