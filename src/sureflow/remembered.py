"""What follows from an object alone, worked out once and kept as long as the object lives."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Key = TypeVar("Key")
Found = TypeVar("Found")


@dataclass
class _Entry(Generic[Found]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    found: tuple[Found, ...] = ()  # one, or none yet


def once_for_each(function: Callable[[Key], Found]) -> Callable[[Key], Found]:
    """The same function, which threads that ask for the same object at once wait for; what it refuses, it refuses again."""
    entries: WeakKeyDictionary[Key, _Entry[Found]] = WeakKeyDictionary()
    guard = threading.Lock()

    @wraps(function)
    def remembering(one: Key) -> Found:
        with guard:
            entry = entries.setdefault(one, _Entry())
        with entry.lock:
            if not entry.found:
                entry.found = (function(one),)
            return entry.found[0]

    return remembering
