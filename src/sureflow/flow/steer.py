"""Steering the march to a steady state: first-order start, second order, freezing, CFL limits and the verdict.

The compiled program takes chunks of steps; between them the host looks at the residual and decides how to go on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.errors import SureflowError
from sureflow.flow.march import CHUNK, Controls, March, advance, switches_of
from sureflow.flow.residual import Problem
from sureflow.flow.riemann import DEFAULT_FLUX, FLUXES
from sureflow.flow.solution import Convergence, Criterion, Ending
from sureflow.flow.state import State
from sureflow.validation import settings

WINDOW = 4  # chunks over which the residual must halve, or it counts as stalled
# The residual diverges where it exceeds this multiple of that of uniform free stream, or of the phase's first if larger.
DIVERGENCE = 1e3
# Share by which limiter and sensor follow the state once they were frozen in vain: in full, they and the shock may chase each
# other for ever, where the shock lies so that the sensor is half on.
DAMPED = 0.1
RETREATS = 2  # how often a phase that diverges begins again, each time with a tenth of the CFL number


@settings
class SolverSettings:
    """The flux, and how the march is steered; the defaults serve the whole envelope."""

    most_steps: int = 3000
    tolerance: float = 1e-6  # residual over that of uniform free stream
    first_order_drop: float = 1e-3  # where the first-order start hands over to second order
    first_order_steps: int = 500
    freeze_drop: float = 2e-5  # where limiter and sensor are frozen
    largest_cfl: float = 500.0
    # The looser rule: this drop, with stand-off, drag and stagnation heat flux drifting less than `drift` in `drift_steps`.
    loose_tolerance: float = 1e-4
    drift: float = 1e-3
    drift_steps: int = 200
    flux: str = DEFAULT_FLUX  # a name in `FLUXES`

    def __post_init__(self) -> None:
        FLUXES[self.flux]  # refuses a name that is not there
        for name, value in vars(self).items():
            if name != "flux" and not value > 0:
                raise SureflowError(f"{name}={value:g} of the solver must be positive")


class Progress(NamedTuple):
    """How far a computation is."""

    phase: str
    step: int
    residual_drop: float
    fraction: float  # of the way to convergence, estimated from the residual


Monitor = Callable[[State], np.ndarray]  # quantities whose drift decides, from a state
Report = Callable[[Progress], None]


@dataclass
class Log:
    """Residual drops of all steps, and the monitored quantities after every chunk."""

    reference: float
    report: Report | None = None
    drops: list[float] = field(default_factory=list)
    chunk_ends: list[float] = field(default_factory=list)
    monitored: list[np.ndarray] = field(default_factory=list)

    def add(self, norms: np.ndarray, phase: str, tolerance: float) -> float:
        """Take the residuals of a chunk; returns the drop at its end."""
        self.drops.extend(norms / self.reference)
        self.chunk_ends.append(self.drops[-1])
        if self.report:
            done = float(np.clip(np.log10(max(self.drops[-1], 1e-300)) / np.log10(tolerance), 0.0, 1.0))
            self.report(Progress(phase, len(self.drops), self.drops[-1], done if phase != "first order" else 0.0))
        return self.drops[-1]

    def stalled(self) -> bool:
        """Whether the residual has not halved over the last window, compared with the one before."""
        ends = self.chunk_ends
        return len(ends) > 2 * WINDOW and bool(min(ends[-WINDOW:]) > 0.5 * min(ends[-2 * WINDOW : -WINDOW]))

    def drift(self, steps: int) -> float:
        """Largest relative change of the monitored quantities over the last steps."""
        chunks = steps // CHUNK
        if len(self.monitored) <= chunks:
            return np.inf
        recent = np.stack(self.monitored[-chunks - 1 :])
        scale = np.maximum(np.abs(recent[-1]), 1e-12 * np.abs(recent).max() + 1e-300)
        return float((np.ptp(recent, axis=0) / scale).max())

    def forget(self) -> None:
        """Look for stalls anew, after a change of controls; the drift of the results goes on counting."""
        self.chunk_ends.clear()


def march_to_steady_state(
    state: State,
    problem: Problem,
    reference: float,
    monitor: Monitor,
    settings: SolverSettings,
    report: Report | None = None,
    second_order_at_once: bool = False,
) -> tuple[State, Convergence]:
    """March until converged, stalled or failed; `reference` is the residual norm of uniform free stream."""
    log = Log(reference, report)
    march = begin(state, problem, cfl=0.5)
    if not second_order_at_once:
        march = first_order_start(march, problem, settings, log)
    first_order_steps = len(log.drops)
    march = begin(march.state, problem, cfl=5.0 if second_order_at_once else 1.0)
    march, status, criterion = second_order(march, problem, settings, log, monitor)
    unfrozen = unfrozen_residual(march.state, problem, 1.0) / reference
    convergence = Convergence(
        status,
        criterion,
        ADVICE[status],
        steps=len(log.drops),
        first_order_steps=first_order_steps,
        residual_drop=log.drops[-1],
        unfrozen_residual_drop=unfrozen,
        history=np.array(log.drops),
    )
    return march.state, convergence


ADVICE: dict[Ending, str] = {
    "converged": "",
    "stalled": "The residual stopped falling: start from a converged neighbor, refine the mesh along the shock, or use the "
    "fields with the drift of their drag and heat flux in mind.",
    "failed": "The march left physical states or its residual grew without bound: start from a converged neighbor, or lower "
    "largest_cfl in the solver settings.",
}


def begin(state: State, problem: Problem, cfl: float) -> March:
    """A march that has not taken a step yet."""
    return March(state, number(cfl), switches_of(state, problem))


def unfrozen_residual(state: State, problem: Problem, order: float) -> float:
    """Residual norm with limiter and sensor of the state itself: what a step from there begins with."""
    _, norms = advance(begin(state, problem, cfl=0.5), problem, controls(order, 1.0, 1.0, 1.0), 1)
    return float(norms[0])


def controls(order: float, fresh: float, growth: float, largest_cfl: float) -> Controls:
    """Controls as arrays, so that none of them triggers a compilation."""
    return Controls(number(order), number(fresh), number(growth), number(largest_cfl))


def number(value: float) -> Float[Array, ""]:
    """A float64 of its own type: a weakly typed one would make the program compile twice."""
    return jnp.asarray(value, dtype=jnp.float64)


@dataclass
class DivergenceGuard:
    """Takes a phase that diverges back to its beginning, with a lower CFL number, as often as it may."""

    beginning: March
    largest_cfl: float
    bound: float = np.inf
    retreats: int = 0

    def diverges(self, log: Log) -> bool:
        """Whether the last chunk's residual is out of bounds; the first chunk sets them."""
        drop = log.drops[-1]
        if not np.isfinite(self.bound):
            self.bound = DIVERGENCE * max(1.0, log.drops[-CHUNK])
        return not drop <= self.bound

    def retreat(self, log: Log) -> March | None:
        """The march at the beginning of the phase; None where going back has not helped before."""
        self.retreats += 1
        self.largest_cfl = max(1.0, 0.1 * self.largest_cfl)
        log.forget()
        return None if self.retreats > RETREATS else self.beginning


def first_order_start(march: March, problem: Problem, settings: SolverSettings, log: Log) -> March:
    """First order in space, which survives an impulsive start, until the shock stands."""
    guard = DivergenceGuard(march, largest_cfl=50.0)
    while len(log.drops) < settings.first_order_steps:
        march, norms = advance(march, problem, controls(0.0, 1.0, 1.05, guard.largest_cfl), CHUNK)
        drop = log.add(np.asarray(norms), "first order", settings.tolerance)
        if guard.diverges(log):
            again = guard.retreat(log)
            if again is None:
                break
            march = again
        elif drop < settings.first_order_drop:
            break
    log.forget()
    return march


def second_order(
    march: March, problem: Problem, settings: SolverSettings, log: Log, monitor: Monitor
) -> tuple[March, Ending, Criterion]:
    """Second order in space to convergence; freezes limiter and sensor late, lowers the CFL number where it does not help."""
    guard = DivergenceGuard(march, settings.largest_cfl)
    frozen, thaws = False, 0
    while len(log.drops) < settings.most_steps:
        fresh = 0.0 if frozen else DAMPED if thaws else 1.0
        march, norms = advance(march, problem, controls(1.0, fresh, 1.2, guard.largest_cfl), CHUNK)
        drop = log.add(np.asarray(norms), "frozen" if frozen else "second order", settings.tolerance)
        log.monitored.append(monitor(march.state))
        if float(march.cfl) < 1e-3:
            return march, "failed", "unphysical"
        if guard.diverges(log):
            again = guard.retreat(log)
            if again is None:
                return march, "failed", "unphysical"
            march, frozen = again, False
        elif drop <= settings.tolerance:
            unfrozen = unfrozen_residual(march.state, problem, 1.0) / log.reference
            if unfrozen <= settings.loose_tolerance:
                return march, "converged", "residual"
            # The switches flicker between states that all solve the equations: that is fine if they give one result.
            if thaws >= 2 and log.drift(settings.drift_steps) < settings.drift:
                return march, "converged", "frozen"
            frozen, thaws = False, thaws + 1
        elif log.stalled():
            if drop <= settings.loose_tolerance and log.drift(settings.drift_steps) < settings.drift:
                return march, "converged", "drift"
            if not frozen and drop < settings.first_order_drop:
                frozen = True
            else:
                guard.largest_cfl = max(2.0, guard.largest_cfl / 3.0)
            log.forget()
        elif drop < settings.freeze_drop:
            frozen = True
    return march, "stalled", "steps"
