"""The verdict on convergence: what counts as a stall and as drift."""

import numpy as np
import pytest

from sureflow.flow.steer import CHUNK, WINDOW, Log

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
