import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.models.train_settings import TrainSettings
from sureflow.train.optimizers import ADAM, OPTIMIZERS, nearly_orthogonal


@pytest.mark.parametrize("shape", [(12, 30), (30, 12), (3, 16, 16)])
def test_directions_of_a_matrix_move_alike(shape):
    matrices = np.random.default_rng(0).normal(size=shape)
    found = np.asarray(nearly_orthogonal(jnp.asarray(matrices, jnp.float32)), float)
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    aligned = np.swapaxes(left, -1, -2) @ found @ np.swapaxes(right, -1, -2)  # diagonal in the same singular vectors
    values = np.diagonal(aligned, axis1=-2, axis2=-1)
    assert (values > 0.5).all()
    assert (values < 1.3).all()
    np.testing.assert_allclose(aligned, values[..., None] * np.eye(values.shape[-1]), atol=1e-4)


def test_no_gradient_is_no_step():
    assert not np.asarray(nearly_orthogonal(jnp.zeros((4, 3)))).any()


def test_every_optimizer_is_a_setting_and_brings_a_loss_down():
    target = jnp.asarray(np.random.default_rng(1).normal(size=(8, 5)), jnp.float32)

    def loss(weights):
        return jnp.mean((weights["matrix"] - target) ** 2) + jnp.mean((weights["vector"] - 1.0) ** 2)

    for name, direction in OPTIMIZERS.items():
        assert TrainSettings(optimizer=name).optimizer == name  # type: ignore[arg-type]
        weights = {"matrix": jnp.zeros((8, 5)), "vector": jnp.zeros(3)}
        moments = ADAM.init(weights)
        for step in range(60):
            move, moments = direction(jax.grad(loss)(weights), moments)
            weights = jax.tree.map(lambda w, d, rate=0.2 * (1 - step / 60): w - rate * d, weights, move)
        assert loss(weights) < 0.01 * loss({"matrix": jnp.zeros((8, 5)), "vector": jnp.zeros(3)})
