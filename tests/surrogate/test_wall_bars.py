"""Bars along the wall: from errors of the distributions themselves, on runs left out."""

from dataclasses import replace

import numpy as np
import pytest

import sureflow
import synthetic
from sureflow.models import InterpolationSettings
from sureflow.surrogate.learning import learn
from sureflow.surrogate.specification import Specification
from sureflow.surrogate.wall_bars import LEAST_SHARE, NORMAL_90, WallErrors

WALL = {"wall": {"kind": "isothermal", "temperature": 900.0}}


def runs(conditions: np.ndarray):
    found = synthetic.runs(conditions)
    return replace(found, header=replace(found.header, made_by={**found.header.made_by, **WALL}))


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(5)
    some = runs(np.column_stack([rng.uniform(10, 30, 40), rng.uniform(20, 60, 40)]))
    return learn(some, Specification(InterpolationSettings(), "freestream")).calibrate(some, folds=True)


@pytest.fixture(scope="module")
def unseen():
    rng = np.random.default_rng(6)
    return np.column_stack([rng.uniform(11, 29, 60), rng.uniform(22, 58, 60)])


def test_they_hold_about_nine_in_ten_runs(model, unseen):
    found = model.surface(mach=unseen[:, 0], altitude_km=unseen[:, 1])
    truth = model.observer.along_body(synthetic.fields(unseen).reshape(60, 4, -1), unseen)
    for column, name in enumerate(("wall_pressure", "wall_heat_flux", "wall_shear")):
        inside = np.abs(found[name] - truth[:, column]) <= NORMAL_90 * found[f"{name}_std"]
        assert 0.8 <= float(inside.mean()) <= 0.99


def test_they_agree_with_the_number_at_the_same_place(model, unseen):
    at = {"mach": unseen[:, 0], "altitude_km": unseen[:, 1]}
    along, number = model.surface(**at), model.quantities(**at)
    ratio = along.wall_pressure_std[:, 0] / number.stagnation_pressure_std
    assert 0.5 < float(ratio.median()) < 2


def test_they_widen_beyond_the_runs(model):
    inside, outside = (model.surface(mach=mach, altitude_km=40.0, extrapolate=True) for mach in (20.0, 36.0))
    for name in ("wall_pressure", "wall_shear"):
        relative = [float((one[f"{name}_std"] / abs(one[name])).median()) for one in (inside, outside)]
        assert relative[1] > 1.5 * relative[0]


def test_they_are_kept_with_the_model(model, tmp_path):
    model.save(tmp_path / "model")
    at = {"mach": 21.0, "altitude_km": 47.0}
    assert sureflow.load(tmp_path / "model").surface(**at).identical(model.surface(**at))


def test_errors_are_relative_to_a_share_of_the_largest_where_a_distribution_changes_its_sign(model, unseen):
    """What is learned and what it is multiplied by are relative to the same."""
    walls = WallErrors(model.observer)
    observed = walls(synthetic.fields(unseen[:2]).reshape(2, 4, -1), unseen[:2])
    count = len(model.observer.quantities)
    observed[:, count] = 0.0
    sizes = walls.sizes(observed)
    np.testing.assert_array_equal(sizes[:, :count], np.abs(observed[:, :count]))
    faces = observed.shape[1] - count
    largest = np.abs(observed[:, count : count + faces // 3]).max(axis=1)
    np.testing.assert_allclose(sizes[:, count], LEAST_SHARE * largest)
