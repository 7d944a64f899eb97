"""Learning curves: what error and calibration a model reaches from how many runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sureflow.data.dataset import Dataset
from sureflow.data.scaling import best_scaling
from sureflow.data.split import PaperDomains, RandomRuns
from sureflow.errors import SureflowError
from sureflow.evaluate.results import Row
from sureflow.study.settings import Entry, StudySettings

MODELS = ("interpolation", "pod-gp", "pod-deeponet")
TEST_SHARE = 0.2  # of runs that do not span the paper's domains


def curve_settings(store: Path, models: Sequence[str], sizes: Sequence[int]) -> StudySettings:
    """The study that draws the curve: every model on so many space-filling runs of the training set, and on all of them."""
    dataset = Dataset.from_store(store)
    dataset.require_trainable()
    split = _split(dataset)
    available = int(split(dataset).train.sum())
    used = sorted({*(size for size in sizes if size < available), available})
    scaling = best_scaling(dataset)
    entries = [_entry(model, scaling, size, available) for model in models for size in used]
    return StudySettings(
        description=f"Learning curves of {store.name}", runs=store.resolve(), split=split, models=tuple(entries)
    )


def _entry(model: str, scaling: str, size: int, available: int) -> Entry:
    values: dict[str, Any] = {"label": model, "model": {"name": model}, "scaling": scaling, "calibrate": True}
    if size < available:
        values |= {"label": f"{model}-{size}", "series": model, "runs": size}
    return Entry.model_validate(values)


def _split(dataset: Dataset) -> PaperDomains | RandomRuns:
    """The paper's domains where the runs span them, else a share of the runs drawn for testing."""
    try:
        PaperDomains()(dataset)
        return PaperDomains()
    except SureflowError:
        return RandomRuns(test_runs=max(1, round(TEST_SHARE * len(dataset.parameters))))


def curve_table(rows: Sequence[Row]) -> list[Row]:
    """A row for every model and number of runs: MAE by domain, and miscalibration of the disturbed flow."""
    table: dict[tuple[str, int], Row] = {}
    for row in rows:
        if row["variable"] != "mean":
            continue
        line = table.setdefault((row["model"], row["runs"]), {"model": row["model"], "runs": row["runs"]})
        if row["region"] == "all":
            line[f"mae {row['domain']}"] = row["mae"]
        elif row["region"] == "disturbed" and row["domain"] in ("in_domain", "out_of_domain"):
            line[f"miscalibration {row['domain']}"] = row["miscalibration"]
    return list(table.values())
