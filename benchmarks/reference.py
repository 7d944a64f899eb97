"""Keeps the tables, figures and results of a study as the reference study in docs/study.

sureflow study --preset paper -o paper/
python benchmarks/reference.py paper/
"""

import argparse
import shutil
from pathlib import Path

from sureflow.report.captions import captions
from sureflow.report.findings import Findings

KEPT = {
    ".": ("results.json", "study.toml", "provenance.json"),
    "figures": ("*.png",),
    "tables": ("*.md", "*.csv", "*.tex"),
}
TITLES = {
    "summary": "Error and calibration",
    "appendix": "The appendix table of the paper, beside ours",
    "draws": "Other draws of the test runs",
    "claims": "The paper's claims",
    "leaderboard": "All models",
    "learning_curves": "Learning curves",
    "coverage": "Coverage of intervals",
    "regions": "By region of the flow",
    "relative_errors": "Relative errors",
    "selection": "Training settings: candidates and their errors on held-out training runs",
}
HEAD = """# The reference study

Made by

    sureflow study --preset paper -o paper/
    python benchmarks/reference.py paper/

on 441 runs of our own solver. `report.html`, which the first command makes as well, is not kept here; `results.json` has
everything that was measured, `provenance.json` times and versions. Where ours differs from the paper, and why:
[differences.md](differences.md). How long it takes: [speed.md](../speed.md).

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of a finished study")
    parser.add_argument("--docs", type=Path, default=Path("docs/study"))
    options = parser.parse_args()
    for folder, patterns in KEPT.items():
        keep(options.study / folder, options.docs / folder, patterns)
    (options.docs / "README.md").write_text(page(options.docs))


def keep(source: Path, target: Path, patterns: tuple[str, ...]) -> None:
    """Copy what is to be kept, and nothing of an earlier study."""
    target.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        for path in target.glob(pattern):
            path.unlink()
        for path in source.glob(pattern):
            shutil.copy(path, target / path.name)


def page(docs: Path) -> str:
    """Tables and figures on one page."""
    sections = [HEAD.rstrip() + "\n"]
    sections += [
        f"## {title}\n\n{(docs / 'tables' / f'{name}.md').read_text().strip()}\n"
        for name, title in TITLES.items()
        if (docs / "tables" / f"{name}.md").exists()
    ]
    words = captions(Findings.read(docs))
    sections.append("## Figures\n")
    sections += [
        f"![{name.replace('_', ' ')}](figures/{name}.png)\n\n{caption}\n"
        for name, caption in words.items()
        if (docs / "figures" / f"{name}.png").exists()
    ]
    return "\n".join(sections)


if __name__ == "__main__":
    main()
