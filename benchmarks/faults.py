"""What survives: kills at every file operation, mutated files, fuzzed input, and models asked while they are replaced.

    python benchmarks/faults.py --kills 1000 --mutations 2000 --inputs 10000 --asked 10000 --minutes 30

Everything is small, seeded, and bounded in time; the table says how much was tried. Work is done in forked children of a
process that has imported everything, so that a kill costs milliseconds.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from sureflow.cli import main as command
from sureflow.data import runs as _runs  # noqa: F401 (imported before the forks)
from sureflow.data.runs import Runs
from sureflow.data.store import add_runs, open_runs
from sureflow.errors import SureflowError
from sureflow.surrogate import calibrate as _calibrate  # noqa: F401
from sureflow.surrogate.artifact import load, write_model
from sureflow.surrogate.experiment import read_experiment
from sureflow.surrogate.model_folder import alone_in
from sureflow.surrogate.workshop import calibrate_in, train_into

COUNTED = ("replace", "rename", "unlink", "remove", "fsync", "mkdir", "rmdir")
SILENT, TRACEBACK, LOST = "silent wrong answers", "tracebacks", "lost or different"


def small_runs(start: float = 0.0, count: int = 12) -> Runs:
    """A wave whose phase is the angle, on 20 points."""
    x, angle = np.linspace(0, 1, 20)[:, None], start + np.linspace(0, 4, count)
    return Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})


def child(work: Callable[[], object]) -> tuple[int, str]:
    """Do something in a fork; its exit code (minus the signal that killed it) and what it said."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        code = 0
        try:
            os.close(reader)
            os.write(writer, str(work() or "").encode()[:60000])
        except SureflowError as error:
            os.write(writer, str(error).encode())
            code = 2
        except BaseException as error:
            os.write(writer, repr(error).encode()[:2000])
            code = 70
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


def killed_at(moment: int, work: Callable[[], object]) -> Callable[[], object]:
    """The work, in which the given file operation does not happen: the process is killed instead."""

    def act() -> object:
        done = itertools.count()

        def counted(action: Callable) -> Callable:
            def call(*arguments, **options):
                if next(done) == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                return action(*arguments, **options)

            return call

        for name in COUNTED:
            setattr(os, name, counted(getattr(os, name)))
        return work()

    return act


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder but those that tell times, and locks."""
    skipped = ("provenance.json", ".lock")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in skipped)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def train(folder: Path, model: str) -> Callable[[], object]:
    def work() -> None:
        given = {"runs": folder / "runs.zarr", "output": folder / "model", "model": model}
        train_into(read_experiment(None, **given), overwrite=True)

    return work


def jobs(folder: Path) -> dict[str, tuple[Callable[[], object], Callable[[], object], Path]]:
    """By name: how it begins, what is done and killed, and the folder that it makes."""
    model, store = folder / "model", folder / "runs.zarr"

    def trained() -> None:
        train(folder, "interpolation")()

    def nothing() -> None:
        shutil.rmtree(folder / "copy.zarr", ignore_errors=True)

    return {
        "train, first": (lambda: shutil.rmtree(model, ignore_errors=True), train(folder, "interpolation"), model),
        "train, replacing": (trained, train(folder, "pod-gp"), model),
        "calibrate": (trained, lambda: calibrate_in(model, open_runs(store)), model),
        "runs, first": (nothing, lambda: open_runs(store).save(folder / "copy.zarr"), folder / "copy.zarr"),
        "runs, replacing": (
            lambda: small_runs(9.0).save(folder / "copy.zarr", overwrite=True),
            lambda: open_runs(store).save(folder / "copy.zarr", overwrite=True),
            folder / "copy.zarr",
        ),
        "runs, added": (
            lambda: small_runs().save(folder / "copy.zarr", overwrite=True),
            lambda: add_runs(folder / "copy.zarr", small_runs(9.0, 3)),
            folder / "copy.zarr",
        ),
    }


def answer(folder: Path) -> str:
    """What a model or a store says, or that there is none."""
    if (folder / "model.json").exists():
        return load(folder).predict(angle=[1.1, 2.3]).p.values.tobytes().hex()
    return open_runs(folder).checksum if (folder / "zarr.json").exists() else "nothing"


def kill_everywhere(folder: Path, most: int, until: float, found: Counter) -> None:
    """Every operation of every job, in turns, over and over until enough were tried."""
    for name, job in itertools.cycle(jobs(folder).items()):
        operations = kill_job(name, *job, most, until, found)
        if found["kills"] >= most or time.monotonic() > until:
            return
        print(f"  {name}: {operations} operations", flush=True)


def kill_job(
    name: str,
    begin: Callable[[], object],
    work: Callable[[], object],
    made: Path,
    most: int,
    until: float,
    found: Counter,
) -> int:
    """One job, killed at each of its file operations: before it is repeated all is old or new, and afterwards new."""
    code, before = child(lambda: (begin(), answer(made))[1])
    assert code == 0, (name, before)
    kept = contents(made)
    code, said = child(work)
    assert code == 0, (name, said)
    after = child(lambda: answer(made))[1]
    for moment in itertools.count():
        if found["kills"] >= most or time.monotonic() > until:
            return moment
        shutil.rmtree(made, ignore_errors=True)
        for path, content in kept.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_bytes(content)
        if child(killed_at(moment, work))[0] == 0:
            return moment  # it has no further operation
        found["kills"] += 1
        said = child(lambda: answer(made))[1]
        if said not in (before, after):
            found[LOST] += 1
            print(f"after a kill at operation {moment} of {name}: {said[:200]}", flush=True)
        elif said == before and (child(work)[0] or child(lambda: answer(made))[1] != after):
            found[LOST] += 1
            print(f"not the same after a kill at operation {moment} of {name} and another go", flush=True)
    return 0


def mutated(rng: random.Random, files: list[Path]) -> str:
    """Damage one of the files; what was done."""
    path, kind = rng.choice(files), rng.choice(["flip", "cut", "delete", "swap", "grow"])
    content = bytearray(path.read_bytes())
    if kind == "flip" and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[rng.randrange(len(content) + 1) :]
    elif kind == "grow":
        content += rng.randbytes(rng.randrange(1, 100))
    elif kind == "swap":
        content = bytearray(rng.choice(files).read_bytes())
    path.write_bytes(content)
    if kind == "delete":
        path.unlink()
    return f"{kind} {path.name}"


def mutate(folder: Path, most: int, until: float, found: Counter, seed: int) -> None:
    """Files of a model and of a store, one at a time: the answer is the same, or refused in a sentence."""
    child(train(folder, "interpolation"))
    child(lambda: calibrate_in(folder / "model", open_runs(folder / "runs.zarr")))
    for batch in itertools.count():
        if found["mutations"] >= most or time.monotonic() > until:
            return

        def try_some(batch: int = batch) -> str:
            rng, seen = random.Random(f"{seed}-{batch}"), Counter()
            for name in ("model", "runs.zarr"):
                expected = answer(folder / name)
                for number in range(25):
                    copy = folder / f"damaged-{name}"
                    shutil.rmtree(copy, ignore_errors=True)
                    shutil.copytree(folder / name, copy)
                    skipped = ("provenance.json", "experiment.toml", ".lock")
                    what = mutated(rng, [p for p in sorted(copy.rglob("*")) if p.is_file() and p.name not in skipped])
                    seen["mutations"] += 1
                    try:
                        said = answer(copy)
                        wrong = said != expected and "status" not in str(what) and said != "nothing"
                        seen[SILENT] += wrong
                        if wrong:
                            print(f"batch {batch}, {number}: {what} in {name} goes unnoticed", flush=True)
                    except SureflowError:
                        seen["refused"] += 1
                    except Exception as error:
                        seen[TRACEBACK] += 1
                        print(f"batch {batch}, {number}: {what} in {name}: {error!r}"[:300], flush=True)
            return json.dumps(seen)

        code, said = child(try_some)
        found.update(json.loads(said) if code == 0 else {TRACEBACK: 1})


WORDS = (
    "a",
    "",
    "é",
    "x" * 300,
    "../x",
    "/",
    ".",
    "nan",
    "-1",
    "0",
    "1e999",
    "9" * 5000,
    "[]",
    "{}",
    "[" * 2000,
    "=",
    "\x00"[:0],
)
KEYS = (
    "model",
    "uq",
    "train.epochs",
    "members",
    "split.kind",
    "scaling",
    "coordinates",
    "head",
    "sampler",
    "runs",
    "spec",
)
COMMANDS = {
    "train": ("--model", "--scaling", "--uq", "--set", "--hold-out", "-o"),
    "predict": ("--mach", "--altitude", "--conditions", "--points", "-o"),
    "evaluate": ("--split",),
    "info": ("--figure", "--json"),
    "calibrate": ("--folds",),
    "curve": ("--models", "--sizes", "--split", "-o"),
    "report": (),
    "runs join": ("-o",),
    "runs split": ("--test", "--seed", "-o"),
}


def value(rng: random.Random) -> str:
    """What a user may write behind an equals sign, and what nobody should."""
    kinds = (
        lambda: rng.choice(WORDS),
        lambda: str(rng.uniform(-1e3, 1e3)),
        lambda: json.dumps(rng.choice(WORDS)),
        lambda: f"[{value(rng)}, {value(rng)}]",
        lambda: f"{{{rng.choice(('name', 'kind', 'a'))} = {value(rng)}}}",
    )
    return rng.choice(kinds)()


def line(rng: random.Random) -> list[str]:
    """A command line; nothing that it names exists, so that nothing is computed."""
    name = rng.choice(list(COMMANDS))
    words = [*name.split(), *(rng.choice(("nowhere", "nowhere.zarr", "a=1", *WORDS)) for _ in range(rng.randrange(4)))]
    for option in rng.sample(COMMANDS[name], rng.randrange(len(COMMANDS[name]) + 1)):
        words += [option, f"{rng.choice(KEYS)}={value(rng)}" if option == "--set" else value(rng)]
    return [word for word in words if "\x00" not in word]


def run_line(words: list[str]) -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.argv = ["sureflow", *words]
        try:
            command()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def fuzz(folder: Path, most: int, until: float, found: Counter, seed: int) -> None:
    """Command lines and TOML files by grammar: exit code 0 or 2, and never a defect."""
    for batch in itertools.count():
        if found["inputs"] >= most or time.monotonic() > until:
            return

        def try_some(batch: int = batch) -> str:
            rng, seen = random.Random(f"{seed}-{batch}"), Counter()
            os.chdir(tempfile.mkdtemp(dir=folder))
            for _ in range(500):
                words = line(rng)
                if rng.random() < 0.4:
                    text = "\n".join(f"{rng.choice(KEYS)} = {value(rng)}" for _ in range(rng.randrange(1, 5)))
                    Path("given.toml").write_text(f'runs = "nowhere"\noutput = "model"\n{text}\n')
                    words = ["train", "given.toml"]
                seen["inputs"] += 1
                code = run_line(words)
                if code not in (0, 2):
                    seen[TRACEBACK] += 1
                    print(f"code {code}: {words}"[:400], flush=True)
            return json.dumps(seen)

        code, said = child(try_some)
        found.update(json.loads(said) if code == 0 else {TRACEBACK: 1})


def ask_while_replaced(folder: Path, most: int, until: float, found: Counter) -> None:
    """A model that is asked while it is trained and calibrated anew: every answer is wholly one of theirs."""
    place = folder / "asked"
    for name in ("interpolation", "pod-gp"):
        child(train(folder, name))
        child(lambda name=name: calibrate_in(folder / "model", open_runs(folder / "runs.zarr")))
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(folder / "model", folder / name)
    shutil.copytree(folder / "interpolation", place)
    one, other = (child(lambda name=name: answer(folder / name))[1] for name in ("interpolation", "pod-gp"))

    def replace_for_ever() -> None:
        models = [load(folder / name) for name in ("pod-gp", "interpolation")]
        for number in range(50):
            with alone_in(place):
                write_model(models[number % 2], place)
            time.sleep(0.2)

    writer = os.fork()
    if writer == 0:
        replace_for_ever()
        os._exit(0)

    def ask() -> str:
        seen: Counter = Counter()
        while seen["asked"] < most and time.monotonic() < until:
            said = answer(place)
            seen["asked"] += 1
            seen["of the one"] += said == one
            seen[SILENT] += said not in (one, other)
        return json.dumps(seen)

    code, said = child(ask)
    os.waitpid(writer, 0)
    found.update(json.loads(said) if code == 0 else {TRACEBACK: 1})
    if code:
        print(said[:500])


def rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[str, int, Counter]]:
    until = time.monotonic() + 60 * options.minutes
    child(lambda: small_runs().save(folder / "runs.zarr"))
    for name, key, test in (
        ("kills at file operations", "kills", lambda found: kill_everywhere(folder, options.kills, until, found)),
        ("mutated files", "mutations", lambda found: mutate(folder, options.mutations, until, found, options.seed)),
        ("fuzzed input", "inputs", lambda found: fuzz(folder, options.inputs, until, found, options.seed)),
        (
            "asked while replaced 50 times",
            "asked",
            lambda found: ask_while_replaced(folder, options.asked, until, found),
        ),
    ):
        found: Counter = Counter()
        test(found)
        yield name, found[key], found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("kills", 100), ("mutations", 200), ("inputs", 1000), ("asked", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    bad = 0
    with tempfile.TemporaryDirectory(prefix="sureflow-faults-") as folder:
        table = [f"| what | tried | {LOST} | {SILENT} | {TRACEBACK} |", "|---|---:|---:|---:|---:|"]
        for name, tried, found in rows(options, Path(folder)):
            bad += found[LOST] + found[SILENT] + found[TRACEBACK]
            table.append(f"| {name} | {tried:,} | {found[LOST]} | {found[SILENT]} | {found[TRACEBACK]} |")
            print(table[-1], flush=True)
    print("\n".join(table))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
