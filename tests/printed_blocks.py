"""Blocks of code in the README and the guides, and what the tests do with those that a test cannot run as they are.

Every line that calls `sureflow` is parsed as printed, so that each option exists. It is then run as printed, unless it is
listed here. Before a line runs, what it makes is removed: the lines of a block are often alternatives.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md"))))

MINUTES = "takes minutes or hours"
SOLVES = "computes flows; tests/cli/test_solve.py and test_generate.py do it on coarse meshes"
STAYS = "runs until it is stopped; tests/serve asks it"
ELSEWHERE = "needs another program or machine"
LEVELS = "needs runs on two meshes; tests/acquire/test_mesh_levels.py makes them"
BENCHMARK = "is a benchmark, of minutes to hours"

# What is run in place of a printed line, and why.
INSTEAD = {
    "sureflow train parts/train.zarr -o model/": (
        "sureflow train parts/train.zarr -o model/ --model interpolation",
        "the comparison of models takes long; tests/cli/test_train.py makes it",
    ),
    "sureflow train runs.zarr -o model/": (
        "sureflow train runs.zarr -o model/ --model interpolation",
        "the comparison of models takes long; tests/cli/test_train.py makes it",
    ),
    "sureflow train runs.zarr -o model/ --overwrite": (
        "sureflow train runs.zarr -o model/ --overwrite --model interpolation",
        "the comparison of models takes long; tests/cli/test_train.py makes it",
    ),
    "sureflow train runs.zarr --uq mve -o model-mve/": (
        "sureflow train runs.zarr --uq mve -o model-mve/ --set train.epochs=1",
        "97 epochs take minutes",
    ),
    "sureflow propose model/ runs.zarr --count 5 -o next.toml --picture next.png": (
        "sureflow propose model/ runs.zarr --count 5 -o next.csv --picture next.png",
        "a campaign continues a campaign, and these runs are of no solver; tests/cli/test_propose.py does it",
    ),
}
# Lines that are only parsed, by how they begin, and why.
NOT_RUN = {
    "make ": "installs and computes; what it calls is tested",
    "source ": "is for a shell",
    "pip install": "installs",
    "curl ": STAYS,
    "sureflow serve": STAYS,
    "sureflow solve": SOLVES,
    "sureflow generate": SOLVES,
    "sureflow improve": SOLVES,
    "sureflow replay": MINUTES,
    "sureflow curve": MINUTES,
    "sureflow study": "takes minutes or hours; tests/study runs small ones",
    "sureflow report": "needs a finished study; tests/study and tests/report make them",
    "sureflow train runs.zarr --model fno": MINUTES,
    "sureflow train examples/paper.toml": MINUTES,
    "sureflow evaluate model/ runs.zarr --split paper": "needs a model of the paper's training runs",
    "sureflow calibrate model/ runs.zarr --finer": SOLVES,
    "sureflow train runs.zarr -o model/ --model levels": LEVELS,
    "sureflow propose model/ runs.zarr --levels": LEVELS,
    "python benchmarks/": BENCHMARK,
}
# Blocks of Python that are not run, by a line in them, and why; and words that are replaced in those that are.
PYTHON_NOT_RUN = {
    "tritonclient": "needs tritonclient, which is not among the requirements",
    "sf.solve(": SOLVES,
    "model.explore()": "is for a notebook; tests/explore makes pages",
}
PYTHON_INSTEAD = {
    "sf.fit(train) ": 'sf.fit(train, "interpolation") ',
    'sf.fit(sf.open_runs("runs.zarr"))': 'sf.fit(sf.open_runs("runs.zarr"), "interpolation")',
    "points=[[0.1, 0.3]]": "points=[[-0.47, 0.3]]",  # in front of the body of these runs
    'train={"epochs": 20}': 'train={"epochs": 1}',
}
# Blocks that are neither commands nor code: how they begin.
WORDS = ("within the box", "# /etc/systemd", "[ranges]")


class Block(NamedTuple):
    page: str
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Lines of a shell without their remarks; one that ends in a backslash goes on in the next."""
        text = self.text.replace("\\\n", " ")
        lines = (line.partition("  #")[0].partition(" # ")[0].strip() for line in text.split("\n"))
        return [line for line in lines if line and not line.startswith("#")]


def blocks(page: str) -> Iterator[Block]:
    """Fenced and indented blocks of a page."""
    lines = (ROOT / page).read_text().split("\n")
    number = 0
    while number < len(lines):
        begin, line = number, lines[number]
        if line.startswith("```"):
            number = lines.index("```", begin + 1)
            yield Block(page, begin + 1, line[3:].strip(), "\n".join(lines[begin + 1 : number]))
        elif line.startswith("    ") and not lines[begin - 1].strip():
            while number + 1 < len(lines) and (lines[number + 1].startswith("    ") or not lines[number + 1].strip()):
                number += 1
            yield Block(page, begin + 1, "", "\n".join(text[4:] for text in lines[begin : number + 1]).rstrip())
        number += 1


def kind(block: Block) -> str:
    """shell, python, toml or words."""
    if block.language:
        return {"sh": "shell"}.get(block.language, block.language)
    if block.text.startswith(WORDS):
        return "words"
    first = block.text.split(maxsplit=1)[0]
    return "shell" if first in ("sureflow", "make", "python", "pip", "source", "curl") else "python"
