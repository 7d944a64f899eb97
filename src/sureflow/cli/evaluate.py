"""`sureflow evaluate`: a trained model tested on runs that it has not seen."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

QUANTITY = "quantity"


def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    runs: Annotated[Path, typer.Argument(help="A store of runs, or another file of runs (.npz).")],
    split: Annotated[
        str | None, typer.Option(help="Test in the domains of a split, such as paper, not just inside and outside.")
    ] = None,
    folds: Annotated[
        bool,
        typer.Option(
            "--folds", help="Test on the training runs: leave parts of them out, and fit the model again to the others."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all results as rows in JSON.")] = False,
) -> None:
    """Measure errors and test error bars on unseen runs.

    Runs at conditions that were used for training or calibration are left out. Of the others, in_domain are those inside
    the ranges of the training runs, as in verdicts, and out_of_domain those outside them. With --split, the test runs of
    that split are used; the model must have been trained on training runs of that split. With --folds, every training run
    is predicted by a model of the same kind that has not seen it; this is for models that are quick to fit again.

    Numbers are in normalized units: physical values minus the mean, divided by the standard deviation of the training
    runs. Quantities, such as drag, are compared with those of the runs: read off the predicted fields, and learned as numbers.
    With --json there are rows for every domain, region of the flow and variable, and for every quantity.
    """
    if folds and split is not None:
        raise SureflowError("--folds and --split exclude each other: folds are made of the training runs")

    begin(f"reading {model} and {runs}")

    import json

    from sureflow.cli.console import Bar
    from sureflow.data.splits import SPLITS
    from sureflow.evaluate.evaluation import evaluate_surrogate
    from sureflow.evaluate.left_out import evaluate_folds
    from sureflow.importers import open_file
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.artifact import load

    keep_compiled_programs()
    if folds:
        with Bar("folds") as bar:

            def on_fold(done: int, total: int) -> None:
                bar.begin(total)
                bar.update(done, f"fold {done} of {total}")

            found = evaluate_folds(load(model), open_file(runs), on_fold=on_fold)
    else:
        found = evaluate_surrogate(load(model), open_file(runs), None if split is None else SPLITS[split]())
    told = [{"domain": row["domain"], "region": QUANTITY, "variable": row[QUANTITY]} | row for row in found.quantities]
    print(json.dumps(found.rows + told, indent=1, allow_nan=False) if as_json else repr(found))
