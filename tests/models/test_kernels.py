"""Several systems of one interpolation at once are those of each by itself."""

import numpy as np
import pytest

from sureflow.models.kernels import KERNELS, inverse_system, power_function, terms, weights_and_powers


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_weights_and_powers_are_those_of_each_system(kernel):
    rng = np.random.default_rng(0)
    nodes, inputs = rng.normal(size=(3, 20, 2)), rng.normal(size=(3, 6, 2))
    inverses = np.stack([inverse_system(kernel, one) for one in nodes])
    weights, powers = weights_and_powers(kernel, inputs, nodes, inverses)
    for system, (at, runs, inverse) in enumerate(zip(inputs, nodes, inverses, strict=True)):
        expected = terms(kernel, at, runs) @ inverse[:, : len(runs)]
        np.testing.assert_allclose(weights[system], expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(powers[system], power_function(kernel, at, runs, inverse), rtol=1e-9)


def test_runs_count_for_themselves_and_leave_no_doubt():
    nodes = np.random.default_rng(0).normal(size=(2, 15, 2))
    inverses = np.stack([inverse_system(KERNELS["cubic"], one) for one in nodes])
    weights, powers = weights_and_powers(KERNELS["cubic"], nodes, nodes, inverses)
    np.testing.assert_allclose(weights, np.broadcast_to(np.eye(15), weights.shape), atol=1e-9)
    assert powers.max() < 1e-5
