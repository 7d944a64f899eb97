"""What a store says of the runs that were paid for: how they ended, and what they cost."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from sureflow.acquire.cost import SECONDS, RunCosts
from sureflow.acquire.mesh_levels import MeshLevel
from sureflow.campaign.run import provenance_path, read_jobs
from sureflow.data.layout import COARSER
from sureflow.data.schema import Status
from sureflow.data.store import converged_runs, open_store
from sureflow.errors import SureflowError

Conditions = Float[np.ndarray, "_ parameter"]


def level_records(path: Path) -> tuple[MeshLevel, ...]:
    """The levels of a store, the finest first."""
    found: list[MeshLevel] = []
    while path.exists():
        costs = recorded_costs(path)
        if costs is None:
            raise SureflowError(
                f"{path} has no converged runs with a number called steps, and levels are chosen by their cost"
            )
        found.append(MeshLevel(costs, failed_conditions(path)))
        path = path / COARSER
    return tuple(found)


def failed_conditions(path: Path) -> Conditions:
    """Conditions of a store whose runs ended without converging: spent, and likely to fail again."""
    store = open_store(path)
    status = store.status()
    return store.parameters()[(status == Status.STALLED) | (status == Status.FAILED)]


def require_parameters(path: Path, names: tuple[str, ...]) -> None:
    """Refuse a store of other parameters than those of a model."""
    found = open_store(path).header.parameter_names
    if found != names:
        raise SureflowError(
            f"the runs of {path} have the parameters {', '.join(found)}, and the model {', '.join(names)}: give the store that "
            "the model was trained on"
        )


def computed_conditions(path: Path) -> Conditions:
    """Conditions of a store whose runs converged."""
    return converged_runs(open_store(path)).parameters


def recorded_costs(path: Path) -> RunCosts | None:
    """Steps of the runs of a store, and seconds a step where the jobs that computed them left a note beside it."""
    runs = converged_runs(open_store(path))
    names = runs.parameter_names
    noted = {
        tuple(float(case[name]) for name in names): float(case[SECONDS])
        for job in read_jobs(provenance_path(path))
        for case in job.get("cases", ())
        if all(name in case for name in (*names, SECONDS))
    }
    seconds = np.array([noted.get(tuple(condition), np.nan) for condition in runs.parameters.tolist()])
    return RunCosts.of(runs, seconds)
