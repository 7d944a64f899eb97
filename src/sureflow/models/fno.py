"""The Fourier neural operator: layers that mix all points of a structured mesh through their lowest frequencies."""

from functools import lru_cache
from math import prod
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from pydantic import NonNegativeInt, PositiveInt

from sureflow.data.meshes import index_coordinates
from sureflow.errors import SureflowError
from sureflow.models.contract import Capabilities, Sizes
from sureflow.models.network import NETWORKS, Context, NetworkSettings, Noise
from sureflow.models.train_settings import TrainSettings
from sureflow.validation import settings


class Grid(NamedTuple):
    """A block of points, how many frequencies of each index are kept, and by how many points its period is longer."""

    shape: tuple[int, ...]
    modes: int
    padding: int

    @property
    def frequencies(self) -> tuple[int, ...]:
        """How many there are of each index: -modes < k < modes, of the last one 0 <= k < modes, for the fields are real."""
        return (*(2 * self.modes - 1 for _ in self.shape[:-1]), self.modes)


class FourierLayer(eqx.Module):
    """v -> W v + b + F^-1(R F v) (Li et al. 2021), for channels on a grid whose values are zero in the padding.

    Few frequencies are kept, so the transforms are products with matrices of sines and cosines, one index after the other:
    on a CPU these are several times faster than fast Fourier transforms of all frequencies. Complex numbers are pairs on the
    last axis.
    """

    real: Float[Array, "frequency output input"]
    imaginary: Float[Array, "frequency output input"]
    local: Float[Array, "output input"]
    bias: Float[Array, " output"]

    @classmethod
    def draw(cls, width: int, grid: Grid, rng: np.random.Generator) -> "FourierLayer":
        """Spectra uniform in +-1/width, local weights in +-1/sqrt(width)."""
        shape = (prod(grid.frequencies), width, width)
        real, imaginary = (_float32(rng.uniform(-1, 1, shape) / width) for _ in range(2))
        local = _float32(rng.uniform(-1, 1, (width, width)) / width**0.5)
        return cls(real, imaginary, local, _float32(rng.uniform(-1, 1, width) / width**0.5))

    def __call__(self, v: Float[Array, "channel point"], grid: Grid) -> Float[Array, "channel point"]:
        return self.local @ v + self.bias[:, None] + self.convolve(v, grid)

    def convolve(self, v: Float[Array, "channel point"], grid: Grid) -> Float[Array, "channel point"]:
        """F^-1(R F v): the circular convolution with a kernel that has the spectrum R."""
        spectrum = transform(v.reshape(-1, *grid.shape), grid)
        return inverse_transform(mix(self.real, self.imaginary, spectrum), grid).reshape(v.shape)


def mix(
    real: Float[Array, "frequency output input"],
    imaginary: Float[Array, "frequency output input"],
    spectrum: Float[Array, "input *frequencies 2"],
) -> Float[Array, "output *frequencies 2"]:
    """At every frequency the product with a complex matrix."""
    pairs = spectrum.reshape(len(spectrum), -1, 2)
    by_real = jnp.einsum("foi,ifq->ofq", real, pairs)
    by_imaginary = jnp.einsum("foi,ifq->ofq", imaginary, pairs)
    mixed = jnp.stack([by_real[..., 0] - by_imaginary[..., 1], by_real[..., 1] + by_imaginary[..., 0]], axis=-1)
    return mixed.reshape(len(mixed), *spectrum.shape[1:])


def transform(v: Float[Array, "channel *index"], grid: Grid) -> Float[Array, "channel *frequency 2"]:
    """The kept frequencies of every channel, those of the last index first."""
    *others, last = (_matrices(count, grid, half=axis == len(grid.shape) - 1) for axis, count in enumerate(grid.shape))
    spectrum = jnp.tensordot(v, last.real_to_pairs, 1)
    for axis in reversed(range(len(others))):
        spectrum = jnp.tensordot(spectrum, others[axis].forward, ((1 + axis, spectrum.ndim - 1), (0, 1)))
    return spectrum


def inverse_transform(spectrum: Float[Array, "channel *frequency 2"], grid: Grid) -> Float[Array, "channel *index"]:
    """Real values on the grid of a spectrum that is zero but for the kept frequencies."""
    *others, last = (_matrices(count, grid, half=axis == len(grid.shape) - 1) for axis, count in enumerate(grid.shape))
    for axis, matrices in enumerate(others):
        place = len(grid.shape) - axis
        spectrum = jnp.tensordot(spectrum, matrices.backward, ((place, spectrum.ndim - 1), (0, 1)))
    return jnp.tensordot(spectrum, last.pairs_to_real, ((1, spectrum.ndim - 1), (0, 1)))


class Matrices(NamedTuple):
    """Sines and cosines of one index; frequencies below zero come last, as in NumPy's transforms."""

    real_to_pairs: Float[np.ndarray, "index frequency 2"]
    forward: Float[np.ndarray, "index 2 frequency 2"]
    backward: Float[np.ndarray, "frequency 2 index 2"]
    pairs_to_real: Float[np.ndarray, "frequency 2 index"]


@lru_cache(maxsize=64)
def _matrices(count: int, grid: Grid, *, half: bool) -> Matrices:
    period, modes = count + grid.padding, grid.modes
    frequency = np.arange(modes) if half else np.concatenate([np.arange(modes), np.arange(1 - modes, 0)])
    angle = 2 * np.pi * np.outer(np.arange(count), frequency) / period
    cosine, sine = np.cos(angle), np.sin(angle)
    forward = np.array([[cosine, -sine], [sine, cosine]])  # (part, part of the result, index, frequency)
    backward = np.array([[cosine, sine], [-sine, cosine]]) / period
    # Of a real field, a frequency and its negative are conjugates: the latter are not kept, and counted here.
    twice = np.where(frequency == 0, 1.0, 2.0)
    return Matrices(
        np.stack([cosine, -sine], axis=-1).astype(np.float32),
        forward.transpose(2, 0, 3, 1).astype(np.float32),
        backward.transpose(3, 0, 2, 1).astype(np.float32),
        (np.stack([cosine, -sine]) * twice / period).transpose(2, 0, 1).astype(np.float32),
    )


class FNO(eqx.Module):
    """Coordinates, indices and parameters as channels, lifted to `width` channels, Fourier layers, and a projection."""

    lift: Float[Array, "width channel"]
    lift_bias: Float[Array, " width"]
    layers: list[FourierLayer]
    hidden: Float[Array, "hidden width"]
    hidden_bias: Float[Array, " hidden"]
    last: Float[Array, "output hidden"]
    last_bias: Float[Array, " output"]
    grid: Grid = eqx.field(static=True)

    def __call__(
        self,
        x: Float[Array, "point coordinate"],
        psi: Float[Array, " parameter"],
        context: Context | None,
        noise: Noise | None = None,
    ) -> Float[Array, "output point"]:
        indices = jnp.asarray(2 * index_coordinates(self.grid.shape) - 1, jnp.float32)
        n_places = x.shape[1] + indices.shape[1]
        # The parameters are the same at all points: their part of the lift is a vector.
        places = self.lift[:, :n_places] @ jnp.concatenate([x, indices], axis=1).T
        v = places + (self.lift[:, n_places:] @ psi + self.lift_bias)[:, None]
        for place, layer in enumerate(self.layers):
            v = jax.nn.gelu(layer(v, self.grid))
            v = v if noise is None else noise.drop(jnp.ones(len(v)), place)[:, None] * v
        hidden = jax.nn.gelu(self.hidden @ v + self.hidden_bias[:, None])
        return self.last @ hidden + self.last_bias[:, None]


@NETWORKS.add
@settings
class FNOSettings(NetworkSettings):
    """Sizes of an FNO: `modes` are the frequencies kept of every index, `padding` the points by which its period is longer
    than the mesh, whose ends are not each other's neighbors.
    """

    name: ClassVar[str] = "fno"
    training: ClassVar[TrainSettings] = TrainSettings(epochs=40, batch=2, points_per_run="all", learning_rate=3e-3)
    capabilities: ClassVar[Capabilities] = Capabilities(resumes=True, needs_structured_mesh=True)
    whole_fields: ClassVar[bool] = True
    width: PositiveInt = 32
    layers: PositiveInt = 4
    modes: PositiveInt = 12
    padding: NonNegativeInt = 8
    hidden: PositiveInt = 64

    def build(self, sizes: Sizes, n_outputs: int, rng: np.random.Generator) -> FNO:
        shape = sizes.shape
        if shape is None:
            raise SureflowError("an fno needs runs on a structured mesh: choose another model")
        if 2 * self.modes > min(shape):
            cells = "x".join(map(str, shape))
            raise SureflowError(
                f"model.modes={self.modes} needs {2 * self.modes} points or more along every index of the mesh, which has "
                f"{cells}: choose {max(min(shape) // 2, 1)} at most"
            )
        n_channels, grid = sizes.coordinates + len(shape) + sizes.inputs, Grid(shape, self.modes, self.padding)

        def uniform(inputs: int, *shape: int) -> Float[Array, "..."]:
            return _float32(rng.uniform(-1, 1, shape) / inputs**0.5)

        return FNO(
            uniform(n_channels, self.width, n_channels),
            uniform(n_channels, self.width),
            [FourierLayer.draw(self.width, grid, rng) for _ in range(self.layers)],
            uniform(self.width, self.hidden, self.width),
            uniform(self.width, self.hidden),
            uniform(self.hidden, n_outputs, self.hidden),
            uniform(self.hidden, n_outputs),
            grid,
        )


def _float32(values: np.ndarray) -> Float[Array, "..."]:
    return jnp.asarray(values, jnp.float32)
