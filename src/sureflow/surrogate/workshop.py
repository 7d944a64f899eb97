"""Models made in folders: trained from an experiment, with events and provenance beside them, and calibrated."""

import fnmatch
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sureflow.data.disk import explain_writing, refuse_nameless
from sureflow.data.runs import Runs
from sureflow.data.splits import Division
from sureflow.errors import SureflowError
from sureflow.importers import open_file
from sureflow.models.contract import EpochReport, ModelSettings
from sureflow.runtime import machine
from sureflow.surrogate.artifact import (
    EVENTS,
    EXPERIMENT,
    MANIFEST,
    PROVENANCE,
    load,
    refuse_model,
    settle_model,
    write_model,
)
from sureflow.surrogate.calibrate import Progress as Refits
from sureflow.surrogate.calibrate import calibrate, calibration_runs
from sureflow.surrogate.experiment import Experiment
from sureflow.surrogate.fit import SILENT, Listener, make_surrogate
from sureflow.surrogate.learning import CHECKPOINT, continues
from sureflow.surrogate.matching import matched
from sureflow.surrogate.mesh_bars import with_mesh_error
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.model_folder import alone_in, is_unsettled
from sureflow.train.events import explosion_warning, jsonl_sink, tensorboard_sink

# What a folder may hold that a model is trained into: without a model, only what an interrupted training left.
LEFT_BEHIND = (CHECKPOINT, EVENTS, "weights*.safetensors", "calibration*.safetensors", "mesh*.safetensors")
OF_A_MODEL = (*LEFT_BEHIND, MANIFEST, EXPERIMENT, PROVENANCE)


@dataclass(frozen=True)
class Trained:
    """A model that was trained into a folder, and what its user should know of the training."""

    surrogate: Surrogate
    folder: Path
    seconds: float
    warnings: tuple[str, ...]


def train_into(
    experiment: Experiment,
    listener: Listener = SILENT,
    *,
    say: Callable[[str], None] = lambda words: None,
    overwrite: bool = False,
    tensorboard: Path | None = None,
) -> Trained:
    """Train the model of an experiment into its folder; `say` hears what is learned from.

    Models that resume go on from the checkpoint that an interrupted training left there. A model that is in the folder
    already is replaced only with `overwrite`, when the new one is finished, and whole.
    """
    began, folder = time.perf_counter(), experiment.output
    if is_unsettled(folder):
        with alone_in(folder):
            settle_model(folder)
    _refuse_other_files(folder, overwrite=overwrite)
    runs = open_file(experiment.runs)
    division = experiment.split(runs)
    training = runs.select(division.train)
    training.require_trainable()
    say(_description(runs, division))
    diary = Diary(folder, training.names, tensorboard)
    with alone_in(folder):
        _refuse_other_files(folder, overwrite=overwrite)
        if overwrite:
            _forget_other_checkpoint(experiment, training)
        follow = replace(listener, epoch=_both(diary, listener.epoch))
        surrogate = make_surrogate(training, experiment.spec, folder=folder, listener=follow)
        trained = Trained(surrogate, folder, round(time.perf_counter() - began, 1), diary.warnings)
        described = {
            EXPERIMENT: experiment.to_toml().encode(),
            PROVENANCE: (json.dumps(_provenance(runs, division, trained), indent=2) + "\n").encode(),
            EVENTS: diary.content(),
        }
        write_model(surrogate, folder, described)
    return trained


def calibrate_in(
    folder: Path,
    runs: Runs,
    *,
    meshes: Sequence[Runs] = (),
    folds: bool = False,
    quantities: bool = True,
    say: Callable[[str], None] = lambda words: None,
    on_refit: Refits = lambda done, total: None,
) -> Surrogate:
    """Calibrate the model in a folder, where it then replaces the one without these bars; `say` hears by which runs.

    With `meshes`, runs on a finer mesh and perhaps on a coarser one, its bars hold the error of its mesh as well.
    """
    load(folder)  # what cannot be read is not locked either
    with alone_in(folder):
        settle_model(folder)
        surrogate = load(folder)  # the one that is here now that nobody else writes
        if meshes:  # first: what does not fit is told at once
            surrogate = with_mesh_error(surrogate, runs, *meshes)
        say(f"calibrating with {calibration_runs(surrogate, matched(runs, surrogate), folds=folds)}")
        fitted = calibrate(surrogate, runs, folds=folds, quantities=quantities, on_refit=on_refit)
        write_model(fitted, folder)
    return fitted


class Diary:
    """Keeps every epoch in `events.jsonl`, and in TensorBoard where that is asked for."""

    def __init__(self, folder: Path, names: tuple[str, ...], tensorboard: Path | None):
        self.names = names
        self.path = folder / f".{EVENTS}"  # the visible one is that of the finished model
        self.sinks = [jsonl_sink(self.path, names)]
        if tensorboard is not None:
            self.sinks.append(tensorboard_sink(tensorboard, names))
        self.begun = False
        self.warnings: tuple[str, ...] = ()  # about the last epoch

    def __call__(self, report: EpochReport) -> None:
        for sink in self.sinks:
            sink(report)
        self.begun = True
        warning = explosion_warning(report, self.names)
        self.warnings = () if warning is None else (warning,)

    def content(self) -> bytes:
        """What was kept; nothing of a model without epochs."""
        return self.path.read_bytes() if self.begun else b""


def _both(one: Callable[[EpochReport], None], other: Callable[[EpochReport], None]) -> Callable[[EpochReport], None]:
    def hear(report: EpochReport) -> None:
        one(report)
        other(report)

    return hear


def _refuse_other_files(folder: Path, *, overwrite: bool) -> None:
    """Only a model, or what an interrupted training of one left, may be in the folder."""
    refuse_nameless(folder)
    with explain_writing(folder):
        found = sorted(path.name for path in folder.iterdir() if path.name[0] != ".") if folder.exists() else []
    known = OF_A_MODEL if MANIFEST in found else LEFT_BEHIND
    for name in found:
        if not any(fnmatch.fnmatch(name, pattern) for pattern in known):
            raise SureflowError(
                f"{folder} holds files that do not belong to a model, such as {name}: choose another folder"
            )
    refuse_model(folder, overwrite=overwrite)


def _forget_other_checkpoint(experiment: Experiment, training: Runs) -> None:
    """Begin afresh where the checkpoint in the folder is damaged or belongs to another training."""
    try:
        goes_on = isinstance(experiment.spec.model, ModelSettings) and continues(
            experiment.output, training, experiment.spec
        )
    except SureflowError:
        goes_on = False
    if not goes_on:
        (experiment.output / CHECKPOINT).unlink(missing_ok=True)


def _description(runs: Runs, division: Division) -> str:
    """What is learned from, and what is left out."""
    left_out = ", ".join(f"{count} {status}" for status, count in runs.left_out.items())
    tested = ", ".join(f"{name} {mask.sum()}" for name, mask in division.test.items())
    lines = [
        f"{division.train.sum()} runs of {runs.n_points} points",
        f"left out as not converged: {left_out}" if left_out else "",
        f"held back for testing: {tested}" if tested else "",
    ]
    return "\n".join(filter(None, lines))


def _provenance(runs: Runs, division: Division, trained: Trained) -> dict[str, Any]:
    """What is true of this training but not of the model: times, the machine, and which runs were kept out of it."""
    return {
        "seconds": trained.seconds,
        "machine": machine(),
        "runs": {
            "train": int(division.train.sum()),
            "test": {name: int(mask.sum()) for name, mask in division.test.items()},
            "training_runs_left_out_of_test": division.left_out,
            "left_out_as_not_converged": dict(runs.left_out),
        },
        "warnings": list(trained.warnings),
        "comparison": [dict(row) for row in trained.surrogate.comparison] or None,
    }
