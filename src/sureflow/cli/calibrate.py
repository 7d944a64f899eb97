"""`sureflow calibrate`: a trained model and runs in; the model with error bars that were held against them."""

from pathlib import Path
from typing import Annotated

import typer


def calibrate(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model; its calibration is replaced.")],
    runs: Annotated[
        Path, typer.Argument(help="Store of runs: some that the model has not seen, or its training runs.")
    ],
    folds: Annotated[
        bool, typer.Option("--folds", help="Use folds over the training runs even if there are unseen runs.")
    ] = False,
    quantities: Annotated[
        bool, typer.Option(help="Calibrate stand-off, pressures and drag as well (some seconds more).")
    ] = True,
) -> None:
    """Calibrate the error bars of a model, by runs that it has not seen.

    Runs that the model was trained on do not count as unseen. When no others are given, the model is fitted again to parts
    of its training runs and tested on the rest. Sides of the training domain are left out as well, which teaches how bars
    grow beyond it; that too needs the training runs in the store, and a model that is quick to fit again. Means stay as they
    are.
    """
    from sureflow import artifact, trust
    from sureflow.cli.console import Bar, err, out
    from sureflow.data.dataset import Dataset
    from sureflow.data.store import explain_writing
    from sureflow.evaluate.held_out import matched
    from sureflow.runtime import keep_compiled_programs

    keep_compiled_programs()
    surrogate = artifact.load(model)
    dataset = matched(Dataset.from_store(runs), surrogate)
    basis = trust.basis_of(surrogate, dataset, folds=folds)
    err.print(f"calibrating with {basis}")
    body = trust.body_of(surrogate, dataset.gas) if quantities else None
    observe = None if body is None else trust.observer(body)
    with Bar("refitting", 1.0) as bar:

        def on_refit(done: int, total: int) -> None:
            bar.update(done / total, f"refit {done} of {total}")

        fitted = trust.calibrate(surrogate, dataset, folds=folds, observe=observe, on_refit=on_refit)
    with explain_writing(model):
        artifact.save(fitted, model)
    out.print(f"Written to {model}/", markup=False)
    out.print(_summary(fitted.calibrations["fields"].factors[0.9], fitted.names, fitted.trusted_domain.reach))


def _summary(factors: tuple[float, ...], names: tuple[str, ...], reach: float) -> str:
    import math

    if all(map(math.isfinite, factors)):
        shares = ", ".join(f"{name} {factor:.2f}" for name, factor in zip(names, factors, strict=True))
        intervals = f"90 % intervals reach, in standard deviations: {shares} (1.64 for a Gaussian)"
    else:
        intervals = (
            "too few held-out runs inside the training hull for 90 % intervals: 9 are needed, 18 where the model has not "
            "seen them, since half of those shape the bars"
        )
    outside = (
        f"conditions farther than {reach:.0%} of the training ranges are refused"
        if reach
        else "conditions outside the training hull are refused: no run taught how bars grow there; the training runs would"
    )
    return f"calibrated; {intervals}\n{outside}"
