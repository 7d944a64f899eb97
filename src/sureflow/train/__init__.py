"""Training: all members and all variables in one compiled program."""

from sureflow.models.train_settings import TrainSettings
from sureflow.train.nbf import NBFSettings
from sureflow.train.networks import Networks
from sureflow.train.recipe import Recipe

__all__ = ["NBFSettings", "Networks", "Recipe", "TrainSettings"]
