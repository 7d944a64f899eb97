"""The reference study in docs/study was made by the preset `paper` as it is."""

import json
from pathlib import Path

import numpy as np
import pytest

from sureflow.data.runs import Runs
from sureflow.evaluate.results import Results
from sureflow.report.findings import Findings
from sureflow.report.study_tables import all_tables
from sureflow.report.tabular import FORMATS, to_markdown
from sureflow.study.agenda import load_study
from sureflow.study.work import Costs

FOLDER = Path(__file__).parents[2] / "docs" / "study"
KINDS = ("deterministic", "mve", "evidential", "ensemble")
DOMAINS = ("in_domain", "high_mach", "high_altitude", "low_mach", "low_altitude")


@pytest.fixture(scope="module")
def reference() -> Results:
    return Results.read(FOLDER)


def known_to(stored, present):
    """The part of the present settings that a stored file can know: without those that came later."""
    if isinstance(stored, dict):
        return {name: known_to(value, present[name]) for name, value in stored.items() if name in present}
    if isinstance(stored, list) and len(stored) == len(present):
        return [known_to(*pair) for pair in zip(stored, present, strict=True)]
    return present


def test_it_was_made_by_the_committed_preset(reference):
    """But for the candidates of the comparison, whose default has changed since."""
    stored, present = reference.configuration, load_study("paper").portable()
    for entry in [*stored["models"], *present["models"]]:
        entry["model"].pop("candidates", None)
    assert known_to(stored, present) == stored


def test_its_tables_and_times_are_those_of_its_results():
    """What lies beside the results was made with them: tables are the same when made again, and no other study's times."""
    for table in all_tables(Findings.read(FOLDER)).values():
        for suffix, form in FORMATS.items():
            assert (FOLDER / "tables" / f"{table.name}{suffix}").read_text() == form(table), table.name
        assert to_markdown(table).strip() in (FOLDER / "README.md").read_text()
    provenance = json.loads((FOLDER / "provenance.json").read_bytes())
    stages = [
        stage for stage in Costs(load_study("paper")).cost if stage != "explorer"
    ]  # it was made before there was one
    assert list(provenance["seconds"]) == stages


def test_its_runs_are_counted_as_the_split_counts_them(reference):
    settings = load_study("paper")
    conditions = settings.load_campaign().table()
    runs = Runs.from_arrays(
        {"mach": conditions[:, 0], "altitude_km": conditions[:, 1]},
        np.zeros((1, 2)),
        {"T": np.zeros((len(conditions), 1))},
    )
    split = settings.split(runs)
    assert reference.data["runs"]["train"] == split.train.sum() == 205
    assert reference.data["runs"]["test"] == {name: mask.sum() for name, mask in split.test.items()}
    assert reference.data["runs"]["left_out"] == split.left_out


def test_it_has_the_appendix_table(reference):
    found = {
        (row["label"], row["domain"]): row
        for row in reference.rows
        if row["region"] == "all" and row["variable"] == "mean"
    }
    for kind in KINDS:
        for domain in DOMAINS:
            row = found[kind, domain]
            assert row["mae"] > 0
            assert row["mae_spread"] > 0
            assert (row["miscalibration"] is None) == (kind == "deterministic")


def test_the_training_settings_are_those_with_the_least_error(reference):
    least = min(reference.selection["candidates"], key=lambda candidate: candidate["mae"])
    assert reference.selection["chosen"] == least
