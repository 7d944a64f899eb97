"""Models asked while they are replaced, campaigns whose workers die, signals, limits on memory, and a disk that is full."""

import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from faults_inputs import run_line
from faults_jobs import answer, campaign, formula, inline, of_store, slow_formula, train
from faults_kills import LOST, SILENT, TRACEBACK, Goes
from faults_shim import child, told
from sureflow.campaign.cluster import local_workers
from sureflow.campaign.run import run_campaign
from sureflow.data.store import open_runs
from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.surrogate.workshop import calibrate_in

REPLACED = 50
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
MEGABYTES = (60, 120, 200, 300, 400, 500, 600, 800, 1000, 1300, 1700, 2000)
WIDE = {"mach": [float(mach) for mach in range(10, 30)], "altitude_km": [20.0, 30.0, 40.0, 50.0, 60.0]}


def ask_while_replaced(folder: Path, goes: Goes, found: Counter) -> None:
    """A model that is trained and calibrated anew all the while, 50 times at least: every answer is wholly one of theirs."""
    place, kernels = folder / "asked", ("cubic", "matern")
    known = set()
    for kernel in kernels:
        for work in (train(folder, kernel, "asked"), lambda: calibrate_in(place, open_runs(folder / "runs.zarr"))):
            code, said = child(work)
            assert code == 0, said
            known.add(child(lambda: answer(place))[1])

    done, stop = folder / "replaced", folder / "enough"
    done.write_text("0")

    def replace_again_and_again() -> None:
        number = 0
        while number < REPLACED or not stop.exists():
            train(folder, kernels[number % 2], "asked")()
            calibrate_in(place, open_runs(folder / "runs.zarr"))
            number += 1
            write_atomically(done, str(number).encode())

    writer = os.fork()
    if writer == 0:
        os._exit(child(replace_again_and_again)[0])
    while goes() or int(done.read_text()) < REPLACED:  # nobody asks a model that has come to rest
        code, said = child(lambda: _ask(place, known))
        found.update(json.loads(said) if code == 0 else {TRACEBACK: 1})
        if code:
            told(f"asked while replaced: {said}")
            break
    found["replaced"] = int(done.read_text())
    stop.touch()
    found[LOST] += os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) != 0


def _ask(place: Path, known: set[str]) -> str:
    seen: Counter = Counter()
    for _ in range(100):
        said = answer(place)
        seen["tried"] += 1
        seen[SILENT] += said not in known
        seen[f"answer {sorted(known).index(said) if said in known else 'unknown'}"] += 1
    return json.dumps(seen)


def worker_processes() -> list[int]:
    """The processes that compute for this one."""
    mine = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    children = [int(number) for tasks in mine for number in tasks.read_text().split()]
    return [one for one in children if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]


def kill_workers(folder: Path, goes: Goes, found: Counter) -> None:
    """Campaigns on two Dask workers, one of which is killed again and again: the store is the one of an undisturbed one."""
    expected = folder / "undisturbed.zarr"
    code, said = child(lambda: run_campaign(expected, campaign(**WIDE), inline, solve=formula))
    assert code == 0, said
    for number in itertools.count():
        if not goes():
            return
        code, said = child(lambda number=number: _campaign_of_dying_workers(folder / "dying.zarr", goes, number))
        if code:
            found[TRACEBACK] += 1
            told(f"workers killed: code {code}: {said}")
            return
        found["tried"] += int(said)
        same = child(lambda: of_store(folder / "dying.zarr"))[1] == child(lambda: of_store(expected))[1]
        found[LOST] += not same
        found["campaigns"] += 1


def _campaign_of_dying_workers(path: Path, goes: Goes, seed: int) -> str:
    shutil.rmtree(path, ignore_errors=True)
    killed, over, rng = [0], threading.Event(), random.Random(seed)

    def kill_now_and_then() -> None:
        while not over.wait(rng.uniform(6.0, 14.0)):
            alive = worker_processes()
            if alive:
                os.kill(rng.choice(alive), signal.SIGKILL)
                killed[0] += 1

    killer = threading.Thread(target=kill_now_and_then, daemon=True)
    killer.start()
    try:
        for _ in range(50):  # a run whose worker died too often ends the campaign with a sentence: start it again
            try:
                run_campaign(path, campaign(**WIDE), lambda runs: local_workers(2), solve=slow_formula)
                return str(killed[0])
            except SureflowError as error:
                if "start the campaign again" not in str(error):
                    raise
    finally:
        over.set()
        killer.join()
    raise RuntimeError("the campaign came to no end")


def signals(folder: Path, goes: Goes, found: Counter, seed: int) -> None:
    """A signal at a random moment: its exit code, one sentence, and the same model as without after another go."""
    rng, place = random.Random(seed), folder / "signalled"
    lines = {
        "train": ["train", str(folder / "runs.zarr"), "-o", str(place), "--model", "interpolation", "--overwrite"],
        "calibrate": ["calibrate", str(place), str(folder / "runs.zarr")],
        "info": ["info", str(folder / "runs.zarr")],
    }
    child(lambda: run_line(lines["train"]))
    child(lambda: run_line(lines["calibrate"]))
    expected = child(lambda: answer(place))[1]
    for number, name in itertools.cycle(itertools.product(SIGNALS, lines)):
        if not goes():
            return
        code, said = _signalled(lines[name], number, rng.uniform(0.02, 0.5))
        found["tried"] += 1
        found["stopped"] += code == SIGNALS[number]
        if code not in (0, SIGNALS[number]) or "Traceback" in said or said.count("sureflow: ") > 1:
            found[TRACEBACK] += 1
            told(f"signal {number} in {name}: code {code}: {said}")
        child(lambda: run_line(lines["train"]))
        child(lambda: run_line(lines["calibrate"]))
        found[LOST] += child(lambda: answer(place))[1] != expected


def _signalled(words: list[str], number: int, delay: float) -> tuple[int, str]:
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        code, said = run_line(words)
        os.write(writer, said.encode()[:60000])
        os._exit(code)
    os.close(writer)
    time.sleep(delay)
    os.kill(process, number)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


def memory_limits(folder: Path, goes: Goes, found: Counter) -> None:
    """`sureflow predict` and `train` under limits from nothing to plenty: done, or one sentence, within 30 seconds."""
    child(train(folder))
    lines = (["predict", "model", "angle=1.1"], ["train", "runs.zarr", "-o", "limited", "--overwrite"])
    for words, limit in itertools.product(lines, MEGABYTES):
        if not goes():
            return
        command = [sys.executable, "-m", "sureflow", *words]
        command = ["sh", "-c", f'ulimit -v {limit << 10}; exec "$@"', "sh", *command]
        found["tried"] += 1
        try:
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=30)
        except subprocess.TimeoutExpired:
            found[TRACEBACK] += 1
            continue
        found["refused"] += ended.returncode == 2
        if ended.returncode not in (0, 2) or "Traceback" in ended.stderr:
            found[TRACEBACK] += 1
            told(f"{words[0]} under {limit} MB: code {ended.returncode}: {ended.stderr[-200:]}")


def real_full_disk(folder: Path, goes: Goes, found: Counter) -> None:
    """A small disk of its own, filled to various degrees; where none can be mounted, files that may not grow."""
    disk = folder / "disk"
    disk.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    found["mounted"] = int(mounted)
    try:
        for size in range(0, 600, 12):
            if not goes():
                return
            for path in disk.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if mounted:
                (disk / "filler").write_bytes(bytes(size << 10))
            _fill(folder, disk, None if mounted else size << 7, found)
    finally:
        if mounted:
            subprocess.run(["umount", str(disk)], check=False)


def _fill(folder: Path, disk: Path, largest: int | None, found: Counter) -> None:
    def work() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        open_runs(folder / "runs.zarr").save(disk / "runs.zarr")
        shutil.copytree(disk / "runs.zarr", disk / "again.zarr")

    code, said = child(work)
    found["tried"] += 1
    found["refused"] += code == 2
    if code not in (0, 2) or (code == 2 and "full" not in said and "No space" not in said and "too large" not in said):
        found[TRACEBACK] += 1
        told(f"full disk: code {code}: {said}")
    if (disk / "runs.zarr").exists():
        code, said = child(lambda: of_store(disk / "runs.zarr"))
        found[LOST] += code != 0
    left = [path.name for path in disk.iterdir() if path.name.startswith(".runs.zarr")]
    found[LOST] += bool(left)
