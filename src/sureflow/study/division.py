"""The runs of a study: which of them each model learns from, which test it, and the one space of all metrics."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.scaling import NoScaling, Scaling, scaling_for
from sureflow.data.splits import Division, Mask, space_filling
from sureflow.errors import SureflowError
from sureflow.importers import open_file
from sureflow.study.agenda import Entry, StudySettings
from sureflow.surrogate.choose import comparison_folds
from sureflow.surrogate.mesh_bars import pairs_of_meshes
from sureflow.surrogate.specification import ComparisonSettings


@dataclass(frozen=True)
class StudyRuns:
    """All runs, and what the settings make of them."""

    runs: Runs
    settings: StudySettings

    @cached_property
    def division(self) -> Division:
        return self.settings.split(self.runs)

    @cached_property
    def training(self) -> Runs:
        """The training runs of the study's own split, from which the training settings are chosen."""
        training = self.runs.select(self.division.train)
        training.require_trainable()
        return training

    @cached_property
    def space(self) -> Standard:
        """The fields by mean and standard deviation of all training runs, for every model alike."""
        return Standard.of_fields(self.training, self.metric_scaling)

    @cached_property
    def metric_scaling(self) -> Scaling | None:
        """What fields are scaled by before errors are measured; None of fields as they are."""
        name = self.settings.metrics
        return None if name == NoScaling.name else scaling_for(name, self.training)

    @cached_property
    def checksum(self) -> str:
        return self.runs.checksum

    def division_for(self, entry: Entry) -> Division:
        return self.division if entry.split_seed is None else entry.split(self.settings.split)(self.runs)

    def trained_on(self, entry: Entry) -> Mask:
        """The runs that a model learns from."""
        train = self.division_for(entry).train.copy()
        if entry.runs is not None:
            train[np.flatnonzero(train)] = space_filling(self.runs.parameters[train], entry.runs)
        return train

    def training_for(self, entry: Entry) -> Runs:
        return self.runs.select(self.trained_on(entry))

    def trainable_for(self, entry: Entry) -> Runs:
        """The runs that a model learns from, and those that it might have learned from."""
        return self.runs.select(self.division_for(entry).train)

    @cached_property
    def other_meshes(self) -> list[Runs]:
        """The runs on a finer mesh and, where they are given, on a coarser one."""
        given = self.settings.mesh_error
        return [] if given is None else [open_file(path) for path in (given.finer, given.coarser) if path is not None]

    def require_runs(self) -> None:
        """Refuse, before hours of training, what they could not end with.

        A model with more runs than there are, or with too few to learn from; other meshes that do not tell the error of theirs.
        """
        if not self.division.test:
            raise SureflowError(
                f"split.kind={self.settings.split.kind!r} leaves no run to test on: choose another split"
            )
        for entry in self.settings.models:
            try:
                training = self.training_for(entry)
                training.require_trainable()
                if isinstance(entry.spec.model, ComparisonSettings):
                    comparison_folds(training, entry.spec.model)
                if entry.has_mesh_bars and self.other_meshes:
                    pairs_of_meshes(training, *self.other_meshes)
            except SureflowError as error:
                raise SureflowError(f"model {entry.label!r}: {error}") from None

    @property
    def shown(self) -> int:
        """The run whose fields are drawn: the study's choice, else the first that tests."""
        tested = np.flatnonzero(next(iter(self.division.test.values())))
        wanted = self.settings.shown
        if wanted is not None:
            if set(wanted) != set(self.runs.parameter_names):
                raise SureflowError(
                    f"shown={wanted} must have a value for each of {', '.join(self.runs.parameter_names)}"
                )
            condition = np.array([wanted[name] for name in self.runs.parameter_names])
            tested = np.concatenate([np.flatnonzero((self.runs.parameters == condition).all(axis=1)), tested])
        return int(tested[0])

    @property
    def shown_condition(self) -> dict[str, float]:
        """Its parameters by name."""
        return dict(zip(self.runs.parameter_names, map(float, self.runs.parameters[self.shown]), strict=True))
