"""How far the numbers of explorer pages lie from those of the models, in Chromium, and how large the pages are.

    python benchmarks/explorer_agreement.py model/ [other/ ...] [--conditions 50]

Of the conditions, drawn at random, half lie between the runs, and half anywhere that the sliders go. Differences of means are
shares of the range of a field, at the worst point of all; those of bars are shares of the bar at the point, or of a hundredth of
the largest bar of the field where the bar is smaller than that; those of quantities are shares of themselves, and those of their
bars shares of the bar, or of a hundredth of the quantity where the bar is smaller than that.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from selenium.webdriver.support.ui import WebDriverWait

import sureflow as sf
from explorer import driver
from sureflow.explore.agreement import checked_conditions
from sureflow.explore.description import slider_ranges
from sureflow.surrogate.both_ways import better_values, both_ways
from sureflow.surrogate.model import Surrogate

LEAST_BAR = 0.01  # of the largest bar of a field, or of a quantity
AT_ONCE = 5
ASKED = """
const [conditions, fields] = arguments;
return conditions.map((at) => {
  const answer = explorer.source.answer(at);
  return { mean: fields.map((v) => Array.from(answer.mean(v))), std: fields.map((v) => Array.from(answer.std(v))),
    quantities: answer.quantities && answer.quantities.map(({ value, std }) => [value, std]) };
});"""


def differences(surrogate: Surrogate, page: Path, count: int) -> dict[str, float]:
    """The largest ones, by what differs."""
    at, worst = checked_conditions(surrogate, slider_ranges(surrogate), count), {}
    with driver() as browser:
        browser.set_script_timeout(600)
        browser.get(page.as_uri())
        WebDriverWait(browser, 120, 0.1).until(
            lambda b: b.execute_script("return document.body.dataset.ready === 'true'")
        )
        for first in range(0, count, AT_ONCE):
            some = at[first : first + AT_ONCE]
            found = browser.execute_script(ASKED, some.tolist(), list(range(len(surrogate.names))))
            for name, value in _differences(surrogate, some, found).items():
                worst[name] = max(worst.get(name, 0.0), value)
    return worst


def _differences(surrogate: Surrogate, at: np.ndarray, found: list[dict]) -> dict[str, float]:
    answer = surrogate.answer(at)
    mean, std = (np.asarray(one) for one in (answer.predictive.mean, answer.predictive.std))
    off = np.abs(np.array([one["mean"] for one in found]) - mean) / np.ptp(mean, axis=2, keepdims=True)
    size = np.maximum(std, LEAST_BAR * std.max(axis=2, keepdims=True))
    worst = {"mean": off.max(), "bars": (np.abs(np.array([one["std"] for one in found]) - std) / size).max()}
    if found[0]["quantities"]:
        shown = np.array([one["quantities"] for one in found], float)
        both = better_values(surrogate, both_ways(surrogate, at, answer))
        values, bars = (one[:, : shown.shape[1]] for one in both)
        worst["quantities"] = np.nanmax(np.abs(shown[:, :, 0] / values - 1.0))
        size = np.maximum(bars, LEAST_BAR * np.abs(values))
        worst["their bars"] = np.nanmax(np.abs(shown[:, :, 1] - bars) / size)
    return {name: float(value) for name, value in worst.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--conditions", type=int, default=50)
    options = parser.parse_args()
    print("| model | runs | page | means, of the range | bars | quantities | their bars |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for folder in options.models:
        surrogate = sf.load(folder)
        with tempfile.TemporaryDirectory() as place:
            page = Path(place) / "explorer.html"
            surrogate.explore(page)
            worst = differences(surrogate, page, options.conditions)
            size = page.stat().st_size / 1e6
        shown = " | ".join(
            f"{worst[name]:.1e}" if name in worst else "" for name in ("mean", "bars", "quantities", "their bars")
        )
        print(
            f"| {folder.name} ({surrogate.model_name}) | {len(surrogate.domain.parameters)} | {size:.2f} MB | {shown} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
