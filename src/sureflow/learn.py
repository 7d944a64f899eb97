"""From runs to a surrogate: normalize, train with checkpoints, and put together what a user needs."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from sureflow.data.dataset import Dataset
from sureflow.data.normalize import Normalizer
from sureflow.surrogate import Surrogate
from sureflow.train.checkpoint import load_checkpoint, save_checkpoint
from sureflow.train.loop import EpochReport, Recipe, Training, fit

CHECKPOINT = "checkpoint.safetensors"


def learn(
    training: Dataset,
    recipe: Recipe,
    coordinates: str,
    *,
    folder: Path | None = None,
    on_epoch: Callable[[EpochReport], None] = lambda report: None,
) -> Surrogate:
    """Train on all runs of `training`; `on_epoch` hears the report of every epoch.

    With a `folder`, every epoch leaves a checkpoint there, and training goes on from the one it finds.
    """
    training.require_trainable()
    normalizer = Normalizer.fit(training, coordinates)
    view = normalizer.training_view(training, coordinates)
    fingerprint = _fingerprint(training, recipe, coordinates)
    checkpoint = None if folder is None else folder / CHECKPOINT
    start = None
    if checkpoint is not None and checkpoint.exists():
        start = load_checkpoint(checkpoint, view, recipe, fingerprint)

    def end_of_epoch(progress: Training) -> None:
        # Told before it is kept: an epoch that is lost in between is done, and told, again.
        on_epoch(progress.history[-1])
        if checkpoint is not None:
            save_checkpoint(checkpoint, progress, fingerprint)

    result = fit(view, recipe, start=start, on_epoch=end_of_epoch)
    return Surrogate.of(training, recipe, coordinates, normalizer, result.state.weights)


def _fingerprint(training: Dataset, recipe: Recipe, coordinates: str) -> str:
    """Equal when and only when data and settings are: what a checkpoint must match to be continued."""
    settings = json.dumps(asdict(recipe) | {"coordinates": coordinates}, sort_keys=True)
    return hashlib.sha256((training.checksum + settings).encode()).hexdigest()
