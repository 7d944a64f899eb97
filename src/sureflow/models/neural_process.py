"""Neural processes: networks that look at the training runs themselves, and say what they make of them elsewhere."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from pydantic import NonNegativeInt, PositiveInt

from sureflow.models.contract import Capabilities, Sizes
from sureflow.models.features import fourier_features, n_fourier_features
from sureflow.models.mlp import MLP
from sureflow.models.network import NETWORKS, Context, NetworkSettings, Noise
from sureflow.models.train_settings import TrainSettings
from sureflow.validation import settings

POINTS_AT_ONCE = 512  # the encoder looks at every run at each of them


class NeuralProcess(eqx.Module):
    """y(x, psi) = decoder(x, psi, r), with r from what the runs (psi_i, y_i) have at the same place x.

    Conditional (Garnelo et al. 2018): r = mean_i h(x, psi_i, y_i(x)). Attentive (Kim et al. 2019): weights from a product of
    queries q(psi) and keys q(psi_i) beside the mean. Neither depends on the order of the runs.
    """

    encoder: MLP
    query: MLP
    decoder: MLP
    fourier_octaves: int = eqx.field(static=True)
    attentive: bool = eqx.field(static=True)

    def __call__(
        self,
        x: Float[Array, "point coordinate"],
        psi: Float[Array, " parameter"],
        context: Context | None,
        noise: Noise | None = None,
    ) -> Float[Array, "output point"]:
        assert context is not None
        seen = context.counts / jnp.maximum(context.counts.sum(), 1.0)
        weights = self._attention(psi, context) if self.attentive else seen

        def at_point(place: tuple[Float[Array, " coordinate"], Float[Array, "field run"]]) -> Float[Array, " output"]:
            features = fourier_features(place[0], self.fourier_octaves)

            def of_run(psi: Float[Array, " parameter"], fields: Float[Array, " field"]) -> Float[Array, " width"]:
                return self.encoder(jnp.concatenate([features, psi, fields]), noise)

            encoded = jax.vmap(of_run)(context.inputs, place[1].T)
            found = jnp.concatenate([features, psi, seen @ encoded, weights @ encoded, weights @ place[1].T])
            return self.decoder(found, noise, len(self.encoder.weights))

        places = (x, jnp.moveaxis(context.fields, 2, 0))
        return jax.lax.map(at_point, places, batch_size=min(POINTS_AT_ONCE, len(x))).T

    def _attention(self, psi: Float[Array, " parameter"], context: Context) -> Float[Array, " run"]:
        keys, query = jax.vmap(self.query)(context.inputs), self.query(psi)
        # The nearer, the more: a distance between learned features, which falls off faster than a product does.
        distance = jnp.sum((keys - query) ** 2, axis=1)
        return jax.nn.softmax(jnp.where(context.counts > 0, -distance, -jnp.inf))


@NETWORKS.add
@settings
class NeuralProcessSettings(NetworkSettings):
    """Sizes of a neural process; without `attentive`, a conditional one."""

    name: ClassVar[str] = "neural-process"
    training: ClassVar[TrainSettings] = TrainSettings(epochs=200, batch=8, points_per_run=128, learning_rate=2e-3)
    capabilities: ClassVar[Capabilities] = Capabilities(resumes=True)
    whole_fields: ClassVar[bool] = True
    looks_at_runs: ClassVar[bool] = True
    conditions_at_once: ClassVar[int] = 16  # what it makes of the runs at a place serves all of them
    uq: ClassVar[str] = "mve"
    width: PositiveInt = 64
    layers: PositiveInt = 2
    fourier_octaves: NonNegativeInt = 3
    attentive: bool = True

    def build(self, sizes: Sizes, n_outputs: int, rng: np.random.Generator) -> NeuralProcess:
        features, hidden = n_fourier_features(sizes.coordinates, self.fourier_octaves), [self.width] * self.layers
        seen = features + sizes.inputs
        return NeuralProcess(
            MLP.draw([seen + sizes.fields, *hidden, self.width], rng),
            MLP.draw([sizes.inputs, self.width, self.width], rng),
            MLP.draw([seen + 2 * self.width + sizes.fields, *(2 * width for width in hidden), n_outputs], rng),
            self.fourier_octaves,
            self.attentive,
        )
