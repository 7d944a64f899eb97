"""Training: all members and all variables in one compiled program."""

from sureflow.train.networks import Networks
from sureflow.train.recipe import Recipe, TrainSettings

__all__ = ["Networks", "Recipe", "TrainSettings"]
