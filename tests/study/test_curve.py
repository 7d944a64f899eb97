"""Learning curves: the study that draws them, down to so few runs that no bars can be calibrated."""

import numpy as np
import pytest

import synthetic
from sureflow.data.store import open_runs
from sureflow.errors import SureflowError
from sureflow.study import curve
from sureflow.study.curve import curve_rates, curve_settings, curve_table
from sureflow.study.division import StudyRuns
from sureflow.study.judging import evaluate_model
from sureflow.study.training import train_model
from sureflow.study.work import Audience, Costs, Study

CONDITIONS = np.array(
    [(m, a) for m in (10.0, 13.0, 16.0, 19.0, 22.0, 25.0, 30.0) for a in (20.0, 30.0, 38.0, 46.0, 60.0)]
)


def test_a_curve_has_a_point_for_every_number_of_runs(tmp_path):
    store = synthetic.write_store(tmp_path / "runs.zarr", CONDITIONS)
    runs = open_runs(store)
    settings = curve_settings(store, ["interpolation"], [4, 9, 500])
    available = int(settings.split(runs).train.sum())
    said: list[str] = []
    watch = Audience(say=said.append, advance=lambda done, note: None, begin=lambda total: None)
    study, data = Study(tmp_path, settings, watch, Costs(settings), {}), StudyRuns(runs, settings)
    (tmp_path / "evaluation").mkdir()
    rows = []
    for entry in settings.models:
        train_model(study, entry, settings.train, data)
        rows += evaluate_model(tmp_path, entry, data, lambda share: None)["rows"]
    assert any("interpolation-4: not calibrated, since" in line for line in said)
    table = curve_table(rows)
    assert [(line["model"], line["runs"]) for line in table] == [("interpolation", n) for n in (4, 9, available)]
    assert table[0]["mae in_domain"] > table[-1]["mae in_domain"]
    whole = next(row for row in rows if (row["region"], row["variable"], row["domain"]) == ("all", "mean", "in_domain"))
    assert (table[0]["mae in_domain"], table[0]["miscalibration in_domain"]) == (whole["mae"], whole["miscalibration"])
    assert {row["label"] for row in rows} == {"interpolation"}  # one line of the figure


def test_rates_are_those_of_powers():
    def curve_of(model, errors):
        told = {"model": model, "domain": "in_domain", "variable": "mean", "region": "all"}
        return [{**told, "runs": runs, "mae": error} for runs, error in errors.items()]

    sizes = (5, 10, 20, 40)
    rows = [
        *curve_of("steep", {size: 2.0 * size**-0.5 for size in sizes}),
        *curve_of("flat", dict.fromkeys(sizes, 0.1)),
        *curve_of("short", {5: 0.2, 10: 0.1}),
        *curve_of("exact", dict.fromkeys(sizes, 0.0)),
    ]
    assert curve_rates(rows) == [
        "steep, in_domain: errors fall as runs^-0.5; half the error takes 4 times the runs",
        "flat, in_domain: more runs hardly help",
    ]


def test_models_of_wall_layers_are_compared_where_runs_have_them(tmp_path, monkeypatch):
    store = synthetic.write_store(tmp_path / "runs.zarr", CONDITIONS)
    others = ["interpolation", "pod-gp", "pod-deeponet"]
    assert [one.label for one in curve_settings(store, None, []).models] == others
    monkeypatch.setattr(curve.WallLayer, "of", lambda runs: "a layer")
    found = curve_settings(store, None, []).models
    assert [one.label for one in found] == ["aligned", "layer-aligned", *others]
    assert {one.label for one in found if one.spec.scaling == "similarity"} == {"aligned", "layer-aligned"}


def test_a_store_with_next_to_no_runs_is_refused(tmp_path):
    store = synthetic.write_store(tmp_path / "runs.zarr", CONDITIONS[:2])
    with pytest.raises(SureflowError, match="2 converged runs are too few to learn from: at least 3 are needed"):
        curve_settings(store, ["interpolation"], [4])
