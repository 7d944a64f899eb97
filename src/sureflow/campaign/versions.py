"""The software that the bits of a result may depend on."""

import importlib.metadata
from collections.abc import Mapping

from sureflow.errors import SureflowError

VERSIONED = ("sureflow", "jax", "jaxlib", "numpy")


def versions() -> dict[str, str]:
    """What is installed here."""
    return {name: importlib.metadata.version(name) for name in VERSIONED}


def difference(theirs: Mapping[str, str]) -> str | None:
    """The first version that is not the one installed here, as 'jax 0.9.0 there and 0.10.2 here'."""
    for name, ours in versions().items():
        if theirs.get(name) != ours:
            return f"{name} {theirs.get(name)} there and {ours} here"
    return None


def refuse_other_workers(theirs: Mapping[str, str]) -> None:
    """Refuse the results of a worker whose software differs."""
    found = difference(theirs)
    if found:
        raise SureflowError(f"a worker has other versions ({found}): install the same versions on all workers")
