"""The multi-layer perceptron that operator networks are made of."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sureflow.models.network import Noise


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

    def __call__(
        self, x: Float[Array, " inputs"], noise: Noise | None = None, place: int = 0
    ) -> Float[Array, " outputs"]:
        """With `noise`, units of the hidden layers are dropped; `place` is the first of them in the network."""
        return self.weights[-1] @ self.hidden(x, noise, place) + self.biases[-1]

    def hidden(self, x: Float[Array, " inputs"], noise: Noise | None = None, place: int = 0) -> Float[Array, " units"]:
        """The units that the last layer sees."""
        for layer, (weight, bias) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True), start=place):
            x = jnp.tanh(weight @ x + bias)
            x = x if noise is None else noise.drop(x, layer)
        return x
