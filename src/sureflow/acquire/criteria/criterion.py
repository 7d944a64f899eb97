"""The contract of a criterion: settings that rate candidates, and ratings that follow as candidates are taken."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial.distance import cdist

from sureflow.errors import SureflowError
from sureflow.models.belief import Belief
from sureflow.registry import SettingsRegistry
from sureflow.surrogate.model import Surrogate

Conditions = Float[np.ndarray, "_ parameter"]
Values = Float[np.ndarray, " candidate"]


@dataclass(frozen=True)
class Task:
    """What is to be proposed: some of the `candidates`, for a model that will be asked at conditions like the `uses`."""

    model: Surrogate
    candidates: Conditions
    uses: Conditions
    levels: Int[np.ndarray, " candidate"] | None = None  # of the candidates, where the mesh is chosen as well

    def told(self, level: int) -> Bool[np.ndarray, " candidate"]:
        """Candidates whose runs tell a process of this level."""
        return np.ones(len(self.candidates), bool) if self.levels is None else self.levels <= level

    def seen(self, conditions: Conditions) -> Conditions:
        """Conditions as the model sees them."""
        predictor = self.model.predictor
        return predictor.normalizer.inputs.forward(predictor.scaling.inputs(conditions))

    @cached_property
    def inputs(self) -> Conditions:
        return self.seen(self.candidates)

    @cached_property
    def use_inputs(self) -> Conditions:
        return self.seen(self.uses)

    @cached_property
    def run_inputs(self) -> Conditions:
        return self.seen(self.model.domain.parameters)

    @cached_property
    def belief(self) -> Belief | None:
        return self.model.predictor.fitted.belief()

    def require_belief(self, criterion: str) -> Belief:
        if self.belief is None:
            raise SureflowError(
                f"the criterion {criterion} needs a model that knows covariances between conditions, such as interpolation "
                f"or pod-gp, and the name of this one is {self.model.model_name}: choose space-filling or largest-bar"
            )
        return self.belief

    @cached_property
    def metric(self) -> Float[np.ndarray, "parameter mixed"]:
        """What inputs are multiplied with before distances are taken: learned where the model learns it."""
        return self.belief.metric if self.belief is not None else np.eye(self.inputs.shape[1])

    def distance(self, one: Conditions, other: Conditions) -> Float[np.ndarray, "one other"]:
        """Between conditions as the model sees them, in its metric."""
        return cdist(one @ self.metric, other @ self.metric)


class Gains(ABC):
    """What every candidate would gain, given the runs and the candidates that were taken so far."""

    @abstractmethod
    def values(self) -> Values:
        """Larger is better; a candidate that was taken gains nothing."""

    @abstractmethod
    def take(self, candidate: int) -> None:
        """Count a candidate as computed."""


class Criterion(ABC):
    """Settings of a criterion, declared with `@settings`; `meaning` says what its gain is."""

    name: ClassVar[str]
    meaning: ClassVar[str]
    knows_levels: ClassVar[bool] = False  # whether it tells a run on a coarse mesh from one on a fine mesh

    @abstractmethod
    def begin(self, task: Task) -> Gains:
        """The gains before any candidate is taken."""


CRITERIA: SettingsRegistry[Criterion] = SettingsRegistry("criterion", Criterion)
