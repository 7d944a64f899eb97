"""Hypersonic flow fields from few CFD runs, at once, with error bars that can be trusted."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sureflow.artifact import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """What is public, imported when it is first used: `import sureflow` itself stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'sureflow' has no attribute {name!r}")
    from sureflow.artifact import load

    return load
