from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synthetic
from sureflow.data.enthalpy_limits import HEATED, MARGIN, EnthalpyLimits
from sureflow.data.runs import Runs
from sureflow.data.sources import ArrayFields
from sureflow.data.streams import Flight

CP = Flight().cp
NAMES = ("mach", "altitude_km", "wall_temperature")


def steady() -> Runs:
    """Runs of the synthetic shock in an air as cold as the standard atmosphere, or less."""
    grid = synthetic.grid()
    return synthetic.runs(grid[grid[:, 1] >= 40])


conditions = st.tuples(st.floats(2, 40), st.floats(0, 86), st.floats(200, 4000))


def stagnation(condition: np.ndarray) -> float:
    values = Flight().values(NAMES, condition[None])
    return float(values["temperature"][0] + values["velocity"][0] ** 2 / (2 * CP))


@settings(max_examples=40, deadline=None)
@given(condition=conditions, seed=st.integers(0, 99), size=st.floats(0.01, 30.0))
def test_no_flow_is_hotter_or_faster_than_its_enthalpy_allows(condition, seed, size):
    """Whatever is predicted; and what is within stays, as do directions."""
    at = np.array(condition)
    limits = EnthalpyLimits(NAMES, Flight(), "wall_temperature")
    hot = max(stagnation(at), at[2])
    draw = np.random.default_rng(seed).normal(size=(2, 1, 4, 30))
    fields = size * draw * np.array([np.sqrt(CP * hot), np.sqrt(CP * hot), 1.0, hot])[:, None]
    kept = limits.kept(fields, at[None])
    speed, before = np.hypot(kept[:, :, 0], kept[:, :, 1]), np.hypot(fields[:, :, 0], fields[:, :, 1])
    highest, fastest = (1 + MARGIN) * hot, (1 + MARGIN) * np.sqrt(2 * CP * hot)
    assert (kept[:, :, 3] <= highest * (1 + 1e-12)).all()
    assert (speed <= fastest * (1 + 1e-12)).all()
    within = (before <= fastest) & (fields[:, :, 3] <= highest)
    np.testing.assert_array_equal(np.where(within[:, :, None], kept, 0), np.where(within[:, :, None], fields, 0))
    np.testing.assert_allclose(kept[:, :, 0] * fields[:, :, 1], kept[:, :, 1] * fields[:, :, 0], rtol=1e-9)
    np.testing.assert_array_equal(kept[:, :, 2], fields[:, :, 2])
    ends = limits.cut(fields, at[None])
    assert (np.abs(ends[:, :, :2]) <= fastest * (1 + 1e-12)).all()
    assert (ends[:, :, 3] <= highest * (1 + 1e-12)).all()


def test_they_are_never_below_what_runs_reach():
    runs = steady()
    limits = EnthalpyLimits.of(runs)
    assert limits is not None
    fields = runs.array()
    assert limits.kept(fields, runs.parameters) is fields


def test_a_hot_wall_raises_them():
    cold, hot = (EnthalpyLimits(NAMES, Flight(), wall) for wall in (None, 3000.0))
    slow, fast = np.array([[3.0, 30.0, 0.0]]), np.array([[20.0, 30.0, 0.0]])
    assert cold.at(slow)[0] < 1000
    assert hot.at(slow)[0] == pytest.approx(3000 * (1 + MARGIN))
    assert hot.at(fast) == cold.at(fast)


def test_runs_that_something_else_heats_have_none():
    runs = steady()
    limits = EnthalpyLimits.of(runs)
    assert limits is not None
    hottest, _ = limits.at(runs.parameters)
    burning = runs.array().copy()
    burning[0, 3, 0] = (1 + 2 * HEATED) * hottest[0]
    assert EnthalpyLimits.of(replace(runs, fields=ArrayFields(burning))) is None


def test_fields_of_other_names_have_none():
    runs = steady()
    assert EnthalpyLimits.of(runs) is not None
    fields = tuple(replace(one, name=name) for one, name in zip(runs.header.fields, "uvdt", strict=True))
    assert EnthalpyLimits.of(replace(runs, header=replace(runs.header, fields=fields))) is None
