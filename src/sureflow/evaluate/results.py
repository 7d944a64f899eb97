"""What a study found, as `results.json`: plain rows, no timings, equal bit for bit when a study is repeated."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.validation import read_json, shortened, validated

SCHEMA = "sureflow-results"
SCHEMA_VERSION = 1
RESULTS = "results.json"

Row = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """Settings, facts about the data, the search for training settings, and flat rows.

    Rows begin with what was evaluated: label, model, uq, scaling, coordinates (null of whole-field models, which use
    none), runs, and `default` of models that `sureflow train` would choose; those of `histories` with the label alone.

    rows       by domain, region and variable ("mean": over the variables): error and calibration
    cases      by domain and test run, mean over the variables: parameters, mae, relative_error, mean_std, coverage90
    curves     by domain and region (all, disturbed), mean over the variables: `expected` and `observed` shares of points
               inside central intervals
    histories  by epoch and variable: mean std on the training points, of heads that report one
    histogram  by domain and variable: counts of points between `edges` of log10 std
    quantities by domain and quantity: mean and largest relative error, and the share inside calibrated 90 % intervals
    verdicts   by domain: test runs that are inside, extrapolated and refused
    bar_parts  by domain, and field or quantity: bars for the error of the surrogate and of the mesh, where finer runs tell it
    """

    configuration: dict[str, Any]
    data: dict[str, Any]
    selection: dict[str, Any]
    rows: list[Row]
    cases: list[Row] = field(default_factory=list)
    curves: list[Row] = field(default_factory=list)
    histories: list[Row] = field(default_factory=list)
    histogram: list[Row] = field(default_factory=list)
    quantities: list[Row] = field(default_factory=list)
    verdicts: list[Row] = field(default_factory=list)
    bar_parts: list[Row] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        content = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **vars(self)}
        entries = (f"{json.dumps(name)}: {_json(value)}" for name, value in content.items())
        write_atomically(folder / RESULTS, ("{\n" + ",\n".join(entries) + "\n}\n").encode())
        return folder / RESULTS

    @classmethod
    def read(cls, folder: Path) -> Self:
        path = folder / RESULTS
        if not path.is_file():
            raise SureflowError(f"{folder} holds no study: it has no {RESULTS}; run a study in this folder first")
        content = read_json(path)
        if not isinstance(content, dict):
            raise SureflowError(f"{path} is damaged: it holds no object; run the study again")
        found = (content.pop("schema", None), content.pop("schema_version", None))
        if found != (SCHEMA, SCHEMA_VERSION):
            raise SureflowError(f"{path} has schema {shortened(found)}; this version reads {(SCHEMA, SCHEMA_VERSION)}")
        return validated(cls, content, f"{path} is damaged")


def _json(value: Any) -> str:
    """JSON with a line a row, so that two files can be compared line by line."""
    # JSON has no NaN: what could not be computed must be None before it comes here.
    if isinstance(value, list):
        return "[" + ",".join("\n" + json.dumps(row, allow_nan=False) for row in value) + "\n]"
    return json.dumps(value, indent=1, allow_nan=False)
