"""Trees of arrays as named tensors, and back with every name, shape and type checked."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from sureflow.errors import SureflowError


def to_tensors(tree: Any) -> dict[str, np.ndarray]:
    """Every array of the tree under its path, as in `weights.decoder.layers.0.weight`."""
    leaves, _ = jax.tree.flatten_with_path(tree)
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def from_tensors(template: Any, tensors: Mapping[str, np.ndarray], source: str) -> Any:
    """The tree of the template's form filled with tensors; whatever does not fit is refused in the name of `source`."""
    leaves, form = jax.tree.flatten_with_path(template)
    wanted = {_name(path): leaf for path, leaf in leaves}
    for name in wanted.keys() ^ tensors.keys():
        raise SureflowError(f"{source} {'lacks' if name in wanted else 'has an unknown'} tensor {name!r}")
    for name, leaf in wanted.items():
        found, expected = (tensors[name].shape, tensors[name].dtype), (leaf.shape, leaf.dtype)
        if found != expected:
            raise SureflowError(f"{source}: tensor {name!r} has shape and type {found}, expected {expected}")
    return jax.tree.unflatten(form, [tensors[name] for name in wanted])


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
