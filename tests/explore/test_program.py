"""The program of a page against the model that it stands for."""

from dataclasses import replace

import numpy as np
import pytest

import sureflow as sf
import synthetic
from explore.trained import CLOSED, trained
from sureflow.explore.answers import program_of
from sureflow.models.interpolation import InterpolationSettings


def conditions(surrogate, count=20):
    """Half of them as far as a fifth of the ranges beyond."""
    rng, low, high = np.random.default_rng(0), surrogate.domain.lower, surrogate.domain.upper
    reach = 0.2 * (high - low) * (np.arange(count) % 2)[:, None]
    return rng.uniform(low - reach, high + reach, (count, len(surrogate.parameter_names)))


@pytest.mark.parametrize("model", CLOSED)
def test_the_program_is_the_model(model):
    agrees(trained(model))


def agrees(surrogate):
    at = conditions(surrogate)
    program = program_of(surrogate, [])
    # Some of the bits that a page may add: what differs then is not the rounding of rows.
    found, wanted = program.reading(program.coded(4.0)).run(at), surrogate.answer(at).predictive
    extent = np.ptp(wanted.mean, axis=(0, 2))[:, None]
    assert np.abs(found["mean"] - wanted.mean).max() < 1e-4 * extent.max()
    assert (np.abs(found["mean"] - wanted.mean) < 1e-4 * extent).all()
    largest = wanted.std.max(axis=2, keepdims=True)
    assert (np.abs(found["std"] - wanted.std) <= 0.01 * wanted.std + 1e-4 * largest).all()


def test_inputs_of_similarity():
    """Of runs whose gas, length and wall are known."""
    runs = synthetic.runs()
    made_by = {
        **runs.header.made_by,
        "mesh": {"body": {"nose_radius": 0.1}},
        "wall": {"kind": "isothermal", "temperature": 900.0},
    }
    known = replace(runs, header=replace(runs.header, made_by=made_by))
    agrees(sf.fit(known, "interpolation", scaling="similarity", calibrate=False))


def test_limits_of_the_enthalpy_hold_in_the_page_as_well():
    """Far outside, where the interpolation alone is too hot and too fast."""
    few = synthetic.runs().select(np.array([6, 7, 8, 11, 12, 13, 16, 17, 18]))
    surrogate = sf.fit(few, InterpolationSettings(), scaling="none", calibrate=False)
    at = np.array([[2.5, 85.0], [39.0, 1.0], [3.0, 2.0], [38.0, 84.0], [20.0, 40.0]])
    unbound = replace(surrogate, predictor=replace(surrogate.predictor, limits=None))
    wanted, before = (np.asarray(one.raw_predictive(at).mean) for one in (surrogate, unbound))
    assert (np.abs(wanted - before).max(axis=2) > 0)[:4].any(axis=0)[[0, 3]].all()
    np.testing.assert_allclose(program_of(surrogate, []).run(at)["mean"], wanted, rtol=1e-6, atol=1e-6 * wanted.max())
