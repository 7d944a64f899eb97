"""The multi-layer perceptron that operator networks are made of."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class MLP(eqx.Module):
    """Linear layers with tanh between them, for one input vector."""

    weights: list[Float[Array, "outputs inputs"]]
    biases: list[Float[Array, " outputs"]]

    @classmethod
    def draw(cls, sizes: Sequence[int], key: PRNGKeyArray) -> Self:
        """Weights and biases uniform in +-1/sqrt(inputs), as PyTorch and Equinox draw them.

        All of them come from one draw: every draw more adds half a second to the compilation, and nothing else.
        """
        layers = list(pairwise(sizes))
        ends = list(accumulate((inputs + 1) * outputs for inputs, outputs in layers))
        pool = jax.random.uniform(key, (ends[-1],), minval=-1.0)
        drawn = [
            jnp.reshape(part, (outputs, inputs + 1)) / inputs**0.5
            for part, (inputs, outputs) in zip(jnp.split(pool, ends[:-1]), layers, strict=True)
        ]
        return cls([part[:, :-1] for part in drawn], [part[:, -1] for part in drawn])

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = jnp.tanh(weight @ x + bias)
        weight, bias = last
        return weight @ x + bias
