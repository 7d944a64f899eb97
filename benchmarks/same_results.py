"""Compares the results of two studies of the same runs: by label, the largest difference of every kind of number.

    python benchmarks/same_results.py docs/study/results.json study/results.json

Compared are the rows that both have, by label, number of training runs, domain, variable and region. Differences of errors are in
units of the metrics, that is of standard deviations of the training runs; "equal" counts the numbers that are the same bit for
bit.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

KEYS = ("label", "runs", "domain", "variable", "region")
COLUMNS = ("mae", "relative_error", "miscalibration", "coverage90", "mean_std")


def rows_of(path: Path) -> dict[tuple, dict]:
    return {tuple(row.get(key) for key in KEYS): row for row in json.loads(path.read_text())["rows"]}


def numbers(row: dict) -> dict[str, float]:
    return {name: value for name, value in row.items() if isinstance(value, (int, float))}


def main() -> None:
    old, new = (rows_of(Path(path)) for path in sys.argv[1:3])
    largest: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(COLUMNS, 0.0))
    equal, compared = defaultdict(int), defaultdict(int)
    for key in sorted(old.keys() & new.keys(), key=str):
        label, before, after = key[0], numbers(old[key]), numbers(new[key])
        for name in before.keys() & after.keys():
            compared[label] += 1
            equal[label] += before[name] == after[name]
        for name in (name for name in COLUMNS if name in before and name in after):
            largest[label][name] = max(largest[label][name], abs(before[name] - after[name]))
    print(f"| label | numbers | equal | {' | '.join(COLUMNS)} |\n|---|---:|---:|{'---:|' * len(COLUMNS)}")
    for label, found in largest.items():
        print(f"| {label} | {compared[label]} | {equal[label]} | {' | '.join(f'{found[c]:.1e}' for c in COLUMNS)} |")


if __name__ == "__main__":
    main()
