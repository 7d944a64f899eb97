"""A predictor against test runs: rows of error and calibration by domain, region and variable.

Everything is measured in one space, whatever the model: physical values, normalized with the mean and the standard deviation
of the training runs. Averages are over all points of a domain and region; coverages, relative errors, AUSE and rank
correlations are those of single runs, averaged over the runs, because the points of one run are correlated.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.scaling import Scaling
from sureflow.data.splits import Split
from sureflow.errors import SureflowError
from sureflow.evaluate.bar_parts import MESH, SURROGATE, bar_part_rows, larger_part
from sureflow.evaluate.held_out import held_out, metric_space
from sureflow.evaluate.masks import run_masks
from sureflow.evaluate.observed import quantity_rows
from sureflow.evaluate.summary import (
    MEAN,
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
from sureflow.evaluate.tables import to_text
from sureflow.evaluate.tally import Ends, tallies
from sureflow.metrics.scoring import ause, rank_correlation
from sureflow.physics.regions import ALL, DISTURBED, REGIONS
from sureflow.predictive import INTERVALS, Predictive
from sureflow.surrogate.matching import matched
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.promised import counted_intervals, promised

if TYPE_CHECKING:
    import pandas

Predict = Callable[[Float[np.ndarray, "case parameter"]], Predictive]
RunFields = Float[np.ndarray, "variable point"]

POINTS_AT_ONCE = 1 << 16  # of one predicted block of runs, in points of the mesh
# The numbers that a reader sees first, and what a table calls them.
HEADINGS = {
    "n_runs": "runs",
    "mae": "MAE",
    "relative_error": "relative error",
    "miscalibration": "miscalibration",
    "coverage90": "in 90 % intervals",
    "mean_std": "mean std",
    "largest_std": "largest std",
}
TITLES = {ALL: "all points", DISTURBED: "disturbed points (p > 1.01 p_inf)"}


@dataclass(frozen=True)
class Evaluation:
    """Flat rows, without the names of what was evaluated: `labelled` puts them in front.

    rows         domain, region, variable and KEYS
    cases        domain, the parameters of the run, variable, mae, relative_error, mean_std, coverage90; of whole fields.
                 A run has a row in each of its domains, except the pooled out_of_domain where it is in another one too.
    curves       domain, region (all, disturbed), variable, expected and observed shares
    histogram    domain, variable, edges (of log10 std) and counts of points
    quantities   domain, quantity and the keys of `observed.quantity_rows`, where the runs allow it
    bar_parts    domain, kind (field, quantity), name, unit, and the bars for the surrogate and for its mesh, where known
    explanation  what was tested and what was not
    """

    rows: list[Row]
    cases: list[Row]
    curves: list[Row]
    histogram: list[Row]
    explanation: str = ""
    quantities: list[Row] = field(default_factory=list)
    bar_parts: list[Row] = field(default_factory=list)

    def table(self, region: str = ALL) -> "pandas.DataFrame":
        """The main numbers by domain and variable, of all points or of one region of the flow."""
        import pandas

        regions = list(dict.fromkeys(row["region"] for row in self.rows))
        if region not in regions:
            raise SureflowError(f"region={region!r} is not one of {', '.join(regions)}")
        columns = ["domain", "variable", *HEADINGS]
        return pandas.DataFrame([row for row in self.rows if row["region"] == region], columns=columns)

    def __repr__(self) -> str:
        variables = [row["variable"] for row in self.rows if row["variable"] != MEAN]
        text = ""
        for region, title in TITLES.items():
            rows = [row for row in self.rows if row["region"] == region and row["variable"] == MEAN]
            shown = [{"domain": row["domain"]} | {HEADINGS[key]: row[key] for key in HEADINGS} for row in rows]
            text += f"{title}\n{to_text(shown)}\n" if shown else ""
        if self.quantities:
            rows = [_quantity_row(row) for row in self.quantities]
            text += f"quantities, mean relative errors; * errs less on training runs left out\n{to_text(rows)}\n"
        text += self._parts_text()
        return f"{text}Normalized units, mean over {', '.join(dict.fromkeys(variables))}. {self.explanation}".rstrip()

    def _parts_text(self) -> str:
        """Both parts of the bars where the mesh's is known, in the domain that was tested first."""
        rows = [row for row in self.bar_parts if row["domain"] == self.bar_parts[0]["domain"]]
        if not rows:
            return ""
        keys = ("name", "unit", SURROGATE, MESH)
        title = f"parts of the bars, {rows[0]['domain']}: mean standard deviations, of quantities in percent"
        return f"{title}\n{to_text([{key: row[key] for key in keys} for row in rows])}{larger_part(rows)}\n\n"


def _quantity_row(row: Row) -> Row:
    """As a reader sees it: read off the field, and learned as a number; a star marks who errs less on runs left out."""
    told = {"domain": row["domain"], "quantity": row["quantity"]}
    for way, prefix, name in (("field", "", "field"), ("number", "number_", "gp")):
        error, share = row.get(f"{prefix}relative_error"), row.get(f"{prefix}coverage90")
        star = " *" if row.get("better") == name else ""
        told[f"{way}: error"] = None if error is None else f"{error:.2%}{star}"
        told[f"{way}: within 1.64 std"] = None if share is None else f"{share:.0%}"
    return told


def evaluate_surrogate(surrogate: Surrogate, runs: Runs, split: Split | None = None) -> Evaluation:
    """Errors and error bars of a model on those of the runs that it was neither trained on nor calibrated with.

    The test runs are divided into those inside and outside the ranges of the training runs, or into the domains of a
    split. Errors are in standard deviations of the training runs.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 20)[:, None], np.linspace(0, 4, 15)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]})
    >>> train, test = runs.split(test=0.2, seed=0)
    >>> evaluation = sf.evaluate(sf.fit(train, model="interpolation"), test)
    >>> list(evaluation.table().domain.unique())
    ['in_domain']
    """
    runs = matched(runs, surrogate)
    tested = held_out(runs, surrogate, split)
    space = metric_space(runs, tested, surrogate)
    found = evaluate(lambda conditions: promised(surrogate, conditions), runs, tested.test, space)
    return replace(
        found,
        explanation=f"{tested.explanation()} {counted_intervals(surrogate)}".rstrip(),
        quantities=quantity_rows(surrogate, runs, tested.test),
        bar_parts=bar_part_rows(surrogate, runs, tested.test),
    )


def evaluate(
    predict: Predict,
    runs: Runs,
    domains: Domains,
    space: Standard,
    *,
    regions: Sequence[str] = REGIONS,
    part: str | None = None,
    scaling: Scaling | None = None,
) -> Evaluation:
    """Evaluate predictions in physical units on the runs of every domain, each run read and predicted once.

    The regions of a run follow from its truth. Errors are those of the fields, or of scaled ones, where `space` is that of a
    `scaling`. `part` names the one part of the standard deviation to evaluate. Coverages are those of the intervals between
    a prediction's quantiles, and of Gaussian intervals where it has none; calibration curves are always Gaussian.
    """
    tested = np.flatnonzero(np.logical_or.reduce([np.zeros(len(runs), bool), *domains.values()]))
    if not tested.size:
        raise SureflowError("no run is left to evaluate on: no domain has a run that was not trained on")
    unknown = set(regions) - set(REGIONS)
    if unknown:
        raise SureflowError(f"region {sorted(unknown)[0]!r} is not one of {', '.join(REGIONS)}")
    scores: Scores = {}
    histograms: dict[int, Int[np.ndarray, "variable bin"]] = {}
    for case, found in _predictions(predict, runs, tested, part):
        fields = runs.fields[case]
        masks = {name: mask for name, mask in run_masks(runs, case, fields).items() if name in regions}
        truth, found = _normalized(space, *_scaled(scaling, runs.parameters[case], fields, found))
        _score_run(scores, case, truth, found, masks)
        if found.std is not None:
            histograms[case] = np.stack([std_histogram(values)[1] for values in found.std])
    return Evaluation(
        rows=domain_rows(scores, domains, runs.names),
        cases=case_rows(scores, domains, runs) if ALL in scores else [],
        curves=curve_rows(scores, domains, runs.names),
        histogram=histogram_rows(histograms, domains, runs.names),
    )


def labelled(rows: Sequence[Row], **identity: Any) -> list[Row]:
    """The rows with what was evaluated in front, as in labelled(rows, label="ensemble", runs=205)."""
    return [{**identity, **row} for row in rows]


@dataclass(frozen=True)
class _Predicted:
    """One run: mean and std, and the ends of intervals by their probability where the prediction has them."""

    mean: RunFields
    std: RunFields | None
    quantiles: Mapping[float, RunFields]

    def ends(self, variable: int) -> Ends:
        """Of the intervals of one variable, by level."""
        return {
            level: (self.quantiles[low][variable], self.quantiles[high][variable])
            for level, (low, high) in INTERVALS.items()
            if low in self.quantiles and high in self.quantiles
        }


def _predictions(
    predict: Predict, runs: Runs, cases: Int[np.ndarray, " case"], part: str | None
) -> Iterator[tuple[int, _Predicted]]:
    """Case and prediction (variable, point) of every run, in physical units, a block of runs at a time."""
    size = min(len(cases), max(1, POINTS_AT_ONCE // runs.n_points))
    for start in range(0, len(cases), size):
        block = cases[start : start + size]
        # The last block is filled up with its own last run, so that one compiled program serves all of them.
        filled = np.pad(block, (0, size - len(block)), mode="edge")
        predictive = predict(runs.parameters[filled])
        wanted = (size, len(runs.names), runs.n_points)
        if predictive.mean.shape != wanted:
            raise SureflowError(
                f"the prediction is {predictive.mean.shape} where the runs are (case, variable, point) {wanted}: "
                "the model belongs to another mesh or other variables"
            )
        mean, std = np.asarray(predictive.mean), _chosen_std(predictive, part)
        # The intervals of all parts together say nothing of one part alone.
        quantiles = {} if part else {level: np.asarray(one) for level, one in predictive.quantiles.items()}
        for position, case in enumerate(block):
            ends = {level: one[position] for level, one in quantiles.items()}
            yield int(case), _Predicted(mean[position], None if std is None else std[position], ends)


def _chosen_std(predictive: Predictive, part: str | None) -> np.ndarray | None:
    if part is None:
        std = predictive.std
        return None if std is None else np.asarray(std)
    if part not in predictive.parts:
        has = ", ".join(predictive.parts) or "none"
        raise SureflowError(f"part={part!r} is not a part of this model's standard deviation; it has {has}")
    return np.asarray(predictive.parts[part])


def _scaled(
    scaling: Scaling | None, condition: Float[np.ndarray, " parameter"], truth: RunFields, found: _Predicted
) -> tuple[RunFields, _Predicted]:
    """Truth and prediction in the units of a scaling, which keeps the order of values."""
    if scaling is None:
        return truth, found

    def forward(fields: RunFields) -> RunFields:
        return scaling.forward(np.asarray(fields, float)[None], condition[None])[0]

    mean = forward(found.mean)
    std = None if found.std is None else found.std / scaling.slope(mean[None], condition[None])[0]
    return forward(truth), _Predicted(mean, std, {level: forward(one) for level, one in found.quantiles.items()})


def _normalized(space: Standard, truth: RunFields, found: _Predicted) -> tuple[RunFields, _Predicted]:
    """Truth and prediction (variable, point) of one run in the space of the metrics."""

    def forward(fields: RunFields) -> RunFields:
        return space.forward(fields.T).T

    std = None if found.std is None else np.asarray(found.std, float) / space.std[:, None]
    quantiles = {level: forward(one) for level, one in found.quantiles.items()}
    return forward(truth), _Predicted(forward(found.mean), std, quantiles)


@np.errstate(invalid="ignore", over="ignore")  # a model may have exploded; what is not finite is reported as missing
def _score_run(
    scores: Scores, case: int, truth: RunFields, found: _Predicted, masks: Mapping[str, Bool[np.ndarray, " point"]]
) -> None:
    for variable in range(len(truth)):
        mean, bars = found.mean[variable], None if found.std is None else found.std[variable]
        for region, tally in tallies(mean, bars, truth[variable], masks, found.ends(variable)).items():
            ranking = math.nan, math.nan
            if bars is not None:
                error, chosen = (mean - truth[variable])[masks[region]], bars[masks[region]]
                ranking = ause(error, chosen), rank_correlation(error, chosen)
            by_variable = scores.setdefault(region, [{} for _ in truth])
            by_variable[variable][case] = RunScore(tally, *ranking)
