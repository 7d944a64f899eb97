"""Registries: kinds of things that files choose by name, and that a user's own code can add to.

A registry is also what tells pydantic how to read and write such a choice: `head: Annotated[Head, HEADS]` takes a head, its
name, or a table with its name and settings.
"""

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from sureflow.errors import SureflowError
from sureflow.validation import NESTED, plain, sentences, shortened

Entry = TypeVar("Entry")
Base = TypeVar("Base")
Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class Later:
    """Holds the place of an entry that importing a module registers."""

    module: str


class Registry(Generic[Entry]):
    """Entries by name. `kind` is the word that errors use for one of them, such as head."""

    def __init__(self, kind: str):
        self.kind = kind
        self.entries: dict[str, Entry | Later] = {}

    def later(self, name: str, module: str) -> None:
        """Name an entry that importing `module` registers, which happens when it is first asked for."""
        self.entries[name] = Later(module)

    def register(self, name: str, entry: Entry) -> Entry:
        """Add an entry; a name that is taken is refused, unless by the same entry."""
        present = self.entries.get(name, entry)
        if present is not entry and not isinstance(present, Later):
            raise SureflowError(f"the {self.kind} {name!r} is registered already: choose another name")
        self.entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> Entry:
        if name not in self:
            raise SureflowError(f"{self.kind}={shortened(name)!r} {self.unknown(name)}")
        entry = self.entries[name]
        if isinstance(entry, Later):
            importlib.import_module(entry.module)
            entry = self.entries[name]
            assert not isinstance(entry, Later)
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def unknown(self, name: Any) -> str:
        """'is not one of a, b; did you mean a?'"""
        nearest = difflib.get_close_matches(shortened(name), list(self), n=1, cutoff=0.5)
        return f"is not one of {', '.join(self)}" + (f"; did you mean {nearest[0]}?" if nearest else "")


class SettingsRegistry(Registry[type[Base]], Generic[Base]):
    """Classes of settings, each under its own `name`; in a file, a table whose `name` says which of them it is."""

    def __init__(self, kind: str, base: type[Base], key: str = "name"):
        super().__init__(kind)
        self.base = base
        self.key = key

    def add(self, cls: Kind) -> Kind:
        """Register a class under its `name`; to be used as a decorator."""
        self.register(getattr(cls, self.key), cls)  # type: ignore[arg-type]
        return cls

    def build(self, values: Any) -> Base:
        """Settings from a table, from a name alone, or as they are."""
        if isinstance(values, self.base):
            return values
        table = {self.key: values} if isinstance(values, str) else values
        if not isinstance(table, Mapping):
            raise _nested([(False, f"give the name of a {self.kind} or a table with its settings")])
        if self.key not in table:
            raise _nested([(True, f"{self.key} is missing")])
        name = table[self.key]
        if not isinstance(name, str) or name not in self:
            raise _nested([(True, f"{self.key}={shortened(name)!r} {self.unknown(name)}")])
        kind = self[name]
        try:
            return TypeAdapter(kind).validate_python({key: value for key, value in table.items() if key != self.key})
        except ValidationError as error:
            raise _nested(sentences(error, kind)) from None

    def describe(self, settings: Base) -> dict[str, Any]:
        """Plain values that `build` makes equal settings of."""
        return {self.key: getattr(settings, self.key), **plain(settings)}

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[..., Any]) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.build, serialization=core_schema.plain_serializer_function_ser_schema(self.describe)
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "object", "title": self.kind}


def _nested(found: list[tuple[bool, str]]) -> PydanticCustomError:
    return PydanticCustomError(NESTED, "{sentences}", {"sentences": found})
