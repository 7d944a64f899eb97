"""What a store of runs says about itself and about its cases: the one place that writers and readers agree on."""

import enum
from collections.abc import Mapping
from typing import Any

SCHEMA = "sureflow-runs"
SCHEMA_VERSION = 2


class Status(enum.IntEnum):
    """What is known of a case; written after everything else of it."""

    TO_DO = 0
    CONVERGED = 1
    STALLED = 2
    FAILED = 3

    @property
    def words(self) -> str:
        """'to do'."""
        return self.name.lower().replace("_", " ")


def first_difference(wanted: Any, stored: Any, name: str) -> str | None:
    """The first of two nested JSON values that differs, as 'mesh.settings.cells is [48, 48] there and [64, 64] here'."""
    if isinstance(wanted, Mapping) and isinstance(stored, Mapping):
        for key in [*wanted, *(key for key in stored if key not in wanted)]:
            difference = first_difference(wanted.get(key), stored.get(key), f"{name}.{key}" if name else str(key))
            if difference:
                return difference
        return None
    if isinstance(wanted, Mapping) or isinstance(stored, Mapping):
        return f"{name} is {'missing there but not here' if stored is None else 'there and not here'}"
    return None if wanted == stored else f"{name} is {stored!r} there and {wanted!r} here"
