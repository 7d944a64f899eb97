"""`sureflow train`: runs or an experiment in; a model folder out."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sureflow.choose import Comparison
    from sureflow.config import Experiment
    from sureflow.data.dataset import Dataset
    from sureflow.data.split import Split
    from sureflow.surrogate import Surrogate
    from sureflow.train.loop import Recipe

EVENTS = "events.jsonl"
EXPERIMENT = "experiment.toml"
PROVENANCE = "provenance.json"


def train(
    source: Annotated[Path, typer.Argument(help="A store of runs, or an experiment in a TOML file.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder of the model.")] = None,
    model: Annotated[
        str | None,
        typer.Option(help="interpolation, pod-gp, pod-deeponet or deeponet; without it, the best of the first three."),
    ] = None,
    scaling: Annotated[str | None, typer.Option(help="none, freestream or log-density.")] = None,
    uq: Annotated[str | None, typer.Option(help="Of a deeponet: deterministic, mve, evidential or ensemble.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Override, as in train.epochs=20.")] = None,
    tensorboard: Annotated[Path | None, typer.Option(help="Also write TensorBoard scalars to this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the output folder.")] = False,
) -> None:
    """Train a surrogate. Networks that are stopped at any moment and started again go on from their last epoch."""
    from sureflow.config import read_experiment
    from sureflow.data.store import explain_writing
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    is_toml = source.suffix == ".toml"
    runs = None if is_toml else source
    given = {"runs": runs, "output": output, "uq": uq, "model": model, "scaling": scaling}
    experiment = read_experiment(source if is_toml else None, settings or [], **given)
    with explain_writing(experiment.output):
        _refuse_other_files(experiment.output, overwrite=overwrite)
        _train(experiment, tensorboard, overwrite=overwrite)


def _refuse_other_files(folder: Path, *, overwrite: bool) -> None:
    """Only a model, or what an interrupted training of one left, may be in the folder; a finished model needs the flag."""
    from sureflow.artifact import MANIFEST, WEIGHTS
    from sureflow.data.store import refuse_nameless
    from sureflow.errors import SureflowError
    from sureflow.learn import CHECKPOINT

    refuse_nameless(folder)
    found = sorted(path.name for path in folder.iterdir() if path.name[0] != ".") if folder.exists() else []
    others = sorted(set(found) - {MANIFEST, WEIGHTS, CHECKPOINT, EVENTS, EXPERIMENT, PROVENANCE})
    # An experiment is the last file before a model: alone, it is a user's own.
    if others or found == [EXPERIMENT]:
        raise SureflowError(
            f"{folder} holds other files than a model's, such as {(others or found)[0]}: choose another folder"
        )
    if MANIFEST in found and not overwrite:
        raise SureflowError(f"{folder} holds a trained model: choose another folder or pass --overwrite")


def _train(experiment: "Experiment", tensorboard: Path | None, *, overwrite: bool) -> None:
    from sureflow import artifact
    from sureflow.cli.console import err, out
    from sureflow.data.dataset import Dataset
    from sureflow.data.scaling import best_scaling
    from sureflow.files import write_atomically
    from sureflow.learn import CHECKPOINT, continues
    from sureflow.train.loop import Recipe

    began = time.perf_counter()
    dataset = Dataset.from_store(experiment.runs)
    split = experiment.split(dataset)
    training = dataset.select(split.train)
    training.require_trainable()
    err.print(_description(dataset, split))
    recipe, folder = experiment.recipe, experiment.output
    folder.mkdir(parents=True, exist_ok=True)
    comparison, warnings = None, []
    scaling = best_scaling(training) if experiment.scaling == "auto" else experiment.scaling
    if isinstance(recipe, Recipe):
        if overwrite and not continues(folder, training, recipe, experiment.coordinates, scaling):
            (folder / CHECKPOINT).unlink(missing_ok=True)
        surrogate, warnings = _train_networks(training, recipe, experiment.coordinates, scaling, folder, tensorboard)
    else:
        surrogate, comparison = _fit_fields(training, recipe, scaling)
    provenance = _provenance(dataset, split, time.perf_counter() - began, warnings, comparison)
    # Only now that there is a new model does the old one go.
    (folder / artifact.MANIFEST).unlink(missing_ok=True)
    write_atomically(folder / PROVENANCE, (json.dumps(provenance, indent=2) + "\n").encode())
    write_atomically(folder / EXPERIMENT, experiment.to_toml().encode())
    artifact.save(surrogate, folder)
    if isinstance(recipe, Recipe):
        (folder / CHECKPOINT).unlink(missing_ok=True)
    elif overwrite:
        for name in (CHECKPOINT, EVENTS):
            (folder / name).unlink(missing_ok=True)
    out.print(f"Written to {folder}/: {', '.join(sorted(path.name for path in folder.iterdir()))}", markup=False)


def _train_networks(
    training: "Dataset", recipe: "Recipe", coordinates: str, scaling: str, folder: Path, tensorboard: Path | None
) -> tuple["Surrogate", list[str]]:
    """Networks epoch by epoch, and what is worth a warning about the last one."""
    from sureflow.cli.console import Bar, err
    from sureflow.learn import CHECKPOINT, learn
    from sureflow.train.checkpoint import epochs_done
    from sureflow.train.events import explosion_warning, jsonl_sink, tensorboard_sink
    from sureflow.train.loop import EpochReport

    epochs, found = recipe.train.epochs, epochs_done(folder / CHECKPOINT)
    err.print(
        f"{recipe.members} x {len(training.names)} networks with the {recipe.head.name} head, {coordinates} coordinates, "
        f"scaling {scaling}" + (f"\ngoing on after epoch {found}" if found else "")
    )
    sinks = [jsonl_sink(folder / EVENTS, training.names)]
    if tensorboard is not None:
        sinks.append(tensorboard_sink(tensorboard, training.names))
    warnings = []
    with Bar("training", epochs, found) as bar:

        def on_epoch(report: EpochReport) -> None:
            for sink in sinks:
                sink(report)
            warnings[:] = filter(None, [explosion_warning(report, training.names)])
            done = report.epoch + 1
            bar.update(done, f"epoch {done} of {epochs}, loss {report.parts['loss'].mean():.4g}")

        surrogate = learn(training, recipe, coordinates, scaling=scaling, folder=folder, on_epoch=on_epoch)
    for warning in warnings:
        err.print(f"[yellow]warning:[/] {warning}")
    return surrogate, warnings


def _fit_fields(training: "Dataset", recipe: Any, scaling: str) -> tuple["Surrogate", "Comparison | None"]:
    """A whole-field model: the one that was asked for, or the best one by cross-validation."""
    from sureflow.choose import ComparisonSettings, compare
    from sureflow.cli.console import Bar, err
    from sureflow.learn import learn

    comparison = None
    if isinstance(recipe, ComparisonSettings):
        with Bar("comparing", 1) as bar:
            comparison = compare(
                training,
                recipe,
                scaling,
                lambda done, total, model: bar.update(done / total, f"{model}, scaling {scaling}"),
            )
        _show(comparison)
        recipe = comparison.settings
    err.print(f"fitting {recipe.name}, scaling {scaling}")
    return learn(training, recipe, scaling=scaling), comparison


def _show(comparison: "Comparison") -> None:
    from sureflow.cli.console import out

    out.print(
        f"mean absolute error of runs left out, in standard deviations of the training runs ({comparison.folds} folds)"
    )
    out.print(f"  {'model':<14}{'uq':<10}{'scaling':<13}{'error':<10}time")
    for row in comparison.rows():
        kept = "  <- kept" if row["chosen"] else ""
        out.print(
            f"  {row['model']:<14}{row['uq']:<10}{row['scaling']:<13}{row['mae']:<10.2g}{row['seconds']:.1f} s{kept}"
        )


def _provenance(
    dataset: "Dataset", split: "Split", seconds: float, warnings: list[str], comparison: "Comparison | None"
) -> dict[str, Any]:
    """What is true of this training but not of the model: times, the machine, and which runs were kept out of it."""
    from sureflow.runtime import machine

    return {
        "seconds": round(seconds, 1),
        "machine": machine(),
        "runs": {
            "train": int(split.train.sum()),
            "test": {name: int(mask.sum()) for name, mask in split.test.items()},
            "training_runs_left_out_of_test": split.left_out,
            "left_out_as_not_converged": dataset.left_out,
        },
        "warnings": warnings,
        "comparison": None if comparison is None else {"folds": comparison.folds, "models": comparison.rows()},
    }


def _description(dataset: "Dataset", split: "Split") -> str:
    """What is about to be learned from, and what is left out."""
    left_out = ", ".join(f"{count} {status}" for status, count in dataset.left_out.items())
    tested = ", ".join(f"{name} {mask.sum()}" for name, mask in split.test.items())
    lines = [
        f"{split.train.sum()} runs of {dataset.n_points} points",
        f"left out as not converged: {left_out}" if left_out else "",
        f"held back for testing: {tested}" if tested else "",
    ]
    return "\n".join(filter(None, lines))
