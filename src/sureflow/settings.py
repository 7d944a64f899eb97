"""How settings are declared and refused: frozen, typed, and with the nearest right name for one that is unknown."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)


class Section(BaseModel):
    """A part of a file: nothing in it is unknown, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def explain(error: ValidationError, root: Any) -> str:
    """Every mistake as `train.epoch is not a setting; did you mean epochs?`; `root` is the type that was validated."""
    schema = TypeAdapter(root).json_schema()
    return "; ".join(_sentence(details, schema) for details in error.errors())


def _sentence(details: Any, schema: Mapping[str, Any]) -> str:
    place, known = _place(details["loc"], schema)
    name = ".".join(place) or "settings"
    if details["type"] in ("missing", "missing_argument"):
        return f"{name} is missing"
    if details["type"].startswith("union_tag"):
        return _about_kind(name, details["ctx"])
    if details["type"] not in ("extra_forbidden", "unexpected_keyword_argument"):
        value = f"={details['input']!r}" if isinstance(details["input"], str | float | int) else ""
        message = details["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
        return f"{name}{value}: {message}" if place else message
    nearest = difflib.get_close_matches(place[-1], known, n=1, cutoff=0.5)
    return f"{name} is not a setting; " + (f"did you mean {nearest[0]}?" if nearest else f"known: {', '.join(known)}")


def _about_kind(name: str, context: Mapping[str, Any]) -> str:
    """What is wrong with the key that says of which kind a section is, such as model.name."""
    key = f"{name}.{context['discriminator'].strip(chr(39))}"
    if "tag" not in context:
        return f"{key} is missing"
    return f"{key}={context['tag']!r} is none of {context['expected_tags'].replace(chr(39), '')}"


def _place(location: Sequence[str | int], schema: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Where an error is as a user writes it, and the keys that are known there, by following the schema.

    pydantic's location also names the kind of a section, as in head.mve.beta, which a user does not write.
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
