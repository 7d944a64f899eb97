"""Training of the models of a study, and the choice of what the paper does not give. Killed, it goes on where it was."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from sureflow import artifact
from sureflow.choose import ComparisonSettings, compare
from sureflow.data.dataset import FEWEST_RUNS, Dataset
from sureflow.data.normalize import Standard
from sureflow.data.split import Mask
from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.learn import CHECKPOINT, learn
from sureflow.models import FieldModelSettings
from sureflow.study.settings import AnyRecipe, Entry, Selection, vars_of
from sureflow.study.stages import Stage
from sureflow.study.work import Study
from sureflow.surrogate import Surrogate
from sureflow.train.events import jsonl_sink
from sureflow.train.loop import Diverged, EpochReport, Recipe, TrainSettings
from sureflow.trust import calibrate

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


def train_model(study: Study, entry: Entry, train: TrainSettings, training: Dataset) -> None:
    """One model of the study; networks leave checkpoints, so that a killed training goes on where it was."""
    name = f"train {entry.label}"
    folder = study.folder / "models" / entry.label
    recipe = entry.recipe(train)
    inputs = {"training": training.checksum, **described(recipe), "coordinates": entry.coordinates}
    if entry.scaling != "none":
        inputs["scaling"] = entry.scaling
    if entry.calibrate:
        inputs["calibrate"] = True

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        forget_other_training(folder, inputs)
        chosen = recipe
        if isinstance(chosen, ComparisonSettings):
            chosen = compare(training, chosen, entry.scaling).settings
        surrogate = learn(
            training,
            chosen,
            entry.coordinates,
            scaling=entry.scaling,
            folder=folder,
            on_epoch=follow(study, name, chosen, folder / EVENTS, training.names),
        )
        if entry.calibrate:
            surrogate = calibrated(study, name, surrogate, training)
        artifact.save(surrogate, folder)

    outputs = [f"models/{entry.label}/{file}" for file in (artifact.MANIFEST, artifact.WEIGHTS)]
    study.stage(Stage(name, inputs, outputs, make, temporary=[f"models/{entry.label}/{CHECKPOINT}"]))


def calibrated(study: Study, name: str, surrogate: Surrogate, training: Dataset) -> Surrogate:
    """With bars fitted by folds over the training runs; as it is, and said so, where these are too few."""
    try:
        return calibrate(surrogate, training, folds=True)
    except SureflowError as error:
        study.watch.say(f"{name}: not calibrated, since {error}")
        return surrogate


def described(recipe: AnyRecipe) -> dict[str, Any]:
    """What is learned, as plain values."""
    if not isinstance(recipe, Recipe):
        return {"model": asdict(recipe)}  # type: ignore[call-overload]
    return {
        "model": asdict(recipe.model),
        "head": asdict(recipe.head),
        "members": recipe.members,
        "train": vars_of(recipe.train),
    }


def follow(
    study: Study, name: str, recipe: Recipe | FieldModelSettings, events: Path, variables: tuple[str, ...]
) -> Callable[[EpochReport], None]:
    """Events of every epoch to a file, and progress of the whole."""
    if not isinstance(recipe, Recipe):
        return lambda report: None
    sink = jsonl_sink(events, variables)
    progress = follow_epochs(study, name, name, recipe.train.epochs)

    def on_epoch(report: EpochReport) -> None:
        sink(report)
        progress(report)

    return on_epoch


def forget_other_training(folder: Path, inputs: dict[str, Any]) -> None:
    """Whoever changed the settings of a study said so: a checkpoint of the old ones, or of nobody knows what, is no use."""
    path = folder / "inputs.json"
    wanted = (json.dumps(inputs, indent=1) + "\n").encode()
    if not path.exists() or path.read_bytes() != wanted:
        shutil.rmtree(folder)
        folder.mkdir()
    write_atomically(path, wanted)


def select(study: Study, training: Dataset) -> TrainSettings:
    """The training settings of the study, with what the paper does not give chosen by validation on training runs."""
    search, train = study.settings.selection, study.settings.train
    if search is None:
        return train
    held_out = draw_held_out(search, len(training.parameters))
    candidates = list(search.candidates(train))
    for number, candidate in enumerate(candidates):
        try_candidate(study, number, candidate, training, held_out, len(candidates))
    chosen = best(scores(study))
    study.watch.say("chosen: " + ", ".join(f"{name} {value}" for name, value in chosen.items()))
    return replace(train, **{name: chosen[name] for name in CHOSEN})


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
    study: Study, number: int, candidate: TrainSettings, training: Dataset, held_out: Mask, of: int
) -> None:
    """Train the deterministic model with one choice and keep its error on the held-out runs; none if it diverges."""
    name, place = f"selection {number}", f"selection/{number}"
    entry, folder = study.settings.deterministic, study.folder / place
    recipe = entry.recipe(candidate)
    assert isinstance(recipe, Recipe)
    recipe = replace(recipe, members=1, train=candidate)

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        forget_other_training(folder, inputs)
        follow = follow_epochs(study, name, f"selection {number + 1} of {of}", candidate.epochs)
        space = Standard.fit(training.fields, axis=(0, 2))
        try:
            surrogate = learn(training.select(~held_out), recipe, entry.coordinates, folder=folder, on_epoch=follow)
            error = validation_error(surrogate, training.select(held_out), space)
        except Diverged as reason:
            study.watch.say(f"{name}: counts as lost, since {str(reason).partition(':')[0]}")
            error = None
        score = {key: getattr(candidate, key) for key in CHOSEN} | {"mae": error}
        write_atomically(folder / SCORE, (json.dumps(score) + "\n").encode())

    inputs = {
        "training": training.checksum,
        "candidate": vars_of(candidate),
        "model": asdict(entry.model),
        "coordinates": entry.coordinates,
        "held_out": np.flatnonzero(held_out).tolist(),
    }
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


def validation_error(surrogate: Surrogate, held_out: Dataset, space: Standard) -> float:
    """Mean absolute error in normalized space over all variables, to six digits."""
    error = surrogate.predictive(held_out.parameters).mean - held_out.fields
    mean = float(np.mean(np.abs(error) / space.std[:, None]))
    if not math.isfinite(mean):
        raise Diverged(f"the error on the held-out runs is {mean}: lower train.learning_rate and train again")
    return float(f"{mean:.6g}")
