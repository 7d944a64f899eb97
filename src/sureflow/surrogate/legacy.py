"""Models of schema version 1: flights of one vehicle on a structured mesh, or points of a user's own."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from sureflow.data.header import Header
from sureflow.data.meshes import BODY_FITTED, Geometry, Topology
from sureflow.data.normalize import Normalizer
from sureflow.data.scaling import SCALINGS
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings, Sizes
from sureflow.surrogate.model import Surrogate, domain_of
from sureflow.surrogate.predictor import Predictor
from sureflow.surrogate.space import Space
from sureflow.surrogate.specification import AUTO, specification
from sureflow.uq.bars import Calibrations
from sureflow.uq.hull import HullCalibration, HullFacts
from sureflow.validation import validated

WEIGHTS = "weights.safetensors"
FLIGHT_PARAMETERS = ("mach", "altitude_km")


def load_version1(folder: Path, content: Mapping[str, Any]) -> Surrogate:
    """The surrogate of an artifact of schema version 1."""
    try:
        return _surrogate(folder, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SureflowError(f"{folder} is damaged: {error!r}; train the model again") from None


def _surrogate(folder: Path, content: Mapping[str, Any]) -> Surrogate:
    tensors = _read_tensors(folder / WEIGHTS, content["weights_checksum"])
    configuration = {key: value for key, value in content["configuration"].items() if value is not None}
    is_network = "head" in configuration
    spec = specification(
        {
            **configuration,
            "scaling": content["scaling"]["name"],
            "coordinates": configuration["coordinates"] if is_network else AUTO,
        }
    )
    assert isinstance(spec.model, ModelSettings)
    normalizer = Normalizer.from_dict(content["normalizer"])
    header, space = _header(content), _space(content, tensors)
    sizes = Sizes(len(normalizer.inputs.mean), len(normalizer.coordinates.mean), len(header.fields))
    parameters = np.array(content["training_domain"]["parameters"], float)
    scaling = SCALINGS.build(_scaling(content["scaling"]))
    fitted = spec.model.restore(_named(tensors, "weights."), sizes)
    return Surrogate(
        predictor=Predictor(spec, fitted, space, scaling, normalizer),
        header=header,
        field_scale=normalizer.fields if spec.scaling == "none" else None,  # else it is that of scaled fields
        domain=domain_of(header, parameters),
        data_checksum=content["data_checksum"],
        calibration=_calibrations(content.get("calibration")),
    )


def _header(content: Mapping[str, Any]) -> Header:
    names = content["training_domain"]["names"]
    stream = content["scaling"].get("free_stream")
    if stream is None and tuple(names) == FLIGHT_PARAMETERS:
        stream = {"kind": "flight"}
    gas = content.get("gas")
    return validated(
        Header,
        {
            "parameters": [{"name": name} for name in names],
            "fields": [
                {"name": name, "unit": unit} for name, unit in zip(content["names"], content["units"], strict=True)
            ],
            "axes": _axes(content),
            "stream": None if stream is None else _stream(stream),
            "made_by": {} if gas is None else {"gas": gas},
        },
    )


def _axes(content: Mapping[str, Any]) -> list[str]:
    """Version 1 called them x and r, whatever they were."""
    count = content["mesh"]["coordinates"]["xr"]
    return ["x", "r", *(f"x{axis}" for axis in range(3, count + 1))][:count]


def _stream(stream: Mapping[str, Any]) -> dict[str, Any]:
    if stream["kind"] == "flight":
        constants = {name: stream[name] for name in ("gamma", "gas_constant") if name in stream}
        return {"kind": "flight", "gas": {"model": "perfect", **constants}}
    heat = {"heat_capacity": stream["cp"]} if "cp" in stream else {}
    return {name: stream[name] for name in ("kind", "velocity", "density", "temperature")} | heat


def _scaling(scaling: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(scaling)
    if "free_stream" in found:
        found["free_stream"] = _stream(found["free_stream"])
    return found


def _space(content: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Space:
    mesh, points = content["mesh"], _named(tensors, "points.")
    nodes = _named(tensors, "nodes.")
    shape = None if mesh["shape"] is None else tuple(mesh["shape"])
    geometry = Geometry(
        points["xr"], np.column_stack([nodes[axis].ravel() for axis in ("x", "r")]) if shape is not None else None
    )
    described = {name: values for name, values in points.items() if name == BODY_FITTED}
    axes = tuple(_axes(content))
    return Space(axes, Topology(shape), "cells", mesh["points"], geometry, None, described)


def _calibrations(stored: Mapping[str, Any] | None) -> Calibrations | None:
    if stored is None:
        return None
    found = {name: _calibration(values) for name, values in stored.items()}
    return Calibrations(found["fields"], found.get("quantities"))


def _calibration(stored: Mapping[str, Any]) -> HullCalibration:
    arrays = {
        name: np.frombuffer(base64.b64decode(stored[name]["float32"], validate=True), "<f4").reshape(
            stored[name]["shape"]
        )
        for name in ("scale", "pattern", "exponent", "trend")
    }
    facts = {name: stored[name] for name in ("runs", "exact", "reach", "factors", "band_factors", "conditions")}
    return HullCalibration.restore(validated(HullFacts, facts), arrays)


def _named(tensors: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _read_tensors(path: Path, checksum: str) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise SureflowError(f"{path} is missing: restore it, or train the model again")
    content = path.read_bytes()
    try:
        tensors = load_tensors(content)
    except SafetensorError as error:
        raise SureflowError(f"{path} is damaged or truncated: {error}") from None
    if hashlib.sha256(content).hexdigest() != checksum:
        raise SureflowError(f"{path} is not the file that model.json was written with: its checksum differs")
    return tensors
