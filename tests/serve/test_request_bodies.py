import pytest

INFER = "/v2/models/shock/infer"


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/v1/predict", b'{"parameters":{"mach":24,"mach":25,"altitude_km":45}}', "mach"),
        ("/v1/predict", rb'{"parameters":{"mach":24,"m\u0061ch":24,"altitude_km":45}}', "mach"),
        ("/v1/verdicts", b'{"parameters":{},"parameters":{"mach":25,"altitude_km":45}}', "parameters"),
        (INFER, b'{"inputs":[{"name":"mach","name":"altitude_km","shape":[1],"datatype":"FP64","data":[1]}]}', "name"),
    ],
)
def test_a_key_twice_is_refused(client, path, body, name):
    answer = client.post(path, content=body)
    assert (answer.status_code, answer.json()["error"]) == (422, f"'{name}' is given twice in the body: give it once")


@pytest.mark.parametrize("depth", [100, 500, 800, 900, 1000, 1020, 5000])
def test_nested_bodies_are_harmless(client, depth):
    lists = b"[" * depth + b"]" * depth
    for path, body in {
        "/v1/predict": b'{"parameters":{"mach":%s}}' % lists,
        "/v1/verdicts": b'{"a":' * depth + b"1" + b"}" * depth,
        INFER: b'{"inputs":[{"name":"mach","shape":[1],"datatype":"FP64","data":%s}]}' % lists,
    }.items():
        answer = client.post(path, content=body)
        assert answer.status_code == 422
        assert len(answer.json()["error"]) < 200
