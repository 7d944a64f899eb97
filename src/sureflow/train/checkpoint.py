"""Checkpoints: one file with everything that training needs to go on as if it had never stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from sureflow.errors import Exists, SureflowError
from sureflow.files import write_atomically
from sureflow.models.contract import Checkpoint, EpochReport, Progress
from sureflow.train.loop import Training, TrainState
from sureflow.train.tensors import from_tensors, to_tensors

HISTORY = "history."


def save_checkpoint(path: Path, training: Training, fingerprint: str) -> None:
    """Weights, moments and history of the epochs done, in one file that is never half-written."""
    history = training.history
    tensors = to_tensors(training.state)
    for name in history[0].parts:
        tensors[HISTORY + name] = np.stack([report.parts[name] for report in history])
    header = {"fingerprint": fingerprint, "epochs": str(len(history))}
    write_atomically(path, save(tensors, metadata=header))


def epochs_done(path: Path) -> int:
    """How far the checkpoint has come, read from its header alone; 0 if there is none."""
    return int(_open(path).metadata()["epochs"]) if path.exists() else 0


def fingerprint_of(path: Path) -> str:
    """What the checkpoint was made from, by its header alone."""
    return _open(path).metadata()["fingerprint"]


def begin_or_go_on(initial: Callable[[], TrainState], checkpoint: Checkpoint | None) -> Training:
    """The training of a checkpoint where there is one, else one that begins."""
    if checkpoint is None or not checkpoint.path.exists():
        return Training(initial())
    return load_checkpoint(checkpoint.path, initial(), checkpoint.fingerprint)


def keeping(progress: Progress, checkpoint: Checkpoint | None) -> Callable[[Training], None]:
    """What is done at the end of an epoch. It is told before it is kept: one that is lost in between is done, and told, again."""

    def end_of_epoch(training: Training) -> None:
        progress(training.history[-1])
        if checkpoint is not None:
            save_checkpoint(checkpoint.path, training, checkpoint.fingerprint)

    return end_of_epoch


def load_checkpoint(path: Path, initial: TrainState, fingerprint: str) -> Training:
    """The training of a checkpoint that belongs to this experiment and these data; `initial` has the form of its state."""
    file = _open(path)
    if fingerprint_of(path) != fingerprint:
        raise Exists(f"{path} belongs to another experiment or other data: choose another folder, or remove it")
    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    parts = {name.removeprefix(HISTORY): tensors.pop(name) for name in list(tensors) if name.startswith(HISTORY)}
    history = [
        EpochReport(epoch, dict(zip(parts, values, strict=True)))
        for epoch, values in enumerate(zip(*parts.values(), strict=True))
    ]
    state = jax.tree.map(jnp.asarray, from_tensors(initial, tensors, str(path)))
    return Training(state, tuple(history))


def _open(path: Path) -> Any:
    try:
        file = safe_open(path, "numpy")
    except SafetensorError as error:
        raise SureflowError(f"{path} is damaged ({error}): remove it to train from the beginning") from None
    if {"fingerprint", "epochs"} - (file.metadata() or {}).keys():
        raise SureflowError(f"{path} is not a checkpoint of sureflow: choose another output folder")
    return file
