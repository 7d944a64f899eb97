"""`sureflow evaluate`: a trained model tested on runs that it has not seen."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.remarks import begin


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    runs: Annotated[Path, typer.Argument(help="A store of runs, or another file of runs (.npz).")],
    split: Annotated[
        str | None, typer.Option(help="Test in the domains of a split, such as paper, not just inside and outside.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all results as rows in JSON.")] = False,
) -> None:
    """Measure errors and test error bars on unseen runs.

    Runs at conditions that were used for training or calibration are left out. Of the others, in_domain are those inside
    the box that the training runs span, and out_of_domain those outside it. With --split, the test runs of that split are
    used; the model must have been trained on training runs of that split.

    Numbers are in normalized units: physical values minus the mean, divided by the standard deviation of the training
    runs. With --json there are rows for every domain, region of the flow and variable.
    """
    begin(f"reading {model} and {runs}")

    import json

    from sureflow.data.splits import SPLITS
    from sureflow.evaluate.evaluation import evaluate_surrogate
    from sureflow.importers import open_file
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.artifact import load

    keep_compiled_programs()
    found = evaluate_surrogate(load(model), open_file(runs), None if split is None else SPLITS[split]())
    print(json.dumps(found.rows, indent=1, allow_nan=False) if as_json else repr(found))
