"""An experiment in one TOML file: runs, which of them train, and what is learned from them."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tomlkit
from pydantic import Field, model_validator

from sureflow.data.splits import SPLITS, AllRuns, Split
from sureflow.errors import SureflowError
from sureflow.surrogate.specification import Specification, gathered
from sureflow.validation import Section, plain, read_toml, shortened, validated, without_nothing


class Experiment(Section):
    """Runs, what to learn from them and how; paths are relative to where the command runs.

    What is learned (`spec`) stands in the file itself: model, scaling, coordinates and, for networks, uq, head, sampler,
    members and train.
    """

    runs: Path
    output: Path
    split: Annotated[Split, SPLITS] = AllRuns()
    spec: Specification = Field(default_factory=Specification)

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, given: Any) -> Any:
        """What belongs to the specification, under its name."""
        return gathered(given, cls) if isinstance(given, dict) and "spec" not in given else given

    def to_toml(self) -> str:
        """The experiment with every default written out; reading it gives an equal experiment."""
        values = {"runs": str(self.runs), "output": str(self.output), **plain(self.spec)}
        return tomlkit.dumps(without_nothing(values | {"split": SPLITS.describe(self.split)}))


def read_experiment(path: Path | None, overrides: Sequence[str] = (), **given: Any) -> Experiment:
    """The experiment of a TOML file (or of nothing), with `section.key=value` overrides and further given values."""
    values = read_toml(path) if path is not None else {}
    model = given.pop("model", None)
    values |= {name: value for name, value in given.items() if value is not None}
    if model is not None:
        values["model"] = _named_model(values.get("model", {}), model)
    for override in overrides:
        apply_override(values, override)
    try:
        return validated(Experiment, values)
    except SureflowError as error:
        # The specification stands in the file itself.
        raise SureflowError(str(error).replace("spec.", "")) from None


def _named_model(section: Any, name: str) -> dict[str, Any]:
    """The settings of the file if they are that model's, else its defaults."""
    its_own = isinstance(section, dict) and section.get("name", name) == name
    return {"name": name} | (section if its_own else {})


def apply_override(values: dict[str, Any], override: str) -> None:
    """Set one key from `section.key=value`; a value that is not TOML is taken as text."""
    name, equals, text = override.partition("=")
    if not equals:
        raise SureflowError(f"{override!r} must read key=value, as in train.epochs=20")
    *sections, key = name.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise SureflowError(
                f"{override!r}: {section}={shortened(values)!r} is a value and has no settings below it"
            )
    try:
        values[key] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        values[key] = text
    except (ValueError, RecursionError):
        raise SureflowError(f"{shortened(override)!r}: the value cannot be read") from None
