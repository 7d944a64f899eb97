"""The program of a page against the model that it stands for."""

from dataclasses import replace

import numpy as np
import pytest

import sureflow as sf
import synthetic
from explore.trained import CLOSED, trained
from sureflow.explore.answers import program_of
from sureflow.explore.packing import coded
from sureflow.models.interpolation import InterpolationSettings


def conditions(surrogate, count=20):
    rng = np.random.default_rng(0)
    return rng.uniform(surrogate.domain.lower, surrogate.domain.upper, (count, len(surrogate.parameter_names)))


@pytest.mark.parametrize("model", CLOSED)
def test_the_program_is_the_model(model):
    agrees(trained(model))


def agrees(surrogate):
    at = conditions(surrogate)
    program = program_of(surrogate, [])
    read = program.reading({name: coded(rows, program.kinds[name]).values() for name, rows in program.rows.items()})
    found, wanted = read.run(at), surrogate.answer(at).predictive
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
