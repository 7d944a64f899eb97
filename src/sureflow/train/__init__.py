"""Training: all members and all variables in one compiled program."""

from sureflow.train.loop import EpochReport, Recipe, Training, TrainSettings, fit, initial_state, train_epoch

__all__ = ["EpochReport", "Recipe", "TrainSettings", "Training", "fit", "initial_state", "train_epoch"]
