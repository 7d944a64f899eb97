"""Classes whose objects compiled programs take and give back, without importing JAX where nothing is compiled.

JAX learns of them when it is there already, or when a module that compiles something calls `tell_jax`.
"""

import sys
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

_untold: list[type] = []


def pytree(cls: Class) -> Class:
    """Let JAX see the attributes of objects of this class as what they consist of."""
    _untold.append(cls)
    if "jax" in sys.modules:
        tell_jax()
    return cls


def tell_jax() -> None:
    """Register all classes that JAX has not been told of."""
    from jax.tree_util import GetAttrKey, register_pytree_with_keys

    def flatten(tree: Any) -> tuple[tuple[tuple[Any, Any], ...], tuple[str, ...]]:
        return tuple((GetAttrKey(name), value) for name, value in vars(tree).items()), tuple(vars(tree))

    while _untold:
        cls = _untold.pop()

        def unflatten(names: tuple[str, ...], values: Any, cls: type = cls) -> Any:
            tree = object.__new__(cls)
            tree.__dict__.update(zip(names, values, strict=True))
            return tree

        register_pytree_with_keys(cls, flatten, unflatten)
