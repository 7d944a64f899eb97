"""Whether runs belong to a model: the same fields, parameters and mesh; and which of them it was trained on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from sureflow.data.header import Parameter, Variable
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.surrogate.model import Surrogate
from sureflow.uq.domain import TrainingDomain

Named = Parameter | Variable

SAME = 1e-9  # conditions that agree to this share of the training range are one
SAME_POINTS = 1e-6  # of the size of the mesh


def matched(runs: Runs, surrogate: Surrogate) -> Runs:
    """The runs with parameters and fields in the order of the model's; other ones or another mesh are refused."""
    ours, theirs = surrogate.header, runs.header
    _require_same("fields", "predicts", ours.fields, theirs.fields)
    _require_same("parameters", "takes", ours.parameters, theirs.parameters)
    _require_same_mesh(runs, surrogate)
    return runs.ordered_like(replace(theirs, parameters=ours.parameters, fields=ours.fields))


def _require_same(kind: str, does: str, ours: Sequence[Named], theirs: Sequence[Named]) -> None:
    """The same names, and no two units of one of them; a unit that is empty is not known."""
    units = {item.name: item.unit for item in theirs}
    if units.keys() != {item.name for item in ours}:
        names = ", ".join(item.name for item in ours)
        raise SureflowError(
            f"the model {does} {names} and these runs have {', '.join(units)}: give runs with the same {kind}"
        )
    for item in ours:
        if item.unit and units[item.name] not in ("", item.unit):
            raise SureflowError(
                f"the model {does} {item.name} in {item.unit} and these runs have it in {units[item.name]}: convert it"
            )


def trained_runs(runs: Runs, domain: TrainingDomain) -> tuple[Bool[np.ndarray, " case"], bool]:
    """Which runs have a condition that was trained on, and whether all of those conditions are among the runs."""
    return runs_at(runs, domain.parameters, domain)


def runs_at(
    runs: Runs, conditions: Float[np.ndarray, "condition parameter"], domain: TrainingDomain
) -> tuple[Bool[np.ndarray, " case"], bool]:
    """Which runs have one of the conditions, and whether every condition has a run."""
    found = np.zeros(len(runs), bool)
    complete = True
    for condition in conditions:
        same = (np.abs(domain.seen(runs.parameters) - domain.seen(condition)) <= SAME * domain.width).all(axis=1)
        found |= same
        complete &= bool(same.any())
    return found, complete


def in_training_order(runs: Runs, domain: TrainingDomain) -> Runs:
    """Those of the runs that were trained on, in the order of the training, whatever order they have here."""
    distance = np.abs(domain.seen(runs.parameters)[None] - domain.seen(domain.parameters)[:, None]) / domain.width
    same = np.all(distance <= SAME, axis=2)
    return runs.select(same.argmax(axis=1)[np.any(same, axis=1)])


def _require_same_mesh(runs: Runs, surrogate: Surrogate) -> None:
    space = surrogate.space
    if runs.n_points != space.n_points:
        raise SureflowError(
            f"the model was trained on a mesh of {space.n_points} points and these runs have {runs.n_points}: "
            "give runs on the mesh of the training runs"
        )
    if runs.topology != space.topology or runs.is_moving != (space.geometry is None):
        raise SureflowError(
            "the mesh of these runs differs in kind from that of the training runs: give runs on the same mesh"
        )
    if runs.geometry is None or space.geometry is None:
        return
    size = np.ptp(space.geometry.points, axis=0).max()
    distance = float(np.abs(runs.geometry.points - space.geometry.points).max())
    if distance > SAME_POINTS * size:
        raise SureflowError(
            f"the points of these runs lie up to {distance:.3g} from those of the model's mesh: "
            "give runs on the mesh of the training runs"
        )
