"""Fourier features of the coordinates: what lets a smooth network follow a shock."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def fourier_features(x: Float[Array, " coordinate"], octaves: int) -> Float[Array, " feature"]:
    """(x, sin 2^k pi x, cos 2^k pi x) for k = 0 .. octaves - 1 (Mildenhall et al. 2020; Tancik et al. 2020).

    Fixed octaves rather than random frequencies: nothing to store, nothing for weight decay to shrink, and a highest
    frequency that can be held above the spacing of the mesh. Without octaves this is x.
    """
    frequencies = jnp.pi * 2.0 ** jnp.arange(octaves)
    phases = (x[:, None] * frequencies.astype(x.dtype)).ravel()
    return jnp.concatenate([x, jnp.sin(phases), jnp.cos(phases)])


def n_fourier_features(n_coordinates: int, octaves: int) -> int:
    return n_coordinates * (1 + 2 * octaves)
