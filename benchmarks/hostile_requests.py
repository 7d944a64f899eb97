"""Hostile requests against a running service: none may end in a failure, a traceback, a crash or somebody else's file.

    python benchmarks/hostile_requests.py model/ [--requests 5000] [--seed 0]

Every request is drawn at random from a few families: numbers that are none, too many conditions and points, deep and broken
JSON, wrong types, binary tensors that lie about their size, names that are paths, wrong tokens, headers that are too large,
bodies that come slowly or never, headers that never end. Answers are counted by family and status; what is no request must be
closed by the service in time. At the end the service must still predict.
"""

import argparse
import base64
import json
import random
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

HOST, PORT, TOKEN = "127.0.0.1", 8973, secrets.token_hex(16)
CLOSED_WITHIN = 15.0  # seconds, of a connection without a complete header
SECRET = f"not for outsiders {secrets.token_hex(8)}"
NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1e308",
    "1e30",
    "0x10",
    "",
    "1,2",
    "١٢",
    "1_0",
    "2" * 5000,
    "true",
    "null",
    "[]",
    "%00",
    "25",
]
PATHS = ["../../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "secret.txt",
    "../secret.txt", "..\\..\\secret.txt", "%00", "model\x00", "a" * 5000, "…", "%ff%fe", "model/..", ".", "~root"]  # fmt: skip
ROUTES = ["/v1/predict", "/v1/verdicts", "/v1/models", "/v1/proposals", "/v2", "/v2/models/model/infer", "/v2/models/model",
    "/v2/models/model/versions/1/infer", "/v2/health/ready", "/metrics", "/docs", "/openapi.json", "/",
    "/explore/model"]  # fmt: skip

Request = tuple[bytes, float]  # what is sent, and seconds to wait in the middle of it


def http(
    method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None, *, token: str = TOKEN
) -> bytes:
    given = {
        "Host": HOST,
        "Authorization": f"Bearer {token}",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **(headers or {}),
    }
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + body


def anything(draw: random.Random, depth: int = 0) -> object:
    """A value of JSON, of any type."""
    simple = [None, True, -1, 0, 1e308, 10**30, "x", "nan", "", "é" * draw.randint(0, 50), 25.0, 46.0]
    kind = draw.random()
    if depth > 4 or kind < 0.6:
        return draw.choice(simple)
    if kind < 0.8:
        return [anything(draw, depth + 1) for _ in range(draw.randint(0, 4))]
    keys = ["mach", "altitude_km", "name", "shape", "data", "datatype", "parameters", "x"]
    return {draw.choice(keys): anything(draw, depth + 1) for _ in range(draw.randint(0, 4))}


def query(draw: random.Random) -> Request:
    names = ["mach", "altitude_km", "model", "format", "fields", "extrapolate", "count", "mach", "__proto__"]
    pairs = "&".join(f"{draw.choice(names)}={draw.choice([*NUMBERS, *PATHS[:6]])}" for _ in range(draw.randint(0, 5)))
    return http("GET", f"{draw.choice(['/v1/predict', '/v1/proposals', '/v1/models'])}?{pairs}"), 0


def typed(draw: random.Random) -> Request:
    """A body with the right names and values of any type."""
    body = {
        "model": "model",
        "parameters": {"mach": 25.0, "altitude_km": 46.0},
        "points": None,
        "fields": None,
        "extrapolate": True,
    }
    for name in draw.sample(list(body), draw.randint(1, 3)):
        body[name] = anything(draw)
    return http("POST", draw.choice(["/v1/predict", "/v1/verdicts"]), json.dumps(body).encode()), 0


def huge(draw: random.Random) -> Request:
    body = draw.choice([
        json.dumps({"parameters": {"mach": [20.0] * draw.choice([300, 20_000]), "altitude_km": 40.0}}).encode(),
        json.dumps({"parameters": {"mach": 20.0, "altitude_km": 40.0}, "points": [[0.0, 0.0]] * draw.choice([1, 40_000])})
        .encode(),
        b"[" * 100_000, b'{"a":' * 50_000, b" " * 1_000_001, b'{"parameters": {"mach": 1' + b"0" * 10_000 + b"}}",
    ])  # fmt: skip
    return http("POST", draw.choice(["/v1/predict", "/v1/verdicts", "/v2/models/model/infer"]), body), 0


def tensors(draw: random.Random) -> Request:
    """The protocol with shapes, sizes and types that lie."""
    inputs = [{"name": name, "shape": [1], "datatype": "FP64", "data": [25.0]} for name in ("mach", "altitude_km")]
    for one in inputs:
        if draw.random() < 0.7:
            one[draw.choice(["shape", "datatype", "data", "name"])] = draw.choice(
                [[10**9], [-1], [10**9] * 4, "FP99", [], [[[[25.0]]]], ["a"], anything(draw), "BYTES", [float("1e30")]]
            )
        if draw.random() < 0.3:
            one["parameters"] = {"binary_data_size": draw.choice([8, 7, -8, 10**12, "8", None, 1.5])}
    body = json.dumps(
        {"inputs": inputs, "outputs": draw.choice([None, [], [{"name": "T"}], [{"name": "../T"}], anything(draw)])}
    ).encode()
    headers = draw.choice(
        [{}, {"Inference-Header-Content-Length": draw.choice(["5", "-1", "x", str(10**12), "9" * 5000, "²", ""])}]
    )
    return http("POST", "/v2/models/model/infer", body + bytes(draw.choice([0, 0, 8, 20])), headers), 0


def paths(draw: random.Random) -> Request:
    name = draw.choice(PATHS)
    target = draw.choice(
        ["/{}", "/v2/models/{}", "/v2/models/{}/infer", "/explore/{}", "/v1/predict?mach=25&altitude_km=46&model={}"]
    )
    return http(
        draw.choice(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]),
        target.format(name).replace(" ", "%20"),
    ), 0


def tokens(draw: random.Random) -> Request:
    wrong = draw.choice(["", "x", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), "\x7f" * 100, "Basic"])
    scheme = draw.choice(["Bearer", "Basic", "Digest", "", "bearer  "])
    rest = base64.b64encode(f"u:{wrong}".encode()).decode() if scheme == "Basic" and draw.random() < 0.7 else wrong
    return http("GET", draw.choice(ROUTES[2:]), headers={"Authorization": f"{scheme} {rest}"}), 0


def headers(draw: random.Random) -> Request:
    odd = draw.choice([
        {"X": "a" * 40_000}, {"Content-Length": "-1"}, {"Content-Length": "1e9"}, {"Content-Length": "9" * 30},
        {"Transfer-Encoding": "chunked"},
        {"Accept": "," * 3000}, {"Accept": "application/x-netcdf"}, {"Host": ""}, {"Content-Type": "text/html"},
        {"Expect": "100-continue"},
        {"Range": "bytes=0-99999999999"}, {"Cookie": "a=b;" * 3000}, {f"H{k}": "x" for k in range(300)},
    ])  # fmt: skip
    return http(draw.choice(["GET", "POST"]), draw.choice(ROUTES), b"{}", odd), 0


def garbage(draw: random.Random) -> Request:
    return draw.choice([
        draw.randbytes(draw.randint(1, 3000)), b"GET\r\n\r\n", b"\r\n" * 1000, b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        http("GET", "/v1/predict?" + "a" * 70_000), http("G" * 300, "/"), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ]), 0  # fmt: skip


def slow(draw: random.Random) -> Request:
    """A body that stops in the middle, for a moment or until the service gives up."""
    return http("POST", "/v1/predict", b'{"parameters": {"mach": 25', {"Content-Length": "100"}), draw.choice(
        [0.05, 0.05, 0.05, 11.0]
    )


def unfinished(draw: random.Random) -> Request:
    """A header that never ends, or none at all, before any token."""
    whole = http("GET", draw.choice(ROUTES))
    return whole[: draw.choice([0, 1, 20, len(whole) - 2])], 0


FAMILIES: dict[Callable[[random.Random], Request], float] = {
    query: 0.2, typed: 0.2, huge: 0.02, tensors: 0.2, paths: 0.12, tokens: 0.1, headers: 0.08, garbage: 0.07, slow: 0.01,
    unfinished: 0.003,
}  # fmt: skip


def answer_to(request: bytes, pause: float = 0.0, patience: float = 60.0) -> bytes:
    """What the service says until it closes the connection; what is no request may wait for an answer that never comes."""
    with socket.create_connection((HOST, PORT), 60) as connection:
        connection.settimeout(patience)
        parts: list[bytes] = []
        try:
            connection.sendall(request)
            time.sleep(pause)
            while part := connection.recv(1 << 20):
                parts.append(part)
        except (TimeoutError, ConnectionError):
            pass
        return b"".join(parts)


def wrong_with(answer: bytes) -> str:
    """What must not be in an answer, or nothing."""
    head = answer[:200_000]
    status = head[9:12].decode("ascii", "replace") if head.startswith(b"HTTP/1.") else ""
    if status.startswith("5"):
        return f"status {status}"
    found = [word for word in (b"Traceback", b'File "', b"root:x:", SECRET.encode(), TOKEN.encode()) if word in head]
    return f"holds {found[0]!r}" if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(shutil.copytree(options.model, Path(folder, "model")))
        attack(model, options.requests, random.Random(options.seed))


def attack(model: Path, requests: int, chance: random.Random) -> None:
    """Serve a copy of the model, beside which lies what no answer may hold, and print what came of the requests."""
    model.with_name("secret.txt").write_text(SECRET)
    command = [
        sys.executable,
        "-m",
        "sureflow",
        "serve",
        str(model),
        "--port",
        str(PORT),
        "--token",
        TOKEN,
    ]
    log = model.with_name("hostile.log")
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as server:
        try:
            counts, bad = attacked(server, requests, chance)
            good = answer_to(http("GET", "/v1/predict?mach=25&altitude_km=46&fields=T"))
            alive = server.poll() is None and good.startswith(b"HTTP/1.1 200")
        finally:
            server.terminate()
    said = log.read_text(errors="replace")
    print("| family | answers by status |\n|---|---|")
    for family in FAMILIES:
        row = {status: count for (name, status), count in sorted(counts.items()) if name == family.__name__}
        print(f"| {family.__name__} | {', '.join(f'{status}: {count}' for status, count in row.items())} |")
    print(f"\n{sum(counts.values())} requests; {len(bad)} bad answers{f', the first: {bad[0]}' if bad else ''}")
    print(
        f"the log holds {said.count('Traceback')} tracebacks and the token {said.count(TOKEN)} times; at the end the service ",
        end="",
    )
    print("still predicts" if alive else "is gone")
    sys.exit(bool(bad) or not alive or "Traceback" in said or TOKEN in said)


def attacked(server: subprocess.Popen, count: int, draw: random.Random) -> tuple[Counter, list[str]]:
    """Answers by family and status, and what was wrong with some of them."""
    while not _is_up():
        if server.poll() is not None:
            sys.exit("the service did not start")
        time.sleep(0.2)
    counts: Counter[tuple[str, str]] = Counter()
    bad: list[str] = []
    for _ in range(count):
        (family,) = draw.choices(list(FAMILIES), list(FAMILIES.values()))
        request, wait = family(draw)
        patience = 2.0 if wait or family in (headers, garbage) else 60.0
        began = time.monotonic()
        answer = answer_to(request, wait, patience)
        counts[family.__name__, answer[9:12].decode("ascii", "replace") if answer.startswith(b"HTTP/") else "none"] += 1
        if found := wrong_with(answer):
            bad.append(f"{family.__name__} {request[:200]!r}: {found}")
        if family is unfinished and time.monotonic() - began > CLOSED_WITHIN:
            bad.append(f"{family.__name__} {request[:200]!r}: the connection stays open")
        if server.poll() is not None:
            bad.append(f"{family.__name__} {request[:200]!r}: the service ended")
            break
    return counts, bad


def _is_up() -> bool:
    try:
        return answer_to(http("GET", "/v2/health/ready")).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


if __name__ == "__main__":
    main()
