"""What a study computes: runs, a split, the search for what the paper does not give, and the models to compare."""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomlkit
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from sureflow.config import UQ
from sureflow.data.split import PaperDomains
from sureflow.errors import SureflowError
from sureflow.heads import AnyHead
from sureflow.models import AnyModel, DeepONetSettings
from sureflow.settings import explain
from sureflow.train.loop import Recipe, TrainSettings

Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.=-]*$")]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Selection(Section):
    """Learning rate, batch and schedule, which the paper does not give: chosen once and used for all of its models.

    Every combination trains the deterministic model for `epochs` on the training runs but `held_out` of them; the one
    with the least mean absolute error on these is taken.
    """

    learning_rate: tuple[PositiveFloat, ...]
    batch: tuple[PositiveInt, ...]
    schedule: tuple[Literal["constant", "cosine"], ...]
    epochs: PositiveInt
    held_out: PositiveInt
    seed: NonNegativeInt = 0

    def candidates(self, train: TrainSettings) -> Iterator[TrainSettings]:
        for rate, batch, schedule in itertools.product(self.learning_rate, self.batch, self.schedule):
            yield replace(train, learning_rate=rate, batch=batch, schedule=schedule, epochs=self.epochs)


class Entry(Section):
    """One model of the study. `uq` is short for a head and a number of members, as in an experiment.

    `train` overrides the study's training settings for this model alone; `split_seed` draws other test runs for it;
    `runs` lets it learn from so many of the training runs, chosen space-filling.
    """

    label: Label
    uq: Literal["deterministic", "mve", "evidential", "ensemble"]
    coordinates: Literal["xr", "body-fitted"] = "xr"
    members: PositiveInt
    model: AnyModel = DeepONetSettings(fourier_octaves=0)
    head: AnyHead
    train: dict[str, Any] = {}
    split_seed: NonNegativeInt | None = None
    runs: PositiveInt | None = None

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, given: Any) -> Any:
        values = dict(given)
        if values.get("uq") not in UQ:
            return values  # the field `uq` says what is wrong
        name, members = UQ[values["uq"]]
        return values | {"members": values.get("members", members), "head": {"name": name} | values.get("head", {})}

    def split(self, split: PaperDomains) -> PaperDomains:
        return split if self.split_seed is None else replace(split, seed=self.split_seed)

    def recipe(self, train: TrainSettings) -> Recipe:
        settings = TrainSettings(**{**vars_of(train), **self.train})
        return Recipe(self.model, self.head, self.members, settings)


class StudySettings(Section):
    """A study in one TOML file."""

    description: str = ""
    campaign: str
    split: PaperDomains = PaperDomains()
    selection: Selection | None = None
    train: TrainSettings = TrainSettings()
    models: tuple[Entry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        labels = [entry.label for entry in self.models]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two models have the label {twice!r}: every model needs its own")
        return self

    @property
    def deterministic(self) -> Entry:
        """The model that the search for training settings uses."""
        return next((entry for entry in self.models if entry.uq == "deterministic"), self.models[0])

    def to_toml(self) -> str:
        """The study with every default written out."""
        return tomlkit.dumps(self.model_dump(mode="json", exclude_none=True))


def vars_of(train: TrainSettings) -> dict[str, Any]:
    return {name: getattr(train, name) for name in TrainSettings.__dataclass_fields__}


def preset_names() -> list[str]:
    return sorted(entry.name.removesuffix(".toml") for entry in _presets().iterdir() if entry.name.endswith(".toml"))


def load_study(preset: str) -> StudySettings:
    """A preset by name, or a TOML file of the user's."""
    if preset.endswith(".toml"):
        try:
            text = Path(preset).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise SureflowError(f"{preset} cannot be read: {error}") from None
    elif preset in preset_names():
        text = (_presets() / f"{preset}.toml").read_text()
    else:
        raise SureflowError(
            f"preset={preset!r} is none of {', '.join(preset_names())}; or give a TOML file, such as study.toml"
        )
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SureflowError(f"{preset} cannot be read as TOML: {error}") from None
    try:
        return StudySettings.model_validate(values)
    except ValidationError as error:
        raise SureflowError(f"{preset}: {explain(error, StudySettings)}") from None


def _presets():
    return resources.files("sureflow.study") / "presets"
