import json

import pytest

from sureflow.errors import SureflowError
from sureflow.evaluate.results import Results

RESULTS = Results(
    configuration={"preset": "quick"}, data={"checksum": "0"}, selection={}, rows=[{"mae": 0.1}, {"mae": None}]
)


def test_a_study_is_read_as_it_was_written(tmp_path):
    path = RESULTS.write(tmp_path)
    assert Results.read(tmp_path) == RESULTS
    assert json.loads(path.read_text())["schema"] == "sureflow-results"
    assert '{"mae": null}' in path.read_text().splitlines()


def test_nan_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        Results(configuration={}, data={}, selection={}, rows=[{"mae": float("nan")}]).write(tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SureflowError, match="holds no study"):
        Results.read(tmp_path)
    path = RESULTS.write(tmp_path)
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 99'))
    with pytest.raises(SureflowError, match="99"):
        Results.read(tmp_path)
    path.write_text(path.read_text()[:40])
    with pytest.raises(SureflowError, match="damaged"):
        Results.read(tmp_path)
