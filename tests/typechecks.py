"""How the annotations of the package are checked in the tests."""

from typing import Self

from beartype import BeartypeConf, FrozenDict, beartype


class _AcceptsAll(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True


class _Anything(metaclass=_AcceptsAll):
    """What everything is an instance of; unlike Any, beartype takes it in `Self | None` as well."""


# jaxtyping hands over one function after the other, and a function by itself does not know what Self is.
check = beartype(conf=BeartypeConf(hint_overrides=FrozenDict({Self: _Anything}), is_pep484_tower=True))
