"""The contract of a network, and how many networks run in one program."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sureflow.registry import SettingsRegistry
from sureflow.runtime import usable_cores

# How the axis of networks is mapped, fixed per kind of device so that results do not depend on timing. On a CPU a thread
# that takes one network at a time keeps its weights, moments and activations in cache.
NETWORK_AXIS: dict[str, str] = {"cpu": "sequential"}


@runtime_checkable
class Network(Protocol):
    """One variable at one point under one condition, in normalized space: (x, psi) -> the numbers of a head.

    A network that draws, as one with dropout does, takes a random key with samplers that give one.
    """

    def __call__(
        self, x: Float[Array, " coordinate"], psi: Float[Array, " parameter"], key: PRNGKeyArray | None = None
    ) -> Float[Array, " output"]: ...


class NetworkSettings(ABC):
    """Sizes and options of a network, declared with `@settings`."""

    name: ClassVar[str]

    @abstractmethod
    def build(self, n_coordinates: int, n_parameters: int, n_outputs: int, rng: np.random.Generator) -> Network:
        """A network (a tree of arrays) with freshly drawn weights."""


NETWORKS: SettingsRegistry[NetworkSettings] = SettingsRegistry("network", NetworkSettings)


def network_axis() -> str:
    """How networks are mapped on this device: `sequential` or `vectorized`."""
    return NETWORK_AXIS.get(jax.default_backend(), "vectorized")


def network_shares(networks: int) -> int:
    """Into how many equal shares networks are divided for training, each in a thread of its own.

    On a CPU the matrix products of one network use all cores, but of the rest of a step one core does the work while
    the others wait: with several networks at once, they have other products to do.
    """
    most = min(networks, usable_cores()) if network_axis() == "sequential" else 1
    return max(shares for shares in range(1, most + 1) if networks % shares == 0)


def map_networks(function: Callable[..., Any], *trees: Any) -> Any:
    """`function` over the leading axis (network) of every array, in the way that suits the device."""
    if network_axis() == "sequential":
        return jax.lax.map(lambda arguments: function(*arguments), trees)
    return jax.vmap(function)(*trees)
