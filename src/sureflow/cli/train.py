"""`sureflow train`: runs or an experiment in; a model folder out."""

import json
import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sureflow.config import Experiment
    from sureflow.data.dataset import Dataset
    from sureflow.data.split import Split

EVENTS = "events.jsonl"
EXPERIMENT = "experiment.toml"
PROVENANCE = "provenance.json"


def train(
    source: Annotated[Path, typer.Argument(help="A store of runs, or an experiment in a TOML file.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the model.")] = None,
    uq: Annotated[str | None, typer.Option(help="deterministic, mve, evidential or ensemble.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override, as in train.epochs=20.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Also write TensorBoard scalars to this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the output folder.")] = False,
) -> None:
    """Train a surrogate. Stopped at any moment and started again, it goes on from its last epoch."""
    from sureflow.config import read_experiment
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    is_toml = source.suffix == ".toml"
    runs = None if is_toml else source
    experiment = read_experiment(source if is_toml else None, settings or [], runs=runs, output=output, uq=uq)
    _make_room(experiment.output, overwrite)
    _train(experiment, tensorboard)


def _make_room(folder: Path, overwrite: bool) -> None:
    """Refuse a finished model, remove it when asked to; what an interrupted training left is kept and continued."""
    from sureflow.artifact import MANIFEST, WEIGHTS
    from sureflow.errors import SureflowError
    from sureflow.learn import CHECKPOINT

    if (folder / MANIFEST).exists() and not overwrite:
        raise SureflowError(f"{folder} holds a trained model: choose another folder or pass --overwrite")
    if overwrite:
        for name in (MANIFEST, WEIGHTS, CHECKPOINT, EVENTS, EXPERIMENT, PROVENANCE):
            (folder / name).unlink(missing_ok=True)


def _train(experiment: "Experiment", tensorboard: Path | None) -> None:
    from sureflow import artifact
    from sureflow.cli.console import Bar, err, out
    from sureflow.data.dataset import Dataset
    from sureflow.files import write_atomically
    from sureflow.learn import CHECKPOINT, learn
    from sureflow.train.checkpoint import epochs_done
    from sureflow.train.events import explosion_warning, jsonl_sink, tensorboard_sink
    from sureflow.train.loop import EpochReport

    began = time.perf_counter()
    dataset = Dataset.from_store(experiment.runs)
    split = experiment.split(dataset)
    training = dataset.select(split.train)
    training.require_trainable()
    folder, epochs = experiment.output, experiment.train.epochs
    found = epochs_done(folder / CHECKPOINT)
    err.print(_description(dataset, split, experiment) + (f"\ngoing on after epoch {found}" if found else ""))
    folder.mkdir(parents=True, exist_ok=True)
    sinks = [jsonl_sink(folder / EVENTS, dataset.names)]
    if tensorboard is not None:
        sinks.append(tensorboard_sink(tensorboard, dataset.names))
    warnings = []
    with Bar("training", epochs, found) as bar:

        def on_epoch(report: EpochReport) -> None:
            for sink in sinks:
                sink(report)
            warnings[:] = filter(None, [explosion_warning(report, dataset.names)])
            done = report.epoch + 1
            bar.update(done, f"epoch {done} of {epochs}, loss {report.parts['loss'].mean():.4g}")

        surrogate = learn(training, experiment.recipe, experiment.coordinates, folder=folder, on_epoch=on_epoch)
    for warning in warnings:
        err.print(f"[yellow]warning:[/] {warning}")
    write_atomically(folder / EXPERIMENT, experiment.to_toml().encode())
    provenance = _provenance(dataset, split, time.perf_counter() - began, warnings)
    write_atomically(folder / PROVENANCE, (json.dumps(provenance, indent=2) + "\n").encode())
    artifact.save(surrogate, folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    out.print(f"Written to {folder}/: {', '.join(sorted(path.name for path in folder.iterdir()))}")


def _provenance(dataset: "Dataset", split: "Split", seconds: float, warnings: list[str]) -> dict[str, Any]:
    """What is true of this training but not of the model: times, the machine, and which runs were kept out of it."""
    return {
        "seconds": round(seconds, 1),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()},
        "runs": {
            "train": int(split.train.sum()),
            "test": {name: int(mask.sum()) for name, mask in split.test.items()},
            "training_runs_left_out_of_test": split.left_out,
            "left_out_as_not_converged": dataset.left_out,
        },
        "warnings": warnings,
    }


def _description(dataset: "Dataset", split: "Split", experiment: "Experiment") -> str:
    """What is about to be trained on what, and what is left out."""
    left_out = ", ".join(f"{count} {status}" for status, count in dataset.left_out.items())
    tested = ", ".join(f"{name} {mask.sum()}" for name, mask in split.test.items())
    networks = f"{experiment.members} x {len(dataset.names)} networks with the {experiment.head.name} head"
    lines = [
        f"{networks} on {split.train.sum()} runs of {dataset.n_points} points, {experiment.coordinates} coordinates",
        f"left out as not converged: {left_out}" if left_out else "",
        f"held back for testing: {tested}" if tested else "",
    ]
    return "\n".join(filter(None, lines))
