"""From the scores of runs to flat rows: by domain, region and variable; by run; calibration curves; histograms of std."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.runs import Runs
from sureflow.evaluate.results import Row
from sureflow.evaluate.tally import LEVELS, Tally
from sureflow.metrics.intervals import EXPECTED
from sureflow.physics.regions import ALL, DISTURBED

Domains = Mapping[str, Bool[np.ndarray, " case"]]

IN_DOMAIN = "in_domain"
OUT_OF_DOMAIN = "out_of_domain"
MEAN = "mean"  # the variable of rows that average over the variables
CURVES_OF = (ALL, DISTURBED)
LOG_STD_EDGES = np.round(np.linspace(-6.0, 6.0, 121), 1)

# What a model without error bars leaves empty.
OF_BARS = (
    *("miscalibration", "miscalibration_spread", *LEVELS, "mean_std", "sharpness", "crps", "nll", "z_rms"),
    *("ause", "spearman", "largest_std", "share_std_over_10"),
)
KEYS = ("mae", "mae_spread", "relative_error", "relative_error_q25", "relative_error_q75", *OF_BARS, "n_runs")


@dataclass(frozen=True)
class RunScore:
    """One variable of one run in one region."""

    tally: Tally
    ause: float
    spearman: float


# By region, then variable, then run. A run without points in a region is not there.
Scores = dict[str, list[dict[int, RunScore]]]


@np.errstate(invalid="ignore", over="ignore")
def domain_rows(scores: Scores, domains: Domains, names: tuple[str, ...]) -> list[Row]:
    """A row for every domain, region and variable, and for the mean over the variables."""
    rows = {}
    for domain, runs in domains.items():
        for region, by_variable in scores.items():
            chosen = [[score for case, score in by_case.items() if runs[case]] for by_case in by_variable]
            if not chosen[0]:
                continue
            single = [_numbers(run_scores) for run_scores in chosen]
            for name, numbers in zip((*names, MEAN), (*single, _over_variables(single, chosen)), strict=True):
                rows[domain, region, name] = numbers
    _spread_over_domains(rows, domains)
    return [
        {"domain": domain, "region": region, "variable": variable} | {key: _plain(numbers[key]) for key in KEYS}
        for (domain, region, variable), numbers in rows.items()
    ]


def _numbers(scores: Sequence[RunScore]) -> Row:
    """The numbers of one variable over some runs."""
    pooled = reduce(add, (score.tally for score in scores))
    numbers = dict.fromkeys(KEYS) | {"mae": pooled.mean("absolute_error"), "n_runs": len(scores)}
    numbers |= _relative_errors(np.array([score.tally.relative_error for score in scores]))
    if pooled.intervals is None:
        return numbers
    return numbers | {
        "miscalibration": pooled.miscalibration,
        **{name: float(np.mean([score.tally.mean(name) for score in scores])) for name in LEVELS},
        "mean_std": pooled.mean("std"),
        "sharpness": math.sqrt(pooled.mean("squared_std")),
        "crps": pooled.mean("crps"),
        "nll": pooled.mean("nll"),
        "z_rms": math.sqrt(pooled.mean("squared_z")),
        "ause": float(np.mean([score.ause for score in scores])),
        "spearman": _mean_of_known([score.spearman for score in scores]),
        "largest_std": pooled.largest_std,
        "share_std_over_10": pooled.mean("exploded"),
    }


def _relative_errors(errors: Float[np.ndarray, " run"]) -> Row:
    low, high = np.quantile(errors, (0.25, 0.75))
    return {"relative_error": errors.mean(), "relative_error_q25": low, "relative_error_q75": high}


def _over_variables(numbers: Sequence[Row], scores: Sequence[Sequence[RunScore]]) -> Row:
    """Means over the variables; quartiles are those of the runs' means, and the largest std is the largest of all."""
    mean: Row = {}
    for key in KEYS:
        values = [row[key] for row in numbers]
        mean[key] = None if None in values else float(np.mean(values))
    errors = np.array([[score.tally.relative_error for score in run_scores] for run_scores in scores])
    mean |= _relative_errors(errors.mean(axis=0)) | {"n_runs": numbers[0]["n_runs"]}
    mean["mae_spread"] = float(np.std([row["mae"] for row in numbers]))
    if mean["miscalibration"] is not None:
        mean["miscalibration_spread"] = float(np.std([row["miscalibration"] for row in numbers]))
        mean["largest_std"] = float(np.max([row["largest_std"] for row in numbers]))
    return mean


def _spread_over_domains(rows: dict[tuple[str, str, str], Row], domains: Domains) -> None:
    """In the pooled domain the spread is over the domains that it pools, where there are several."""
    outer = _outer(domains)
    for (domain, region, variable), numbers in rows.items():
        pooled = [rows[name, region, variable] for name in outer if (name, region, variable) in rows]
        if domain == OUT_OF_DOMAIN and len(pooled) > 1:
            numbers["mae_spread"] = float(np.std([row["mae"] for row in pooled]))
            if numbers["miscalibration"] is not None:
                numbers["miscalibration_spread"] = float(np.std([row["miscalibration"] for row in pooled]))


def case_rows(scores: Scores, domains: Domains, runs: Runs) -> list[Row]:
    own_rows = [name for name in domains if name != OUT_OF_DOMAIN or not _outer(domains)]
    rows = []
    for domain in own_rows:
        for case in map(int, np.flatnonzero(domains[domain])):
            parameters = dict(zip(runs.parameter_names, map(float, runs.parameters[case]), strict=True))
            single = [_case_numbers(by_case[case].tally) for by_case in scores[ALL]]
            for name, numbers in zip((*runs.names, MEAN), (*single, _mean_row(single)), strict=True):
                plain = {key: _plain(value) for key, value in numbers.items()}
                rows.append({"domain": domain, **parameters, "variable": name, **plain})
    return rows


def _case_numbers(tally: Tally) -> Row:
    bars = tally.intervals is not None
    return {
        "mae": tally.mean("absolute_error"),
        "relative_error": tally.relative_error,
        "mean_std": tally.mean("std") if bars else None,
        "coverage90": tally.mean("coverage90") if bars else None,
    }


def _mean_row(rows: Sequence[Row]) -> Row:
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    return {key: None if None in values else float(np.mean(values)) for key, values in columns.items()}


def curve_rows(scores: Scores, domains: Domains, names: tuple[str, ...]) -> list[Row]:
    """The calibration curves; that of the mean is the mean of the variables' curves."""
    rows = []
    for domain, runs in domains.items():
        for region in (name for name in CURVES_OF if name in scores):
            chosen = [[score.tally for case, score in of.items() if runs[case]] for of in scores[region]]
            if not chosen[0] or chosen[0][0].intervals is None:
                continue
            observed = [reduce(add, run_tallies).observed for run_tallies in chosen]
            for name, curve in zip((*names, MEAN), (*observed, np.mean(observed, axis=0)), strict=True):
                shares = {"expected": EXPECTED.round(6).tolist(), "observed": curve.round(6).tolist()}
                rows.append({"domain": domain, "region": region, "variable": name, **shares})
    return rows


def histogram_rows(
    histograms: Mapping[int, Int[np.ndarray, "variable bin"]], domains: Domains, names: tuple[str, ...]
) -> list[Row]:
    rows = []
    for domain, runs in domains.items():
        counts = [histogram for case, histogram in histograms.items() if runs[case]]
        for name, of_variable in zip(names, np.sum(counts, axis=0) if counts else (), strict=bool(counts)):
            edges = LOG_STD_EDGES.tolist()
            rows.append({"domain": domain, "variable": name, "edges": edges, "counts": of_variable.tolist()})
    return rows


def std_histogram(std: Float[np.ndarray, "..."]) -> tuple[Float[np.ndarray, " edge"], Int[np.ndarray, " bin"]]:
    """Edges of log10 std and the number of points between them; what lies outside joins the outermost bins."""
    with np.errstate(divide="ignore"):
        exponent = np.log10(np.asarray(std, float))
    kept = np.clip(exponent[~np.isnan(exponent)], LOG_STD_EDGES[0], LOG_STD_EDGES[-1])
    return LOG_STD_EDGES, np.histogram(kept, LOG_STD_EDGES)[0]


def _outer(domains: Domains) -> list[str]:
    """The domains that out_of_domain pools."""
    return [name for name in domains if name not in (IN_DOMAIN, OUT_OF_DOMAIN)]


def _mean_of_known(values: Sequence[float]) -> float:
    """Mean over the runs where the value is defined; NaN where it is in none."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _plain(value: Any) -> Any:
    """A number for JSON, to six significant digits; what is not finite has no value."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None
