"""Observed order of accuracy by manufactured solutions, limiter off."""

import numpy as np
import pytest

from flow.manufactured import error
from sureflow.runtime import double_precision

SIZES = (16, 32)
# The pressure source of axisymmetric flow is taken at cell centers, which costs a little on these coarse meshes.
CASES = [("Euler, plane", False, False, 1.9), ("Euler, axisymmetric", True, False, 1.8)]
CASES += [("Navier-Stokes, plane", False, True, 1.9), ("Navier-Stokes, axisymmetric", True, True, 1.8)]


@pytest.mark.parametrize(("name", "axisymmetric", "viscous", "least"), CASES, ids=[case[0] for case in CASES])
def test_order_of_accuracy(name, axisymmetric, viscous, least):
    with double_precision():
        results = [error(n, axisymmetric, viscous) for n in SIZES]
    errors, left = zip(*results, strict=True)
    assert max(left) < 1e-8  # the discrete equations are solved, so that what remains is the discretization
    order = -np.polyfit(np.log(SIZES), np.log(errors), 1)[0]
    assert order >= least
