"""A Gaussian process over the parameters for every POD coefficient: few runs, and error bars from the start."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field, PositiveInt

from sureflow.models.belief import Belief, Process
from sureflow.models.contract import (
    MODELS,
    Capabilities,
    Checkpoint,
    Coordinates,
    FittedModel,
    Groups,
    Inputs,
    LeftOut,
    ModelSettings,
    Progress,
    Samples,
    View,
    require_enough_runs,
    unheard,
)
from sureflow.models.contract import varying as varying_parameters
from sureflow.models.pod import combine, pod
from sureflow.models.processes import (
    WIDE,
    Processes,
    covariance,
    covariance_slope,
    most_probable,
    precision_of_runs,
)
from sureflow.models.products import Rows, product, squares
from sureflow.predictive import DISCREPANCY, EPISTEMIC, Predictive
from sureflow.runtime import on_all_cores, one_blas_thread
from sureflow.validation import settings


@dataclass(frozen=True)
class PodGP(FittedModel):
    """fields(x) = mean + sum_k scale_k g_k(x) mode_k + truncation, with independent processes g_k.

    g_k has a linear mean with a wide prior, a Matern-5/2 kernel with a length for every parameter, and noise: what of a
    coefficient is not smooth in the parameters. Lengths, amplitude and noise maximize the posterior probability.
    """

    inputs: Float[np.ndarray, "case varying"]
    varying: Float[np.ndarray, " parameter"]  # 1 for parameters that vary over the runs, else 0
    mean: Float[np.ndarray, "variable point"]
    modes: Float[np.ndarray, "mode variable point"]
    truncation: Float[np.ndarray, "variable point"]
    scale: Float[np.ndarray, " mode"]
    coefficients: Float[np.ndarray, "mode case"]  # over scale
    logarithms: Float[np.ndarray, "mode hyperparameter"]

    def predict(self, inputs: Inputs, coordinates: Coordinates) -> Predictive:
        return self._fields(*self._coefficients(inputs))

    def slope(
        self, inputs: Inputs, coordinates: Coordinates, d_inputs: Inputs, d_coordinates: Coordinates
    ) -> Float[np.ndarray, "variable value"]:
        used, along = (np.asarray(rows, float)[:, self.varying > 0] for rows in (inputs, d_inputs))
        moved = [
            covariance_slope(logarithms, used, along, self.inputs) @ weights
            for logarithms, weights in zip(self.logarithms, self._processes.weights, strict=True)
        ]
        return combine(self.scale * np.array(moved).T, self.modes)[0]

    def novelty(self, inputs: Inputs, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " case"]:
        """The standard deviation of the field without noise, over its median at runs left out one at a time."""
        return np.linalg.norm(self._coefficients(inputs)[1], axis=1) / self._typical_deviation

    def left_out_novelty(self, runs: Float[np.ndarray, "run parameter"]) -> Float[np.ndarray, " run"]:
        return self._left_out_deviation / self._typical_deviation

    def leave_out(self, groups: Groups) -> LeftOut:
        """With basis, lengths, amplitudes and noise as they are; see `_without` for the coefficients."""
        found = [self._without(np.asarray(group)) for group in groups]
        location, deviation = (np.concatenate(rows) for rows in zip(*found, strict=True))
        novelty = np.linalg.norm(deviation, axis=1) / self._typical_deviation
        return LeftOut(self._fields(location, deviation), novelty)

    def _fields(
        self, location: Float[np.ndarray, "case mode"], deviation: Float[np.ndarray, "case mode"]
    ) -> Predictive:
        """Fields of coefficients with these means and standard deviations."""
        epistemic = np.sqrt(product(deviation**2, self._squares)).reshape(len(location), *self.mean.shape)
        discrepancy = self.discrepancy
        return Predictive(
            mean=self.mean + combine(location, self.modes),
            parts={
                EPISTEMIC: epistemic,
                DISCREPANCY: np.broadcast_to(discrepancy, (len(location), *discrepancy.shape)),
            },
        )

    def _without(
        self, group: Int[np.ndarray, " run"]
    ) -> tuple[Float[np.ndarray, "run mode"], Float[np.ndarray, "run mode"]]:
        """Mean and standard deviation of the coefficients at a group G of runs, from the processes of the others.

        With P the inverse of a process's covariance, y_G is missed by (P_GG)^-1 (P y)_G, with the variance (P_GG)^-1, of
        which the noise is a part (Dubrule 1983).
        """
        if len(group) == 1:
            location, deviation = self._left_out_alone
            return location[group], deviation[group]
        errors = np.linalg.inv(self._precision[:, group[:, None], group])
        missed = np.einsum("mgh,mh->mg", errors, np.einsum("mgr,mr->mg", self._precision[:, group], self.coefficients))
        variance = np.diagonal(errors, axis1=1, axis2=2) - np.exp(self.logarithms[:, 1:2])
        deviation = self.scale * np.sqrt(np.maximum(variance, 0.0)).T
        return self.scale * (self.coefficients[:, group] - missed).T, deviation

    @cached_property
    def _precision(self) -> Float[np.ndarray, "mode run run"]:
        """The inverse covariance of the runs, of every mode."""
        return np.stack([precision_of_runs(one, self.inputs) for one in self.logarithms])

    @cached_property
    def _left_out_alone(self) -> tuple[Float[np.ndarray, "run mode"], Float[np.ndarray, "run mode"]]:
        """What `_without` says of every run by itself."""
        errors = 1.0 / np.diagonal(self._precision, axis1=1, axis2=2)
        missed = errors * np.einsum("mgr,mr->mg", self._precision, self.coefficients)
        deviation = self.scale * np.sqrt(np.maximum(errors - np.exp(self.logarithms[:, 1:2]), 0.0)).T
        return self.scale * (self.coefficients - missed).T, deviation

    @cached_property
    def _typical_deviation(self) -> float:
        return float(np.median(self._left_out_deviation)) or 1.0

    @cached_property
    def _left_out_deviation(self) -> Float[np.ndarray, " run"]:
        """The standard deviation of the field without noise at every run, to the processes of the others."""
        return np.linalg.norm(self._left_out_alone[1], axis=1)

    @property
    def has_samples(self) -> bool:
        return True

    def samples(self, inputs: Inputs, coordinates: Coordinates, count: int, rng: np.random.Generator) -> Samples:
        """Draws of the coefficients with their noise. A sample has the same luck at every condition."""
        location, deviation = self._coefficients(inputs)
        spread = np.hypot(deviation, self.scale * np.exp(0.5 * self.logarithms[:, 1]))
        luck = rng.standard_normal((count, 1, len(self.scale)))
        return self.mean + combine(location + luck * spread, self.modes)

    def belief(self) -> Belief:
        """A process a mode, with the errors that leaving one run out shows (Rasmussen & Williams 2006, 5.4.2)."""
        every = self._processes
        whitening = [every.whitening(mode) for mode in range(len(self.scale))]
        freedom = np.array([np.square(one).sum(axis=1) for one in whitening])
        missed = np.square(self.scale[:, None] * every.weights / freedom).sum(axis=0)
        processes = [self._process(mode, one) for mode, one in enumerate(whitening)]
        share = self.scale**2 / np.sum(self.scale**2)
        metric = np.eye(len(self.varying))[:, self.varying > 0] * np.sqrt(share @ np.exp(-2.0 * self.logarithms[:, 2:]))
        return Belief(tuple(processes), np.sqrt(missed / self.mean.size), metric)

    def _process(self, mode: int, white: Float[np.ndarray, "case row"]) -> Process:
        """`white` makes the covariances with the runs independent of each other, each with the variance 1."""
        nodes, amplitude, used = self._nodes, np.exp(self.logarithms[mode, 0]), self.varying > 0
        worth = self.scale[mode] ** 2 / self.mean.size
        return Process(
            kernel=lambda one, other: self._prior(mode, one, other),
            prior=lambda inputs: amplitude + WIDE * (1.0 + np.square(inputs[:, used]).sum(axis=1)),
            left=lambda inputs: self._prior(mode, inputs, nodes) @ white,
            noise=float(np.exp(self.logarithms[mode, 1])),
            size=lambda inputs: np.full(len(inputs), worth),
        )

    def _prior(
        self, mode: int, one: Float[np.ndarray, "one parameter"], other: Float[np.ndarray, "other parameter"]
    ) -> Float[np.ndarray, "one other"]:
        """The covariance of conditions, of which the parameters that do not vary are left out."""
        used = self.varying > 0
        return covariance(self.logarithms[mode], one[:, used], other[:, used])

    @property
    def _nodes(self) -> Float[np.ndarray, "case parameter"]:
        """Inputs of the runs, with zeros for parameters that do not vary."""
        nodes = np.zeros((len(self.inputs), len(self.varying)))
        nodes[:, self.varying > 0] = self.inputs
        return nodes

    @one_blas_thread()
    def _coefficients(self, inputs: Inputs) -> tuple[Float[np.ndarray, "case mode"], Float[np.ndarray, "case mode"]]:
        """Mean and standard deviation of every coefficient without its noise."""
        location, variance = self._processes(np.asarray(inputs, float)[:, self.varying > 0])
        return self.scale * location, self.scale * np.sqrt(variance)

    @cached_property
    def _processes(self) -> Processes:
        return Processes.of(self.inputs, self.logarithms, self.coefficients)

    @cached_property
    def _squares(self) -> Rows:
        return squares(self.modes.reshape(len(self.modes), -1))

    @cached_property
    def discrepancy(self) -> Float[np.ndarray, "variable point"]:
        """What was cut off, and the noise of the coefficients: the same at every condition."""
        noise = self.scale**2 * np.exp(self.logarithms[:, 1])
        return np.sqrt(self.truncation**2 + product(noise[None], self._squares)[0].reshape(self.mean.shape))


@MODELS.add
@settings
class PodGPSettings(ModelSettings):
    """Modes are kept until `energy` is the share of the variance that is left, but not more than `modes`."""

    name: ClassVar[str] = "pod-gp"
    uq: ClassVar[str] = "gp"
    capabilities: ClassVar[Capabilities] = Capabilities(
        refits_quickly=True, leaves_out=True, optimistic_when_left_out=True
    )
    fitted: ClassVar[type[FittedModel]] = PodGP
    energy: Annotated[float, Field(gt=0, lt=1)] = 1e-7
    modes: PositiveInt = 48

    @one_blas_thread()
    def fit(self, view: View, progress: Progress = unheard, checkpoint: Checkpoint | None = None) -> PodGP:
        require_enough_runs(view.inputs, self.name)
        varying = varying_parameters(view.inputs)
        used = np.asarray(view.inputs, float)[:, varying]
        basis = pod(view.fields, self.energy, self.modes)
        scale = basis.coefficients.std(axis=0)
        coefficients = (basis.coefficients / np.where(scale > 0, scale, 1.0)).T
        return PodGP(
            inputs=np.ascontiguousarray(used),  # as files hold them: the same arrays give the same bits
            varying=varying.astype(float),
            mean=basis.mean,
            modes=np.ascontiguousarray(basis.modes),
            truncation=basis.truncation,
            scale=scale,
            coefficients=np.ascontiguousarray(coefficients),
            logarithms=np.stack(on_all_cores(partial(most_probable, used), coefficients)),
        )
