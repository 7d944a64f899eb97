"""The service, asked in this process."""

import http.client
import io
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import orjson
import pytest
import xarray

import mesh_pairs
import sureflow as sf
import synthetic
from explore.trained import of_kind, trained
from serve.local_client import local_client
from sureflow.serve.served_model import Limits
from sureflow.surrogate.mesh_bars import with_mesh_error

CONDITION = {"mach": 21.0, "altitude_km": 43.0}
TOKEN = "a token of some length"


@pytest.fixture(scope="module")
def wanted():
    return trained("interpolation").predict(**CONDITION)


def test_plain_prediction(client, wanted):
    answer = client.get("/v1/predict", params=CONDITION).json()
    assert answer["verdict"] == "inside"
    assert answer["fields"]["T"]["unit"] == "K"
    assert np.allclose(answer["fields"]["T"]["mean"], wanted["T"].values.ravel(), rtol=1e-6)
    assert np.allclose(answer["fields"]["T"]["std"], wanted["T_std"].values.ravel(), rtol=1e-6)
    drag = trained("interpolation").quantities(**CONDITION)
    assert answer["quantities"]["stand_off"]["std"] == pytest.approx(drag["stand_off_std"].item())


def test_both_values_of_a_quantity_are_told(client):
    told = client.get("/v1/predict", params=CONDITION).json()["quantities"]["stagnation_pressure"]
    own = trained("interpolation").quantities(**CONDITION)
    assert told["value"] == pytest.approx(own["stagnation_pressure"].item())
    assert told["learned"]["value"] == pytest.approx(own["stagnation_pressure_gp"].item())
    assert told["learned"]["std"] == pytest.approx(own["stagnation_pressure_gp_std"].item())
    assert told["better"] == {"field": "field", "gp": "learned"}[own["stagnation_pressure_gp"].attrs["better"]]


def test_binary_numbers(client, wanted):
    body = client.get("/v1/predict", params={**CONDITION, "format": "binary", "fields": "rho"}).content
    (length,) = struct.unpack("<I", body[:4])
    header = orjson.loads(body[4 : 4 + length])
    assert [one["name"] for one in header["arrays"]][:2] == ["rho", "rho_std"]
    numbers = np.frombuffer(body[4 + length :], "<f4").reshape(len(header["arrays"]), -1)
    assert np.allclose(numbers[0], wanted["rho"].values.ravel(), rtol=1e-6)


def test_netcdf(client, wanted):
    answer = client.post("/v1/predict", json={"parameters": CONDITION}, headers={"accept": "application/x-netcdf"})
    with xarray.open_dataset(io.BytesIO(answer.content), engine="h5netcdf") as found:
        assert np.allclose(found["T_std"], wanted["T_std"])
        assert found.attrs["verdict"] == "inside"


def test_a_field_is_not_taken_for_a_part_of_another():
    x, angle = np.linspace(0, 1, 20)[:, None], np.linspace(0, 4, 15)
    fields = {"u": [np.sin(a + x[:, 0]) for a in angle], "u_x": [np.cos(a + x[:, 0]) for a in angle]}
    model = sf.fit(sf.Runs.from_arrays({"angle": angle}, x, fields), "interpolation", calibrate=False)
    with local_client({"wave": model}) as client:
        answer = client.get("/v1/predict", params={"angle": 2.1, "fields": "u_x", "format": "netcdf"})
    with xarray.open_dataset(io.BytesIO(answer.content), engine="h5netcdf") as found:
        assert {"u_x", "u_x_std"} <= set(found.data_vars)
        assert not {"u", "u_std"} & set(found.data_vars)


def test_bars_of_quantities_hold_the_error_of_the_mesh():
    pairs = synthetic.grid()[::2]
    coarse = mesh_pairs.runs(mesh_pairs.COARSE)
    model = with_mesh_error(sf.fit(coarse, "interpolation"), coarse, mesh_pairs.runs(mesh_pairs.FINE, pairs))
    with local_client({"shock": model}) as client:
        told = client.get("/v1/predict", params=CONDITION).json()["quantities"]["stand_off"]
    own = model.quantities(**CONDITION)
    assert told["std"] == pytest.approx(own["stand_off_std"].item())
    assert told["std"] > own["stand_off_std_surrogate"].item()


def test_vtk(client):
    assert b"<VTKFile" in client.get("/v1/predict", params={**CONDITION, "format": "vtk"}).content[:200]


def test_open_inference_protocol(client, wanted):
    tensors = [{"name": name, "shape": [1], "datatype": "FP64", "data": [value]} for name, value in CONDITION.items()]
    answer = client.post("/v2/models/shock/infer", json={"inputs": tensors, "outputs": [{"name": "T_std"}]}).json()
    (output,) = answer["outputs"]
    assert output["shape"] == [1, wanted["T"].size]
    assert np.allclose(output["data"], wanted["T_std"].values.ravel(), rtol=1e-6)
    assert answer["parameters"]["verdict"] == "inside"
    assert {one["name"] for one in client.get("/v2/models/shock").json()["inputs"]} == set(CONDITION)
    assert client.get("/v2/health/ready").status_code == 200


def test_what_is_refused_gets_a_sentence(client):
    far = client.get("/v1/predict", params={"mach": 39.9, "altitude_km": 85})
    assert far.status_code == 422
    assert far.json()["error"].startswith("refused: ")
    assert client.get("/v1/predict", params={"mach": 39.9, "altitude_km": 85, "extrapolate": "true"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/v1/predict?mach=2", 422, "this model takes mach, altitude_km"),
        ("/v1/predict?mach=x&altitude_km=3", 422, "not a number"),
        ("/v1/predict?mach=nan&altitude_km=30", 422, "finite"),
        ("/v1/predict?mach=1e999&altitude_km=30", 422, "finite"),
        ("/v1/predict?mach=20&altitude_km=30&fields=q", 422, "is not one of u1"),
        ("/v1/predict?mach=20&altitude_km=30&format=gif", 422, "is not one of json"),
        ("/v1/predict?mach=20&altitude_km=30&model=../../etc", 404, "there is no model"),
        ("/v2/models/none", 404, "there is no model"),
        ("/nothing", 404, "Not Found"),
    ],
)
def test_bad_requests(client, path, status, words):
    answer = client.get(path)
    assert answer.status_code == status
    assert words in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b"{", b"[1]", b'{"inputs": 3}', b"\xff\xfe", b'{"inputs": []}'])
def test_bad_bodies(client, body):
    for path in ("/v1/predict", "/v2/models/shock/infer"):
        answer = client.post(path, content=body)
        assert answer.status_code == 422
        assert answer.json()["error"]


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "²", "1000"])
def test_lengths_that_are_none(client, length):
    headers = {"Inference-Header-Content-Length": length.encode()}
    answer = client.post("/v2/models/shock/infer", content=b"{}", headers=headers)
    assert answer.status_code == 422
    assert "how many bytes of the body are JSON" in answer.json()["error"]


def test_limits():
    with local_client({"shock": trained("interpolation")}, limits=Limits(body_bytes=2000, conditions=3)) as client:
        assert client.post("/v1/predict", content=b" " * 2001).status_code == 413
        many = client.post("/v1/predict", json={"parameters": {"mach": [20.0] * 4, "altitude_km": 40.0}})
        assert many.status_code == 422
        assert "4 conditions are more than the 3" in many.json()["error"]


def test_token():
    with local_client({"shock": trained("interpolation")}, token=TOKEN) as client:
        assert client.get("/v2/health/live").status_code == 200
        for wrong in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic ?"}, {"authorization": TOKEN}):
            assert client.get("/v1/models", headers=wrong).status_code == 401
        assert client.get("/v1/models", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert client.get("/v1/models", auth=("anyone", TOKEN)).status_code == 200


def test_verdicts_without_predictions(client):
    body = {"parameters": {"mach": [20.0, 33.0, 39.9], "altitude_km": [40.0, 40.0, 85.0]}}
    answer = client.post("/v1/verdicts", json=body).json()
    assert answer["trust"] == ["inside", "extrapolated", "refused"]
    refused = client.post("/v1/verdicts", json=body | {"points": [[0.0]]})
    assert (refused.status_code, refused.json()["error"]) == (422, "the key 'points' is not one of model, parameters")


def test_proposals(client):
    found = client.get("/v1/proposals", params={"count": 2}).json()
    assert found["criterion"] == "integrated-bar"
    conditions = found["conditions"]
    assert len(conditions) == 2
    assert 10 <= conditions[0]["mach"] <= 30


def test_pages(client):
    assert 'href="explore/shock"' in client.get("/").text
    assert '"model": "shock"' in client.get("/explore/shock").text
    assert "/v2/models/{name}/infer" in client.get("/docs").text
    assert client.get("/explore/none").status_code == 404


def test_the_description_of_the_routes_is_whole(client):
    described = client.get("/openapi.json").json()
    infer = described["paths"]["/v2/models/{name}/infer"]["post"]
    assert "$defs" not in str(infer)
    assert {"404", "413", "422", "504"} <= set(infer["responses"])
    assert client.delete("/v1/predict").headers["allow"] == "GET, POST"


def test_a_mesh_that_moves():
    with local_client({"moving": of_kind("moving")}) as client:
        at = {"angle": 1.1, "thickness": 0.5, "format": "binary"}
        body = client.get("/v1/predict", params=at).content
        names = [one["name"] for one in orjson.loads(body[4 : 4 + struct.unpack("<I", body[:4])[0]])["arrays"]]
        assert names[-2:] == ["node_x", "node_y"]


def test_metrics(client):
    client.get("/v1/models")
    text = client.get("/metrics").text
    assert 'sureflow_requests_total{route="/v1/models",status="200"}' in text
    assert "sureflow_request_seconds_count" in text
    types = [line for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types))  # however many models there are


@pytest.fixture
def command(tmp_path):
    """What starts a service on a free port, and its address."""
    trained("interpolation").save(tmp_path / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [sys.executable, "-m", "sureflow", "serve", str(tmp_path / "model"), "--port", str(port)]
    return arguments, f"http://127.0.0.1:{port}"


def test_the_real_service_logs_every_request_and_stops_when_told(command):
    arguments, url = command
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        asked(f"{url}/v1/models")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    lines = [orjson.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [(line["route"], line["status"]) for line in lines] == [("/v1/models", 200)]
    assert process.returncode == 143
    assert "Traceback" not in said


def test_clients_that_try_again_see_a_killed_service_as_a_delay(command):
    arguments, url = command
    machs = np.linspace(12.0, 28.0, 120)
    wanted = trained("interpolation").predict(mach=machs, altitude_km=np.full(len(machs), 43.0))["T"].values

    def start():
        return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    first = start()
    asked(f"{url}/v2/health/ready")
    with ThreadPoolExecutor(8) as clients:
        queries = (f"{url}/v1/predict?mach={mach}&altitude_km=43&fields=T" for mach in machs)
        answers = [clients.submit(asked, query) for query in queries]
        while not answers[20].done():
            time.sleep(0.005)
        first.kill()
        first.wait()
        second = start()
        found = [orjson.loads(answer.result())["fields"]["T"]["mean"] for answer in answers]
    second.terminate()
    second.wait()
    assert np.allclose(found, wanted.reshape(len(machs), -1), rtol=1e-6)


def asked(url):
    """An answer of a service that may still be starting, or be killed meanwhile."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read()
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError):
            assert time.monotonic() < deadline
            time.sleep(0.1)
