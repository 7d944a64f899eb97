"""The runs of a study: which of them each model learns from, which test it, and the one space of all metrics."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sureflow.choose import ComparisonSettings, comparison_folds
from sureflow.data.dataset import Dataset
from sureflow.data.normalize import Standard
from sureflow.data.split import Mask, PaperDomains, Split, space_filling
from sureflow.errors import SureflowError
from sureflow.study.settings import Entry, StudySettings


@dataclass(frozen=True)
class StudyData:
    """All runs, and what the settings make of them."""

    runs: Dataset
    settings: StudySettings

    @cached_property
    def split(self) -> Split:
        return self.settings.split(self.runs)

    @cached_property
    def training(self) -> Dataset:
        """The training runs of the study's own split, from which the training settings are chosen."""
        training = self.runs.select(self.split.train)
        training.require_trainable()
        return training

    @cached_property
    def space(self) -> Standard:
        """The raw variables by mean and standard deviation of all training runs, for every model alike."""
        return Standard.fit(self.training.fields, axis=(0, 2))

    @cached_property
    def checksum(self) -> str:
        return self.runs.checksum

    def split_of(self, entry: Entry) -> Split:
        return self.split if entry.split_seed is None else entry.split(self.settings.split)(self.runs)

    def trained_on(self, entry: Entry) -> Mask:
        """The runs that a model learns from."""
        train = self.split_of(entry).train.copy()
        if entry.runs is not None:
            train[np.flatnonzero(train)] = space_filling(self.runs.parameters[train], entry.runs)
        return train

    def training_of(self, entry: Entry) -> Dataset:
        return self.runs.select(self.trained_on(entry))

    def require_runs(self) -> None:
        """Refuse, before hours of training, a model with more runs than there are, or with too few to learn from."""
        for entry in self.settings.models:
            try:
                training = self.training_of(entry)
                training.require_trainable()
                if isinstance(entry.model, ComparisonSettings):
                    comparison_folds(training, entry.model)
            except SureflowError as error:
                raise SureflowError(f"model {entry.label!r}: {error}") from None

    @property
    def shown(self) -> int:
        """The run whose fields are drawn: the paper's, else the first that tests."""
        split, tested = self.settings.split, np.flatnonzero(self.split.test["in_domain"])
        if isinstance(split, PaperDomains):
            tested = np.concatenate([np.flatnonzero((self.runs.parameters == split.shown).all(axis=1)), tested])
        return int(tested[0])

    @property
    def shown_condition(self) -> dict[str, float]:
        """Its parameters by name."""
        return dict(zip(self.runs.parameter_names, map(float, self.runs.parameters[self.shown]), strict=True))
