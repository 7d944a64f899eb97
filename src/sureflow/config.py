"""An experiment in one TOML file: typed, complete, and refused when a key is unknown."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import tomlkit
from pydantic import Field, PositiveInt, ValidationError, model_validator

from sureflow.choose import ComparisonSettings
from sureflow.data.split import AllRuns, AnySplit
from sureflow.errors import SureflowError
from sureflow.heads import AnyHead, Deterministic
from sureflow.models import AnyFieldModel, AnyModel, FieldModelSettings
from sureflow.train.loop import Recipe, TrainSettings
from sureflow.validation import Section, explain

ENSEMBLE_MEMBERS = 10
UQ = {
    "deterministic": ("deterministic", 1),
    "mve": ("mve", 1),
    "evidential": ("evidential", 1),
    "ensemble": ("deterministic", ENSEMBLE_MEMBERS),
}
NETWORK = "deeponet"
# What only networks for single points have.
NETWORK_KEYS = ("coordinates", "members", "head", "train")


class Experiment(Section):
    """Runs, what to learn from them and how; paths are relative to where the command runs.

    `model.name` is a model, or auto: whole-field models are compared by cross-validation and the best one is kept. Without
    a name it is auto, unless something is given that only networks have. `scaling` is that of the model, or auto: that of
    the free stream where the runs offer it.

    `uq` is short for a head and a number of members: deterministic, mve and evidential are one network with that head,
    ensemble is ten deterministic ones. Both can still be given: ten members with the head mve are an ensemble of MVE.
    """

    runs: Path
    output: Path
    scaling: Literal["auto", "none", "freestream", "log-density"] = "auto"
    coordinates: Literal["xr", "body-fitted"] = "body-fitted"
    members: PositiveInt = ENSEMBLE_MEMBERS
    split: AnySplit = AllRuns()
    model: ComparisonSettings | AnyModel | AnyFieldModel = Field(default=ComparisonSettings(), discriminator="name")
    head: AnyHead = Deterministic()
    train: TrainSettings = TrainSettings()

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, given: Any) -> Any:
        values = dict(given)
        named = [key for key in ("uq", *NETWORK_KEYS) if key in values]
        model = values.get("model", {})
        if isinstance(model, dict):
            model = {"name": NETWORK if named or model else "auto"} | model
            values["model"] = model
            if model["name"] != NETWORK and named:
                raise ValueError(
                    f"{named[0]} is for networks, and model.name is {model['name']}: leave it out, or choose {NETWORK}"
                )
        return cls._spell_out_uq(values) if "uq" in values or named else values

    @classmethod
    def _spell_out_uq(cls, values: dict[str, Any]) -> dict[str, Any]:
        uq = values.pop("uq", "ensemble")
        if uq not in UQ:
            raise ValueError(f"uq={uq!r} is none of {', '.join(UQ)}")
        name, members = UQ[uq]
        head = values.get("head", {})
        if isinstance(head, dict):
            values["head"] = {"name": name} | head
        return {"members": members} | values

    @property
    def recipe(self) -> Recipe | FieldModelSettings | ComparisonSettings:
        """What is learned: networks, a whole-field model, or the best one of several."""
        if isinstance(self.model, FieldModelSettings | ComparisonSettings):
            return self.model
        return Recipe(self.model, self.head, self.members, self.train)

    def to_toml(self) -> str:
        """The experiment with every default written out; reading it gives an equal experiment."""
        foreign: set[str] = set() if isinstance(self.recipe, Recipe) else set(NETWORK_KEYS)
        return tomlkit.dumps(self.model_dump(mode="json", exclude=foreign))


def read_experiment(
    path: Path | None, overrides: Sequence[str] = (), model: str | None = None, **given: Any
) -> Experiment:
    """The experiment of a TOML file (or of nothing), with `section.key=value` overrides and further given values."""
    values = _read_toml(path) if path is not None else {}
    values |= {name: value for name, value in given.items() if value is not None}
    if "output" not in values:
        raise SureflowError("output is missing: name the folder of the model with -o, as in -o model/")
    if model is not None:
        values["model"] = _named_model(values.get("model", {}), model)
    for override in overrides:
        _override(values, override)
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        raise SureflowError(explain(error, Experiment)) from None


def _named_model(section: dict[str, Any], name: str) -> dict[str, Any]:
    """The settings of the file if they are that model's, else its defaults."""
    its_own = isinstance(section, dict) and section.get("name", name) == name
    return {"name": name} | (section if its_own else {})


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise SureflowError(f"{path} cannot be read as TOML: {error}") from None


def _override(values: dict[str, Any], override: str) -> None:
    """Set one key from `section.key=value`; a value that is not TOML is taken as text."""
    name, equals, text = override.partition("=")
    if not equals:
        raise SureflowError(f"--set {override!r} must read key=value, as in --set train.epochs=20")
    *sections, key = name.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise SureflowError(f"--set {override!r}: {section}={values!r} is a value and has no settings below it")
    try:
        values[key] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        values[key] = text
