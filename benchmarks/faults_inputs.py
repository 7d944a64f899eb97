"""Command lines and TOML files by grammar: what makes no sense is refused, what is right is done, and never a defect."""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from faults_jobs import train
from faults_kills import LOST, TRACEBACK, Goes
from faults_shim import child, told
from sureflow.cli import main as command

AT_ONCE = 250
RIGHT = 0.05  # share of command lines without a mistake
WORDS = (
    *("a", "", "é", "x" * 300, "../x", "/", ".", "nan", "-1", "0", "1e999", "9" * 5000, "[]", "{}", "[" * 2000, "="),
    *("true", "null", "'", '"', "1979-05-27", "0x10", "inf", "-", "--", "mach=", "=1", "a=b=c", "\u202e", "\x1b[31m"),
)
KEYS = (
    *(
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
    ),
    *(
        "model.name",
        "model.candidates",
        "train",
        "split",
        "split.test_runs",
        "model.kernel",
        "head.beta",
        "output",
        "a.b.c",
    ),
)
COMMANDS = {
    "train": ("--model", "--scaling", "--uq", "--set", "--hold-out", "-o"),
    "predict": ("--mach", "--altitude", "--conditions", "--points", "-o", "--surface", "--on"),
    "evaluate": ("--split", "--folds"),
    "info": ("--figure", "--json"),
    "calibrate": ("--finer", "--coarser"),
    "curve": ("--models", "--sizes", "--split", "-o"),
    "report": (),
    "runs join": ("-o",),
    "runs split": ("--test", "--seed", "-o"),
    "runs add": (),
    "runs export": ("-o",),
    "import": ("--table", "--pattern", "--entry", "--field", "--unit", "--mesh", "--config", "-o"),
    "propose": ("-o",),
    "explore": ("-o",),
}
# The kinds of TOML files that commands take, with the keys that they know.
FILES = {
    "train": KEYS,
    "generate": ("conditions", "mesh.cells", "mesh", "gas", "wall.kind", "solver.tolerance", "parts", "body.length"),
    "study": ("campaign", "runs", "split", "models", "network", "selection", "train.epochs", "shown", "metrics"),
    "import": ("source", "pattern", "table", "entries", "fields", "units", "mesh", "quantities.a.kind", "quantities"),
}


def value(rng: random.Random, depth: int = 0) -> str:
    """What a user may write behind an equals sign, and what nobody should."""
    kinds = (
        lambda: rng.choice(WORDS),
        lambda: str(rng.uniform(-1e3, 1e3)),
        lambda: str(rng.randrange(-5, 50)),
        lambda: json.dumps(rng.choice(WORDS)),
        lambda: f"[{value(rng, depth + 1)}, {value(rng, depth + 1)}]",
        lambda: f"{{{rng.choice(('name', 'kind', 'mach', 'label'))} = {value(rng, depth + 1)}}}",
    )
    return rng.choice(kinds[: 4 if depth > 3 else 6])()


def line(rng: random.Random) -> list[str]:
    """A command line; nothing that it names exists, so that nothing is computed."""
    name = rng.choice(list(COMMANDS))
    words = [*name.split(), *(rng.choice(("nowhere", "nowhere.zarr", "a=1", *WORDS)) for _ in range(rng.randrange(4)))]
    for option in rng.sample(COMMANDS[name], rng.randrange(len(COMMANDS[name]) + 1)):
        words += [option, f"{rng.choice(KEYS)}={value(rng)}" if option == "--set" else value(rng)]
    return words


def file_line(rng: random.Random) -> list[str]:
    """A command with a TOML file."""
    name = rng.choice(list(FILES))
    lines = [f"{rng.choice(FILES[name])} = {value(rng)}" for _ in range(rng.randrange(1, 5))]
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(("[a]", "[[models]]", "[[conditions]]", "[train", "x")))
    Path("given.toml").write_text("\n".join(lines) + "\n")
    return {
        "train": ["train", "given.toml", "-o", "model"],
        "generate": ["generate", "runs.zarr", "--preset", "given.toml", "--scheduler", "nonsense://x"],
        "study": ["study", "--preset", "given.toml", "-o", "made"],
        "import": ["import", "--config", "given.toml", "-o", "runs.zarr"],
    }[name]


def right_line(rng: random.Random) -> list[str]:
    """A command line without a mistake, about the runs and the model in the folder above."""
    runs, model, place = "../runs.zarr", "../model", f"made{rng.randrange(5)}"
    angle, kernel = f"angle={rng.uniform(0.0, 4.0):.{rng.randrange(9)}f}", rng.choice(("cubic", "thin-plate", "matern"))
    share = rng.choice(("0.2", "0.5", "2", "3"))
    return rng.choice(
        (
            ["info", rng.choice((runs, model)), *rng.choice(((), ("--json",)))],
            ["predict", model, angle],
            ["predict", model, angle, "-o", place + rng.choice((".csv", ".nc", ".zarr", ".vtu")), "--overwrite"],
            ["evaluate", model, runs, "--folds", *rng.choice(((), ("--json",)))],
            ["train", runs, "-o", place, "--model", "interpolation", "--set", f"model.kernel={kernel}", "--overwrite"],
            ["train", runs, "-o", place, "--model", "interpolation", "--hold-out", share, "--overwrite"],
            [
                "runs",
                "split",
                runs,
                "-o",
                f"{place}-split",
                "--test",
                share,
                "--seed",
                str(rng.randrange(99)),
                "--overwrite",
            ],
            ["runs", "export", runs, "-o", f"{place}-all.nc", "--overwrite"],
            ["propose", model, "--count", str(rng.randrange(1, 4)), "--seed", str(rng.randrange(99))],
        )
    )


def run_line(words: list[str]) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        sys.argv = ["sureflow", *words]
        try:
            command()
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()


def fuzz(folder: Path, goes: Goes, found: Counter, seed: int) -> None:
    batch = 0
    code, said = child(train(folder))
    assert code == 0, said
    while goes():
        code, said = child(lambda batch=batch: _some(folder, random.Random(f"{seed}-{batch}")))
        found.update(json.loads(said) if code == 0 else {TRACEBACK: 1})
        if code:
            told(f"batch {batch}: code {code}: {said}")
        batch += 1


def _some(folder: Path, rng: random.Random) -> str:
    seen: Counter = Counter()
    os.chdir(tempfile.mkdtemp(dir=folder))
    for _ in range(AT_ONCE):
        luck = rng.random()
        right = luck < RIGHT
        words = right_line(rng) if right else file_line(rng) if luck < 0.4 else line(rng)
        seen["tried"] += 1
        code, said = run_line(words)
        seen["refused"] += code == 2
        seen["done"] += code == 0
        if right and code:
            seen[LOST] += 1
            told(f"refused: {words}: {said[-200:]}")
        if code not in (0, 2) or "Traceback" in said:
            seen[TRACEBACK] += 1
            toml = Path("given.toml").read_text()[:300] if "given.toml" in words else ""
            told(f"code {code}: {[word[:40] for word in words]} {toml!r}: {said[-200:]}")
    return json.dumps(seen)
