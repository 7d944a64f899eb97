"""Neural basis functions: networks of the coordinates stand for POD modes, so that these are known everywhere."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from sureflow.errors import SureflowError
from sureflow.models.branch import Branch, BranchSettings, Coefficients, Degree
from sureflow.models.contract import (
    MODELS,
    Capabilities,
    Checkpoint,
    Coordinates,
    FittedModel,
    Inputs,
    ModelSettings,
    Progress,
    Samples,
    Sizes,
    View,
    require_enough_runs,
    unheard,
)
from sureflow.models.features import fourier_features, n_fourier_features
from sureflow.models.mlp import MLP
from sureflow.models.network import map_networks
from sureflow.models.pod import PodBasis, pod
from sureflow.models.train_settings import TrainSettings
from sureflow.predictive import DISCREPANCY, EPISTEMIC, Predictive
from sureflow.train.checkpoint import begin_or_go_on, keeping
from sureflow.train.loop import SCHEDULES, Rates, TrainState, in_shares, network_seeds, take_step, train_epochs
from sureflow.train.optimizers import ADAM
from sureflow.train.tensors import from_tensors, to_tensors
from sureflow.validation import settings, validated

STEPS = 100  # of an epoch
BASIS = "basis."
MEAN = 4.0  # how much more the mean counts than a mode: it is in every field, at its full size


@dataclass(frozen=True)
class NBF(FittedModel):
    """fields(x, psi) = basis_0(x) + sum_k coefficient_k(psi) basis_k(x), with networks for the basis and the coefficients.

    Each member has a basis (network `basis[m]`) and a branch of its own. `amplitude` is what a network's outputs are
    multiplied with, `misfit` the root mean square of what basis and truncation leave of the training runs, by field.
    """

    basis: MLP  # of all members, in the leading axis
    octaves: int
    amplitude: Float[np.ndarray, " function"]
    misfit: Float[np.ndarray, " variable"]
    line: Float[np.ndarray, "term mode"]
    scale: Float[np.ndarray, " mode"]
    branch: Branch

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        members = self._fields(inputs, coordinates)
        mean = members.mean(axis=0)
        misfit = np.broadcast_to(self.misfit[:, None], mean.shape)
        return Predictive(mean, {EPISTEMIC: members.std(axis=0), DISCREPANCY: misfit})

    @property
    def has_samples(self) -> bool:
        return len(self.branch.first) > 1

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """The first `count` members."""
        return self._fields(inputs, coordinates)[:count]

    def _fields(self, inputs: Inputs, coordinates: Coordinates) -> Samples:
        functions, weights = self.functions(coordinates), self._coefficients(inputs)
        first, others = functions[:, None, :, 0], functions[:, :, 1:]
        return np.swapaxes(first + np.einsum("mck,mpkv->mcpv", weights, others, optimize=True), 2, 3)

    def functions(self, coordinates: Coordinates) -> Float[np.ndarray, "member point function variable"]:
        """Those of the basis: what every field has, then what the coefficients are multiplied with."""
        places = _shared(coordinates)
        found = np.asarray(_functions(self.basis, jnp.asarray(places, jnp.float32), self.octaves), float)
        return (found * self.amplitude).reshape(len(found), len(places), len(self.scale) + 1, -1)

    @cached_property
    def _coefficients(self) -> Coefficients:
        return Coefficients(self.line, self.scale, Branch(*map(jnp.asarray, self.branch)))

    def arrays(self) -> dict[str, np.ndarray]:
        own = {name: getattr(self, name) for name in ("amplitude", "misfit", "line", "scale")}
        branch = {name: np.asarray(values) for name, values in self.branch._asdict().items()}
        return own | branch | {BASIS + name: array for name, array in to_tensors(self.basis).items()}


@MODELS.add
@settings
class NBFSettings(ModelSettings):
    """Neural basis functions (Witman et al. 2022): branches as in POD-DeepONet, and a network of the coordinates for the mean
    and the modes, trained by `train` in epochs of 100 steps of `batch` points.
    """

    name: ClassVar[str] = "nbf"
    uq: ClassVar[str] = "ensemble"
    capabilities: ClassVar[Capabilities] = Capabilities(resumes=True, anywhere=True)
    members: PositiveInt = 4
    width: PositiveInt = 64
    energy: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    modes: PositiveInt = 32
    steps: PositiveInt = 4000
    learning_rate: PositiveFloat = 3e-3
    weight_decay: NonNegativeFloat = 1e-4
    seed: NonNegativeInt = 0
    degree: Degree = "auto"
    basis_width: PositiveInt = 256
    basis_layers: PositiveInt = 3
    fourier_octaves: NonNegativeInt = 2
    train: TrainSettings = TrainSettings(
        epochs=40, points_per_run="all", batch=1024, optimizer="muon", learning_rate=6e-3, weight_decay=0.0
    )

    @property
    def training(self) -> TrainSettings:
        return self.train

    @property
    def networks(self) -> int:
        return self.members

    def trained_with(self, common: TrainSettings, own: Mapping[str, Any] | None = None) -> Self:
        return replace(self, train=validated(TrainSettings, {**asdict(self.train), **(own or {})}, "train"))  # type: ignore[call-overload]

    def alone(self) -> Self:
        return replace(self, members=1)

    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> NBF:
        require_enough_runs(view.inputs, self.name)
        places, basis = _shared(view.coordinates), pod(view.fields, self.energy, self.modes)
        line, scale, trained = Coefficients.fit(BranchSettings.of(self), view.inputs, basis.coefficients)
        targets, amplitude = _targets(basis)
        n_features = n_fourier_features(places.shape[1], self.fourier_octaves)
        weights = _last_by_least_squares(
            self.train_basis(places, targets, n_features, progress, checkpoint), places, targets, self.fourier_octaves
        )
        fitted = NBF(weights, self.fourier_octaves, amplitude, np.zeros(len(view.names)), line, scale, trained)
        return replace(fitted, misfit=_misfit(fitted, basis, places))

    def train_basis(
        self,
        places: Coordinates,
        targets: np.ndarray,
        n_features: int,
        progress: Progress,
        checkpoint: Checkpoint | None,
    ) -> MLP:
        """Networks of all members that give the targets at the places."""
        seeds = network_seeds(self.train.seed, self.members, 1)
        key_data = np.stack([seed.generate_state(2) for seed in seeds])
        rates = Rates(self.train.learning_rate, self.train.weight_decay, self.train.epochs * STEPS, 0.0)
        how = {"optimizer": self.train.optimizer, "schedule": self.train.schedule}
        data = [jnp.asarray(values, jnp.float32) for values in (places, targets)]
        sizes = {"octaves": self.fourier_octaves, "batch": min(self.train.batch, len(places))}

        def initial() -> TrainState:
            drawn = [
                MLP.draw([n_features, *[self.basis_width] * self.basis_layers, targets.shape[1]], rng)
                for rng in map(np.random.default_rng, seeds)
            ]
            weights = jax.tree.map(lambda *leaves: jnp.stack(leaves), *drawn)
            return TrainState(weights, jax.vmap(ADAM.init)(weights))

        def one_epoch(state: TrainState, epoch: int):
            def share(part: Any) -> Any:
                return jax.block_until_ready(_train_epoch(*part, *data, epoch, rates, **sizes, **how))

            return in_shares(share, (state, key_data))

        training = begin_or_go_on(initial, checkpoint)
        on_epoch = keeping(progress, checkpoint)
        return train_epochs(training, one_epoch, self.train, self.members, ["the basis"], on_epoch).state.weights

    def restore(self, arrays: Mapping[str, np.ndarray], sizes: Sizes) -> NBF:
        lacking = {"amplitude", "misfit", "line", "scale", *Branch._fields} - arrays.keys()
        if lacking:
            raise SureflowError(f"the model lacks tensor {min(lacking)!r}")
        n_functions = len(arrays["amplitude"])
        features = n_fourier_features(sizes.coordinates, self.fourier_octaves)
        one = MLP.draw([features, *[self.basis_width] * self.basis_layers, n_functions], np.random.default_rng(0))
        form = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((self.members, *leaf.shape), leaf.dtype), one)
        inside = {name.removeprefix(BASIS): array for name, array in arrays.items() if name.startswith(BASIS)}
        basis = jax.tree.map(jnp.asarray, from_tensors(form, inside, "the model"))
        own = {name: arrays[name] for name in ("amplitude", "misfit", "line", "scale")}
        branch = Branch(*(jnp.asarray(arrays[name]) for name in Branch._fields))
        return NBF(basis, self.fourier_octaves, branch=branch, **own)


def _shared(coordinates: Coordinates) -> Float[np.ndarray, "point coordinate"]:
    if coordinates.ndim == 3:
        raise SureflowError(
            "nbf needs points that all runs share, or coordinates that follow the body: choose coordinates = body-fitted"
        )
    return coordinates


def _targets(basis: PodBasis) -> tuple[Float[np.ndarray, "point function"], Float[np.ndarray, " function"]]:
    """Mean and modes, point by point: what a network learns.

    Each is of unit size and counts by the square root of its amplitude: counted in full, as the error of a field has it, the
    many weak modes that make up a sharp shock would hardly be learned.
    """
    functions = np.concatenate([basis.mean[None], basis.modes])
    size = np.sqrt(np.mean(functions**2, axis=(1, 2)))
    amplitude = size * np.concatenate([[1.0], basis.coefficients.std(axis=0)])
    weight = np.sqrt(amplitude / max(amplitude.max(), np.finfo(float).tiny))
    weight[0] *= MEAN
    unit = np.where(size > 0, weight / np.where(size > 0, size, 1.0), 1.0)
    _, n_variables, n_points = functions.shape
    targets = (functions * unit[:, None, None]).transpose(2, 0, 1).reshape(n_points, -1)
    return targets, np.repeat(1.0 / unit, n_variables)


def _last_by_least_squares(
    basis: MLP,
    places: Float[np.ndarray, "point coordinate"],
    targets: Float[np.ndarray, "point function"],
    octaves: int,
) -> MLP:
    """The same networks with the best last layer for their hidden ones, which a gradient finds slowly."""
    hidden = np.asarray(_hidden_units(basis, jnp.asarray(places, jnp.float32), octaves), float)
    last = []
    for units in hidden:
        columns = np.column_stack([units, np.ones(len(units))])
        # Directions that float32 does not resolve would only amplify its rounding.
        last.append(np.linalg.lstsq(columns, targets, rcond=1e-6)[0])
    solved = jnp.asarray(np.stack(last), jnp.float32)
    found = (jnp.swapaxes(solved[:, :-1], 1, 2), solved[:, -1])
    return eqx.tree_at(lambda one: (one.weights[-1], one.biases[-1]), basis, found)


def _misfit(fitted: NBF, basis: PodBasis, places: np.ndarray) -> Float[np.ndarray, " variable"]:
    """What networks and truncation leave of the training runs, were the coefficients exact."""
    found = np.asarray(_functions(fitted.basis, jnp.asarray(places, jnp.float32), fitted.octaves), float).mean(axis=0)
    functions = (found * fitted.amplitude).reshape(len(places), len(fitted.scale) + 1, -1)
    exact = np.concatenate([basis.mean[None], basis.modes]).transpose(2, 0, 1)
    wrong = functions - exact
    spread = np.concatenate([np.ones((1, 1)), basis.coefficients.var(axis=0)[:, None]])
    from_basis = np.mean(np.sum(wrong**2 * spread, axis=1), axis=0)
    return np.sqrt(from_basis + np.mean(basis.truncation**2, axis=1))


@partial(jax.jit, static_argnames="octaves")
def _functions(
    basis: MLP, places: Float[Array, "point coordinate"], octaves: int
) -> Float[Array, "member point function"]:
    return map_networks(lambda network: _at(network, places, octaves), basis)


@partial(jax.jit, static_argnames="octaves")
def _hidden_units(
    basis: MLP, places: Float[Array, "point coordinate"], octaves: int
) -> Float[Array, "member point unit"]:
    return map_networks(lambda one: jax.vmap(lambda x: one.hidden(fourier_features(x, octaves)))(places), basis)


def _at(network: MLP, places: Float[Array, "point coordinate"], octaves: int) -> Float[Array, "point function"]:
    return jax.vmap(lambda x: network(fourier_features(x, octaves)))(places)


@partial(jax.jit, static_argnames=("octaves", "batch", "optimizer", "schedule"), donate_argnames="state")
def _train_epoch(
    state: TrainState,
    key_data: UInt32[Array, "member 2"],
    places: Float[Array, "point coordinate"],
    targets: Float[Array, "point function"],
    epoch: Any,
    rates: Rates,
    *,
    octaves: int,
    batch: int,
    optimizer: str,
    schedule: str,
) -> tuple[TrainState, dict[str, Float[Array, " member"]]]:
    """STEPS steps of every member's basis, each at a batch of points without repetition."""

    def train_member(weights: MLP, moments: Any, key_data: UInt32[Array, " 2"]) -> tuple[MLP, Any, Float[Array, ""]]:
        order = jax.random.permutation(jax.random.fold_in(jax.random.wrap_key_data(key_data), epoch), len(places))

        def loss(weights: MLP, index: Any) -> Float[Array, ""]:
            points = order[(index * batch + jnp.arange(batch)) % len(places)]
            return jnp.mean((_at(weights, places[points], octaves) - targets[points]) ** 2)

        def step(carry: tuple[MLP, Any], index: Any) -> tuple[tuple[MLP, Any], Float[Array, ""]]:
            weights, moments = carry
            value, gradient = jax.value_and_grad(loss)(weights, index)
            left = SCHEDULES[schedule]((epoch * STEPS + index) / rates.total_steps)
            return take_step(optimizer, weights, moments, gradient, rates, left), value

        (weights, moments), losses = jax.lax.scan(step, (weights, moments), jnp.arange(STEPS))
        return weights, moments, jnp.mean(losses)

    weights, moments, losses = map_networks(train_member, state.weights, state.moments, key_data)
    return TrainState(weights, moments), {"loss": losses}
