"""What it costs quantities that the mesh of a condition is interpolated between those of the runs."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from sureflow.data.meshes import Geometry
from sureflow.data.runs import Runs
from sureflow.surrogate.space import Space
from sureflow.uq.folds import HeldOutRuns, sizes_of

# Fields, their conditions and meshes in; quantities out.
ObserveOn = Callable[[np.ndarray, np.ndarray, list[Geometry]], np.ndarray]
Errors = Float[np.ndarray, "run quantity"]


def geometry_errors(space: Space, training: Runs, observe: ObserveOn) -> Errors | None:
    """Relative errors of every run's own quantities on the mesh that the others suggest; None of a mesh that does not move.

    Folds over the runs do not show these by themselves: at the condition of a run, its own mesh is known.
    """
    moving = space.moving
    if moving is None:
        return None
    left_out = moving.places.leave_out_mean([np.array([run]) for run in range(len(training))])
    rows = []
    for case, run in enumerate(training.each()):
        points, nodes = np.split(left_out[case].T, [moving.n_points])
        suggested = Geometry(points, nodes if len(nodes) else None)
        fields, condition = np.asarray(run, float)[None], training.parameters[[case]]
        there, here = (observe(fields, condition, [one])[0] for one in (suggested, training.geometry_of(case)))
        with np.errstate(divide="ignore", invalid="ignore"):
            rows.append((there - here) / sizes_of(observe, there[None])[0])
    return np.nan_to_num(np.array(rows), nan=0.0, posinf=0.0, neginf=0.0)


def with_geometry(runs: HeldOutRuns, errors: Errors | None) -> HeldOutRuns:
    """Held-out training runs, whose quantities err by their mesh as well."""
    return runs if errors is None else replace(runs, quantity_error=runs.quantity_error + errors[runs.run])


def sides_with_geometry(
    sides: Iterator[tuple[int, HeldOutRuns]], errors: Errors | None
) -> Iterator[tuple[int, HeldOutRuns]]:
    """The same, side by side."""
    for side, runs in sides:
        yield side, with_geometry(runs, errors)
        del runs  # before the next side is predicted
