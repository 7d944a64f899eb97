"""How networks are trained, and all that fixes such a training besides the data."""

from dataclasses import dataclass
from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from sureflow.heads import Head
from sureflow.models.network import NetworkSettings
from sureflow.samplers import Sampler
from sureflow.validation import settings


@settings
class TrainSettings:
    """How to train. Epochs and weight decay are those of Leon et al. 2023; what they do not give is our choice, the learning
    rate by validation in the reference study.

    An epoch visits every training run at `points_per_run` freshly drawn points. Weight decay is
    decoupled from the gradient (AdamW, Loshchilov & Hutter 2019).
    """

    epochs: PositiveInt = 97
    points_per_run: PositiveInt | Literal["all"] = 512
    batch: PositiveInt = 512
    learning_rate: PositiveFloat = 1e-2
    schedule: Literal["constant", "cosine"] = "cosine"
    weight_decay: NonNegativeFloat = 1e-4
    seed: NonNegativeInt = 0


@dataclass(frozen=True)
class Recipe:
    """All that fixes the training of one set of networks, besides the data: hashable, so that it selects a program."""

    network: NetworkSettings
    head: Head
    sampler: Sampler
    train: TrainSettings

    @property
    def members(self) -> int:
        """How many networks are trained for every variable."""
        return self.sampler.members
