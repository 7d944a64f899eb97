"""The contract of a head: the loss of one point during training, and the prediction it stands for afterwards."""

from abc import ABC, abstractmethod
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from sureflow.predictive import Predictive
from sureflow.pytrees import tell_jax
from sureflow.registry import SettingsRegistry

tell_jax()  # what it gives back and takes

# Softplus underflows in float32 below about -100; the floor keeps logarithms and quotients of its value finite.
FLOOR = 1e-6


class Head(ABC):
    """Settings of a head (declared with `@settings`), written for one point and one variable in normalized space.

    `n_outputs` is how many numbers the network gives for one point.
    """

    name: ClassVar[str]
    n_outputs: ClassVar[int]
    normal: ClassVar[bool] = True  # whether mean and standard deviation say all about the distribution

    @abstractmethod
    def loss_parts(
        self, output: Float[Array, " output"], truth: Float[Array, ""], progress: Float[Array, ""]
    ) -> dict[str, Float[Array, ""]]:
        """`loss`, which is minimized, and what else is worth watching; `progress` runs from 0 to 1 over training."""

    @abstractmethod
    def predictive(self, output: Float[Array, " output"]) -> Predictive:
        """Mean and standard deviations that the network's numbers stand for."""

    def below(self, output: Float[Array, " output"], value: Float[Array, ""]) -> Float[Array, ""]:
        """The probability of a truth below `value`: of the normal distribution that mean and standard deviation tell."""
        found = self.predictive(output)
        if found.std is None:
            return jnp.where(value > found.mean, 1.0, 0.0)
        return ndtr((value - found.mean) / found.std)


HEADS: SettingsRegistry[Head] = SettingsRegistry("head", Head)


def positive(raw: Float[Array, "..."]) -> Float[Array, "..."]:
    """SoftPlus with a floor: smooth, positive, and never so small that its inverse overflows."""
    return jax.nn.softplus(raw) + jnp.asarray(FLOOR, raw.dtype)
