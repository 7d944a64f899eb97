"""An experiment in one TOML file: typed, complete, and refused when a key is unknown."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError, model_validator

from sureflow.data.split import AllRuns, AnySplit
from sureflow.errors import SureflowError
from sureflow.heads import AnyHead, Deterministic
from sureflow.models import AnyModel, DeepONetSettings
from sureflow.train.loop import Recipe, TrainSettings

ENSEMBLE_MEMBERS = 10
UQ = {
    "deterministic": ("deterministic", 1),
    "mve": ("mve", 1),
    "evidential": ("evidential", 1),
    "ensemble": ("deterministic", ENSEMBLE_MEMBERS),
}


class Experiment(BaseModel):
    """Runs, what to learn from them and how; paths are relative to where the command runs.

    `uq` is short for a head and a number of members: deterministic, mve and evidential are one network with that head,
    ensemble is ten deterministic ones. Both can still be given: ten members with the head mve are an ensemble of MVE.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: Path
    output: Path
    coordinates: Literal["xr", "body-fitted"] = "body-fitted"
    members: PositiveInt = ENSEMBLE_MEMBERS
    split: AnySplit = AllRuns()
    model: AnyModel = DeepONetSettings()
    head: AnyHead = Deterministic()
    train: TrainSettings = TrainSettings()

    @model_validator(mode="before")
    @classmethod
    def _spell_out_uq(cls, given: Any) -> Any:
        values = dict(given)
        uq = values.pop("uq", "ensemble")
        if uq not in UQ:
            raise ValueError(f"uq={uq!r} is none of {', '.join(UQ)}")
        name, members = UQ[uq]
        head = values.get("head", {})
        if isinstance(head, dict):
            values["head"] = {"name": name} | head
        return {"members": members} | values

    @property
    def recipe(self) -> Recipe:
        return Recipe(self.model, self.head, self.members, self.train)

    def to_toml(self) -> str:
        """The experiment with every default written out; reading it gives an equal experiment."""
        return tomlkit.dumps(self.model_dump(mode="json"))


def read_experiment(path: Path | None, overrides: Sequence[str] = (), **given: Any) -> Experiment:
    """The experiment of a TOML file (or of nothing), with `section.key=value` overrides and further given values."""
    values = _read_toml(path) if path is not None else {}
    values |= {name: value for name, value in given.items() if value is not None}
    for override in overrides:
        _override(values, override)
    try:
        return Experiment.model_validate(values)
    except ValidationError as error:
        raise SureflowError("; ".join(_sentence(details) for details in error.errors())) from None


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
    try:
        values[key] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        values[key] = text


def _sentence(details: Any) -> str:
    """One validation error as `train.epoch is not a setting; did you mean epochs?`."""
    place, known = _place(details["loc"])
    name = ".".join(place) or "experiment"
    if details["type"] == "missing":
        return f"{name} is missing"
    if details["type"] not in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{name}: {details['msg'].removeprefix('Value error, ')}"
    nearest = difflib.get_close_matches(place[-1], known, n=1, cutoff=0.5)
    return f"{name} is not a setting; " + (f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(known)}")


def _place(location: Sequence[str | int]) -> tuple[list[str], list[str]]:
    """Where an error is as a user writes it, and the keys that are known there, by following the schema.

    pydantic's location also names the kind of a section, as in head.mve.beta, which a user does not write.
    """
    schema = Experiment.model_json_schema()
    node: Mapping[str, Any] = schema
    written, known = [], []
    for part in map(str, location):
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
        kinds = node.get("discriminator", {}).get("mapping", {})
        if part in kinds:
            node = {"$ref": kinds[part]}
        else:
            written.append(part)
            known = list(node.get("properties", {}))
            node = node.get("properties", {}).get(part, {})
    return written, known
