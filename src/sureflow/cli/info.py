"""`sureflow info`: what is in a store of runs, or in a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureflow.cli.inputs import require_picture
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

if TYPE_CHECKING:
    from sureflow.data.runs import Runs
    from sureflow.surrogate.model import Surrogate


def info(
    path: Annotated[
        Path, typer.Argument(help="A store of runs, another file of runs (.npz), or the folder of a model.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Also plot the status of a store's runs over their parameters (png, pdf, svg).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the figure if it exists.")] = False,
) -> None:
    """Describe a store of runs, or a model.

    For runs: parameters, fields, mesh, convergence, how they were made, versions and checksum. For a model: what it was
    trained on, what it predicts and how its error bars were calibrated.
    """
    require_picture("figure", figure, overwrite=overwrite)

    begin(f"reading {path}")

    from sureflow.data.store import open_runs
    from sureflow.importers import importer_for, open_file
    from sureflow.surrogate.artifact import holds_model, load

    if not holds_model(path) and importer_for(path) is open_runs:
        show_store(path, as_json=as_json, figure=figure)
        return
    if figure:
        raise SureflowError(f"{path} is not a store of runs: only the runs of a store can be plotted")
    if holds_model(path):
        model = load(path)
        facts, text = model_facts(model), repr(model)
    else:
        runs = open_file(path)
        facts, text = runs_facts(path, runs), repr(runs)
    print(as_text(facts) if as_json else text)


def show_store(path: Path, *, as_json: bool, figure: Path | None) -> None:
    from sureflow.cli.console import out, print_facts
    from sureflow.data.disk import explain_writing
    from sureflow.data.store import open_store
    from sureflow.report.figures import save
    from sureflow.report.overview import overview, overview_figure, overview_text, remarks

    store = open_store(path)
    facts = overview(store)
    if figure:
        with explain_writing(figure):
            figure.parent.mkdir(parents=True, exist_ok=True)
            save(overview_figure(store), figure)
    if as_json:
        print(as_text(facts))
        return
    print_facts(overview_text(facts))
    for what, sentence in remarks(facts):
        out.print(f"{what}: {sentence}", style="yellow" if what == "outside the model" else "red", markup=False)


def runs_facts(path: Path, runs: "Runs") -> dict[str, Any]:
    from sureflow.validation import plain

    return {
        "path": str(path),
        "runs": len(runs),
        **plain(runs.header),
        "points": runs.n_points,
        "checksum": runs.checksum,
    }


def model_facts(surrogate: "Surrogate") -> dict[str, Any]:
    from sureflow.validation import plain

    domain, calibration = surrogate.domain, surrogate.calibration
    fitted = None if calibration is None else calibration.fields
    return {
        "model": surrogate.model_name,
        "uq": surrogate.uq,
        "specification": plain(surrogate.spec),
        **plain(surrogate.header),
        "points": surrogate.space.n_points,
        "training": {
            "runs": len(domain.parameters),
            "lowest": dict(zip(domain.names, domain.lower.tolist(), strict=True)),
            "highest": dict(zip(domain.names, domain.upper.tolist(), strict=True)),
            "checksum": surrogate.data_checksum,
        },
        "calibration": None if fitted is None else {"runs": fitted.runs, "exact": fitted.exact, "reach": fitted.reach},
        "comparison": [dict(row) for row in surrogate.comparison],
    }


def as_text(facts: dict[str, Any]) -> str:
    import json

    return json.dumps(facts, indent=2, allow_nan=False)
