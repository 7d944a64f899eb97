"""From runs to a surrogate: scale, normalize, fit or train with checkpoints, and put together what a user needs."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.data.dataset import PHYSICAL, Dataset
from sureflow.data.normalize import Normalizer, TrainingView
from sureflow.data.scaling import scaling_of
from sureflow.models import FieldModelSettings
from sureflow.surrogate import Surrogate
from sureflow.train.checkpoint import fingerprint_of, load_checkpoint, save_checkpoint
from sureflow.train.loop import EpochReport, Recipe, Training, fit

CHECKPOINT = "checkpoint.safetensors"


def learn(
    training: Dataset,
    recipe: Recipe | FieldModelSettings,
    coordinates: str = PHYSICAL,
    *,
    scaling: str = "none",
    folder: Path | None = None,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
) -> Surrogate:
    """Learn from all runs of `training`. A whole-field model has no use for coordinates, folder and epochs.

    Networks with a `folder` leave a checkpoint there after every epoch, and training goes on from the one it finds;
    `on_epoch` hears the report of every epoch.
    """
    training.require_trainable()
    transform = scaling_of(scaling, training)
    scaled = transform.scaled(training)
    normalizer = Normalizer.fit(scaled, coordinates)
    if isinstance(recipe, FieldModelSettings):
        weights = recipe.fit(normalizer.parameters.forward(scaled.parameters), _normalized_fields(scaled, normalizer))
    else:
        checkpoint = None if folder is None else folder / CHECKPOINT
        fingerprint = _fingerprint(training, recipe, coordinates, scaling)
        view = normalizer.training_view(scaled, coordinates)
        weights = _train(view, recipe, training.names, checkpoint, fingerprint, on_epoch)
    return Surrogate.of(training, recipe, coordinates, normalizer, weights, transform)


def continues(folder: Path, training: Dataset, recipe: Recipe, coordinates: str, scaling: str) -> bool:
    """Whether the folder has a checkpoint of this very training."""
    checkpoint = folder / CHECKPOINT
    return checkpoint.exists() and fingerprint_of(checkpoint) == _fingerprint(training, recipe, coordinates, scaling)


def _normalized_fields(scaled: Dataset, normalizer: Normalizer) -> np.ndarray:
    """In float64, which the training view of networks is not."""
    return (scaled.fields - normalizer.fields.mean[:, None]) / normalizer.fields.std[:, None]


def _train(
    view: TrainingView,
    recipe: Recipe,
    names: tuple[str, ...],
    checkpoint: Path | None,
    fingerprint: str,
    on_epoch: Callable[[EpochReport], None],
) -> Any:
    """Weights after the last epoch, from the checkpoint on if there is one."""
    start = None
    if checkpoint is not None and checkpoint.exists():
        start = load_checkpoint(checkpoint, view, recipe, fingerprint)

    def end_of_epoch(progress: Training) -> None:
        # Told before it is kept: an epoch that is lost in between is done, and told, again.
        on_epoch(progress.history[-1])
        if checkpoint is not None:
            save_checkpoint(checkpoint, progress, fingerprint)

    return fit(view, recipe, names=names, start=start, on_epoch=end_of_epoch).state.weights


def _fingerprint(training: Dataset, recipe: Recipe, coordinates: str, scaling: str) -> str:
    """Equal when and only when data and settings are: what a checkpoint must match to be continued.

    Without a scaling it is not named, so that checkpoints of versions that knew none go on.
    """
    named = {} if scaling == "none" else {"scaling": scaling}
    settings = json.dumps(asdict(recipe) | {"coordinates": coordinates} | named, sort_keys=True)
    return hashlib.sha256((training.checksum + settings).encode()).hexdigest()
