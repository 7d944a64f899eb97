"""The multi-layer perceptron that operator networks are made of."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class MLP(eqx.Module):
    """Linear layers with tanh between them, for one input vector."""

    weights: list[Float[Array, "_outputs _inputs"]]
    biases: list[Float[Array, " _outputs"]]

    @classmethod
    def draw(cls, sizes: Sequence[int], rng: np.random.Generator) -> Self:
        """Weights and biases uniform in +-1/sqrt(inputs), as PyTorch and Equinox draw them."""
        layers = list(pairwise(sizes))

        def uniform(inputs: int, *shape: int) -> Float[Array, "..."]:
            return jnp.asarray(rng.uniform(-1, 1, shape) / inputs**0.5, jnp.float32)

        weights = [uniform(inputs, outputs, inputs) for inputs, outputs in layers]
        return cls(weights, [uniform(inputs, outputs) for inputs, outputs in layers])

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = jnp.tanh(weight @ x + bias)
        weight, bias = last
        return weight @ x + bias
