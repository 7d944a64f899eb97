"""The program of a page against the model that it stands for."""

from dataclasses import replace

import numpy as np
import pytest

import layers
import sureflow as sf
import synthetic
from explore.trained import CLOSED, trained
from sureflow.explore.answers import program_of
from sureflow.explore.explorer import as_read
from sureflow.models.interpolation import InterpolationSettings


def conditions(surrogate, count=20):
    rng = np.random.default_rng(0)
    return rng.uniform(surrogate.domain.lower, surrogate.domain.upper, (count, len(surrogate.parameter_names)))


@pytest.mark.parametrize("model", CLOSED)
def test_the_program_is_the_model(model):
    agrees(trained(model))


def agrees(surrogate):
    at = conditions(surrogate)
    found, wanted = as_read(program_of(surrogate, [])).run(at), surrogate.answer(at).predictive
    extent = np.ptp(wanted.mean, axis=(0, 2))[:, None]
    assert np.abs(found["mean"] - wanted.mean).max() < 1e-4 * extent.max()
    assert (np.abs(found["mean"] - wanted.mean) < 1e-4 * extent).all()
    largest = wanted.std.max(axis=2, keepdims=True)
    assert (np.abs(found["std"] - wanted.std) <= 0.01 * wanted.std + 1e-4 * largest).all()


@pytest.mark.parametrize("kernel", ["thin-plate", "matern"])
def test_other_kernels(kernel):
    surrogate = sf.fit(synthetic.runs(), InterpolationSettings(kernel=kernel), calibrate=False)
    agrees(surrogate)


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


def test_aligned_runs_are_an_interpolation_that_a_table_corrects():
    """Bars are in closed form; of the mean, a table holds what moving the wall layers makes of an interpolation."""
    surrogate = sf.fit(layers.runs(), "aligned", scaling="similarity", calibrate=False)
    ranges = list(zip(surrogate.domain.lower, surrogate.domain.upper, strict=True))
    at = conditions(surrogate)
    found, wanted = as_read(program_of(surrogate, ranges)).run(at), surrogate.answer(at).predictive
    extent = np.ptp(wanted.mean, axis=2, keepdims=True)
    off = np.abs(found["mean"] - wanted.mean) / extent
    # Between entries of the lattice, cubics miss the density at the wall, the steepest of all, by 0.8 % at the worst point.
    assert off.max() < 0.01
    assert off.mean() < 1e-4
    largest = wanted.std.max(axis=2, keepdims=True)
    assert (np.abs(found["std"] - wanted.std) <= 0.01 * wanted.std + 1e-4 * largest).all()
