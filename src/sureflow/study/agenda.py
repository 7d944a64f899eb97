"""What a study computes: runs, a split, the search for training settings, and the models to compare."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from sureflow.campaign.campaign import Campaign, load_campaign
from sureflow.data.scaling import SCALINGS, NoScaling
from sureflow.data.splits import SPLITS, RandomRuns, Split
from sureflow.errors import SureflowError
from sureflow.models.contract import MODELS, ModelSettings
from sureflow.models.train_settings import TrainSettings
from sureflow.surrogate.specification import AUTO, ComparisonSettings, Specification, gathered
from sureflow.validation import Section, plain, read_preset, to_toml, validated, without_nothing

Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.=-]*$")]
PRESETS = ("sureflow.study", "sureflow.reproduction.leon2023")


class Selection(Section):
    """Learning rate, batch and schedule: chosen once, on training runs, and used for all networks of the study.

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

    What is learned stands in the entry itself, as in an experiment; `train` overrides the study's training settings for
    this model alone. `split_seed` draws other test runs for the model; `runs` lets it learn from so many of the training
    runs, chosen space-filling; `calibrate` fits its bars by folds over the runs it learns from or, if it takes too long to
    train again, to the training runs that it does not learn from. An entry of a `series` is one point of the learning curve
    of the model with that label, and only its rows are kept; in a file, a list of `runs` and no label stands for an entry
    each. The model `auto` is the best by cross-validation over the runs it learns from. `select` lists choices of the
    model's settings, as in {"train.learning_rate" = [1e-3, 3e-3], "network.modes" = [8, 12]}: the one with the least loss of
    its own on held-out training runs is taken.
    """

    label: Label
    spec: Specification
    train: dict[str, Any] = Field(default_factory=dict)
    calibrate: bool = False
    split_seed: NonNegativeInt | None = None
    runs: PositiveInt | None = None
    series: Label | None = None
    select: dict[str, list[Any]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, given: Any) -> Any:
        """What belongs to the specification, under its name; `train` stays beside it, since the study's goes before."""
        return gathered(given, cls) if isinstance(given, dict) and "spec" not in given else given

    @model_validator(mode="after")
    def _fits_its_model(self) -> Self:
        model = self.spec.model
        if self.calibrate and isinstance(model, ModelSettings) and not self.by_folds and self.runs is None:
            raise ValueError(
                f"a {model.title} takes too long to train again for every fold: let it learn from fewer runs than the others, "
                "so that unseen ones are left, or set calibrate = false"
            )
        if self.select and not self.networks:
            raise ValueError(f"select is for networks, and the model is {model.name}: leave it out")
        if self.select:
            next(self.choices(TrainSettings(), 1))  # refuses unknown settings
        self.specification(TrainSettings())  # refuses unknown training settings, or any where there are none
        return self

    @property
    def networks(self) -> int:
        """How many networks are trained for a variable; none of other models."""
        return self.spec.model.networks if isinstance(self.spec.model, ModelSettings) else 0

    @property
    def by_folds(self) -> bool:
        """Whether bars are calibrated by training again without some of the runs."""
        model = self.spec.model
        return not isinstance(model, ModelSettings) or model.capabilities.refits_quickly

    @property
    def has_mesh_bars(self) -> bool:
        """Whether its bars hold the error of the mesh as well, where the study knows it."""
        return self.calibrate and self.series is None

    @property
    def is_default(self) -> bool:
        """Whether the model is what a user gets without asking."""
        return isinstance(self.spec.model, ComparisonSettings)

    def split(self, split: Split) -> Split:
        return split if self.split_seed is None else replace(split, seed=self.split_seed)  # type: ignore[type-var]

    def specification(self, train: TrainSettings) -> Specification:
        """What is learned, with the study's training settings and the entry's own."""
        if isinstance(self.spec.model, ComparisonSettings):
            if self.train:
                raise SureflowError(f"train is for networks, and the model is {AUTO}: leave it out")
            return self.spec
        return replace(self.spec, model=self.spec.model.trained_with(train, self.train))

    def choices(self, train: TrainSettings, epochs: int) -> Iterator[tuple[dict[str, Any], Specification]]:
        """What may be selected, and the model that decides about it: a single network, trained for `epochs` at most."""
        spec = self.specification(train)
        assert isinstance(spec.model, ModelSettings)
        for values in itertools.product(*self.select.values()):
            chosen = dict(zip(self.select, values, strict=True))
            model = with_settings(spec.model, chosen).alone()
            if model.training is not None:
                model = with_settings(model, {"train.epochs": min(model.training.epochs, epochs)})
            yield chosen, replace(spec, model=model)

    def plain(self) -> dict[str, Any]:
        """The entry as a file has it."""
        values = self.model_dump(mode="json", exclude={"spec"}, exclude_defaults=True)
        spec = plain(self.spec)
        if self.networks:
            spec["model"] = {key: value for key, value in spec["model"].items() if key != "train"}
        return values | spec


class MeshErrorSettings(Section):
    """Stores of runs at some of the conditions on a finer mesh, and on a coarser one that tells the order of convergence.

    Calibrated models of the study then carry the error of their mesh, and the report says which part of the bars dominates.
    """

    finer: Path
    coarser: Path | None = None


class StudySettings(Section):
    """A study in one TOML file.

    Entries that name no model learn `network`. `shown` is the test condition whose fields are drawn. `reproduction` adds what
    compares the study with a publication to its report.
    """

    description: str = ""
    reproduction: str | None = None
    campaign: str | None = None  # a preset or TOML file of a campaign, computed into the study's folder
    runs: Path | None = None  # or a store of runs that are there already
    split: Annotated[Split, SPLITS] = RandomRuns()
    shown: dict[str, float] | None = None
    metrics: str = NoScaling.name  # the scaling of the fields whose errors are measured
    mesh_error: MeshErrorSettings | None = None
    selection: Selection | None = None
    train: TrainSettings = TrainSettings()
    models: tuple[Entry, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, given: Any) -> Any:
        """A series with several numbers of runs stands for one entry each, and no model for the study's network."""
        if not isinstance(given, dict) or not isinstance(given.get("models"), list):
            return given
        values = {key: value for key, value in given.items() if key != "network"}
        network = given.get("network", {})
        entries = [_with_network(entry, network) for one in given["models"] for entry in _points_of(one)]
        return values | {"models": entries}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.metrics not in SCALINGS:
            raise ValueError(f"metrics={self.metrics!r} {SCALINGS.unknown(self.metrics)}")
        labels = [entry.label for entry in self.models]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two models have the label {twice!r}: every model needs its own")
        if (self.campaign is None) == (self.runs is None):
            raise ValueError("a study needs either campaign, to compute its runs, or runs, a store of them")
        if self.selection is None and any(entry.select for entry in self.models):
            raise ValueError(
                "select needs the section selection, which says how many runs are held out and for how long"
            )
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
        return next((entry for entry in networks if entry.spec.model.uq == "deterministic"), networks[0])  # type: ignore[union-attr]

    def plain(self) -> dict[str, Any]:
        """The study as a file has it."""
        values = self.model_dump(mode="json", exclude={"models"}, exclude_none=True)
        return without_nothing(values | {"models": [entry.plain() for entry in self.models]})

    def portable(self) -> dict[str, Any]:
        """The same with files by their names alone: results hold nothing of where they were made."""
        values = self.plain()
        files: dict[str, Any] = {key: Path(values[key]).name for key in ("campaign", "runs") if key in values}
        if "mesh_error" in values:
            files["mesh_error"] = {key: Path(path).name for key, path in values["mesh_error"].items()}
        return values | files

    def to_toml(self) -> str:
        """The study with every default written out."""
        return to_toml(self.plain())


def with_settings(model: ModelSettings, chosen: Mapping[str, Any]) -> ModelSettings:
    """The same model with other settings, by their names as in `network.modes`."""
    described = MODELS.describe(model)
    for name, value in chosen.items():
        *sections, key = name.split(".")
        place = described
        for section in sections:
            place = place.get(section) if isinstance(place, dict) else None
        if not isinstance(place, dict) or key not in place:
            raise SureflowError(f"select: {name} is not a setting of {model.title}")
        place[key] = value
    return MODELS.build(described)


def _points_of(entry: Any) -> list[Any]:
    if not isinstance(entry, dict) or "series" not in entry or not isinstance(entry.get("runs"), list):
        return [entry]
    return [entry | {"label": f"{entry['series']}-{runs}", "runs": runs} for runs in entry["runs"]]


def _with_network(entry: Any, network: Any) -> Any:
    names_model = not isinstance(entry, dict) or "model" in entry or "spec" in entry
    return entry if names_model or not isinstance(network, dict) else network | entry


def load_study(preset: str) -> StudySettings:
    """A preset by name, or a TOML file of the user's."""
    try:
        return validated(StudySettings, read_preset(preset, *PRESETS), preset)
    except SureflowError as error:
        # The specification stands in the entry itself.
        raise SureflowError(str(error).replace(".spec.", ".")) from None
