"""Which way a step goes: functions of gradient and moments, whose result is still to be multiplied by a learning rate."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

ADAM = optax.scale_by_adam()
MOMENTUM = 0.9  # that of optax's Adam

# A quintic that brings singular values between about 0.01 and 1 near to 1 when it is applied so often (Jordan et al. 2024).
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
SIZE = 0.2  # root mean square of a step in units of the learning rate, about that of Adam (Liu et al. 2025)


def adam(gradient: Any, moments: Any) -> tuple[Any, Any]:
    """Kingma & Ba 2015."""
    return ADAM.update(gradient, moments)


def muon(gradient: Any, moments: Any) -> tuple[Any, Any]:
    """Muon (Jordan et al. 2024): of matrices, the orthogonal one nearest to their momentum; of vectors, Adam's direction.

    All directions of a matrix move alike, also those in which the gradient is weak: networks learn what is thin and steep in
    far fewer steps. Moments are Adam's.
    """
    direction, moments = ADAM.update(gradient, moments)

    def of_leaf(by_adam: Array, momentum: Array, gradient: Array) -> Array:
        if by_adam.ndim < 2:
            return by_adam
        ahead = MOMENTUM * momentum + (1 - MOMENTUM) * gradient
        return SIZE * max(ahead.shape[-2:]) ** 0.5 * nearly_orthogonal(ahead)

    return jax.tree.map(of_leaf, direction, moments.mu, gradient), moments


def nearly_orthogonal(matrices: Float[Array, "*batch row column"]) -> Float[Array, "*batch row column"]:
    """The same singular vectors, with singular values of about 1 (0.7 to 1.2)."""
    rows, columns = matrices.shape[-2:]
    x = matrices.mT if rows > columns else matrices
    tiny = jnp.finfo(x.dtype).tiny
    x = x / jnp.maximum(jnp.linalg.norm(x, axis=(-2, -1), keepdims=True), tiny)
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if rows > columns else x


OPTIMIZERS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {"adam": adam, "muon": muon}
