import json

import numpy as np

from sureflow.models.contract import EpochReport
from sureflow.train.events import explosion_warning, jsonl_sink, tensorboard_sink

NAMES = ("u1", "T")


def report(epoch, value=1.0):
    return EpochReport(epoch, {"loss": np.array([[value, 2.0], [3.0, 4.0]])})


def test_a_line_an_epoch(tmp_path):
    sink = jsonl_sink(tmp_path / "events.jsonl", NAMES)
    for epoch in range(3):
        sink(report(epoch))
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert lines[0]["loss"] == {"u1": 2.0, "T": 3.0}


def test_networks_of_a_basis_report_for_all_variables(tmp_path):
    jsonl_sink(tmp_path / "events.jsonl", NAMES)(EpochReport(0, {"loss": np.array([[1.0], [3.0]])}))
    assert json.loads((tmp_path / "events.jsonl").read_text())["loss"] == {"all": 2.0}


def test_a_resumed_training_replaces_the_epochs_it_does_again(tmp_path):
    path = tmp_path / "events.jsonl"
    first, resumed = jsonl_sink(path, NAMES), jsonl_sink(path, NAMES)
    for epoch in range(3):
        first(report(epoch))
    resumed(report(1, value=5.0))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["loss"]["u1"] for line in lines] == [2.0, 4.0]


def test_tensorboard_files_are_written(tmp_path):
    tensorboard_sink(tmp_path / "board", NAMES)(report(0))
    assert any((tmp_path / "board").iterdir())


def test_exploded_standard_deviations_are_warned_of():
    assert explosion_warning(report(0), NAMES) is None
    exploded = EpochReport(0, {"exploded": np.array([[0.0, 0.5], [0.0, 0.25]])})
    assert explosion_warning(exploded, NAMES) == (
        "the predicted standard deviation exceeds head.explosion at a share of the points: u1 0.0 %, T 37.5 %"
    )
