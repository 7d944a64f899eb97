"""STUB until merge."""
from sureflow.physics.gas import Gas, PerfectGas
import dataclasses
from typing import Any
from pydantic_core import core_schema
from sureflow.errors import SureflowError

class _R(dict):
    def __get_pydantic_core_schema__(self, source, handler):
        return core_schema.no_info_plain_validator_function(
            lambda v: v if isinstance(v, Gas) else gas_from(v), serialization=core_schema.plain_serializer_function_ser_schema(describe_gas))
    def __get_pydantic_json_schema__(self, schema, handler):
        return {"type": "object"}
GASES = _R({"perfect": PerfectGas})

def describe_gas(gas):
    model = next(name for name, kind in GASES.items() if type(gas) is kind)
    return {"model": model, **dataclasses.asdict(gas)}

def gas_from(description):
    values = dict(description)
    model = values.pop("model", None)
    if model not in GASES:
        raise SureflowError(f"gas model {model!r} is not one of {', '.join(GASES)}; a newer sureflow may know it")
    try:
        return GASES[model](**values)
    except TypeError:
        raise SureflowError(f"gas {dict(description)} is not described as this version of sureflow does") from None
