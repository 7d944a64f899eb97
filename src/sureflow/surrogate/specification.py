"""What is learned from runs: the one specification that experiments, studies and artifacts share."""

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, Field, NonNegativeInt
from pydantic_core import PydanticCustomError, core_schema

from sureflow.data.meshes import BODY_FITTED, PHYSICAL
from sureflow.data.runs import Runs
from sureflow.data.scaling import SCALINGS, SimilarityScaling, best_scaling, offered_scalings
from sureflow.errors import SureflowError
from sureflow.models.contract import MODELS, NETWORKS_NAME, ModelSettings
from sureflow.validation import NESTED, plain, settings, shortened, unknown_setting, validated

if TYPE_CHECKING:
    from sureflow.models.network import NetworkSettings
    from sureflow.registry import SettingsRegistry

AUTO = "auto"
DEFAULT_NETWORK = "deeponet"
# Short for a head, a sampler and its number of members.
UQ = {
    "deterministic": ("deterministic", "ensemble", 1),
    "mve": ("mve", "ensemble", 1),
    "evidential": ("evidential", "ensemble", 1),
    "mixture": ("mixture", "ensemble", 1),
    "ensemble": ("deterministic", "ensemble", 10),
    "dropout": ("deterministic", "dropout", 1),
}
# What only networks have; in a file it may stand beside `model` instead of inside of it.
NETWORK_KEYS = ("uq", "head", "members", "sampler", "train")
KEYS = ("model", "scaling", "coordinates", *NETWORK_KEYS)
# The names of physical coordinates in files of earlier versions.
FORMER_COORDINATES = {"xr": PHYSICAL}


def _candidates() -> tuple[ModelSettings, ...]:
    """What is compared by default; made when it is asked for, since it takes a while to import."""
    from sureflow.models import (
        AlignedSettings,
        BodyAlignedSettings,
        InterpolationSettings,
        LayerAlignedSettings,
        LevelsSettings,
        PodGPSettings,
    )

    return (
        AlignedSettings(),
        LayerAlignedSettings(),
        BodyAlignedSettings(),
        InterpolationSettings(),
        InterpolationSettings(scales="learned"),
        InterpolationSettings(kernel="matern", scales="learned"),
        PodGPSettings(),
        LevelsSettings(),
        LevelsSettings(coarse=AlignedSettings()),
    )


@settings
class ComparisonSettings:
    """Candidates, and the folds over the training runs that decide between them."""

    name: ClassVar[str] = AUTO
    candidates: Annotated[tuple[Annotated[ModelSettings, MODELS], ...], Field(min_length=1)] = Field(
        default_factory=_candidates
    )
    folds: Annotated[int, Field(ge=2)] = 5
    seed: NonNegativeInt = 0


class _ModelOrComparison:
    """How pydantic reads and writes a model, or the comparison of several."""

    def build(self, values: Any) -> ModelSettings | ComparisonSettings:
        if isinstance(values, ComparisonSettings):
            return values
        table = {"name": values} if isinstance(values, str) else values
        if isinstance(table, Mapping) and table.get("name") == AUTO:
            try:
                return validated(ComparisonSettings, {key: value for key, value in table.items() if key != "name"})
            except SureflowError as error:
                raise _refused(str(error)) from None
        if isinstance(table, Mapping) and "name" in table and table["name"] not in (*MODELS,):
            raise _refused(f"name={shortened(table['name'])!r} {_unknown(table['name'])}")
        return MODELS.build(values)

    def describe(self, model: ModelSettings | ComparisonSettings) -> dict[str, Any]:
        if not isinstance(model, ComparisonSettings):
            return MODELS.describe(model)
        candidates = [MODELS.describe(candidate) for candidate in model.candidates]
        return {"name": AUTO, "candidates": candidates, "folds": model.folds, "seed": model.seed}

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.build, serialization=core_schema.plain_serializer_function_ser_schema(self.describe)
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": "object", "title": "model"}


def _refused(sentence: str) -> PydanticCustomError:
    return PydanticCustomError(NESTED, "{sentences}", {"sentences": [(True, sentence)]})


def _networks() -> "SettingsRegistry[NetworkSettings]":
    from sureflow.models.network import NETWORKS

    return NETWORKS


def _unknown(name: Any) -> str:
    known = [AUTO, *(model for model in MODELS if model != NETWORKS_NAME), *_networks()]
    nearest = difflib.get_close_matches(shortened(name), known, n=1, cutoff=0.5)
    return f"is not one of {', '.join(known)}" + (f"; did you mean {nearest[0]}?" if nearest else "")


@settings
class Specification:
    """A model, and how it sees the runs.

    `model` may be `auto`: the best of several by cross-validation. `scaling` may be: that of the free stream where the runs
    offer it, else none. `coordinates` are for models that predict anywhere; auto are body-fitted ones where the mesh is
    structured, else physical ones.
    """

    model: Annotated[ModelSettings | ComparisonSettings, _ModelOrComparison()] = Field(
        default_factory=ComparisonSettings
    )
    scaling: str = AUTO
    coordinates: str = AUTO

    def __post_init__(self) -> None:
        if self.scaling != AUTO and self.scaling not in SCALINGS:
            raise SureflowError(f"scaling={self.scaling!r} {SCALINGS.unknown(self.scaling)}")
        coordinates = (AUTO, PHYSICAL, BODY_FITTED)
        if self.coordinates not in coordinates:
            raise SureflowError(f"coordinates={self.coordinates!r} is not one of {', '.join(coordinates)}")
        if self.coordinates != AUTO and not self._anywhere:
            raise SureflowError(
                f"coordinates={self.coordinates!r} is for networks, and the model is {self.model.name}: leave it out, or "
                f"choose {DEFAULT_NETWORK}"
            )

    @property
    def _anywhere(self) -> bool:
        return isinstance(self.model, ModelSettings) and self.model.capabilities.anywhere

    def scaling_for(self, runs: Runs) -> str:
        """A model of wall layers has numbers of similarity where the runs offer them, as the comparison of models gives it."""
        if self.scaling != AUTO:
            return self.scaling
        similarity = SimilarityScaling.name
        of_layers = isinstance(self.model, ModelSettings) and self.model.capabilities.needs_wall_layer
        return similarity if of_layers and similarity in offered_scalings(runs) else best_scaling(runs)

    def coordinates_for(self, runs: Runs) -> str:
        """Those of a model that has use for them; of others, none are chosen."""
        if self.coordinates != AUTO or not self._anywhere:
            return self.coordinates
        return BODY_FITTED if BODY_FITTED in runs.known_coordinates and runs.own is None else PHYSICAL

    @property
    def seen_coordinates(self) -> str:
        """The coordinates in which the model is given points, after they were chosen."""
        return PHYSICAL if self.coordinates == AUTO else self.coordinates


def specification(given: Mapping[str, Any], source: str = "") -> Specification:
    """A specification from plain values, with the short forms that files may use spelled out."""
    return validated(Specification, spell_out(given), source)


def spell_out(given: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values of a specification in full.

    A network's name stands for networks of that kind. `uq` is short for a head and a number of members, and what only
    networks have (NETWORK_KEYS) may stand beside the model: without the name of one, it chooses the default network.
    """
    values = {key: value for key, value in given.items() if key not in NETWORK_KEYS}
    short = {key: given[key] for key in NETWORK_KEYS if given.get(key) is not None}
    if isinstance(values.get("coordinates"), str):
        values["coordinates"] = FORMER_COORDINATES.get(values["coordinates"], values["coordinates"])
    model = values.get("model", {})
    if isinstance(model, ModelSettings | ComparisonSettings):
        _refuse_short(short, model.name)
        return values
    model = {"name": model} if isinstance(model, str) else model
    if not isinstance(model, Mapping):
        return values  # which validation refuses
    for_networks = short or values.get("coordinates", AUTO) != AUTO
    name = model.get("name", DEFAULT_NETWORK if for_networks or model else AUTO)
    if name == NETWORKS_NAME:
        values["model"] = _with_own_training({**model, **_network_parts(short, model)})
    elif isinstance(name, str) and name not in (AUTO, *MODELS) and name in _networks():
        network = {"name": NETWORKS_NAME, "network": {**model, "name": name}}
        values["model"] = _with_own_training({**network, **_network_parts({"uq": _networks()[name].uq} | short, {})})
    else:
        _refuse_short(short, name)
        values["model"] = {**model, "name": name}
    return values


def gathered(given: Mapping[str, Any], section: type[BaseModel]) -> dict[str, Any]:
    """Values of a section of a file, with those of the specification, which stand among them, under the name `spec`."""
    own = [name for name in section.model_fields if name != "spec"]
    keys = [key for key in KEYS if key not in own]
    if unknown := [name for name in given if name not in (*own, *keys)]:
        raise ValueError(unknown_setting(unknown[0], [*own, *keys]))
    spec = spell_out({key: given[key] for key in keys if key in given})
    return {name: value for name, value in given.items() if name in own} | {"spec": spec}


def _refuse_short(short: Mapping[str, Any], model: Any) -> None:
    if short:
        kinds: list[Any] = [MODELS[model]] if isinstance(model, str) and model in MODELS else []
        own = [f"model.{field.name}" for kind in kinds for field in fields(kind)]
        raise SureflowError(
            f"{next(iter(short))} is for networks, and model.name is {model}: leave it out, or choose {DEFAULT_NETWORK}"
            + (f"; {model} has {', '.join(own)}" if own else "")
        )


def _with_own_training(model: dict[str, Any]) -> dict[str, Any]:
    """Training settings that are left open are those that suit the network."""
    network = model.get("network", DEFAULT_NETWORK)
    name = network.get("name") if isinstance(network, Mapping) else network
    if not isinstance(model["train"], Mapping) or not isinstance(name, str) or name not in _networks():
        return model  # which validation refuses, or settings
    return model | {"train": {**plain(_networks()[name].training), **model["train"]}}


def _network_parts(short: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Head, sampler and training settings; `given` are those that stand inside of the model."""
    uq = short.get("uq", None if given else _networks()[DEFAULT_NETWORK].uq)
    if uq is not None and (not isinstance(uq, str) or uq not in UQ):
        raise SureflowError(f"uq={str(uq)[:80]!r} is not one of {', '.join(UQ)}")
    head, sampler, members = UQ[uq] if uq is not None else (None, None, None)
    parts: dict[str, Any] = {}
    for key, default in (("head", head), ("sampler", sampler), ("train", None)):
        inside, beside = given.get(key, {}), short.get(key, {})
        if isinstance(beside, Mapping) and isinstance(inside, Mapping):
            # Another kind of head or sampler than the one inside has settings of its own.
            named = beside.get("name", default)
            other = named is not None and inside.get("name", named) != named
            parts[key] = ({} if other else dict(inside)) | ({"name": default} if default else {}) | dict(beside)
        else:
            parts[key] = beside if key in short else inside  # which validation refuses
    members = short.get("members", members)
    if isinstance(parts["sampler"], dict):
        named = {"name": "ensemble"} | parts["sampler"]
        ours = members is not None and "members" not in short.get("sampler", {})
        same = sampler is None or named["name"] == sampler or "members" in short
        parts["sampler"] = named | ({"members": members} if ours and same else {})
    if isinstance(parts["head"], dict) and "name" not in parts["head"]:
        parts["head"] = {"name": "deterministic"} | parts["head"]
    return parts
