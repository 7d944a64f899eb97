"""What a replay found: runs needed by each way of choosing, and whether choosing by results paid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow.acquire.replay import DESIGNS, HALTON, Trace

# Space filling needs no results either, but is given a model's metric.
NOT_ADAPTIVE = (*DESIGNS, "space-filling")
PAYS = 0.1  # share of the runs that must be saved before a difference is called one


def targets_of(traces: Sequence[Trace], shares: Sequence[float] = (0.5, 0.7, 0.9)) -> tuple[float, ...]:
    """Errors that the median Halton sequence, or else the first way, reaches with these shares of the most runs."""
    ways = [trace.way for trace in traces]
    base = [trace for trace in traces if trace.way == (HALTON if HALTON in ways else ways[0])]
    sizes = base[0].runs
    median = np.median([trace.error for trace in base], axis=0)
    places = [int(np.argmin(np.abs(np.array(sizes) - share * sizes[-1]))) for share in shares]
    return tuple(float(f"{median[place]:.3g}") for place in places)


def replay_rows(traces: Sequence[Trace], targets: Sequence[float]) -> list[dict[str, Any]]:
    """A row a way and target: the quartiles over starts of the runs needed, and the median share saved against Halton."""
    rows = []
    for way in dict.fromkeys(trace.way for trace in traces):
        own = float(np.median([trace.own[-1] for trace in traces if trace.way == way]))
        for target in targets:
            needed = _needed(traces, way, target)
            low, middle, high = np.quantile(needed, [0.25, 0.5, 0.75], method="higher")
            rows.append(
                {
                    "way": way,
                    "target": target,
                    "lower_quartile": low,
                    "median": middle,
                    "upper_quartile": high,
                    "reached": float(np.isfinite(needed).mean()),
                    "saved_against_halton": _saved(needed, _needed(traces, HALTON, target)),
                    "own_error_at_end": own,
                }
            )
    return rows


def best_by_own_error(traces: Sequence[Trace]) -> str | None:
    """The criterion whose model expects the smallest errors, by leaving its own runs out: no test run is looked at."""
    own: dict[str, list[float]] = {}
    for trace in traces:
        if trace.way not in DESIGNS:
            own.setdefault(trace.way, []).append(trace.own[-1])
    return min(own, key=lambda way: float(np.median(own[way])), default=None)


def verdict(traces: Sequence[Trace], target: float) -> str:
    """Whether choosing by results paid, in a sentence or two."""
    best = best_by_own_error(traces)
    if best is None:
        return "no criterion took part: there is nothing to judge"
    needed = _needed(traces, best, target)
    words = [f"{best} expects the smallest errors of the criteria, by leaving out its own runs"]
    saved = _saved(needed, _needed(traces, HALTON, target))
    if np.isfinite(saved):
        words.append(f"it needed {_share(saved)} runs than Halton to an error of {target:g} (median over starts)")
    others = {trace.way for trace in traces} & set(NOT_ADAPTIVE) - {best}
    savings = {way: _saved(needed, _needed(traces, way, target)) for way in sorted(others)}
    known = {way: value for way, value in savings.items() if np.isfinite(value)}
    if best in NOT_ADAPTIVE:
        words.append("it does not look at results: choosing by results did not pay here")
    elif known:
        hardest = min(known, key=lambda way: known[way])
        pays = "pays" if known[hardest] >= PAYS else "hardly pays"
        words.append(f"and {_share(known[hardest])} than {hardest}: choosing by results {pays} here")
    return "; ".join(words)


def _share(saved: float) -> str:
    return f"{abs(saved):.0%} {'fewer' if saved >= 0 else 'more'}"


def _needed(traces: Sequence[Trace], way: str, target: float) -> Float[np.ndarray, " start"]:
    return np.array([trace.needed(target) for trace in traces if trace.way == way])


def _saved(needed: Float[np.ndarray, " start"], base: Float[np.ndarray, " other"]) -> float:
    """Share of runs saved, of the medians; not known where a median was never reached."""
    if not len(base) or not len(needed):
        return float("nan")
    ours, theirs = np.median(needed), np.median(base)
    return float(1.0 - ours / theirs) if np.isfinite(ours) and np.isfinite(theirs) else float("nan")
