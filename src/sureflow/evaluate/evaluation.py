"""A predictor against test runs: rows of error and calibration by domain, region and variable.

Everything is measured in one space, whatever the model: physical values, normalized with the mean and the standard deviation
of the reference training runs. Averages are over all points of a domain and region; coverages, relative errors, AUSE and
rank correlations are those of single runs, averaged over the runs, because the points of one run are correlated.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.dataset import Dataset
from sureflow.data.normalize import Standard
from sureflow.errors import SureflowError
from sureflow.evaluate.regions import run_regions
from sureflow.evaluate.scoring import ause, rank_correlation
from sureflow.evaluate.summary import (
    Domains,
    Row,
    RunScore,
    Scores,
    case_rows,
    curve_rows,
    domain_rows,
    histogram_rows,
    std_histogram,
)
from sureflow.evaluate.tally import tallies
from sureflow.physics.regions import ALL, REGIONS
from sureflow.predictive import Predictive

Predict = Callable[[Float[np.ndarray, "case parameter"]], Predictive]

POINTS_AT_ONCE = 1 << 16  # of one predicted block of runs, in points of the mesh


@dataclass(frozen=True)
class Evaluation:
    """Flat rows, without the names of what was evaluated: `labelled` puts them in front.

    rows       domain, region, variable and KEYS
    cases      domain, the parameters of the run, variable, mae, relative_error, mean_std, coverage90; of whole fields.
               A run has a row in each of its domains, the pooled out_of_domain left aside where it has another.
    curves     domain, region (all, disturbed), variable, expected and observed shares
    histogram  domain, variable, edges (of log10 std) and counts of points
    """

    rows: list[Row]
    cases: list[Row]
    curves: list[Row]
    histogram: list[Row]


def evaluate(
    predict: Predict,
    dataset: Dataset,
    domains: Domains,
    space: Standard,
    *,
    regions: Sequence[str] = REGIONS,
    part: str | None = None,
) -> Evaluation:
    """Evaluate predictions in physical units on the runs of every domain, each run predicted once.

    The regions of a run follow from its truth. `part` names the one part of the standard deviation to evaluate.
    """
    tested = np.flatnonzero(np.logical_or.reduce([np.zeros(len(dataset.parameters), bool), *domains.values()]))
    if not tested.size:
        raise SureflowError("no run is left to evaluate on: every run of these was trained on, or no domain has a run")
    unknown = set(regions) - set(REGIONS)
    if unknown:
        raise SureflowError(f"region {sorted(unknown)[0]!r} is not one of {', '.join(REGIONS)}")
    scores: Scores = {}
    histograms: dict[int, Int[np.ndarray, "variable bin"]] = {}
    for case, mean, std in _predictions(predict, dataset, tested, part):
        truth, mean, std = _normalized(space, dataset.fields[case], mean, std)
        masks = {name: mask for name, mask in run_regions(dataset, case).items() if name in regions}
        _score_run(scores, case, truth, mean, std, masks)
        if std is not None:
            histograms[case] = np.stack([std_histogram(values)[1] for values in std])
    return Evaluation(
        rows=domain_rows(scores, domains, dataset.names),
        cases=case_rows(scores, domains, dataset) if ALL in scores else [],
        curves=curve_rows(scores, domains, dataset.names),
        histogram=histogram_rows(histograms, domains, dataset.names),
    )


def labelled(rows: Sequence[Row], **identity: Any) -> list[Row]:
    """The rows with what was evaluated in front, as in labelled(rows, label="ensemble", runs=205)."""
    return [{**identity, **row} for row in rows]


def _predictions(
    predict: Predict, dataset: Dataset, cases: Int[np.ndarray, " case"], part: str | None
) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
    """Case, mean and std (variable, point) of every run, in physical units, a block of runs at a time."""
    size = min(len(cases), max(1, POINTS_AT_ONCE // dataset.n_points))
    for start in range(0, len(cases), size):
        block = cases[start : start + size]
        # The last block is filled up with its own last run, so that one compiled program serves all of them.
        filled = np.pad(block, (0, size - len(block)), mode="edge")
        predictive = predict(dataset.parameters[filled])
        wanted = (size, len(dataset.names), dataset.n_points)
        if predictive.mean.shape != wanted:
            raise SureflowError(
                f"the prediction is {predictive.mean.shape} where the runs are (case, variable, point) {wanted}: "
                "the model belongs to another mesh or other variables"
            )
        mean, std = np.asarray(predictive.mean), _chosen_std(predictive, part)
        for position, case in enumerate(block):
            yield int(case), mean[position], None if std is None else std[position]


def _chosen_std(predictive: Predictive, part: str | None) -> np.ndarray | None:
    if part is None:
        std = predictive.std
        return None if std is None else np.asarray(std)
    if part not in predictive.parts:
        has = ", ".join(predictive.parts) or "none"
        raise SureflowError(f"part={part!r} is not a part of this model's standard deviation; it has {has}")
    return np.asarray(predictive.parts[part])


def _normalized(space: Standard, truth: np.ndarray, mean: np.ndarray, std: np.ndarray | None):
    """Truth, mean and std (variable, point) of one run in the space of the metrics."""
    scale = space.std[:, None]
    return space.forward(truth.T).T, space.forward(mean.T).T, None if std is None else np.asarray(std, float) / scale


@np.errstate(invalid="ignore", over="ignore")  # a model may have exploded; what is not finite is reported as missing
def _score_run(
    scores: Scores,
    case: int,
    truth: Float[np.ndarray, "variable point"],
    mean: Float[np.ndarray, "variable point"],
    std: Float[np.ndarray, "variable point"] | None,
    masks: Mapping[str, Bool[np.ndarray, " point"]],
) -> None:
    for variable in range(len(truth)):
        bars = None if std is None else std[variable]
        for region, tally in tallies(mean[variable], bars, truth[variable], masks).items():
            ranking = math.nan, math.nan
            if bars is not None:
                error, chosen = (mean[variable] - truth[variable])[masks[region]], bars[masks[region]]
                ranking = ause(error, chosen), rank_correlation(error, chosen)
            by_variable = scores.setdefault(region, [{} for _ in truth])
            by_variable[variable][case] = RunScore(tally, *ranking)
