"""Quantities and verdicts of a model against test runs: rows by domain."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from sureflow.data.runs import Runs
from sureflow.evaluate.summary import Row
from sureflow.surrogate.both_ways import both_ways, wall_both_ways
from sureflow.surrogate.model import Answer, Surrogate
from sureflow.surrogate.observe import ALONG_BODY, Observer
from sureflow.uq.domain import Trust

Domains = Mapping[str, Bool[np.ndarray, " case"]]
Values = Float[np.ndarray, " case"]

NORMAL_90 = 1.6449  # standard deviations on either side that hold 90 % of a normal distribution


def quantity_rows(surrogate: Surrogate, runs: Runs, tests: Domains) -> list[Row]:
    """By domain and quantity: mean and largest relative error over the runs, and the share inside 90 % intervals.

    First of what is read off the fields, whose bars are those of a calibrated model, and of others none; then, in keys that
    begin with `number_`, of the quantity's own process, where the model has one. `better` says which of the two errs less on
    training runs left out. What acts along the wall follows. The truth is read off the run on its own mesh.
    """
    observer = surrogate.observer
    tested = np.flatnonzero(np.logical_or.reduce(list(tests.values())))
    if observer is None or not len(tested):
        return []
    conditions = runs.parameters[tested]
    truth = np.concatenate(
        [
            observer(np.asarray(runs.fields[int(case)], float)[None], runs.parameters[[case]], [runs.geometry_of(case)])
            for case in tested.tolist()
        ]
    )
    answer = surrogate.answer(conditions)
    if surrogate.calibration is not None and surrogate.calibration.quantities is not None:
        values, std, numbers = both_ways(surrogate, conditions, answer)
        assert values is not None
    else:
        values, std = observer(np.asarray(answer.raw.mean), conditions), None
        numbers = {} if surrogate.numbers is None else surrogate.numbers(surrogate.number_space, conditions)
    rows = []
    for domain, mask in tests.items():
        chosen = mask[tested]
        for column, quantity in enumerate(observer.quantities):
            true, bars = truth[chosen, column], None if std is None else std[chosen, column]
            row = {"domain": domain, "quantity": quantity.name, "unit": quantity.unit, "n_runs": int(chosen.sum())}
            row |= _judged(values[chosen, column], bars, true)
            if quantity.name in numbers:
                number, bar = numbers[quantity.name]
                own = _judged(number[chosen], bar[chosen], true)
                row |= {f"number_{key}": value for key, value in own.items()}
                row["better"] = surrogate.better_way(quantity.name)
            rows.append(row)
    return rows + (
        _wall_rows(surrogate, observer, runs, tests, tested, answer) if isinstance(observer, Observer) else []
    )


def _wall_rows(
    surrogate: Surrogate,
    observer: Observer,
    runs: Runs,
    tests: Domains,
    tested: Int[np.ndarray, " chosen"],
    answer: Answer,
) -> list[Row]:
    """The same of what acts along the wall: errors relative to the mean along the body, and the share of faces within bars."""
    calibrated = surrogate.calibration is not None and surrogate.calibration.wall is not None
    values = observer.along_body(np.asarray(answer.predictive.mean), runs.parameters[tested])
    std = wall_both_ways(surrogate, observer, answer)[1] if calibrated else None
    truth = np.concatenate(
        [
            observer.along_body(
                np.asarray(runs.fields[case], float)[None], runs.parameters[[case]], [runs.geometry_of(case)]
            )
            for case in tested.tolist()
        ]
    )
    rows = []
    for domain, mask in tests.items():
        chosen = mask[tested]
        for column, name in enumerate(ALONG_BODY):
            if name not in observer.distributions:
                continue
            error, true = np.abs(values - truth)[chosen, column], np.abs(truth[chosen, column])
            relative = error.mean(axis=1) / true.mean(axis=1)
            covered = None if std is None else float((error <= NORMAL_90 * std[chosen, column]).mean())
            row = {"domain": domain, "quantity": name, "unit": ALONG_BODY[name], "n_runs": int(chosen.sum())}
            row |= {"relative_error": _number(relative.mean()), "largest_relative_error": _number(relative.max())}
            rows.append(row | {"coverage90": covered})
    return rows


def _judged(values: Values, std: Values | None, truth: Values) -> Row:
    """Errors of one quantity over some runs, and the share of them within their bars."""
    error = np.abs(values - truth)
    relative = error / np.abs(truth)
    return {
        "relative_error": _number(relative.mean()),
        "largest_relative_error": _number(relative.max()),
        "coverage90": None if std is None or not np.isfinite(std).all() else float((error <= NORMAL_90 * std).mean()),
    }


def _number(value: np.floating) -> float | None:
    return float(value) if np.isfinite(value) else None


def verdict_rows(surrogate: Surrogate, runs: Runs, tests: Domains) -> list[Row]:
    """By domain, how many test runs the model calls inside, extrapolated and refused."""
    rows = []
    for domain, mask in tests.items():
        verdicts = surrogate.trusted_domain.place(runs.parameters[mask]).verdicts if mask.any() else ()
        counts = {trust.value: sum(verdict.trust == trust for verdict in verdicts) for trust in Trust}
        rows.append({"domain": domain, "n_runs": int(mask.sum()), **counts})
    return rows
