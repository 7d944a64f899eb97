"""The Open Inference Protocol, version 2: inputs are the parameters, outputs the fields with their bars.

Tensors come as JSON or, with the binary extension, after it: the header `Inference-Header-Content-Length` says where the
JSON ends. https://github.com/kserve/open-inference-protocol
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from sureflow.errors import SureflowError
from sureflow.serve.formats import large_json_body
from sureflow.serve.gathering import Result
from sureflow.serve.request_errors import quoted, shown
from sureflow.serve.served_model import ServedModel

DATATYPES = {
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "INT16": np.dtype("<i2"),
}
LENGTH = "inference-header-content-length"
# What follows the name of a field in that of an output.
SUFFIXES = ("", "_std", "_interval90", "_band90")


# What the protocol adds, or clients do, is ignored; numbers as text and the like are mistakes.
STRICT = ConfigDict(extra="ignore", strict=True)


class TensorParameters(BaseModel):
    """How an input is sent."""

    model_config = STRICT
    binary_data_size: int | None = Field(default=None, ge=0, description="Bytes after the JSON, in place of data.")


class Tensor(BaseModel):
    """An input."""

    model_config = STRICT
    name: str
    shape: list[int] = Field(max_length=4, fail_fast=True)
    datatype: Literal["FP32", "FP64", "INT32", "INT64", "INT16"]
    data: list[Any] | None = None
    parameters: TensorParameters = TensorParameters()


class OutputParameters(BaseModel):
    """How an output is sent."""

    model_config = STRICT
    binary_data: bool | None = Field(default=None, description="Whether it comes as bytes after the JSON.")


class WantedOutput(BaseModel):
    """An output that is asked for."""

    model_config = STRICT
    name: str
    parameters: OutputParameters = OutputParameters()


class InferParameters(BaseModel):
    """What holds for all conditions and outputs."""

    model_config = STRICT
    extrapolate: bool = Field(default=False, description="Also answer where the error bars are not known to hold.")
    binary_data_output: bool = Field(default=False, description="Whether outputs come as bytes after the JSON.")


class InferRequest(BaseModel):
    """A request of predictions; the parameter `extrapolate` allows those that would be refused."""

    model_config = STRICT
    id: str = ""
    inputs: list[Tensor] = Field(min_length=1, max_length=1000, fail_fast=True)
    outputs: Annotated[list[WantedOutput], Field(fail_fast=True)] | None = None
    parameters: InferParameters = InferParameters()


def conditions_of(served: ServedModel, request: InferRequest, rest: bytes) -> np.ndarray:
    """Conditions from one tensor a parameter, of n values each."""
    names = [tensor.name for tensor in request.inputs]
    if len(set(names)) < len(names):
        raise SureflowError("an input is given twice: give each parameter once")
    return served.conditions({tensor.name: values for tensor, values in _tensors(request.inputs, rest)})


def _tensors(inputs: Sequence[Tensor], rest: bytes) -> list[tuple[Tensor, np.ndarray]]:
    """Values of every input, from the JSON or from the bytes after it, in order."""
    found, place = [], 0
    for tensor in inputs:
        size = tensor.parameters.binary_data_size
        if size is None:
            values = _numbers(tensor)
        else:
            if place + size > len(rest) or size % DATATYPES[tensor.datatype].itemsize:
                raise SureflowError(
                    f"the input {quoted(tensor.name)} has binary_data_size={size}, which must be a multiple of the "
                    f"{DATATYPES[tensor.datatype].itemsize} bytes of {tensor.datatype} and lie within the body"
                )
            values = np.frombuffer(rest[place : place + size], DATATYPES[tensor.datatype]).astype(float)
            place += size
        count = 1
        for length in tensor.shape:
            count = count * length if 0 <= length <= 10**9 and count <= 10**9 else -1
        if count != values.size:
            raise SureflowError(f"the input {quoted(tensor.name)} has {values.size} values, which is not its shape")
        found.append((tensor, values))
    return found


def _numbers(tensor: Tensor) -> np.ndarray:
    """The values of an input in JSON, which may be nested as its shape is; numpy alone would take text and booleans too."""
    given = np.asarray(tensor.data, object).ravel().tolist()
    wrong = [value for value in given if type(value) not in (int, float)]
    if wrong:
        raise SureflowError(f"the input {quoted(tensor.name)} has the value {shown(wrong[0])}, which is not a number")
    values, kind = np.array(given, float), DATATYPES[tensor.datatype]
    if kind.kind == "i":
        range_ = np.iinfo(kind)
        unfit = values[(values % 1 != 0) | (values < range_.min) | (values > range_.max)]
        if len(unfit):
            raise SureflowError(
                f"the input {quoted(tensor.name)} has the value {unfit[0]:g}, which is no {tensor.datatype}: give FP64"
            )
    return values


def all_binary(request: InferRequest) -> bool:
    """Whether no tensor of the answer is text."""
    everything = request.parameters.binary_data_output
    return all(_is_binary(one, everything) for one in request.outputs) if request.outputs else everything


def _is_binary(output: WantedOutput, everything: bool) -> bool:
    told = output.parameters.binary_data
    return everything if told is None else told


def response(
    served: ServedModel, request: InferRequest, results: Sequence[Result], bars: str
) -> tuple[bytes, dict[str, str]]:
    """Body and headers of an answer."""
    available = outputs_of(served, results[0].arrays)
    asked = [one.name for one in request.outputs] if request.outputs else list(available)
    unknown = next((name for name in asked if name not in available), None)
    if unknown is not None:
        raise SureflowError(f"output {unknown[:100]!r} is not one of {', '.join(available)}")
    everything = request.parameters.binary_data_output
    binary = {one.name: _is_binary(one, everything) for one in request.outputs or ()}
    tensors: list[dict[str, Any]] = []
    parts: list[bytes] = []
    for name in asked:
        variable, suffix = available[name]
        values = np.stack([result.arrays[suffix][variable] for result in results]).astype("<f4")
        tensor: dict[str, Any] = {"name": name, "shape": list(values.shape), "datatype": "FP32"}
        if binary.get(name, everything):
            parts.append(values.tobytes())
            tensor["parameters"] = {"binary_data_size": values.nbytes}
        else:
            tensor["data"] = values.ravel()
        tensors.append(tensor)
    answer: dict[str, Any] = {
        "model_name": served.name,
        "model_version": "1",
        "outputs": tensors,
        "parameters": {"verdict": " | ".join(str(result.verdict) for result in results), "bars": bars},
    }
    if request.id:
        answer["id"] = request.id
    head = large_json_body(answer)
    if not parts:
        return head, {"content-type": "application/json"}
    return b"".join([head, *parts]), {"content-type": "application/octet-stream", LENGTH: str(len(head))}


def outputs_of(served: ServedModel, result: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """The outputs by name: a variable and what follows its name."""
    names = served.surrogate.names
    return {name + suffix: (k, suffix) for suffix in SUFFIXES if suffix in result for k, name in enumerate(names)}


async def metadata(served: ServedModel) -> dict[str, Any]:
    """What the protocol wants to know of a model. Its outputs are those of a prediction at one of its runs."""
    surrogate = served.surrogate
    (known,) = await served.predictions.results(surrogate.domain.parameters[:1])
    shape = [-1, surrogate.space.n_points]
    return {
        "name": served.name,
        "versions": ["1"],
        "platform": "sureflow",
        "inputs": [{"name": name, "datatype": "FP64", "shape": [-1]} for name in surrogate.parameter_names],
        "outputs": [{"name": name, "datatype": "FP32", "shape": shape} for name in outputs_of(served, known.arrays)],
    }
