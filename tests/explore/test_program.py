"""The program of a page against the model that it stands for."""

import numpy as np
import pytest

from explore.trained import CLOSED, trained
from sureflow.explore.answers import closed_program
from sureflow.explore.explorer import as_read


def conditions(surrogate, count=20):
    rng = np.random.default_rng(0)
    return rng.uniform(surrogate.domain.lower, surrogate.domain.upper, (count, len(surrogate.parameter_names)))


@pytest.mark.parametrize("model", CLOSED)
def test_the_program_is_the_model(model):
    surrogate = trained(model)
    at = conditions(surrogate)
    found, wanted = as_read(closed_program(surrogate)).run(at), surrogate.answer(at).predictive
    extent = np.ptp(wanted.mean, axis=(0, 2))[:, None]
    assert np.abs(found["mean"] - wanted.mean).max() < 1e-4 * extent.max()
    assert (np.abs(found["mean"] - wanted.mean) < 1e-4 * extent).all()
    largest = wanted.std.max(axis=2, keepdims=True)
    assert (np.abs(found["std"] - wanted.std) <= 0.01 * wanted.std + 1e-4 * largest).all()
