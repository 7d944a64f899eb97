"""Learning curves: what error and calibration a model reaches from how many runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sureflow.data.runs import Runs
from sureflow.data.scaling import SimilarityScaling
from sureflow.data.splits import SPLITS, RandomRuns, Split
from sureflow.data.wall_layer import WallLayer
from sureflow.errors import SureflowError
from sureflow.evaluate.results import Row
from sureflow.importers import open_file
from sureflow.models.contract import MODELS
from sureflow.study.agenda import Entry, StudySettings

USUAL = ("aligned", "layer-aligned", "body-aligned", "interpolation", "pod-gp", "pod-deeponet")
TEST_SHARE = 0.2  # of the runs, where no split is given
# Numbers of runs that tell a rate, and the power of a rate that is none: ten times the runs would leave four fifths of the error.
FEWEST_SIZES, LEAST_POWER = 3, 0.1


def curve_models() -> list[str]:
    """The models that are quick enough to be fitted to many numbers of runs, on one mesh."""
    every = {name: MODELS[name]().capabilities for name in MODELS}
    return [name for name, can in every.items() if can.refits_quickly and not can.needs_levels]


def usual_models(runs: Runs) -> list[str]:
    """Those that are compared if none are named."""
    layers = WallLayer.of(runs) is not None
    usual = {name: MODELS[name]().capabilities for name in USUAL}
    return [
        name
        for name, needs in usual.items()
        if (layers or not needs.needs_wall_layer) and needs.moving in (None, runs.is_moving)
    ]


def curve_settings(
    store: Path, models: Sequence[str] | None, sizes: Sequence[int], split: str | None = None
) -> StudySettings:
    """The study that draws the curve: every model on so many space-filling runs of the training set, and on all of them.

    Without `models`, the usual ones. `split` is the kind of one that is registered; without it, a share of the runs is drawn
    for testing.
    """
    unknown = next((name for name in models or () if name not in curve_models()), None)
    if unknown is not None:
        raise SureflowError(f"models: {unknown!r} is not one of {', '.join(curve_models())}")
    runs = open_file(store)
    runs.require_trainable()
    models = usual_models(runs) if models is None else models
    divided: Split = RandomRuns(max(1, round(TEST_SHARE * len(runs)))) if split is None else SPLITS[split]()
    available = int(divided(runs).train.sum())
    used = sorted({*(size for size in sizes if size < available), available})
    entries = [_entry(model, size, available) for model in models for size in used]
    return StudySettings(
        description=f"Learning curves of {store.name}", runs=store.resolve(), split=divided, models=tuple(entries)
    )


def _entry(model: str, size: int, available: int) -> Entry:
    values: dict[str, Any] = {"label": model, "model": {"name": model}, "calibrate": True}
    if MODELS[model]().capabilities.needs_wall_layer:
        values["scaling"] = SimilarityScaling.name
    if size < available:
        values |= {"label": f"{model}-{size}", "series": model, "runs": size}
    return Entry.model_validate(values)


def curve_rates(rows: Sequence[Row]) -> list[str]:
    """For every model and domain, how its errors fall with the number of runs, as a power of it fitted to the whole curve."""
    errors: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in _whole_fields(rows):
        errors.setdefault((row["model"], row["domain"]), []).append((row["runs"], row["mae"]))
    return [
        f"{model}, {domain}: {_rate(np.array(points))}"
        for (model, domain), points in errors.items()
        if len(points) >= FEWEST_SIZES and all(error > 0 for _, error in points)
    ]


def _rate(points: Float[np.ndarray, "size 2"]) -> str:
    runs, errors = np.log(points.T)
    power = -float(np.polyfit(runs, errors, 1)[0])
    if power < LEAST_POWER:
        return "more runs hardly help"
    return f"errors fall as runs^-{power:.2g}; half the error takes {2 ** (1 / power):.2g} times the runs"


def curve_table(rows: Sequence[Row]) -> list[Row]:
    """A row for every model and number of runs: MAE and miscalibration area by domain, over all points."""
    table: dict[tuple[str, int], Row] = {}
    for row in _whole_fields(rows):
        line = table.setdefault((row["model"], row["runs"]), {"model": row["model"], "runs": row["runs"]})
        line |= {f"mae {row['domain']}": row["mae"], f"miscalibration {row['domain']}": row["miscalibration"]}
    return list(table.values())


def _whole_fields(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["variable"] == "mean" and row["region"] == "all"]
