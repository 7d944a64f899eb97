"""A replay in a folder: every trace is kept when it is done, so that an interrupted replay goes on."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from sureflow.acquire.folders import require_own_folder
from sureflow.acquire.replay import Replay, ReplaySettings, Trace
from sureflow.acquire.replay_findings import replay_rows
from sureflow.data.runs import Runs
from sureflow.errors import Exists
from sureflow.files import write_atomically
from sureflow.validation import plain

TRACES, TABLE = "traces.jsonl", "table.csv"


def replay_into(
    folder: Path,
    runs: Runs,
    given: ReplaySettings,
    *,
    overwrite: bool = False,
    watch: Callable[[int, int, str], None] = lambda done, total, way: None,
) -> list[Trace]:
    """All traces of a replay, those of an earlier call with the same runs and settings read from the folder."""
    replay = Replay.of(runs, given)
    heading = json.dumps({"checksum": replay.runs.checksum, "settings": plain(replay.settings)})
    require_own_folder(folder, TRACES, "replay")
    path = folder / TRACES
    traces = _kept(path, heading, overwrite=overwrite)
    done = {(trace.way, trace.start) for trace in traces}
    jobs = replay.jobs()
    folder.mkdir(parents=True, exist_ok=True)
    if not traces:
        write_atomically(path, (heading + "\n").encode())
    with path.open("a", encoding="utf-8") as file:
        for way, start in jobs:
            watch(len(traces), len(jobs), way)
            if (way, start) not in done:
                traces.append(replay.trace(way, start))
                file.write(json.dumps(asdict(traces[-1])) + "\n")
                file.flush()
    return sorted(traces, key=lambda trace: (trace.start, given.ways.index(trace.way)))


def write_table(folder: Path, traces: Sequence[Trace], targets: Sequence[float]) -> None:
    rows = replay_rows(traces, targets)
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
    write_atomically(folder / TABLE, text.getvalue().encode())


def _kept(path: Path, heading: str, *, overwrite: bool) -> list[Trace]:
    """Whole lines of an earlier replay; a line that was cut off is computed again."""
    if not path.exists():
        return []
    first, *lines = path.read_text(encoding="utf-8").split("\n")
    if first != heading:
        if not overwrite:
            raise Exists(f"{path} is of other runs or settings: choose another folder, or allow it to be replaced")
        path.unlink()
        return []
    whole = lines[:-1]
    write_atomically(path, "\n".join([first, *whole, ""]).encode())
    found = [json.loads(line) for line in whole]
    return [Trace(row["way"], row["start"], *(tuple(row[key]) for key in ("runs", "error", "own"))) for row in found]
