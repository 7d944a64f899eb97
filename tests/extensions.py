"""What a user's own module may add to sureflow: one class or function each, and the line that registers it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray
from jaxtyping import Float
from pydantic import PositiveFloat, PositiveInt

from sureflow.data.runs import Runs
from sureflow.data.scaling import SCALINGS, Scaling
from sureflow.data.splits import SPLITS, Division, Split
from sureflow.export.exporters import EXPORTERS
from sureflow.flow.riemann import FLUXES, einfeldt_speeds, euler_flux
from sureflow.flow.state import conservative
from sureflow.heads import HEADS, Head
from sureflow.heads.head import positive
from sureflow.importers import IMPORTERS
from sureflow.models import MODELS, NETWORKS, Capabilities, FittedModel, ModelSettings, NetworkSettings
from sureflow.physics.gases import GASES, Gas
from sureflow.predictive import DISCREPANCY, EPISTEMIC, Predictive
from sureflow.samplers import SAMPLERS, Sampler
from sureflow.validation import settings

# A model of whole fields: Shepard's interpolation by inverse distance.


@dataclass(frozen=True)
class Shepard(FittedModel):
    inputs: Float[np.ndarray, "run parameter"]
    fields: Float[np.ndarray, "run variable point"]
    power: Float[np.ndarray, ""]

    def predict(self, inputs, coordinates):
        distance = np.linalg.norm(inputs[:, None] - self.inputs[None], axis=2) + 1e-12
        weights = distance**-self.power
        mean = np.einsum("cr,rvp->cvp", weights / weights.sum(axis=1, keepdims=True), self.fields)
        return Predictive(mean, {EPISTEMIC: np.broadcast_to(distance.min(axis=1)[:, None, None], mean.shape)})


@MODELS.add
@settings
class ShepardSettings(ModelSettings):
    name: ClassVar[str] = "shepard"
    uq: ClassVar[str] = "distance"
    capabilities: ClassVar[Capabilities] = Capabilities(refits_quickly=True)
    fitted: ClassVar[type[FittedModel]] = Shepard
    power: PositiveFloat = 4.0

    def fit(self, view, progress=lambda report: None, checkpoint=None):
        return Shepard(view.inputs, view.fields, np.array(self.power))


# A network that draws if it is given noise; a head; and the sampler that asks it several times.


class Dropped(eqx.Module):
    first: eqx.nn.Linear
    last: eqx.nn.Linear

    def __call__(self, x, psi, noise=None):
        hidden = jnp.tanh(self.first(jnp.concatenate([x, psi])))
        return self.last(hidden if noise is None else noise.drop(hidden, 0))


@NETWORKS.add
@settings
class DroppedSettings(NetworkSettings):
    name: ClassVar[str] = "dropped"
    width: PositiveInt = 16

    def build(self, sizes, n_outputs, rng):
        first, last = (jax.random.key(int(rng.integers(2**31))) for _ in range(2))
        return Dropped(
            eqx.nn.Linear(sizes.coordinates + sizes.inputs, self.width, key=first),
            eqx.nn.Linear(self.width, n_outputs, key=last),
        )


@HEADS.add
@settings
class Laplace(Head):
    """Absolute errors: a mean and the scale b of a Laplace distribution, whose standard deviation is b sqrt(2)."""

    name: ClassVar[str] = "laplace"
    n_outputs: ClassVar[int] = 2

    def loss_parts(self, output, truth, progress):
        scale = positive(output[1])
        return {"loss": jnp.log(scale) + jnp.abs(output[0] - truth) / scale}

    def predictive(self, output):
        return Predictive(output[0], {DISCREPANCY: positive(output[1]) * 2**0.5})


@SAMPLERS.add
@settings
class Thinned(Sampler):
    name: ClassVar[str] = "thinned"
    random: ClassVar[bool] = True
    members: PositiveInt = 1
    passes: PositiveInt = 5
    rate: PositiveFloat = 0.1


# A scaling, and a split.


@SCALINGS.add
@settings
class RootScaling(Scaling):
    """The square root of fields that are never negative."""

    name: ClassVar[str] = "root"

    @classmethod
    def for_runs(cls, runs: Runs) -> "RootScaling":
        return cls()

    def forward(self, fields, parameters):
        return np.sqrt(np.maximum(fields, 0.0))

    def inverse(self, fields, parameters):
        return fields**2

    def slope(self, fields, parameters):
        return 2 * np.abs(fields)


@SPLITS.add
@settings
class EveryOther(Split):
    kind: ClassVar[str] = "every-other"
    step: PositiveInt = 2

    def __call__(self, runs: Runs) -> Division:
        test = np.arange(len(runs)) % self.step == 1
        return Division(~test, {"between": test}, {})


# Physics: helium, and the most diffusive of all fluxes.


@GASES.add
class Helium(Gas):
    """Monatomic, with a viscosity that follows a power of the temperature."""

    model: ClassVar[str] = "helium"
    gas_constant: float = 2077.1

    def pressure(self, density, energy):
        return density * energy * 2 / 3

    def temperature(self, density, energy):
        return energy / (1.5 * self.gas_constant)

    def sound_speed(self, density, energy):
        return (energy * 10 / 9) ** 0.5

    def energy_from_pressure(self, density, pressure):
        return 1.5 * pressure / density

    def energy_from_temperature(self, density, temperature):
        return 1.5 * self.gas_constant * temperature

    def density_from_pressure(self, pressure, temperature):
        return pressure / (self.gas_constant * temperature)

    def viscosity(self, temperature, pressure):
        return 1.96e-5 * (temperature / 293.0) ** 0.67

    def conductivity(self, temperature, pressure):
        return 3.75 * self.gas_constant * self.viscosity(temperature, pressure)


@partial(FLUXES.register, "lax-friedrichs")
def lax_friedrichs(left, right, normal, units, shock):
    slowest, fastest = einfeldt_speeds(left, right, normal, units)
    ul, ur = conservative(left, units), conservative(right, units)
    central = euler_flux(left, ul, normal) + euler_flux(right, ur, normal)
    return 0.5 * (central - jnp.maximum(-slowest, fastest) * (ur - ul))


# Files: a table in and a table out.


@partial(IMPORTERS.register, ".table")
def read_table(path: Path, *, units: Mapping[str, str] | None = None) -> Runs:
    """Rows of one run each: the angle, then the pressure at every point."""
    rows = np.loadtxt(path, ndmin=2)
    x = np.linspace(0, 1, rows.shape[1] - 1)[:, None]
    return Runs.from_arrays({"angle": rows[:, 0]}, x, {"p": rows[:, 1:]}, units)


@partial(EXPORTERS.register, ".table")
def write_table(dataset: xarray.Dataset, path: Path) -> None:
    np.savetxt(path, np.column_stack([np.ravel(dataset[name]) for name in dataset.data_vars if dataset[name].ndim]))
