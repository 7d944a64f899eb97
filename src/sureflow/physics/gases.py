"""Gases behind one small interface, in SI units, and the registry that files choose them from.

A gas is a function of density and specific internal energy, because those are what a conservative scheme carries. A new gas
(equilibrium air from tables, say) is one more subclass of `Gas` with `@GASES.add`.
"""

import abc
import dataclasses
import inspect
import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, cast

from pydantic import GetCoreSchemaHandler, create_model
from pydantic_core import core_schema

from sureflow.errors import SureflowError
from sureflow.physics.transport import sutherland_viscosity
from sureflow.pytrees import pytree
from sureflow.registry import SettingsRegistry
from sureflow.validation import STRICT, validated

Field = Any  # a float, or an array of NumPy or of JAX: what goes in comes out


class Gas(abc.ABC):
    """Equation of state and transport of one gas.

    A gas is known by the arguments of its constructor, which it keeps in fields of the same names. A gas with tables makes
    them in its own `__init__` from arguments that say where they come from. Subclasses are dataclasses that compiled
    programs take as arguments.
    """

    model: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        pytree(dataclasses.dataclass(eq=False)(cls))

    @abc.abstractmethod
    def pressure(self, density: Field, energy: Field) -> Field:
        """Pressure in Pa."""

    @abc.abstractmethod
    def temperature(self, density: Field, energy: Field) -> Field:
        """Temperature in K."""

    @abc.abstractmethod
    def sound_speed(self, density: Field, energy: Field) -> Field:
        """Equilibrium speed of sound in m/s."""

    @abc.abstractmethod
    def energy_from_pressure(self, density: Field, pressure: Field) -> Field:
        """Specific internal energy in J/kg."""

    @abc.abstractmethod
    def energy_from_temperature(self, density: Field, temperature: Field) -> Field:
        """Specific internal energy in J/kg."""

    @abc.abstractmethod
    def density_from_pressure(self, pressure: Field, temperature: Field) -> Field:
        """Density in kg/m3."""

    @abc.abstractmethod
    def viscosity(self, temperature: Field, pressure: Field) -> Field:
        """Dynamic viscosity in Pa s."""

    @abc.abstractmethod
    def conductivity(self, temperature: Field, pressure: Field) -> Field:
        """Thermal conductivity in W/(m K)."""

    @property
    def cp(self) -> Field:
        """Specific heat at constant pressure in J/(kg K) at 288.15 K and 101325 Pa, a scale for temperatures."""

        def enthalpy(temperature: float) -> float:
            density = self.density_from_pressure(101325.0, temperature)
            return float(self.energy_from_temperature(density, temperature) + 101325.0 / density)

        return 0.5 * (enthalpy(289.15) - enthalpy(287.15))

    def arguments(self) -> dict[str, Any]:
        """Plain values that the constructor makes an equal gas of."""
        return {name: getattr(self, name) for name in constructor_parameters(type(self))}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gas) and type(self) is type(other) and self.arguments() == other.arguments()

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.arguments(), sort_keys=True)))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Read as the arguments of the constructor: pydantic would set the fields without calling it."""
        arguments: dict[str, Any] = {
            name: (entry.annotation, ... if entry.default is entry.empty else entry.default)
            for name, entry in constructor_parameters(cls).items()
        }
        return core_schema.no_info_after_validator_function(
            lambda values: cls(**dict(values)),
            handler.generate_schema(create_model(cls.__name__, __config__=STRICT, **arguments)),
            serialization=core_schema.plain_serializer_function_ser_schema(cls.arguments),
        )


@cache
def constructor_parameters(kind: type[Gas]) -> dict[str, inspect.Parameter]:
    """What a gas is made from, by name."""
    _, *parameters = inspect.signature(kind.__init__, eval_str=True).parameters.values()
    return {entry.name: entry for entry in parameters}


GASES = SettingsRegistry("gas", Gas, key="model")


@GASES.add
class PerfectGas(Gas):
    """Calorically perfect gas with Sutherland viscosity and a constant Prandtl number; air by default."""

    gamma: float = 1.4
    gas_constant: float = 287.0529
    prandtl: float = 0.71
    model: ClassVar[str] = "perfect"

    def __post_init__(self) -> None:
        if not 1.05 <= self.gamma <= 5 / 3:
            raise SureflowError(f"gamma={self.gamma:g} of the gas is outside 1.05..5/3; air has 1.4")
        for name in ("gas_constant", "prandtl"):
            if not 0 < getattr(self, name) < math.inf:
                raise SureflowError(f"{name}={getattr(self, name):g} of the gas must be a positive number")

    @property
    def cp(self) -> Field:
        """Specific heat at constant pressure in J/(kg K)."""
        return self.gamma / (self.gamma - 1.0) * self.gas_constant

    def pressure(self, density, energy):
        return (self.gamma - 1.0) * density * energy

    def temperature(self, density, energy):
        return (self.gamma - 1.0) / self.gas_constant * energy

    def sound_speed(self, density, energy):
        return (self.gamma * (self.gamma - 1.0) * energy) ** 0.5

    def energy_from_pressure(self, density, pressure):
        return pressure / ((self.gamma - 1.0) * density)

    def energy_from_temperature(self, density, temperature):
        return self.gas_constant / (self.gamma - 1.0) * temperature

    def density_from_pressure(self, pressure, temperature):
        return pressure / (self.gas_constant * temperature)

    def viscosity(self, temperature, pressure):
        return sutherland_viscosity(temperature)

    def conductivity(self, temperature, pressure):
        return self.cp / self.prandtl * self.viscosity(temperature, pressure)


def describe_gas(gas: Gas) -> dict[str, Any]:
    """Plain values that `gas_from` makes an equal gas of."""
    if type(gas) not in GASES.entries.values():
        raise SureflowError(f"the gas {type(gas).__name__} has no name in files: register its class with @GASES.add")
    return GASES.describe(gas)


def gas_from(description: Mapping[str, Any]) -> Gas:
    """The gas that plain values describe, such as {"model": "perfect", "gamma": 1.3}."""
    return validated(cast(type[Gas], Annotated[Gas, GASES]), description, "gas")
