"""Keeps the tables, figures and results of a finished study in docs/: the reference study and its companions.

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
# Of the companions of the reference study, what a reader needs; their results take megabytes, and minutes to make again.
BRIEFLY = {
    ".": ("study.toml", "provenance.json"),
    "figures": (
        "relative_errors.png",
        "miscalibration.png",
        "spatial_u1.png",
        "evidential_*.png",
        "learning_curves.png",
    ),
    "tables": ("*.md", "*.csv"),
}
# Some figures are about the paper's kinds, which the preset methods does not have.
OF_METHODS = {
    ".": BRIEFLY["."],
    "figures": ("learning_curves.png",),
    "tables": tuple(
        f"{name}.{ending}"
        for name in ("claims", "leaderboard", "learning_curves", "coverage", "regions", "relative_errors")
        for ending in ("md", "csv")
    ),
}
KEEPING = {"paper": KEPT, "nearest": BRIEFLY, "methods": OF_METHODS, "kinds": BRIEFLY}
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
HEADS = {
    "paper": """# The reference study

Made by

    sureflow study --preset paper -o paper/
    python benchmarks/reference.py paper/

on 441 runs of our own solver. `report.html`, which the first command makes as well, is not kept here; `results.json` has
everything that was measured, `provenance.json` times and versions. Where ours differs from the paper, and why:
[differences.md](differences.md). How long it takes: [speed.md](../speed.md).

The rows called default are `interpolation` with free-stream scaling. On these runs, `sureflow train` chooses `layer-aligned`,
which errs less (the table of the [front page](../../README.md)). POD-DeepONet and the body-fitted DeepONet have the settings in
`study.toml`; with those of [methods](../methods/README.md) they err less.
""",
    "nearest": """# The paper's four kinds on the reading that comes nearest to its table

Made by

    sureflow study --preset nearest -o nearest/
    python benchmarks/reference.py nearest/ --preset nearest

on 441 runs with an adiabatic wall; fields are divided by those of the free stream, and errors are measured so. Less was trained
than in the [reference study](../study/README.md), as the preset says. `study.toml` has all settings, `provenance.json`
times and versions. What it says of the paper: [differences](../study/differences.md).
""",
    "methods": """# The operator networks that the paper leaves to others

Made by

    sureflow study --preset methods -o methods/
    python benchmarks/reference.py methods/ --preset methods

on the 441 runs of the [reference study](../study/README.md), with its split. `study.toml` has all settings, `provenance.json`
times and versions. When to use which model: [learning](../learning.md). The paper's own networks: [kinds](../kinds/README.md).
""",
    "kinds": """# The paper's four kinds at their best, and what it names beside them

Made by

    sureflow study --preset kinds -o kinds/
    python benchmarks/reference.py kinds/ --preset kinds

on the 441 runs of the [reference study](../study/README.md), with its split, for fewer epochs than there, as the preset says.
`study.toml` has all settings, `provenance.json` times and versions. Other networks: [methods](../methods/README.md). What the
study says of the paper: [differences](../study/differences.md).
""",
}
DOCS = {"paper": "study", "nearest": "nearest", "methods": "methods", "kinds": "kinds"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="folder of a finished study")
    parser.add_argument("--preset", choices=list(HEADS), default="paper")
    options = parser.parse_args()
    docs = Path("docs") / DOCS[options.preset]
    for folder, patterns in KEEPING[options.preset].items():
        keep(options.study / folder, docs / folder, patterns)
    (docs / "README.md").write_text(page(options.study, docs, HEADS[options.preset]))


def keep(source: Path, target: Path, patterns: tuple[str, ...]) -> None:
    """Copy what is to be kept, and nothing of an earlier study."""
    target.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        for path in target.glob(pattern):
            path.unlink()
        for path in source.glob(pattern):
            shutil.copy(path, target / path.name)


def page(study: Path, docs: Path, head: str) -> str:
    """Tables and figures on one page."""
    sections = [head]
    sections += [
        f"## {title}\n\n{(docs / 'tables' / f'{name}.md').read_text().strip()}\n"
        for name, title in TITLES.items()
        if (docs / "tables" / f"{name}.md").exists()
    ]
    words = captions(Findings.read(study))
    sections.append("## Figures\n")
    sections += [
        f"![{name.replace('_', ' ')}](figures/{name}.png)\n\n{caption}\n"
        for name, caption in words.items()
        if (docs / "figures" / f"{name}.png").exists()
    ]
    return "\n".join(sections)


if __name__ == "__main__":
    main()
