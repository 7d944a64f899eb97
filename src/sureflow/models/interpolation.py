"""Interpolation over the parameters by cubic radial basis functions: no network, and hard to beat on smooth data."""

from dataclasses import dataclass as plain_dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic.dataclasses import dataclass
from scipy.spatial.distance import cdist

from sureflow.models.field import (
    FieldModel,
    FieldModelSettings,
    Fields,
    Inputs,
    Samples,
)
from sureflow.models.field import varying as varying_parameters
from sureflow.predictive import EPISTEMIC, Predictive
from sureflow.validation import STRICT


@plain_dataclass(frozen=True)
class Interpolation(FieldModel):
    """Fields at a condition as a weighted sum of the fields of the runs, with a leave-one-out spread.

    f(x) = sum_j c_j |x - x_j|^3 + a linear polynomial, through all runs (Fasshauer 2007, ch. 6-8); all points share the
    weights w(x) in f(x) = sum_j w_j(x) f_j. What the interpolation of all other runs misses at run k is, in closed form,
    e_k = c_k / (A^-1)_kk (Rippa 1999, with the polynomial in A). The cubic kernel is that of a Gaussian process whose
    variance at x is p(x)^2, the power function, and at a left-out run 1 / (A^-1)_kk. So the standard deviation is

        std(x)^2 = p(x)^2 sum_k q_k(x) e_k^2 (A^-1)_kk

    with weights q that favor the nearest runs: zero at the runs, growing with the distance from them, and in every point
    of the field as large as the runs nearby have shown it to be.
    """

    nodes: Float[np.ndarray, "case parameter"]
    varying: Float[np.ndarray, " parameter"]  # 1 for parameters that vary over the runs, else 0
    inverse: Float[np.ndarray, "row row"]  # of A; row: case, then the terms of the polynomial
    fields: Float[np.ndarray, "case variable point"]
    residuals: Float[np.ndarray, "case variable point"]  # e_k sqrt((A^-1)_kk), in float32

    def predict(self, inputs: Inputs) -> Predictive:
        inputs = self._used(inputs)
        spread = np.sqrt(self._nearby(inputs).astype(np.float32) @ self._squares)
        spread = spread.reshape(len(inputs), *self.fields.shape[1:])
        return Predictive(self._mean(inputs), {EPISTEMIC: self._power(inputs)[:, None, None] * spread})

    def samples(self, inputs: Inputs, count: int, rng: np.random.Generator) -> Samples:
        """The mean plus what was missed at a run nearby, drawn by q, with either sign: its variance is std^2."""
        inputs = self._used(inputs)
        share, sign = rng.uniform(size=count), rng.choice([-1.0, 1.0], size=count)
        drawn = np.stack([np.searchsorted(np.cumsum(q)[:-1], share) for q in self._nearby(inputs)], axis=1)
        size = sign[:, None] * self._power(inputs)
        return self._mean(inputs) + size[:, :, None, None] * self.residuals[drawn]

    @cached_property
    def _squares(self) -> Float[np.ndarray, "case value"]:
        return self.residuals.reshape(len(self.nodes), -1) ** 2

    def _used(self, inputs: Inputs) -> Inputs:
        return np.asarray(inputs, float)[:, self.varying > 0]

    def _mean(self, inputs: Inputs) -> Fields:
        n_runs = len(self.nodes)
        weights = _terms(inputs, self.nodes) @ self.inverse[:, :n_runs]
        return (weights @ self.fields.reshape(n_runs, -1)).reshape(len(inputs), *self.fields.shape[1:])

    def _power(self, inputs: Inputs) -> Float[np.ndarray, " case"]:
        terms = _terms(inputs, self.nodes)
        # Zero at the runs but for rounding, which may have either sign.
        return np.sqrt(np.maximum(-np.einsum("ci,ij,cj->c", terms, self.inverse, terms), 0.0))

    def _nearby(self, inputs: Inputs) -> Float[np.ndarray, "case run"]:
        """q: a Gaussian of the distance, as wide as the distance to the nearest few runs."""
        distance = cdist(inputs, self.nodes)
        few = min(2 * (self.nodes.shape[1] + 1), len(self.nodes))
        width = np.sort(distance, axis=1)[:, few - 1 : few]
        weights = np.exp(-0.5 * (distance**2 - distance.min(axis=1, keepdims=True) ** 2) / width**2)
        return weights / weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, config=STRICT)
class InterpolationSettings(FieldModelSettings):
    """Cubic radial basis functions with a linear polynomial have nothing to set."""

    name: Literal["interpolation"] = "interpolation"
    uq: ClassVar[str] = "loo"
    fitted: ClassVar[type[FieldModel]] = Interpolation

    def _fit(self, inputs: Inputs, fields: Fields) -> Interpolation:
        varying = varying_parameters(inputs)
        nodes = np.asarray(inputs, float)[:, varying]
        n_runs, size = len(nodes), len(nodes) + nodes.shape[1] + 1
        system = np.zeros((size, size))
        system[:n_runs] = _terms(nodes, nodes)
        system[n_runs:, :n_runs] = system[:n_runs, n_runs:].T
        inverse = np.linalg.pinv(system, hermitian=True) if _is_flat(nodes) else np.linalg.inv(system)
        inner = inverse[:n_runs, :n_runs]
        # A run that the polynomial needs leaves no interpolation behind when it is left out; it tells nothing.
        freedom = np.maximum(np.diag(inner), np.finfo(float).eps)
        residuals = (inner @ fields.reshape(n_runs, -1)) / np.sqrt(freedom)[:, None]
        return Interpolation(
            nodes, varying.astype(float), inverse, fields, residuals.reshape(fields.shape).astype(np.float32)
        )


def _terms(inputs: Inputs, nodes: Inputs) -> Float[np.ndarray, "case row"]:
    """Radial basis functions about the nodes, then 1 and the inputs."""
    return np.column_stack([cdist(inputs, nodes) ** 3, np.ones(len(inputs)), inputs])


def _is_flat(nodes: Inputs) -> bool:
    """Whether the runs lie in a plane of fewer dimensions than they have parameters, as along one line."""
    return np.linalg.matrix_rank(nodes - nodes.mean(axis=0), tol=1e-8 * np.abs(nodes).max()) < nodes.shape[1]
