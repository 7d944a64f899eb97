"""`sureflow calibrate`: a trained model and runs in; the model with calibrated error bars out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from sureflow.uq.bars import ErrorBars


def calibrate(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model; its calibration is replaced.")],
    runs: Annotated[
        Path, typer.Argument(help="Store of runs that the model has not seen, of its training runs, or both.")
    ],
    folds: Annotated[
        bool, typer.Option("--folds", help="Use folds over the training runs even if there are unseen runs.")
    ] = False,
    finer: Annotated[
        Path | None,
        typer.Option(help="Store of runs on a finer, nested mesh: error bars then include the error of the mesh."),
    ] = None,
    coarser: Annotated[
        Path | None, typer.Option(help="Store of runs on a coarser mesh, to measure the order of convergence.")
    ] = None,
    quantities: Annotated[
        bool, typer.Option(help="Calibrate stand-off, pressures and drag as well (takes a few seconds more).")
    ] = True,
) -> None:
    """Calibrate the error bars of a model.

    Error bars are fitted to the errors on runs that the model was not trained on. With fewer than five such runs, the
    model is fitted again to parts of its training runs and tested on the rest (folds). Sides of the training domain are
    left out as well, which shows how the error bars must grow outside it; this needs the training runs too, and a model that
    is quick to fit again. The predicted means do not change.
    """
    begin(f"reading {model} and {runs}")

    from sureflow.cli.console import Bar, out, say
    from sureflow.importers import open_file
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.workshop import calibrate_in

    keep_compiled_programs()
    if coarser is not None and finer is None:
        raise SureflowError("--coarser tells the order of convergence to a finer mesh: give --finer as well")
    meshes = [open_file(path) for path in (finer, coarser) if path is not None]
    with Bar("refitting") as bar:

        def on_refit(done: int, total: int) -> None:
            bar.begin(total)
            bar.update(done, f"refit {done} of {total}")

        try:
            given = {"meshes": meshes, "folds": folds, "quantities": quantities, "say": say, "on_refit": on_refit}
            fitted = calibrate_in(model, open_file(runs), **given)
        except KeyboardInterrupt as stop:
            stop.add_note("the model is unchanged")
            raise
    assert fitted.calibration is not None
    out.print(f"Written to {model}/", markup=False)
    out.print(f"calibrated; {intervals(fitted.calibration.fields, fitted.names)}", markup=False)
    out.print(reach(fitted.calibration.fields.reach))
    if meshes:
        assert fitted.mesh_error is not None
        pairs = len(fitted.mesh_error.inputs)
        out.print(f"the error of the mesh is learned from {pairs} pairs of runs", markup=False)


def intervals(fields: "ErrorBars", names: tuple[str, ...]) -> str:
    """How wide the intervals are, or why there are none."""
    import math

    if all(map(math.isfinite, fields.factors[0.9])):
        shares = ", ".join(f"{name} {factor:.2f}" for name, factor in zip(names, fields.factors[0.9], strict=True))
        return f"90 % intervals reach, in standard deviations: {shares} (1.64 for a Gaussian)"
    return (
        "too few held-out runs for 90 % intervals: 9 are needed, 18 where the model has not seen them, since half of those "
        "shape the bars"
    )


def reach(share: float) -> str:
    """How far beyond the training runs the model answers."""
    if share:
        return f"conditions farther outside than {share:.0%} of the training ranges are refused"
    return (
        "conditions outside the training ranges are refused: how bars grow there is learned from the training runs, by a "
        "model that is quick to fit again"
    )
