"""Flow fields from few CFD runs, at once, with error bars that can be trusted."""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sureflow.acquire.proposals import propose
    from sureflow.data.runs import Runs
    from sureflow.errors import Exists, Refused, SureflowError
    from sureflow.evaluate.evaluation import evaluate_surrogate as evaluate
    from sureflow.evaluate.left_out import evaluate_folds
    from sureflow.explore.notebook import explore
    from sureflow.flow.solve import solve
    from sureflow.importers import open_file as open_runs
    from sureflow.importers.importing import read_runs
    from sureflow.report.plot import plot
    from sureflow.surrogate.artifact import load
    from sureflow.surrogate.fit import fit
    from sureflow.surrogate.model import Surrogate

# What is public, with the module and the name there. Imported when first used: `import sureflow` itself stays light.
PUBLIC = {
    "Exists": ("sureflow.errors", "Exists"),
    "Refused": ("sureflow.errors", "Refused"),
    "Runs": ("sureflow.data.runs", "Runs"),
    "SureflowError": ("sureflow.errors", "SureflowError"),
    "Surrogate": ("sureflow.surrogate.model", "Surrogate"),
    "evaluate": ("sureflow.evaluate.evaluation", "evaluate_surrogate"),
    "evaluate_folds": ("sureflow.evaluate.left_out", "evaluate_folds"),
    "explore": ("sureflow.explore.notebook", "explore"),
    "fit": ("sureflow.surrogate.fit", "fit"),
    "load": ("sureflow.surrogate.artifact", "load"),
    "open_runs": ("sureflow.importers", "open_file"),
    "plot": ("sureflow.report.plot", "plot"),
    "propose": ("sureflow.acquire.proposals", "propose"),
    "read_runs": ("sureflow.importers.importing", "read_runs"),
    "solve": ("sureflow.flow.solve", "solve"),
}

__all__ = [
    "Exists",
    "Refused",
    "Runs",
    "SureflowError",
    "Surrogate",
    "evaluate",
    "evaluate_folds",
    "explore",
    "fit",
    "load",
    "open_runs",
    "plot",
    "propose",
    "read_runs",
    "solve",
]


class FrontDoor(ModuleType):
    """The package, whose `evaluate` stays the function after the folder of that name was imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'sureflow' has no attribute {name!r}")
    module, attribute = PUBLIC[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted((*globals(), *PUBLIC))


sys.modules[__name__].__class__ = FrontDoor
