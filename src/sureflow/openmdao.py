"""A trained model as a component of OpenMDAO: parameters in, declared quantities and their bars out, with exact derivatives."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

from sureflow.errors import Refused, SureflowError
from sureflow.surrogate.artifact import load
from sureflow.surrogate.declared_observer import DeclaredObserver
from sureflow.surrogate.model import Surrogate

precision = jax.config.jax_enable_x64  # type: ignore[attr-defined]
try:
    import openmdao.api as om
except ImportError as error:
    raise SureflowError(
        "OpenMDAO is not installed: pip install 'sureflow[openmdao]' (in a clone, -e '.[openmdao]')"
    ) from error
finally:
    jax.config.update("jax_enable_x64", precision)  # which OpenMDAO changes, and networks are not made for


class SurrogateComponent(om.ExplicitComponent):
    """Quantities of a model, given itself or by its folder as the option `model`.

    Inputs are the parameters of the model, outputs the quantities that its runs declare and, as `<name>_std`, their bars. A
    condition that the model refuses is an `AnalysisError`, from which drivers turn back. The derivatives of quantities are exact,
    those of bars finite differences.
    """

    def initialize(self) -> None:
        self.options.declare("model", types=(str, Path, Surrogate), desc="A trained model, or its folder.")

    def setup(self) -> None:
        given = self.options["model"]
        self.surrogate: Surrogate = given if isinstance(given, Surrogate) else load(given)
        observer = self.surrogate.observer
        if not isinstance(observer, DeclaredObserver):
            raise SureflowError("the runs of this model declare no quantities: declare some when they are imported")
        middle = self.surrogate.domain.parameters.mean(axis=0)
        for parameter, value in zip(self.surrogate.header.parameters, middle, strict=True):
            self.add_input(parameter.name, val=float(value), desc=parameter.unit)
        self.names = tuple(quantity.name for quantity in observer.quantities)
        for quantity in observer.quantities:
            self.add_output(quantity.name, desc=quantity.unit)
        self.with_bars = f"{self.names[0]}_std" in self._found(
            dict(zip(self.surrogate.parameter_names, middle, strict=True))
        )
        for name in self.names if self.with_bars else ():
            self.add_output(f"{name}_std")

    def setup_partials(self) -> None:
        self.declare_partials(list(self.names), "*")
        if self.with_bars:
            self.declare_partials([f"{name}_std" for name in self.names], "*", method="fd")

    def compute(self, inputs: Any, outputs: Any) -> None:  # type: ignore[override]
        found = self._found({name: float(inputs[name][0]) for name in self.surrogate.parameter_names})
        for name in outputs:
            outputs[name] = found[name]

    def compute_partials(self, inputs: Any, partials: Any) -> None:  # type: ignore[override]
        condition = {name: float(inputs[name][0]) for name in self.surrogate.parameter_names}
        for row, name in zip(self.surrogate.quantity_slopes(**condition), self.names, strict=True):
            for parameter, slope in zip(self.surrogate.parameter_names, row, strict=True):
                partials[name, parameter] = slope

    def _found(self, condition: dict[str, float]) -> dict[str, float]:
        try:
            found = self.surrogate.quantities(**condition)  # type: ignore[arg-type]
        except Refused as refusal:
            raise om.AnalysisError(str(refusal)) from None
        return {str(name): float(np.asarray(found[name])) for name in found.data_vars}
