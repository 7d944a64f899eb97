"""All that fixes the training of networks besides the data."""

from dataclasses import dataclass

from sureflow.heads import Head
from sureflow.models.network import NetworkSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.samplers import Sampler


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
