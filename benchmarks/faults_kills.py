"""Kills at every file operation and at random moments, and disks that are full from every operation on."""

import itertools
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from faults_jobs import Job, answer, jobs
from faults_shim import DEFECT, Work, child, full_from, killed_at, told

LOST, SILENT, TRACEBACK = "lost or different", "silent wrong answers", "tracebacks"
Goes = Callable[[], bool]


class Before:
    """The state that a job begins with, its answer there and at its end, and how long it takes."""

    def __init__(self, name: str, job: Job):
        self.name, self.job = name, job
        self.kept = job.made.with_name(f"kept-{job.made.name}")
        code, self.first = child(lambda: (job.begin(), answer(job.made))[1])
        assert code == 0, (name, self.first)
        shutil.rmtree(self.kept, ignore_errors=True)
        if job.made.exists():
            shutil.copytree(job.made, self.kept, symlinks=True)
        began = time.monotonic()
        code, said = child(job.work)
        assert code == 0, (name, said)
        self.seconds = time.monotonic() - began
        self.last = child(lambda: answer(job.made))[1]
        assert self.first != self.last, name

    def restore(self) -> None:
        for path in (self.job.made, *self.job.made.parent.glob(f".{self.job.made.name}.*")):
            shutil.rmtree(path, ignore_errors=True)
        if self.kept.exists():
            shutil.copytree(self.kept, self.job.made, symlinks=True)

    def judge(self, what: str, found: Counter) -> None:
        """All is old or new, or can be continued; and the same work comes to the same end."""
        code, said = child(lambda: answer(self.job.made))
        if code == DEFECT:
            found[TRACEBACK] += 1
            told(f"{what}: {said}")
        elif said not in (self.first, self.last) and not (self.job.continues and code == 0):
            found[LOST] += 1
            told(f"{what}: {said}")
        if said != self.last:
            code, words = child(self.job.work)
            found[TRACEBACK] += code == DEFECT
            code_then, then = child(lambda: answer(self.job.made))
            if code or then != self.last:
                found[LOST] += 1
                told(f"{what}: not the same after another go ({code}, {words}, {code_then}, {then[:100]})")


def operations(work: Work) -> int:
    """How many there are."""
    count = itertools.count()

    def counting() -> str:
        from faults_shim import disturbed

        disturbed(work, lambda name: next(count) and None)()
        return str(next(count))

    code, said = child(counting)
    assert code == 0, said
    return int(said)


def moments(total: int, most: int) -> list[int]:
    """All of them, or at most so many, evenly spread, with the first and the last."""
    if total <= most:
        return list(range(total))
    return sorted({round(share * (total - 1) / (most - 1)) for share in range(most)})


def kill_everywhere(folder: Path, goes: Goes, found: Counter, most: int) -> None:
    """Every job, killed at its file operations one after the other, at most so many of a job."""
    for name, job in jobs(folder).items():
        before = Before(name, job)
        before.restore()
        total, tried = operations(job.work), 0
        for moment in moments(total, most):
            if not goes():
                told(f"stopped in {name} after {tried} of {total} operations")
                return
            before.restore()
            if child(killed_at(moment, job.work))[0] == 0:
                continue  # threads take turns: this time it had fewer
            tried += 1
            found["tried"] += 1
            before.judge(f"killed at operation {moment} of {name}", found)
        found[f"of {name}"] = tried
        told(f"  {name}: killed at {tried} of {total} operations")


def kill_at_random(folder: Path, goes: Goes, found: Counter, seed: int) -> None:
    """Kills at random moments, in turns of the jobs; of those that continue, again and again before they are judged."""
    rng = random.Random(seed)
    states = [Before(name, job) for name, job in jobs(folder).items() if name not in ("study", "train, network")]
    for before in itertools.cycle(states):
        if not goes():
            return
        before.restore()
        for _ in range(3 if before.job.continues else 1):
            child(before.job.work, kill_after=rng.uniform(0, 1.1 * before.seconds))
            found["tried"] += 1
        before.judge(f"random kills of {before.name}", found)


def fill_disk(folder: Path, goes: Goes, found: Counter) -> None:
    """A disk that is full from the n-th operation on: one sentence, and all is as before or can be continued."""
    for name, job in jobs(folder).items():
        if name in ("study", "train, network"):
            continue
        before = Before(name, job)
        for moment in range(0, 200, 3):
            if not goes():
                return
            before.restore()
            code, said = child(full_from(moment, job.work))
            if code == 0:
                break
            found["tried"] += 1
            if code != 2 or "full" not in said:
                found[TRACEBACK] += 1
                told(f"disk full at {moment} of {name}: code {code}, {said}")
            before.judge(f"disk full at {moment} of {name}", found)
