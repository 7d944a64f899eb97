"""Training of the models of a study, and the choice of what the paper does not give. Killed, it goes on where it was."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.normalize import Standard
from sureflow.data.runs import FEWEST_RUNS, Runs
from sureflow.data.splits import Mask
from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.models.contract import EpochReport, ModelSettings, unheard
from sureflow.models.train_settings import TrainSettings
from sureflow.study.agenda import Entry, Selection, with_settings
from sureflow.study.division import StudyRuns
from sureflow.study.stages import Stage
from sureflow.study.work import Study
from sureflow.surrogate.artifact import ARRAYS, save
from sureflow.surrogate.calibrate import CannotCalibrate, calibrate
from sureflow.surrogate.fit import Listener, make_surrogate
from sureflow.surrogate.learning import CHECKPOINT, learn, view_of
from sureflow.surrogate.manifest import MANIFEST
from sureflow.surrogate.mesh_bars import with_mesh_error
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.specification import Specification
from sureflow.train.events import jsonl_sink
from sureflow.train.loop import Diverged
from sureflow.validation import plain

CHOSEN = ("learning_rate", "batch", "schedule")
SCORE = "score.json"
EVENTS = "events.jsonl"


def follow_epochs(study: Study, stage: str, words: str, epochs: int) -> Callable[[EpochReport], None]:
    """Progress after every epoch."""

    def follow(report: EpochReport) -> None:
        done = report.epoch + 1
        loss = report.parts["loss"].mean()
        study.advance(stage, done / epochs, f"{words}: epoch {done} of {epochs}, loss {loss:.4g}")

    return follow


def train_model(study: Study, entry: Entry, train: TrainSettings, data: StudyRuns) -> None:
    """One model of the study; networks leave checkpoints, so that a killed training goes on where it was."""
    training = data.training_for(entry)
    name = f"train {entry.label}"
    folder = study.folder / "models" / entry.label
    spec = selected(study, entry, train, training)
    meshes = data.other_meshes if entry.has_mesh_bars else []
    judges = training if entry.by_folds else data.trainable_for(entry)
    inputs = {"training": training.checksum, **plain(spec)}
    if entry.calibrate:
        inputs["calibrate"] = True if entry.by_folds else judges.checksum
    if meshes:
        inputs["mesh_error"] = [runs.checksum for runs in meshes]

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        forget_other_training(folder, inputs)
        follow = follow_training(study, name, spec, folder / EVENTS, training.names)
        surrogate = make_surrogate(training, spec, folder=folder, listener=Listener(epoch=follow))
        if entry.calibrate:
            surrogate = calibrated(study, name, surrogate, judges)
        if meshes:
            surrogate = with_mesh_error(surrogate, training, *meshes)
        save(surrogate, folder, overwrite=True)

    place = f"models/{entry.label}"
    outputs = [f"{place}/{MANIFEST}", f"{place}/{ARRAYS}-*.safetensors"]
    study.stage(Stage(name, inputs, outputs, make, temporary=[f"{place}/{CHECKPOINT}"]))


def calibrated(study: Study, name: str, surrogate: Surrogate, runs: Runs) -> Surrogate:
    """With bars fitted to those of the runs that it has not seen, or by folds; unchanged, and said so, where they are too few."""
    try:
        return calibrate(surrogate, runs)
    except CannotCalibrate as error:
        study.watch.say(f"{name}: not calibrated, since {error}")
        return surrogate


def follow_training(
    study: Study, name: str, spec: Specification, events: Path, variables: tuple[str, ...]
) -> Callable[[EpochReport], None]:
    """Events of every epoch to a file, and progress of the whole."""
    train = spec.model.training if isinstance(spec.model, ModelSettings) else None
    if train is None:
        return unheard
    sink = jsonl_sink(events, variables)
    progress = follow_epochs(study, name, name, train.epochs)

    def on_epoch(report: EpochReport) -> None:
        sink(report)
        progress(report)

    return on_epoch


def forget_other_training(folder: Path, inputs: dict[str, Any]) -> None:
    """Start afresh unless the folder is known to hold a training of these inputs: another checkpoint is of no use."""
    path = folder / "inputs.json"
    wanted = (json.dumps(inputs, indent=1) + "\n").encode()
    if not path.exists() or path.read_bytes() != wanted:
        shutil.rmtree(folder)
        folder.mkdir()
    write_atomically(path, wanted)


def select(study: Study, training: Runs) -> TrainSettings:
    """The training settings of the study, with those that it leaves open chosen by validation on training runs."""
    search, train = study.settings.selection, study.settings.train
    if search is None:
        return train
    held_out = draw_held_out(search, len(training))
    candidates = list(search.candidates(train))
    for number, candidate in enumerate(candidates):
        try_candidate(study, number, candidate, training, held_out, len(candidates))
    chosen = best(scores(study))
    study.watch.say("chosen: " + ", ".join(f"{name} {value}" for name, value in chosen.items()))
    return replace(train, **{name: chosen[name] for name in CHOSEN})


def selected(study: Study, entry: Entry, train: TrainSettings, training: Runs) -> Specification:
    """What an entry learns, with the settings that it selects for itself, by its own loss on held-out training runs."""
    spec, search = entry.specification(train), study.settings.selection
    if not entry.select or search is None:
        return spec
    held_out = draw_held_out(search, len(training))
    found = [
        try_choice(study, entry, number, chosen, candidate, training, held_out)
        for number, (chosen, candidate) in enumerate(entry.choices(train, search.epochs))
    ]
    finished = [score for score in found if score["loss"] is not None]
    if not finished:
        raise SureflowError(f"every choice of select for {entry.label} diverged: add lower learning rates")
    chosen = min(finished, key=lambda score: score["loss"])["chosen"]
    study.watch.say(f"chosen for {entry.label}: " + ", ".join(f"{name} {value}" for name, value in chosen.items()))
    assert isinstance(spec.model, ModelSettings)
    return replace(spec, model=with_settings(spec.model, chosen))


def try_choice(
    study: Study,
    entry: Entry,
    number: int,
    chosen: dict[str, Any],
    spec: Specification,
    training: Runs,
    held_out: Mask,
) -> dict[str, Any]:
    """The loss of one choice on the held-out runs; none if it diverges."""
    name, place = f"select {entry.label} {number}", f"selection/{entry.label}/{number}"
    folder = study.folder / place
    assert isinstance(spec.model, ModelSettings)
    epochs = spec.model.training.epochs if spec.model.training else 1
    inputs = {"training": training.checksum, **plain(spec), "held_out": np.flatnonzero(held_out).tolist()}

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        forget_other_training(folder, inputs)
        try:
            follow = follow_epochs(study, name, name, epochs)
            surrogate = learn(training.select(~held_out), spec, folder=folder, progress=follow)
            loss = own_loss(surrogate, training.select(held_out))
        except Diverged:
            loss = None
        write_atomically(folder / SCORE, (json.dumps({"chosen": chosen, "loss": loss}) + "\n").encode())

    study.stage(Stage(name, inputs, [f"{place}/{SCORE}"], make, temporary=[f"{place}/{CHECKPOINT}"]))
    return json.loads((folder / SCORE).read_bytes())


def own_loss(surrogate: Surrogate, runs: Runs) -> float:
    """What the model minimizes, in its own normalized space; the same to six digits whenever it is computed."""
    predictor = surrogate.predictor
    view = view_of(runs, predictor.scaling, predictor.normalizer, predictor.spec.seen_coordinates)
    loss = predictor.fitted.loss(view)
    if not math.isfinite(loss):
        raise Diverged(f"the loss on the held-out runs is {loss}: lower train.learning_rate and train again")
    return float(f"{loss:.6g}")


def draw_held_out(search: Selection, n_runs: int) -> Mask:
    """Training runs that validate."""
    if search.held_out > n_runs - FEWEST_RUNS:
        raise SureflowError(
            f"selection.held_out={search.held_out} of {n_runs} training runs leaves too few: choose fewer"
        )
    held_out = np.zeros(n_runs, bool)
    held_out[np.random.default_rng(search.seed).permutation(n_runs)[: search.held_out]] = True
    return held_out


def try_candidate(
    study: Study, number: int, candidate: TrainSettings, training: Runs, held_out: Mask, count: int
) -> None:
    """Train the deterministic model with one choice and keep its error on the held-out runs; none if it diverges."""
    name, place = f"selection {number}", f"selection/{number}"
    folder = study.folder / place
    spec = study.settings.deterministic.spec
    assert isinstance(spec.model, ModelSettings)
    spec = replace(spec, model=spec.model.alone().trained_with(candidate))

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        forget_other_training(folder, inputs)
        follow = follow_epochs(study, name, f"selection {number + 1} of {count}", candidate.epochs)
        space = Standard.of_fields(training)
        try:
            surrogate = learn(training.select(~held_out), spec, folder=folder, progress=follow)
            error = validation_error(surrogate, training.select(held_out), space)
        except Diverged as reason:
            study.watch.say(f"{name}: not eligible, since {str(reason).partition(':')[0]}")
            error = None
        score = {key: getattr(candidate, key) for key in CHOSEN} | {"mae": error}
        write_atomically(folder / SCORE, (json.dumps(score) + "\n").encode())

    inputs = {"training": training.checksum, **plain(spec), "held_out": np.flatnonzero(held_out).tolist()}
    study.stage(Stage(name, inputs, [f"{place}/{SCORE}"], make, temporary=[f"{place}/{CHECKPOINT}"]))


def scores(study: Study) -> list[dict[str, Any]]:
    """What every candidate reached."""
    search = study.settings.selection
    count = 0 if search is None else len(list(search.candidates(study.settings.train)))
    return [json.loads((study.folder / "selection" / f"{n}" / SCORE).read_bytes()) for n in range(count)]


def best(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The candidate with the least error, of those that did not diverge."""
    finished = [score for score in found if score["mae"] is not None]
    if not finished:
        rates = sorted({score["learning_rate"] for score in found})
        raise SureflowError(f"every candidate diverged with selection.learning_rate={rates}: add lower learning rates")
    return min(finished, key=lambda score: score["mae"])


def validation_error(surrogate: Surrogate, held_out: Runs, space: Standard) -> float:
    """Mean absolute error in normalized space over all variables, to six digits."""
    error = np.asarray(surrogate.raw_predictive(held_out.parameters).mean) - held_out.array()
    mean = float(np.mean(np.abs(error) / space.std[:, None]))
    if not math.isfinite(mean):
        raise Diverged(f"the error on the held-out runs is {mean}: lower train.learning_rate and train again")
    return float(f"{mean:.6g}")
