"""What pydantic finds wrong with a request, in one sentence that names the place, the value and what is allowed."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from sureflow.validation import shortened

LONGEST = 100  # characters of a name or a value that an error repeats
PLAIN_NAME = re.compile(rf"[\w-]{{1,{LONGEST}}}")
# What a value is not, by the beginning of the type of the error.
KINDS = {
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
}
CONSTANTS = {None: "null", True: "true", False: "false"}


def sentence(errors: Sequence[Any], keys: Iterable[str] = ()) -> str:
    """The first mistake; `keys` are those that a body may have."""
    begin = errors[0]["loc"][:2]
    # What is neither a number nor a list has an error of each kind: the innermost tells which value of a list is wrong.
    details = max((one for one in errors if one["loc"][:2] == begin), key=lambda one: len(one["loc"]))
    place, known = _place(details["loc"]), ", ".join(keys)
    if not place:
        return f"the body is not an object: give one with keys of {known}"
    if details["type"] == "missing":
        return f"{place} is missing: give it"
    if details["type"] == "extra_forbidden":
        return f"the key {quoted(str(details['loc'][-1]))} is not one of {known}"
    if details["type"] in ("too_short", "too_long"):
        return _about_length(place, details["ctx"])
    return f"{place}={shown(details['input'])}{_about_value(details)}"


def _about_length(place: str, context: Any) -> str:
    allowed = f"at least {context['min_length']}" if "min_length" in context else f"at most {context['max_length']}"
    return f"{place} has {context['actual_length']} values: give {allowed}"


def _about_value(details: Any) -> str:
    context = details.get("ctx", {})
    if "ge" in context:
        return f" is too small: give at least {context['ge']}"
    if "le" in context:
        return f" is too large: give at most {context['le']}"
    if details["type"] == "literal_error":
        return f" is not {context['expected']}"
    kind = KINDS.get(details["type"].partition("_")[0])
    return f": {details['msg']}" if kind is None else f" is not {kind}"


def _place(location: Sequence[str | int]) -> str:
    """Where a value is, as in parameters.mach[3]."""
    parts = list(location)
    if parts[0:1] == ["parameters"] and len(parts) > 2:
        del parts[2]  # of a number or a list of them, pydantic's word for which one it tried
    written = (f"[{part}]" if isinstance(part, int) else f".{named(part)}" for part in parts)
    return "".join(written).removeprefix(".")


def named(name: str) -> str:
    """A name in a sentence, between quotes where it would be mistaken for something else."""
    return name if PLAIN_NAME.fullmatch(name) else quoted(name)


def quoted(text: str) -> str:
    return repr(shortened(text, LONGEST))


def shown(value: Any) -> str:
    """A value of JSON; of what it is nested in, which may be large, only the kind."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list | dict):
        return "[...]" if isinstance(value, list) else "{...}"
    return CONSTANTS[value] if value is None or isinstance(value, bool) else shortened(value, LONGEST)
