"""The operator network of the paper: an encoder for the point, one for the condition, and a nonlinear decoder."""

from typing import ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from pydantic import NonNegativeInt, PositiveInt

from sureflow.models.contract import Sizes
from sureflow.models.features import fourier_features, n_fourier_features
from sureflow.models.mlp import MLP
from sureflow.models.network import NETWORKS, NetworkSettings, Noise
from sureflow.validation import settings


class DeepONet(eqx.Module):
    """Eq. 1: (x, psi) -> f_d(f_x(x) * f_psi(psi)) for one point and one variable, with tanh between layers."""

    space_encoder: MLP
    parameter_encoder: MLP
    decoder: MLP
    fourier_octaves: int = eqx.field(static=True)

    def __call__(
        self, x: Float[Array, " coordinate"], psi: Float[Array, " parameter"], noise: Noise | None = None
    ) -> Float[Array, " output"]:
        features, second = fourier_features(x, self.fourier_octaves), len(self.space_encoder.weights)
        encoded = self.space_encoder(features, noise) * self.parameter_encoder(psi, noise, second)
        return self.decoder(encoded, noise, second + len(self.parameter_encoder.weights))


@NETWORKS.add
@settings
class DeepONetSettings(NetworkSettings):
    """Sizes of a DeepONet. The defaults are table 2 of the paper but for `fourier_octaves`, which is 0 there.

    We read its "layers" as hidden layers and give both encoders an output as wide as their hidden layer.
    """

    name: ClassVar[str] = "deeponet"
    encoder_width: PositiveInt = 32
    encoder_layers: NonNegativeInt = 1
    decoder_width: PositiveInt = 256
    decoder_layers: NonNegativeInt = 3
    fourier_octaves: NonNegativeInt = 4

    def build(self, sizes: Sizes, n_outputs: int, rng: np.random.Generator) -> DeepONet:
        """A network with freshly drawn weights."""
        encoded = [self.encoder_width] * (self.encoder_layers + 1)
        hidden = [self.decoder_width] * self.decoder_layers
        return DeepONet(
            space_encoder=MLP.draw([n_fourier_features(sizes.coordinates, self.fourier_octaves), *encoded], rng),
            parameter_encoder=MLP.draw([sizes.inputs, *encoded], rng),
            decoder=MLP.draw([self.encoder_width, *hidden, n_outputs], rng),
            fourier_octaves=self.fourier_octaves,
        )
