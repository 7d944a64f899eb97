"""`sureflow propose`: a trained model in; the conditions of the next runs out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sureflow.cli.inputs import require_picture
from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError

# What the columns of the table mean.
COLUMNS = {
    "distance": "to the nearest run, as the model sees its inputs",
    "mean_std": "the standard deviation that the model expects, mean over fields and points, in normalized units",
    "steps": "what the run is expected to take, from the runs of the store",
}

if TYPE_CHECKING:
    import pandas

    from sureflow.acquire.criteria import Criterion
    from sureflow.acquire.proposals import Proposal
    from sureflow.surrogate.model import Surrogate


def propose(
    model: Annotated[Path, typer.Argument(help="Folder of a trained model.")],
    runs: Annotated[
        Path | None, typer.Argument(help="Its store of runs: tells costs, and which runs did not converge.")
    ] = None,
    count: Annotated[int, typer.Option(help="How many runs to propose.")] = 5,
    criterion: Annotated[
        str | None,
        typer.Option(
            help="integrated-bar (the default where the model knows covariances), space-filling (the default elsewhere), "
            "integrated-variance, largest-bar, loo-distance, loo-simplex or your own; of largest-bar, what counts may follow, "
            "as in largest-bar:stand_off."
        ),
    ] = None,
    region: Annotated[
        Path | None, typer.Option(help="TOML file of the region of use: ranges, a polygon, or conditions on the way.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File: .csv, or .toml for `sureflow generate --preset`.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Picture of the plane, or of all pairs of parameters.")] = None,
    per_cost: Annotated[
        bool, typer.Option("--per-cost", help="Divide gains by the steps that a run will take.")
    ] = False,
    levels: Annotated[
        bool,
        typer.Option("--levels", help="Choose the mesh of each run too, by gain over cost; needs a model of levels."),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also propose conditions near runs that did not converge.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the candidates.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
) -> None:
    """Propose the next runs to compute.

    Prints the conditions in order, with what each is expected to gain, given those before it. Compute them with `sureflow
    generate`, or with a solver of your own, and add them to the store; then train again.
    """
    require_picture("picture", picture, overwrite=overwrite)
    begin(f"proposing runs for {model}")

    from sureflow.acquire.proposal_files import proposal_writer
    from sureflow.acquire.proposals import make_proposal
    from sureflow.acquire.records import computed_conditions, failed_conditions, require_parameters
    from sureflow.acquire.region import read_use, region_of
    from sureflow.cli.console import out
    from sureflow.runtime import keep_compiled_programs
    from sureflow.surrogate.artifact import load

    keep_compiled_programs()
    write = None if output is None else proposal_writer(output, runs, overwrite=overwrite)
    surrogate = load(model)
    if runs is not None:
        require_parameters(runs, surrogate.parameter_names)
    failed = None if runs is None else failed_conditions(runs)
    found = make_proposal(
        surrogate,
        count,
        criterion=read_named(criterion),
        region=region_of(surrogate.header, surrogate.domain.parameters.copy(), read_use(region)),
        avoid=None if retry_failed else failed,
        computed=None if runs is None else computed_conditions(runs),
        seed=seed,
        **told_by(runs, per_cost=per_cost, levels=levels),
    )
    meaning = found.criterion.meaning + (", over its cost" if levels else ", per step" if per_cost else "")
    tell(found, count, meaning, runs, by_default=criterion is None)
    if write is not None:
        write(found.table, len(surrogate.parameter_names))
        out.print(f"{output}: {len(found.table)} condition{'s' if len(found.table) > 1 else ''}", markup=False)
    if picture is not None:
        draw(picture, surrogate, found, failed, meaning)


def tell(found: "Proposal", count: int, meaning: str, runs: Path | None, *, by_default: bool) -> None:
    """The table, what it means, and what was cut off or counted."""
    from sureflow.cli.console import out, say

    for remark in found.region.remarks:
        say(remark)
    if len(found.table) < count:
        say(f"the region of use has only {len(found.table)} candidates")
    out.print(printed(found.table), markup=False)
    out.print(f"gain: {meaning}", markup=False)
    for name, explained in COLUMNS.items():
        if name in found.table:
            out.print(f"{name}: {explained}", markup=False)
    if by_default:
        out.print(why(found.criterion), markup=False)
    if computed := len(found.computed):
        out.print(
            f"{computed} run{'s' if computed > 1 else ''} of {runs} count{'' if computed > 1 else 's'} as computed, though the "
            "model has not learned from them",
            markup=False,
        )


def told_by(runs: Path | None, *, per_cost: bool, levels: bool) -> dict[str, Any]:
    """What the store tells of costs, as arguments of `make_proposal`."""
    from sureflow.acquire.records import level_records, recorded_costs

    costs = None if runs is None else recorded_costs(runs)
    if per_cost and costs is None:
        raise SureflowError("--per-cost needs the store of runs, with a number called steps")
    if levels and runs is None:
        raise SureflowError("--levels needs the store of runs, which tells what they cost on each mesh")
    return {
        "costs": costs,
        "per_cost": per_cost,
        "levels": level_records(runs) if levels and runs is not None else (),
    }


def why(criterion: "Criterion") -> str:
    """The reason for the criterion that was taken by default."""
    knows = "knows" if criterion.name == "integrated-bar" else "does not know"
    return (
        f"criterion: {criterion.name}, as the model {knows} covariances between conditions; --criterion chooses another"
    )


def read_named(text: str | None) -> "Criterion | None":
    """A criterion by its name, with what it is of after a colon; None for the default one."""
    from sureflow.acquire.proposals import read_criterion

    if text is None:
        return None
    name, colon, detail = text.partition(":")
    return read_criterion({"name": name, "of": detail} if colon else name)


def printed(table: "pandas.DataFrame") -> str:
    """The table with as many digits as matter."""
    return table.to_string(index=False, float_format=lambda value: f"{value:.5g}")


def draw(picture: Path, surrogate: "Surrogate", found: "Proposal", failed, meaning: str) -> None:
    import numpy as np

    from sureflow.acquire.proposals import LEVEL
    from sureflow.report.figures import parameter_label, save
    from sureflow.report.proposal_figures import draw_proposals

    parameters = surrogate.header.parameters
    figure = draw_proposals(
        np.concatenate([surrogate.domain.parameters, found.computed]),
        found.table.iloc[:, : len(parameters)].to_numpy(float),
        found.candidates,
        found.gains,
        labels=[parameter_label(parameter.name, parameter.unit) for parameter in parameters],
        meaning=meaning,
        on_track=found.region.track is not None,
        failed=failed,
        coarse=found.table[LEVEL].to_numpy() > 0 if LEVEL in found.table else None,
    )
    save(figure, picture)
