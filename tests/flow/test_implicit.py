"""The implicit operator against automatic differentiation and dense linear algebra."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.flow import implicit
from sureflow.flow.riemann import euler_flux
from sureflow.flow.state import Units, conservative, primitive
from sureflow.physics.gases import PerfectGas
from sureflow.runtime import double_precision

NORMAL = np.array([0.6, 0.8])


@pytest.fixture
def cells():
    """Random states (4, 1, 50)."""
    rng = np.random.default_rng(0)
    return np.stack([rng.uniform(0.1, 5, (1, 50)), *rng.normal(0, 2, (2, 1, 50)), rng.uniform(0.1, 5, (1, 50))])


def test_euler_jacobian_is_the_derivative_of_the_flux(cells):
    with double_precision():
        units, w = Units(PerfectGas(), 0.3, 2.0), jnp.asarray(cells)
        normal = jnp.broadcast_to(jnp.asarray(NORMAL)[:, None, None], (2, 1, 50))
        ours = implicit.euler_jacobian(implicit.side_of(w, units), normal)

        def flux(u):
            u = u[:, None, None]
            return euler_flux(primitive(u, units), u, jnp.asarray(NORMAL)[:, None, None])[:, 0, 0]

        exact = jax.vmap(jax.jacfwd(flux), in_axes=1, out_axes=2)(conservative(w, units)[:, 0])
        np.testing.assert_allclose(ours[:, :, 0], exact, rtol=1e-9, atol=1e-9)


def test_dissipation_has_the_absolute_eigenvalues_of_the_jacobian(cells):
    with double_precision():
        units, w = Units(PerfectGas(), 1.0, 1.0), jnp.asarray(cells)
        side = implicit.side_of(w, units)
        normal = jnp.broadcast_to(jnp.asarray(NORMAL)[:, None, None], (2, 1, 50))
        dissipation = implicit.dissipation_matrix(side, side, normal, jnp.zeros((1, 50)))
        jacobian = implicit.euler_jacobian(side, normal)
    for n in range(50):
        values, vectors = np.linalg.eig(np.asarray(jacobian[:, :, 0, n]))
        floor = implicit.LEAST_DISSIPATION * np.abs(values).max()
        expected = vectors @ np.diag(np.maximum(np.abs(values), floor)) @ np.linalg.inv(vectors)
        np.testing.assert_allclose(dissipation[:, :, 0, n], expected.real, rtol=1e-6, atol=1e-6)


def test_line_solves_agree_with_dense_algebra():
    rng = np.random.default_rng(3)
    nj, ni = 7, 3
    south, north = rng.normal(size=(2, 4, 4, nj, ni))
    center = rng.normal(size=(4, 4, nj, ni)) + 15.0 * np.eye(4)[:, :, None, None]
    right = rng.normal(size=(4, nj, ni))
    with double_precision():
        factors = implicit.factor(*(jnp.asarray(b) for b in (center, south, north)))
        ours = np.asarray(implicit.solve_lines(factors, jnp.asarray(right)))
    for i in range(ni):
        dense = np.zeros((nj, 4, nj, 4))
        for j in range(nj):
            dense[j, :, j] = center[:, :, j, i]
            if j:
                dense[j, :, j - 1] = south[:, :, j, i]
            if j < nj - 1:
                dense[j, :, j + 1] = north[:, :, j, i]
        exact = np.linalg.solve(dense.reshape(4 * nj, 4 * nj), right[:, :, i].T.reshape(-1)).reshape(nj, 4).T
        np.testing.assert_allclose(ours[:, :, i], exact, rtol=1e-9, atol=1e-11)


def test_inverse_of_blocks():
    blocks = np.random.default_rng(4).normal(size=(4, 4, 20)) + 5.0 * np.eye(4)[:, :, None]
    with double_precision():
        ours = np.asarray(implicit.inverse(jnp.asarray(blocks)))
    np.testing.assert_allclose(np.moveaxis(ours, 2, 0), np.linalg.inv(np.moveaxis(blocks, 2, 0)), rtol=1e-9, atol=1e-11)
