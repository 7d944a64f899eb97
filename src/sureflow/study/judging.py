"""Evaluation of the models of a study, and the results that they add up to."""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.labels import mesh_labels
from sureflow.data.splits import SPLITS
from sureflow.evaluate.bar_parts import bar_part_rows
from sureflow.evaluate.evaluation import evaluate, labelled
from sureflow.evaluate.observed import quantity_rows, verdict_rows
from sureflow.evaluate.results import Results
from sureflow.files import write_atomically
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.report.findings import MAPS
from sureflow.study.agenda import Entry
from sureflow.study.division import StudyRuns
from sureflow.study.training import EVENTS, best
from sureflow.surrogate.artifact import load
from sureflow.surrogate.learning import settled
from sureflow.surrogate.model import Surrogate

Found = dict[str, list[dict[str, Any]]]

KINDS = ("rows", "cases", "curves", "histogram", "quantities", "verdicts", "bar_parts")

# What is evaluated of a head besides its total standard deviation: a name for it, and the part that stands alone there.
FURTHER_UQ = {"evidential": ("evidential-epistemic", EPISTEMIC)}


def evaluated_with(entry: Entry, data: StudyRuns) -> dict[str, Any]:
    """All that the files of an evaluation depend on besides the model."""
    return {
        "runs": data.checksum,
        "split": SPLITS.describe(entry.split(data.settings.split)),
        # By its hash: the log says what has changed, and eight numbers there would say nothing.
        "space": hashlib.sha256(json.dumps(space_of(data)).encode()).hexdigest(),
        "shown": data.shown_condition,
        "row": identity_of(entry, data),
        "series": entry.series,
    }


def identity_of(entry: Entry, data: StudyRuns) -> dict[str, Any]:
    """What every row of a model says of it, but for what the model itself knows."""
    spec = settled(entry.spec, data.runs)
    return {
        "scaling": spec.scaling,
        "coordinates": spec.coordinates if entry.networks else None,
        "runs": int(data.trained_on(entry).sum()),
        **({"default": True} if entry.is_default else {}),
    }


def space_of(data: StudyRuns) -> dict[str, list[float]]:
    """The space of all metrics, by variable."""
    return {"mean": data.space.mean.tolist(), "std": data.space.std.tolist()}


@dataclass
class Answers:
    """Predictions of a model, kept where they fit into memory: networks take long to answer, and are asked the same again."""

    surrogate: Surrogate
    keep: bool
    advance: Callable[[int], None]
    asked: dict[bytes, Predictive] = field(default_factory=dict)
    done: int = 0

    def __call__(self, conditions: np.ndarray) -> Predictive:
        self.done += len(conditions)
        self.advance(self.done)
        key = conditions.tobytes()
        found = self.asked[key] if key in self.asked else self.surrogate.predictive(conditions)
        if self.keep:
            self.asked[key] = found
        return found


def evaluate_model(folder: Path, entry: Entry, data: StudyRuns, advance: Callable[[float], None]) -> Found:
    """`evaluation/<label>.json` with rows, cases, curves and histograms, and `.npz` with the fields that are drawn."""
    surrogate = load(folder / "models" / entry.label)
    tests = data.division_for(entry).test
    kinds: list[tuple[str, str, str | None]] = [(entry.label, surrogate.uq, None)]
    if surrogate.uq in FURTHER_UQ:
        uq, part = FURTHER_UQ[surrogate.uq]
        kinds.append((f"{entry.label}-{part}", uq, part))
    n_tested = int(np.logical_or.reduce(list(tests.values())).sum()) * len(kinds)
    answers = Answers(surrogate, data.runs.fits_in_memory, lambda done: advance(min(1.0, done / n_tested)))
    found: Found = {kind: [] for kind in KINDS}
    for label, uq, part in kinds:
        identity = {"label": label, "model": surrogate.model_name, "uq": uq, **identity_of(entry, data)}
        identity["scaling"] = surrogate.spec.scaling  # which the comparison may have chosen
        evaluation = evaluate(answers, data.runs, tests, data.space, part=part, scaling=data.metric_scaling)
        named = identity if entry.series is None else identity | {"label": entry.series}
        if part is None:
            found["quantities"] += labelled(quantity_rows(surrogate, data.runs, tests), **named)
            found["verdicts"] += labelled(verdict_rows(surrogate, data.runs, tests), **named)
            found["bar_parts"] += labelled(bar_part_rows(surrogate, data.runs, tests), **named)
        if entry.series is not None:
            found["rows"] += labelled(evaluation.rows, **named)
            continue
        found["rows"] += labelled(evaluation.rows, **identity)
        # Runs and curves are drawn as means over the variables; by variable they would fill megabytes.
        found["cases"] += labelled(_means(evaluation.cases), **identity)
        found["curves"] += labelled(_means(evaluation.curves), **identity)
        found["histogram"] += labelled(evaluation.histogram, **identity)
    write_atomically(folder / "evaluation" / f"{entry.label}.json", json.dumps(found, allow_nan=False).encode())
    write_arrays(folder / "evaluation" / f"{entry.label}.npz", shown_fields(entry.label, surrogate, data))
    return found


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["variable"] == "mean"]


def shown_fields(label: str, surrogate: Surrogate, data: StudyRuns) -> dict[str, np.ndarray]:
    """Mean and standard deviation (variable, ...) of the condition whose fields are drawn."""
    condition = data.runs.parameters[[data.shown]]
    predictive = in_metrics(surrogate.predictive(condition), condition, data)
    arrays = {f"{label}__mean": predictive.mean[0]}
    if predictive.std is not None:
        arrays[f"{label}__std"] = predictive.std[0]
    for name, part in predictive.parts.items():
        if len(predictive.parts) > 1:
            arrays[f"{label}-{name}__mean"], arrays[f"{label}-{name}__std"] = predictive.mean[0], part[0]
    shape = surrogate.space.shape or (surrogate.space.n_points,)
    return {name: np.asarray(values, np.float32).reshape(-1, *shape) for name, values in arrays.items()}


def in_metrics(predictive: Predictive, condition: np.ndarray, data: StudyRuns) -> Predictive:
    """A prediction in the units in which the study measures errors."""
    scaling = data.metric_scaling
    if scaling is None:
        return predictive
    mean = scaling.forward(np.asarray(predictive.mean), condition)
    slope = scaling.slope(mean, condition)
    return Predictive(mean, {name: np.asarray(part) / slope for name, part in predictive.parts.items()})


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """A NumPy archive, whole or not at all, and the same bytes for the same arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def collect(folder: Path, data: StudyRuns, scores: list[dict[str, Any]], histories: list[dict[str, Any]]) -> None:
    """results.json and maps.npz of the whole study."""
    found: Found = {kind: [] for kind in KINDS}
    settings, runs, split = data.settings, data.runs, data.division
    maps = true_fields(data)
    for entry in settings.models:
        evaluated = json.loads((folder / "evaluation" / f"{entry.label}.json").read_bytes())
        for kind, rows in found.items():
            rows += evaluated.get(kind, [])
        with np.load(folder / "evaluation" / f"{entry.label}.npz") as arrays:
            maps |= dict(arrays)
    write_arrays(folder / MAPS, maps)
    Results(
        configuration=settings.portable(),
        data={
            "checksum": data.checksum,
            "runs": {
                "train": int(split.train.sum()),
                "test": {name: int(mask.sum()) for name, mask in split.test.items()},
                "left_out": split.left_out,
                "not_converged": runs.left_out,
            },
            "points": runs.n_points,
            "parameters": {item.name: item.unit for item in runs.header.parameters},
            "fields": {item.name: item.unit for item in runs.header.fields},
            "axes": list(runs.header.axes),
            "axis_unit": runs.header.axis_unit,
            "space": space_of(data),
            "shown": data.shown_condition,
        },
        selection={"candidates": scores, "chosen": best(scores) if scores else {}},
        histories=histories,
        **found,
    ).write(folder)


def true_fields(data: StudyRuns) -> dict[str, np.ndarray]:
    """The run that is drawn, its mesh, and the space of the metrics."""
    runs, case = data.runs, data.shown
    truth = in_metrics(Predictive(np.asarray(runs.fields[case])[None], {}), runs.parameters[[case]], data)
    shape, geometry = runs.topology.values_shape(runs.header.location), runs.geometry_of(case)
    found = {
        "truth": np.asarray(truth.mean)[0].reshape(-1, *(shape or (runs.n_points,))),
        "space_mean": data.space.mean,
        "space_std": data.space.std,
    }
    labels = mesh_labels(runs.header, runs.topology, [geometry], of_cases=False)
    found |= {name: values for name, (_, values, _) in labels.items()}
    return found


def training_history(folder: Path, entry: Entry) -> list[dict[str, Any]]:
    """Mean standard deviation on the training batches by epoch, of heads that report one; none if the log was lost."""
    try:
        lines = (folder / "models" / entry.label / EVENTS).read_text().splitlines()
        return [
            {"label": entry.label, "epoch": event["epoch"], "domain": "train", "variable": name, "mean_std": std}
            for event in map(json.loads, lines)
            for name, std in event.get("std", {}).items()
        ]
    except (OSError, ValueError, KeyError, AttributeError):
        return []
