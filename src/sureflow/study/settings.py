"""What a study computes: runs, a split, the search for what the paper does not give, and the models to compare."""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomlkit
from pydantic import (
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from sureflow.campaign.settings import Campaign, load_campaign
from sureflow.choose import ComparisonSettings
from sureflow.config import UQ
from sureflow.data.split import PaperDomains, RandomRuns
from sureflow.errors import SureflowError
from sureflow.heads import AnyHead
from sureflow.models import AnyFieldModel, AnyModel, DeepONetSettings, FieldModelSettings
from sureflow.train.loop import Recipe, TrainSettings
from sureflow.validation import Section, explain

PAPER_NETWORK = DeepONetSettings(fourier_octaves=0)
AnyRecipe = Recipe | FieldModelSettings | ComparisonSettings
Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.=-]*$")]


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
    """One model of the study.

    For networks, `uq` is short for a head and a number of members, as in an experiment, and `train` overrides the study's
    training settings for this model alone; whole-field models have none of these. `split_seed` draws other test runs for
    the model; `runs` lets it learn from so many of the training runs, chosen space-filling; `calibrate` fits its bars by
    folds over the runs it learns from. An entry of a `series` is one point of the learning curve of the model with that
    label, and only its rows are kept; in a file, a list of `runs` and no label stands for an entry each. The model `auto`
    is what `sureflow train` takes by default: the best by cross-validation over the runs it learns from.
    """

    label: Label
    model: AnyModel | AnyFieldModel | ComparisonSettings = Field(default=PAPER_NETWORK, discriminator="name")
    uq: Literal["deterministic", "mve", "evidential", "ensemble"] | None = None
    head: AnyHead | None = None
    members: PositiveInt | None = None
    train: dict[str, Any] = Field(default_factory=dict)
    coordinates: Literal["xr", "body-fitted"] = "xr"
    scaling: Literal["none", "freestream", "log-density"] = "none"
    calibrate: bool = False
    split_seed: NonNegativeInt | None = None
    runs: PositiveInt | None = None
    series: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, given: Any) -> Any:
        values = dict(given)
        model = values.get("model")
        if isinstance(model, dict) and "name" not in model:
            values["model"] = asdict(PAPER_NETWORK) | model
        if values.get("uq") not in UQ:
            return values  # of a whole-field model, or the field `uq` says what is wrong
        name, members = UQ[values["uq"]]
        head = values.get("head", {})
        head = {"name": name} | head if isinstance(head, dict) else head
        return values | {"members": values.get("members", members), "head": head}

    @model_validator(mode="after")
    def _fits_its_model(self) -> Self:
        is_network, name = isinstance(self.model, DeepONetSettings), self.model.name
        if not is_network and (self.uq or self.head or self.members or self.train):
            raise ValueError(f"uq, head, members and train are for networks, and {name} gives whole fields")
        if is_network and self.uq is None:
            raise ValueError(f"a {name} needs uq: {', '.join(UQ)}")
        if is_network and self.calibrate:
            raise ValueError(f"a {name} takes too long to train again for every fold: calibrate = false")
        self.recipe(TrainSettings())  # refuses training settings that there are not
        return self

    @property
    def networks(self) -> int:
        """How many networks are trained for a variable; none of a whole-field model."""
        return self.members or 0

    def split(self, split: PaperDomains | RandomRuns) -> PaperDomains | RandomRuns:
        return split if self.split_seed is None else replace(split, seed=self.split_seed)

    def recipe(self, train: TrainSettings) -> AnyRecipe:
        """What is learned, with the study's training settings and the entry's own."""
        if not isinstance(self.model, DeepONetSettings):
            return self.model
        assert self.head is not None
        assert self.members is not None
        return Recipe(self.model, self.head, self.members, TrainSettings(**{**vars_of(train), **self.train}))


class StudySettings(Section):
    """A study in one TOML file."""

    description: str = ""
    campaign: str | None = None  # a preset or TOML file of a campaign, computed into the study's folder
    runs: Path | None = None  # or a store of runs that are there already
    split: PaperDomains | RandomRuns = Field(default=PaperDomains(), discriminator="kind")
    selection: Selection | None = None
    train: TrainSettings = TrainSettings()
    models: tuple[Entry, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _spell_out_series(cls, given: Any) -> Any:
        """An entry of a series with several numbers of runs stands for one entry each."""
        if not isinstance(given, dict) or not isinstance(given.get("models"), list):
            return given
        return given | {"models": [entry for one in given["models"] for entry in _points_of(one)]}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        labels = [entry.label for entry in self.models]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two models have the label {twice!r}: every model needs its own")
        if (self.campaign is None) == (self.runs is None):
            raise ValueError("a study needs either campaign, to compute its runs, or runs, a store of them")
        if self.selection is not None and not any(entry.networks for entry in self.models):
            raise ValueError("selection searches training settings of networks, and the study has none: leave it out")
        return self

    def load_campaign(self) -> Campaign:
        assert self.campaign is not None
        return load_campaign(self.campaign)

    @property
    def deterministic(self) -> Entry:
        """The model that the search for training settings uses: the first of its kind, else the first network."""
        networks = [entry for entry in self.models if entry.networks]
        return next((entry for entry in networks if entry.uq == "deterministic"), networks[0])

    def portable(self) -> dict[str, Any]:
        """The settings as plain values, with files by their names alone: results hold nothing of where they were made."""
        values = self.model_dump(mode="json", exclude_none=True)
        return values | {key: Path(values[key]).name for key in ("campaign", "runs") if key in values}

    def to_toml(self) -> str:
        """The study with every default written out."""
        return tomlkit.dumps(self.model_dump(mode="json", exclude_none=True))


def _points_of(entry: Any) -> list[Any]:
    if not isinstance(entry, dict) or "series" not in entry or not isinstance(entry.get("runs"), list):
        return [entry]
    return [entry | {"label": f"{entry['series']}-{runs}", "runs": runs} for runs in entry["runs"]]


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
