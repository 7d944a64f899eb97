"""The verdict on convergence: what counts as a stall and as drift."""

import numpy as np
import pytest

from sureflow.flow import steer
from sureflow.flow.residual import Problem
from sureflow.flow.steer import CHUNK, RETREATS, WINDOW, Log, SolverSettings
from sureflow.runtime import double_precision

TOLERANCE = 1e-6


def log_of(drops, monitored=()):
    """A log after chunks that end with the given drops."""
    log = Log(reference=2.0)
    for drop in drops:
        log.add(np.full(CHUNK, 2.0 * drop), "second order", TOLERANCE)
    log.monitored.extend(np.atleast_1d(value) for value in monitored)
    return log


def test_a_flat_residual_stalls_and_its_drift_is_known_by_then():
    """The drift over 200 steps must be there as soon as a stall is seen, or the looser rule could never end a march."""
    chunks = 2 * WINDOW + 1
    assert not log_of([1e-5] * (chunks - 1)).stalled()
    log = log_of([1e-5] * chunks, monitored=np.linspace(1.0, 1.0005, chunks))
    assert log.stalled()
    assert log.drift(200) == pytest.approx(5e-4, rel=1e-2)


def test_a_falling_residual_does_not_stall():
    assert not log_of(0.8 ** np.arange(20)).stalled()


def test_drift_is_the_largest_relative_range():
    chunks = 200 // CHUNK + 1
    first, second = np.full(chunks, 3.0), np.linspace(1.0, 1.1, chunks)
    log = log_of([1e-5] * chunks, monitored=np.stack([first, second], axis=1))
    assert log.drift(200) == pytest.approx(0.1 / 1.1)
    assert log_of([1e-5] * chunks, monitored=first[1:]).drift(200) == np.inf  # not known yet


def test_progress_reaches_one_at_the_tolerance():
    seen = []
    log = Log(reference=1.0, report=seen.append)
    for drop in (1e-3, TOLERANCE):
        log.add(np.full(CHUNK, drop), "frozen", TOLERANCE)
    assert [progress.fraction for progress in seen] == pytest.approx([0.5, 1.0])
    assert seen[-1].step == 2 * CHUNK


class Marching:
    """Stands in for `advance`: chunks end with given residuals while the CFL number may exceed 10, else they fall."""

    def __init__(self, ends):
        self.ends, self.cfls, self.states = ends, [], []

    def __call__(self, march, problem, controls, steps):
        largest = float(controls.largest_cfl)
        self.cfls.append(largest)
        self.states.append(march.state)
        end = self.ends.pop(0) if largest > 10.0 and self.ends else 1e-8
        return march._replace(state="later"), np.full(CHUNK, end)


def second_order(monkeypatch, ends, **settings):
    marching = Marching(ends)
    monkeypatch.setattr(steer, "advance", marching)
    monkeypatch.setattr(steer, "unfrozen_residual", lambda *_: 0.0)
    march = steer.March("beginning", np.float64(5.0), None)  # type: ignore[arg-type]
    log = Log(reference=1.0)
    with double_precision():
        problem, chosen = object.__new__(Problem), SolverSettings(**settings)
        _, status, criterion = steer.second_order(march, problem, chosen, log, lambda state: np.ones(1))
    return marching, status, criterion


def test_a_march_that_diverges_begins_again_with_a_lower_cfl_number(monkeypatch):
    marching, status, _ = second_order(monkeypatch, [1.0, 50.0, 5e3, 1.0, np.nan])
    assert marching.cfls == [500.0, 500.0, 500.0, 50.0, 50.0, 5.0]
    assert marching.states == ["beginning", "later", "later", "beginning", "later", "beginning"]
    assert status == "converged"


def test_a_march_that_diverges_again_and_again_fails_early(monkeypatch):
    marching, status, criterion = second_order(monkeypatch, [1.0] + [1e18] * 100, largest_cfl=1e6)
    assert (status, criterion) == ("failed", "unphysical")
    assert len(marching.cfls) == 2 + RETREATS


def test_a_rough_start_is_not_a_divergence(monkeypatch):
    """Bounds follow the first residual where that is above uniform free stream's."""
    assert second_order(monkeypatch, [2e3, 1e4, 1e5, 1.0])[1] == "converged"
