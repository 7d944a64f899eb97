"""The contract of networks, of single points and of whole fields, and how many networks run in one program."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from sureflow.models.contract import Capabilities, Sizes
from sureflow.models.train_settings import TrainSettings
from sureflow.registry import SettingsRegistry
from sureflow.runtime import usable_cores

# How the axis of networks is mapped, fixed per kind of device so that results do not depend on timing. On a CPU a thread
# that takes one network at a time keeps its weights, moments and activations in cache.
NETWORK_AXIS: dict[str, str] = {"cpu": "sequential"}


class Noise(eqx.Module):
    """What a network draws with, where a sampler asks it several times: a random key and the share that is dropped."""

    key: PRNGKeyArray
    rate: Float[Array, ""] | float = 0.0

    def drop(self, values: Float[Array, " unit"], place: int) -> Float[Array, " unit"]:
        """Each unit set to zero with probability `rate`, the others enlarged so that their mean stays (inverted dropout).

        `place` tells the layers of a network apart.
        """
        kept = jax.random.bernoulli(jax.random.fold_in(self.key, place), 1.0 - self.rate, values.shape)
        return jnp.where(kept, values / (1.0 - self.rate), 0.0)


@runtime_checkable
class Network(Protocol):
    """One variable at one point under one condition, in normalized space: (x, psi) -> the numbers of a head.

    A network that draws, as one with dropout does, is given `noise` by samplers that are random.
    """

    def __call__(
        self, x: Float[Array, " coordinate"], psi: Float[Array, " parameter"], noise: Noise | None = None
    ) -> Float[Array, " output"]: ...


class Context(eqx.Module):
    """Training runs that a network may look at: what it is given of each, its fields, and whether it counts (1 or 0)."""

    inputs: Float[Array, "run parameter"]
    fields: Float[Array, "field run point"]
    counts: Float[Array, " run"]


@runtime_checkable
class FieldNetwork(Protocol):
    """All fields at many points under one condition: (x, psi, runs) -> the numbers of a head, field by field.

    Outputs are what a straight line through the runs leaves of the fields, in units of its standard deviation.
    """

    def __call__(
        self,
        x: Float[Array, "point coordinate"],
        psi: Float[Array, " parameter"],
        context: Context | None,
        noise: Noise | None = None,
    ) -> Float[Array, "output point"]: ...


class NetworkSettings(ABC):
    """Sizes and options of a network, declared with `@settings`.

    One network is trained for every field; one of `whole_fields` gives all of them, and may keep the training runs to look at
    them again (`looks_at_runs`). `uq` and `training` are what suits it where nothing else is said. `conditions_at_once` share
    what a network computes of the places alone.
    """

    name: ClassVar[str]
    uq: ClassVar[str] = "ensemble"
    training: ClassVar[TrainSettings] = TrainSettings()
    capabilities: ClassVar[Capabilities] = Capabilities(resumes=True, anywhere=True)
    whole_fields: ClassVar[bool] = False
    looks_at_runs: ClassVar[bool] = False
    conditions_at_once: ClassVar[int] = 1

    @abstractmethod
    def build(self, sizes: Sizes, n_outputs: int, rng: np.random.Generator) -> Network | FieldNetwork:
        """A network (a tree of arrays) with freshly drawn weights; `n_outputs` are numbers at one point."""


NETWORKS: SettingsRegistry[NetworkSettings] = SettingsRegistry("network", NetworkSettings)
NETWORKS.later("deeponet", "sureflow.models.deeponet")
NETWORKS.later("fno", "sureflow.models.fno")
NETWORKS.later("neural-process", "sureflow.models.neural_process")


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
