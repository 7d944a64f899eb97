"""How the annotations of the package are checked in the tests."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self, get_type_hints

import jaxtyping
from beartype import BeartypeConf, FrozenDict, beartype


class _AcceptsAll(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True


class _Anything(metaclass=_AcceptsAll):
    """What everything is an instance of; unlike Any, beartype takes it in `Self | None` as well."""


# jaxtyping hands over one function after the other, and a function by itself does not know what Self is.
CONFIGURATION = BeartypeConf(
    hint_overrides=FrozenDict({Self: _Anything}), is_pep484_tower=True, violation_type=jaxtyping.TypeCheckError
)
_jaxtyped = jaxtyping.jaxtyped
# A scope of its own for the names of sizes in annotations of shapes.
_sizes = functools.partial(_jaxtyped, "context")


def check_annotations() -> None:
    """Check every annotation of the package, which must not be imported yet, whenever it is met.

    jaxtyping's import hook decorates all functions and classes. Its own decorator checks arguments twice, binds them in Python
    and compiles two functions for every one, even if it is never called: half of the time of many tests.
    """
    jaxtyping.jaxtyped = lambda typechecker: typechecker
    jaxtyping.install_import_hook("sureflow", "typechecks.checked")


def checked(decorated: Any) -> Any:
    """A function that checks its arguments and what it returns, or a dataclass that checks its fields."""
    if inspect.isgeneratorfunction(decorated):  # runs after its scope has ended
        return _jaxtyped(decorated, typechecker=beartype(conf=CONFIGURATION))
    if not isinstance(decorated, type):
        return _checked_function(decorated) if decorated.__annotations__ else decorated
    if dataclasses.is_dataclass(decorated) and not hasattr(decorated.__init__, "is_checked"):
        decorated.__init__ = _checked_function(decorated.__init__)
    return decorated


def _checked_function(function: Callable) -> Callable:
    """The check is made at the first call, when all names in annotations are known."""
    check = None

    @functools.wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        nonlocal check
        if check is None:
            function.__annotations__ = _hints(function)
            check = beartype(function, conf=CONFIGURATION)
        with _sizes():
            return check(*args, **kwargs)

    checking.is_checked = True
    return checking


def _hints(function: Callable) -> dict[str, Any]:
    """Its annotations; names that only a type checker imports stand for anything."""
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, AttributeError):
        return {name: _hint(hint, function.__globals__) for name, hint in function.__annotations__.items()}


def _hint(hint: Any, names: dict[str, Any]) -> Any:
    try:
        return get_type_hints(SimpleNamespace(__annotations__={"hint": hint}), names, include_extras=True)["hint"]
    except (NameError, AttributeError):
        return Any
