"""How far a page lies from its model, as it says itself."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import sureflow as sf
from explore.trained import block_volume, folding, logarithmic
from sureflow.errors import SureflowError
from sureflow.explore.agreement import (
    ENOUGH,
    ENOUGH_OF_BARS,
    MORE_BITS_AT_MOST,
    Loss,
    bits_after,
    checked_conditions,
)
from sureflow.explore.description import _parameters, slider_ranges
from sureflow.explore.explorer import explorer
from sureflow.explore.program import Program
from sureflow.explore.restriction import restricted_program

ANGLE = np.linspace(0.0, 4.0, 15)
EVERYWHERE = np.ones(81)


def model(**fields):
    y, x = np.mgrid[0:1:9j, 0:1:9j]
    points = np.column_stack([x.ravel(), y.ravel()])
    return sf.fit(sf.Runs.from_arrays({"angle": ANGLE}, points, fields), "interpolation")


def told(page: str) -> list[float]:
    """The differences that a page tells of, in percent: of predictions, and of bars where there are any to tell of."""
    (words,) = re.findall(r'"check": "([^"]*)"', page)
    return [float(number) for number in re.findall(r"at most ([-+.\w]+) %", words)]


UNIFORM = {
    "zero": [0.0 * EVERYWHERE for _ in ANGLE],
    "constant": [300.0 * EVERYWHERE for _ in ANGLE],
    "of the condition alone": [300.0 + 10.0 * np.sin(angle) * EVERYWHERE for angle in ANGLE],
    "of the condition alone, about zero": [10.0 * np.sin(angle) * EVERYWHERE for angle in ANGLE],
}


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("kind", UNIFORM)
def test_fields_that_are_the_same_everywhere(kind, beside):
    varying = [np.sin(angle + np.mgrid[0:1:9j, 0:1:9j][1].ravel()) for angle in ANGLE]
    mean, *bars = told(explorer(model(q=UNIFORM[kind], **({"p": varying} if beside else {}))))
    assert mean <= 0.01
    assert all(one <= 1.0 for one in bars)


def test_what_is_measured_is_what_is_packed(monkeypatch):
    """A page that holds the values of other cells tells of it."""
    mean, bars = told(explorer(block_volume()))
    assert mean <= 100 * ENOUGH
    assert bars <= 100 * ENOUGH_OF_BARS
    turned = lambda program, used, *others: restricted_program(program, used[::-1], *others)  # noqa: E731
    monkeypatch.setattr(sys.modules[explorer.__module__], "restricted_program", turned)
    assert max(told(explorer(block_volume()))) > 1.0


def test_bars_that_are_no_numbers_are_told_of(monkeypatch):
    run = Program.run
    monkeypatch.setattr(Program, "run", lambda self, at: {**run(self, at), "std": np.nan * run(self, at)["std"]})
    assert told(explorer(block_volume()))[1] == np.inf


def test_logarithmic_parameters_are_checked_in_every_decade():
    ranges = slider_ranges(logarithmic())
    inner, outer = np.split(checked_conditions(logarithmic(), ranges, 4000), 2)
    for drawn, (low, high) in ((inner[:, 0], (1e3, 1e6)), (outer[:, 0], ranges[0])):
        counts, _ = np.histogram(drawn, np.geomspace(low, high, 5))
        assert counts.sum() == 2000
        np.testing.assert_allclose(counts, 500, rtol=0.15)
    assert np.median(outer[:, 1]) == pytest.approx(2.0, abs=0.2)  # the other one is linear


@pytest.mark.parametrize(
    ("off", "bits"),
    [
        (Loss(0.0, 0.0), MORE_BITS_AT_MOST[0]),
        (Loss(np.inf, 0.0), MORE_BITS_AT_MOST[1]),
        (Loss(8 * ENOUGH, 0.0), 3.1),
        (Loss(ENOUGH, 4 * ENOUGH_OF_BARS), 2.1),
    ],
)
def test_bits_that_are_needed(off, bits):
    """As many as predictions and bars need, whichever needs more."""
    assert bits_after(0.0, off) == pytest.approx(bits)


def test_a_page_is_compared_where_the_model_has_predictions(monkeypatch):
    surrogate = folding()
    low, high = np.array(slider_ranges(surrogate)).T
    drawn = checked_conditions(surrogate, [*zip(low, high, strict=True)], 200)
    assert drawn.shape == (200, 2)
    assert not any(surrogate.predictor.impossible(one) for one in drawn)
    assert (drawn >= low).all()
    assert (drawn <= high).all()
    # Where all meshes fold, only those of the runs are left.
    folded = replace(surrogate.trusted_domain, impossible=lambda condition: "the mesh folds")
    monkeypatch.setitem(surrogate.__dict__, "trusted_domain", folded)
    runs = surrogate.domain.parameters.tolist()
    assert all(one in runs for one in checked_conditions(surrogate, [*zip(low, high, strict=True)], 30).tolist())


def test_a_page_opens_where_the_model_has_a_prediction(monkeypatch):
    surrogate = folding()
    usual = surrogate.trusted_domain
    middle = 0.5 * (usual.lower + usual.upper)

    def impossible(condition):
        return "the mesh folds" if np.linalg.norm((condition - middle) / usual.width) < 0.01 else ""

    monkeypatch.setitem(surrogate.__dict__, "trusted_domain", replace(usual, impossible=impossible))
    start = [one["start"] for one in _parameters(surrogate)]
    away = np.linalg.norm((usual.parameters - middle) / usual.width, axis=1)
    assert start == usual.parameters[away.argmin()].tolist()


def test_fields_above_single_precision_are_refused():
    large = [1e41 * (2.0 + np.sin(angle + np.mgrid[0:1:9j, 0:1:9j][1].ravel())) for angle in ANGLE]
    with pytest.raises(SureflowError, match=r"p reaches 3e\+41, and a page shows numbers up to 1e\+36: .* larger unit"):
        explorer(model(p=large))
