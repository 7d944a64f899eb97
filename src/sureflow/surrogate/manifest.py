"""`model.json`, which says what a folder of a model holds."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from sureflow.data.enthalpy_limits import EnthalpyLimits
from sureflow.data.header import Header
from sureflow.data.scaling import SCALINGS, Scaling
from sureflow.data.wall_layer import WallLayer
from sureflow.errors import SureflowError
from sureflow.models.contract import ModelSettings
from sureflow.surrogate.number_process import NumberFacts
from sureflow.surrogate.specification import Specification
from sureflow.uq.bars import CalibrationFacts
from sureflow.uq.hull import HullFacts
from sureflow.uq.mesh_error import MeshErrorFacts
from sureflow.validation import Section, read_json, shortened

MANIFEST = "model.json"
SCHEMA = "sureflow-model"
SCHEMA_VERSION = 3


class ArrayFile(Section):
    """A file of arrays beside the manifest."""

    name: str = Field(pattern=r"^(weights|calibration|mesh)-[0-9a-f]{12}\.safetensors$")
    checksum: str


class Moments(Section):
    """Mean and standard deviation of every column."""

    mean: tuple[float, ...]
    std: tuple[PositiveFloat, ...]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if len(self.mean) != len(self.std):
            raise ValueError(f"it has {len(self.mean)} means and {len(self.std)} standard deviations")
        return self


class NormalizerFacts(Section):
    """What leads into normalized space."""

    inputs: Moments
    coordinates: Moments
    fields: Moments


class MeshFacts(Section):
    """The mesh, as far as arrays do not say it."""

    points: PositiveInt
    shape: tuple[int, ...] | None = None


class BarFacts(Section):
    """Calibrations, as far as arrays do not say them."""

    file: ArrayFile
    fields: CalibrationFacts | HullFacts
    quantities: CalibrationFacts | HullFacts | None = None
    wall: CalibrationFacts | None = None


class MeshErrorFile(Section):
    """The error of the mesh, as far as arrays do not say it."""

    file: ArrayFile
    facts: MeshErrorFacts


class Manifest(Section):
    """`model.json`."""

    # `schema` in the file; as an attribute it would hide one of pydantic's own.
    schema_name: str = Field(alias="schema")
    schema_version: int
    specification: Specification
    header: Header
    scaling: Annotated[Scaling, SCALINGS]
    layer: WallLayer | None = None
    floors: tuple[float | None, ...] = ()
    limits: EnthalpyLimits | None = None
    normalizer: NormalizerFacts
    field_scale: Moments | None
    mesh: MeshFacts
    data_checksum: str
    weights: ArrayFile
    calibration: BarFacts | None = None
    mesh_error: MeshErrorFile | None = None
    numbers: tuple[NumberFacts, ...] = ()
    number_bars: CalibrationFacts | None = None
    number_others: tuple[NumberFacts, ...] = ()
    comparison: tuple[dict[str, Any], ...] = ()
    network_axis: str | None = None  # of models that train by epochs
    versions: dict[str, str]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse as many columns as there are not."""
        n_fields = len(self.header.fields)
        wanted = {
            "normalizer.inputs": (self.normalizer.inputs, len(self.header.parameters)),
            "normalizer.fields": (self.normalizer.fields, n_fields),
            "field_scale": (self.field_scale, n_fields),
        }
        for name, (moments, count) in wanted.items():
            if moments is not None and len(moments.mean) != count:
                raise ValueError(f"{name} has {len(moments.mean)} entries, expected {count}")
        if not isinstance(self.specification.model, ModelSettings):
            raise ValueError("specification does not say which model it is")
        return self


def read_manifest(path: Path) -> dict[str, Any]:
    """The content of `model.json`, whose schema this version reads."""
    if not path.is_file():
        lacks = f"it has no {path.name}" if path.parent.exists() else "there is no such folder"
        raise SureflowError(f"{path.parent} is not a trained model: {lacks}")
    refuse_link(path)
    content = read_json(path)
    if not isinstance(content, dict):
        raise SureflowError(f"{path} is damaged: it is not a JSON object; train the model again")
    schema, version = content.get("schema"), content.get("schema_version")
    if schema != SCHEMA:
        raise SureflowError(f"{path} has the schema {shortened(schema)!r}; models of sureflow have {SCHEMA!r}")
    if version not in range(1, SCHEMA_VERSION + 1):
        raise SureflowError(
            f"{path} has schema version {shortened(version)}; this sureflow reads versions 1 to {SCHEMA_VERSION}: "
            "use the sureflow that made it, or a newer one"
        )
    return content


def refuse_link(path: Path) -> None:
    """A model is what its own folder holds: what someone else's folder points to elsewhere is not read."""
    if path.is_symlink():
        raise SureflowError(f"{path} is a link: copy the file that it points to into the folder of the model")
