import pytest

from explore.trained import trained
from serve.local_client import local_client
from sureflow.serve.origins import LOOPBACK, stranger

BODY = b'{"parameters": {"mach": 20, "altitude_km": 40}}'
TOKEN = "a token of some length"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]", "[::1]:8000"])
def test_names_of_this_machine(host):
    assert stranger("GET", {b"host": host.encode()}, LOOPBACK) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "",
        "localhost.evil.example",
        "a@localhost",
        "localhost/x",
        "[::1",
        "::1",
        "é",
    ],
)
def test_other_names(host):
    status, sentence = stranger("GET", {b"host": host.encode()}, LOOPBACK)
    assert status == 421
    assert "localhost" in sentence


@pytest.mark.parametrize(
    ("origin", "kind", "status"),
    [
        ("http://localhost:8000", "text/plain;charset=UTF-8", None),
        ("http://evil.example", "text/plain", 415),
        ("http://localhost:9000", "text/plain", 415),
        ("null", "", 415),
        ("http://evil.example", "Application/JSON; charset=utf-8", None),
    ],
)
def test_pages_from_elsewhere(origin, kind, status):
    headers = {b"host": b"localhost:8000", b"origin": origin.encode(), b"content-type": kind.encode()}
    assert (stranger("POST", headers, LOOPBACK) or (None,))[0] == status
    assert stranger("GET", headers, LOOPBACK) is None


def test_the_service_without_a_token_is_for_this_machine():
    with local_client({"shock": trained("interpolation")}, hosts=["10.0.0.7"]) as client:
        assert client.get("/v1/models", headers={"host": "evil.example"}).status_code == 421
        assert client.get("/v1/models", headers={"host": "10.0.0.7:8000"}).status_code == 200
        foreign = {"origin": "http://evil.example", "content-type": "text/plain"}
        answer = client.post("/v1/verdicts", content=BODY, headers=foreign)
        assert answer.status_code == 415
        assert "application/json" in answer.json()["error"]
        own = {"origin": "http://localhost", "content-type": "text/plain"}
        assert client.post("/v1/verdicts", content=BODY, headers=own).status_code == 200


def test_a_token_serves_under_any_name():
    with local_client({"shock": trained("interpolation")}, token=TOKEN) as client:
        headers = {"host": "models.example", "authorization": f"Bearer {TOKEN}"}
        assert client.get("/v1/models", headers=headers).status_code == 200
