"""`sureflow evaluate`: a trained model against runs that it has not seen."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sureflow.data.dataset import Dataset
    from sureflow.evaluate.evaluation import Evaluation
    from sureflow.evaluate.held_out import HeldOut

COLUMNS = {
    "domain": "domain",
    "n_runs": "runs",
    "mae": "MAE",
    "relative_error": "relative error",
    "miscalibration": "miscalibration",
    "coverage90": "90 % covers",
    "mean_std": "mean std",
    "largest_std": "largest std",
}
REGIONS_SHOWN = {"all": "all points", "disturbed": "disturbed points (p > 1.01 p_inf)"}


class SplitChoice(enum.StrEnum):
    AUTO = "auto"
    PAPER = "paper"
    BOX = "box"


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    runs: Annotated[Path, typer.Argument(help="A store of runs, such as runs.zarr.")],
    split: Annotated[SplitChoice, typer.Option(help="How the test runs are divided into domains.")] = SplitChoice.AUTO,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows of all numbers as JSON.")] = False,
) -> None:
    """Measure errors and error bars on the runs that a model has not seen.

    A run whose condition was trained on or calibrated with is never tested. Where the training runs are those of the
    paper's split, or some of them, the test runs are that split's, in its domains (--split paper). Else in_domain are the
    other runs inside the box that the training runs span, and out_of_domain those outside of it (--split box).

    Numbers are in normalized units: physical values less the mean, over the standard deviation of the training runs in
    the store (of all that the paper's split trains on, where its domains are used). With --json there are rows for every
    domain, region of the flow and variable.
    """
    import json

    from sureflow import artifact
    from sureflow.data.dataset import Dataset
    from sureflow.evaluate import evaluation
    from sureflow.evaluate.held_out import held_out, matched, metric_space
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    surrogate = artifact.load(model)
    dataset = matched(Dataset.from_store(runs), surrogate)
    tested = held_out(dataset, surrogate, split.value)
    space = metric_space(dataset, tested.units)
    found = evaluation.evaluate(surrogate.predictive, dataset, tested.test, space)
    if as_json:
        print(json.dumps(found.rows, indent=1, allow_nan=False))
    else:
        show(found, tested, dataset)


def show(found: "Evaluation", tested: "HeldOut", dataset: "Dataset") -> None:
    """The main numbers of whole fields and of the disturbed points, averaged over the variables, and what was tested."""
    from sureflow.evaluate.summary import MEAN
    from sureflow.evaluate.tables import to_text

    for region, title in REGIONS_SHOWN.items():
        rows = [row for row in found.rows if row["region"] == region and row["variable"] == MEAN]
        if rows:
            print(title)
            print(to_text([{heading: row[key] for key, heading in COLUMNS.items()} for row in rows]))
    print(f"Normalized units, mean over {', '.join(dataset.names)}. {_explanation(tested)}")


def _explanation(tested: "HeldOut") -> str:
    trained = int(tested.trained.sum())
    if not trained:
        return "None of the training runs is in this store: its own runs give the units."
    rule = {"paper": "the domains of the paper", "box": "inside and outside the box of the training runs"}[tested.rule]
    used = f"{trained} runs were trained on"
    if tested.calibrated.any():
        used += f" and {int(tested.calibrated.sum())} calibrated with,"
    return f"{used} and are not tested; domains: {rule}."
