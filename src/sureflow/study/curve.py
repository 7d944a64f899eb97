"""Learning curves: what error and calibration a model reaches from how many runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sureflow.data.splits import SPLITS, RandomRuns, Split
from sureflow.errors import SureflowError
from sureflow.evaluate.results import Row
from sureflow.importers import open_file
from sureflow.models.contract import MODELS
from sureflow.study.agenda import Entry, StudySettings

TEST_SHARE = 0.2  # of the runs, where no split is given


def curve_models() -> list[str]:
    """The models that are quick enough to be fitted to many numbers of runs, on one mesh."""
    every = {name: MODELS[name]().capabilities for name in MODELS}
    return [name for name, can in every.items() if can.refits_quickly and not can.needs_levels]


def curve_settings(store: Path, models: Sequence[str], sizes: Sequence[int], split: str | None = None) -> StudySettings:
    """The study that draws the curve: every model on so many space-filling runs of the training set, and on all of them.

    `split` is the kind of one that is registered; without it, a share of the runs is drawn for testing.
    """
    unknown = next((name for name in models if name not in curve_models()), None)
    if unknown is not None:
        raise SureflowError(f"models: {unknown!r} is not one of {', '.join(curve_models())}")
    runs = open_file(store)
    runs.require_trainable()
    divided: Split = RandomRuns(max(1, round(TEST_SHARE * len(runs)))) if split is None else SPLITS[split]()
    available = int(divided(runs).train.sum())
    used = sorted({*(size for size in sizes if size < available), available})
    entries = [_entry(model, size, available) for model in models for size in used]
    return StudySettings(
        description=f"Learning curves of {store.name}", runs=store.resolve(), split=divided, models=tuple(entries)
    )


def _entry(model: str, size: int, available: int) -> Entry:
    values: dict[str, Any] = {"label": model, "model": {"name": model}, "calibrate": True}
    if size < available:
        values |= {"label": f"{model}-{size}", "series": model, "runs": size}
    return Entry.model_validate(values)


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
