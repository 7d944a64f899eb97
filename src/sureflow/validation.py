"""How settings are declared, read and refused: frozen, typed, and with the nearest right name for one that is unknown."""

import dataclasses
import difflib
import functools
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import pydantic
import pydantic.dataclasses
import tomlkit
from pydantic import ConfigDict, TypeAdapter, ValidationError

from sureflow.errors import SureflowError

Kind = TypeVar("Kind")
Class = TypeVar("Class", bound=type)

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
NESTED = "nested"  # the type of an error that holds the sentences of settings inside of settings
LARGEST_JSON = 1 << 26  # bytes
SHOULD = "Input should be "  # the beginning of most messages of pydantic
LONGEST_VALUE = 80  # characters of a wrong value that an error repeats


@dataclass_transform(frozen_default=True, field_specifiers=(pydantic.Field,))
def settings(cls: Class) -> Class:
    """The one way to declare settings: a frozen dataclass whose values are validated and whose unknown keys are refused."""
    made: Any = pydantic.dataclasses.dataclass(frozen=True, config=STRICT)(cls)
    construct, names = made.__init__, [field.name for field in dataclasses.fields(made) if not field.kw_only]

    @functools.wraps(construct)
    def explained(self: Any, *arguments: Any, **values: Any) -> None:
        named = dict(zip(names, arguments, strict=False))  # so that an error can say which of them is wrong
        try:
            construct(self, *arguments[len(names) :], **named, **values)
        except ValidationError as error:
            raise SureflowError(explain(error, made)) from None

    made.__init__ = explained
    return made


class Section(pydantic.BaseModel):
    """A part of a file: nothing in it is unknown, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def validated(kind: type[Kind] | Any, values: Any, source: str = "") -> Kind:
    """Settings from plain values, or all that is wrong with them in one sentence, which begins with the `source`."""
    begin = f"{source}: " if source else ""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise SureflowError(begin + explain(error, kind)) from None
    except RecursionError:
        raise SureflowError(f"{begin}the settings are nested too deeply") from None
    except SureflowError as error:
        raise SureflowError(begin + str(error)) from None


def plain(value: Any) -> Any:
    """Settings as plain JSON values."""
    return TypeAdapter(type(value)).dump_python(value, mode="json", warnings=False)


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file of the user's."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SureflowError(f"{path} cannot be read ({reason})") from None
    return parse_toml(text, str(path))


def parse_toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, and nesting that never ends, too
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else shortened(error)
        raise SureflowError(f"{source} is not valid TOML: {reason}") from None


def to_toml(value: Any) -> str:
    """Settings as TOML with every default written out; what is absent is left out."""
    return tomlkit.dumps(without_nothing(plain(value)))


def without_nothing(value: Any) -> Any:
    """Nested values without those that are None, which TOML cannot say."""
    if isinstance(value, Mapping):
        return {key: without_nothing(item) for key, item in value.items() if item is not None}
    return [without_nothing(item) for item in value] if isinstance(value, list | tuple) else value


def read_json(path: Path) -> Any:
    """JSON from a file that anyone may have written; one that is larger than any of ours is not even read."""
    size = path.stat().st_size
    if size > LARGEST_JSON:
        raise SureflowError(f"{path} is damaged: it has {size:,} bytes, and at most {LARGEST_JSON:,} are read")
    return parse_json(path.read_bytes(), str(path))


def parse_json(content: bytes | str, source: str) -> Any:
    """JSON as ours is written: without NaN and infinities, and not nested without end."""
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise SureflowError(f"{source} is damaged: it is nested too deeply") from None
    except ValueError as error:
        raise SureflowError(f"{source} is damaged: {shortened(error)}") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def shortened(value: Any, most: int = LONGEST_VALUE) -> str:
    """The text of a value, cut where it would flood the screen."""
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}..."


def explain(error: ValidationError, root: Any) -> str:
    """Every mistake as `train.epoch is not a setting; did you mean epochs?`; `root` is the type that was validated."""
    return "; ".join(sentence for _, sentence in sentences(error, root))


def sentences(error: ValidationError, root: Any) -> list[tuple[bool, str]]:
    """The mistakes one by one; those that begin with the name of a setting are marked, so that its section can go before."""
    schema = TypeAdapter(root).json_schema()
    return [found for details in error.errors() for found in _sentences(details, schema)]


def _sentences(details: Any, schema: Mapping[str, Any]) -> list[tuple[bool, str]]:
    place, known = _place(details["loc"], schema)
    if details["type"] != NESTED:
        return [_sentence(details, place, known)]
    name = ".".join(place)
    if not name:
        return details["ctx"]["sentences"]
    return [(True, f"{name}.{text}" if named else f"{name}: {text}") for named, text in details["ctx"]["sentences"]]


def _sentence(details: Any, place: Sequence[str], known: Sequence[str]) -> tuple[bool, str]:
    name = ".".join(place) or "settings"
    if details["type"] in ("missing", "missing_argument"):
        return True, f"{name} is missing"
    if details["type"].startswith("union_tag"):
        return True, _about_kind(name, details["ctx"])
    if details["type"] not in ("extra_forbidden", "unexpected_keyword_argument"):
        value = f"={shortened(details['input'])!r}" if isinstance(details["input"], str | float | int) else ""
        if not isinstance(details["input"], str):
            value = value.replace("'", "")
        message = details["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
        message = re.sub(r"a dictionary or an instance of \w+", "a table", message)
        if not place:
            return False, message
        if message.startswith(SHOULD):
            return True, f"{name}{value} must be {message.removeprefix(SHOULD)}"
        return True, f"{name}{value}: {message}"
    return True, unknown_setting(name, known)


def unknown_setting(name: str, known: Sequence[str]) -> str:
    """That there is no such setting, and which one is nearest."""
    nearest = difflib.get_close_matches(name.rpartition(".")[2], known, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(known)}"
    return f"{shortened(name)} is not a setting; {hint}"


def _about_kind(name: str, context: Mapping[str, Any]) -> str:
    """What is wrong with the key that says of which kind a section is, such as split.kind."""
    key = f"{name}.{context['discriminator'].strip(chr(39))}"
    if "tag" not in context:
        return f"{key} is missing"
    return f"{key}={shortened(context['tag'])!r} is not one of {context['expected_tags'].replace(chr(39), '')}"


def _place(location: Sequence[str | int], schema: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Where an error is as a user writes it, and the keys that are known there, by following the schema.

    pydantic's location also names the kind of a section, as in split.paper.seed, which a user does not write.
    """
    node: Mapping[str, Any] = schema
    written, known = [], []
    for part in location:
        node = _resolved(node, schema)
        kinds = node.get("discriminator", {}).get("mapping", {})
        if part in kinds:
            node = {"$ref": kinds[part]}
            continue
        written.append(str(part))
        if isinstance(part, int):
            node = node.get("items", {})
        else:
            known = list(node.get("properties", {}))
            node = node.get("properties", {}).get(part, {})
    return written, known


def _resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference stands for; of a value that may be absent, what it is when it is there."""
    present = [option for option in node.get("anyOf", []) if option.get("type") != "null"]
    if len(present) == 1 and "discriminator" not in node:
        node = present[0]
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return node


def read_preset(preset: str, *packages: str) -> dict[str, Any]:
    """The values of a preset that comes with some package, by its name, or of a TOML file of the user's, by its path."""
    if preset.endswith(".toml"):
        return read_toml(preset)
    folders = [resources.files(package) / "presets" for package in packages]
    files = {entry.name.removesuffix(".toml"): entry for folder in folders for entry in folder.iterdir()}
    names = sorted(name for name, entry in files.items() if entry.name.endswith(".toml"))
    if preset not in names:
        nearest = difflib.get_close_matches(preset, names, n=1, cutoff=0.4)
        hint = f"; did you mean {nearest[0]}?" if nearest else ", and no path of a TOML file (.toml)"
        raise SureflowError(f"preset {shortened(preset)!r} is not one of {', '.join(names)}{hint}")
    return parse_toml(files[preset].read_text(encoding="utf-8"), f"preset {preset}")
