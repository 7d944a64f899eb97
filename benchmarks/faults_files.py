"""Damaged and hostile files: the answer is the same, or refused in one sentence."""

import json
import os
import random
import shutil
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from faults_jobs import answer, few_runs, study, train
from faults_kills import LOST, SILENT, TRACEBACK, Goes
from faults_shim import DEFECT, child, told
from sureflow.data.store import open_runs
from sureflow.errors import SureflowError
from sureflow.surrogate.workshop import calibrate_in

KINDS = ("flip", "cut", "delete", "swap", "grow")
NOT_ASKED = ("provenance.json", "experiment.toml", ".lock")  # no answer depends on them
AT_ONCE = 25
SECONDS = 20.0  # within which a hostile file must be refused


def prepare_damaged(folder: Path) -> None:
    train(folder)()
    calibrate_in(folder / "model", open_runs(folder / "runs.zarr"))
    few_runs().save(folder / "numbered.zarr", overwrite=True)


def mutate_one(rng: random.Random, files: list[Path]) -> str:
    """Damage one of the files; what was done."""
    path, kind = rng.choice(files), rng.choice(KINDS)
    content = bytearray(path.read_bytes())
    if kind == "flip" and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[rng.randrange(len(content) + 1) :]
    elif kind == "grow":
        content += rng.randbytes(rng.randrange(1, 100))
    elif kind == "swap":
        other = rng.choice(files)
        content, swapped = bytearray(other.read_bytes()), bytes(content)
        other.write_bytes(swapped)
    path.write_bytes(content)
    if kind == "delete":
        path.unlink()
    return f"{kind} {path.parent.name}/{path.name}"


def mutate(folder: Path, goes: Goes, found: Counter, seed: int) -> None:
    """Files of a model and of two stores, one at a time."""
    code, said = child(lambda: prepare_damaged(folder))
    assert code == 0, said
    batch = 0
    while goes():
        name = ("model", "runs.zarr", "numbered.zarr")[batch % 3]
        code, said = child(lambda name=name, batch=batch: _some(folder, name, random.Random(f"{seed}-{batch}")))
        found.update(json.loads(said) if code == 0 else {TRACEBACK: 1})
        batch += 1


def _some(folder: Path, name: str, rng: random.Random) -> str:
    seen: Counter = Counter()
    expected, copy = answer(folder / name), folder / f"damaged-{name}"
    for _ in range(AT_ONCE):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / name, copy)
        what = mutate_one(rng, [p for p in sorted(copy.rglob("*")) if p.is_file() and p.name not in NOT_ASKED])
        seen["tried"] += 1
        try:
            said = answer(copy)
        except SureflowError:
            seen["refused"] += 1
            continue
        except Exception as error:
            seen[TRACEBACK] += 1
            told(f"{what} in {name}: {error!r}")
            continue
        # A status that is gone makes a run one to do, which is told; without marks there is no store to ask.
        if said != expected and said != "nothing" and "{" not in said:
            seen[SILENT] += 1
            told(f"{what} in {name} goes unnoticed")
    return json.dumps(seen)


def mutate_study(folder: Path, goes: Goes, found: Counter, seed: int) -> None:
    """Files of a study, one at a time: the same command refuses it, or makes again what it was."""
    rng, made, kept, work = random.Random(seed), folder / "study", folder / "kept-study", study(folder)
    code, said = child(work)
    assert code == 0, said
    shutil.copytree(made, kept)
    expected = answer(kept)
    while goes():
        shutil.rmtree(made)
        shutil.copytree(kept, made)
        what = mutate_one(rng, [p for p in sorted(made.rglob("*")) if p.is_file() and p.name not in NOT_ASKED])
        code, said = child(work)
        found["tried"] += 1
        found["refused"] += code == 2
        found[TRACEBACK] += code == DEFECT
        found[SILENT] += code == 0 and answer(made) != expected
        if code == DEFECT or (code == 0 and answer(made) != expected):
            told(f"{what} in a study: code {code}, {said}")


def hostile(folder: Path, goes: Goes, found: Counter) -> None:
    """Files that someone made on purpose: refused, soon, and without much memory."""
    code, said = child(lambda: prepare_damaged(folder))
    assert code == 0, said
    for name, place, change in attacks():
        copy = folder / f"hostile-{place}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / place, copy)
        change(copy)
        began = time.monotonic()
        code, said = child(lambda copy=copy: answer(copy))
        found["tried"] += 1
        found[SILENT] += code == 0
        found[TRACEBACK] += code not in (0, 2) or time.monotonic() - began > SECONDS
        if code != 2:
            told(f"hostile {name}: code {code}: {said}")
        if (folder / "stolen").exists():
            found[LOST] += 1


Change = Callable[[Path], object]


def attacks() -> Iterator[tuple[str, str, Change]]:
    def manifest(change: Callable[[dict], object]) -> Change:
        def act(folder: Path) -> None:
            content = json.loads((folder / "model.json").read_text())
            change(content)
            (folder / "model.json").write_text(json.dumps(content))

        return act

    def weights(header: bytes) -> Change:
        return lambda folder: next(folder.glob("weights*")).write_bytes(header)

    def raw(text: str, name: str = "model.json") -> Change:
        return lambda folder: (folder / name).write_text(text)

    huge = json.dumps({"w": {"dtype": "F64", "shape": [1 << 40], "data_offsets": [0, 1 << 43]}}).encode()
    yield "depth", "model", raw("[" * 100_000)
    yield "object in object", "model", raw('{"a":' * 100_000)
    yield "60 MB schema", "model", manifest(lambda content: content.update(schema=["x" * 60] * 1_000_000))
    yield "digits", "model", raw('{"schema": ' + "9" * 100_000 + "}")
    yield "not text", "model", lambda folder: (folder / "model.json").write_bytes(os.urandom(5000))
    yield (
        "path out of the folder",
        "model",
        manifest(lambda content: content["weights"].update(name="../../etc/passwd")),
    )
    yield "absolute path", "model", manifest(lambda content: content["weights"].update(name="/etc/passwd"))
    yield "another file", "model", manifest(lambda content: content["weights"].update(name="model.json"))
    yield "header length", "model", weights(struct.pack("<Q", 1 << 62) + b"{}")
    yield "shape", "model", weights(struct.pack("<Q", len(huge)) + huge)
    yield "link", "model", _linked
    yield "points", "model", manifest(lambda content: content["mesh"].update(points=1 << 50))
    yield "number", "model", manifest(lambda content: content["normalizer"].update(a=float("nan")))
    yield "kind of model", "model", manifest(lambda content: content["specification"]["model"].update(name="os.system"))
    yield "zarr depth", "runs.zarr", raw('{"attributes":' * 100_000, "zarr.json")
    yield "zarr shape", "runs.zarr", raw_shape("fields", 1 << 50)
    yield "zarr cases", "runs.zarr", raw_shape("status", 1 << 50)
    yield "zarr codec", "runs.zarr", codec({"name": "pickle", "configuration": {}})
    yield "chunk", "runs.zarr", lambda folder: next((folder / "fields/c").rglob("0")).parent.is_dir() and _bomb(folder)


def _linked(folder: Path) -> None:
    path = next(folder.glob("weights*"))
    path.unlink()
    path.symlink_to("/etc/passwd")


def raw_shape(name: str, size: int) -> Change:
    def act(folder: Path) -> None:
        path = folder / name / "zarr.json"
        content = json.loads(path.read_text())
        content["shape"] = [*content["shape"][:-1], size]
        content["chunk_grid"]["configuration"]["chunk_shape"] = [1, *content["shape"][1:]]
        path.write_text(json.dumps(content))

    return act


def codec(entry: dict) -> Change:
    def act(folder: Path) -> None:
        path = folder / "fields/zarr.json"
        content = json.loads(path.read_text())
        content["codecs"].append(entry)
        path.write_text(json.dumps(content))

    return act


def _bomb(folder: Path) -> None:
    """A chunk that says it is far larger than its array."""
    import numcodecs

    path = next(path for path in sorted((folder / "fields/c").rglob("*")) if path.is_file())
    path.write_bytes(numcodecs.Zstd().encode(bytes(1 << 28)) + b"\x00\x00\x00\x00")
