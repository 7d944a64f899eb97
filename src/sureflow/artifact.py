"""A model on disk: `weights.safetensors` beside `model.json`. Data only: loading executes nothing from the files."""

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from sureflow.data.dataset import Mesh
from sureflow.data.normalize import Normalizer
from sureflow.data.scaling import AnyScaling
from sureflow.data.schema import describe_gas, gas_from
from sureflow.errors import SureflowError
from sureflow.files import write_atomically
from sureflow.heads import AnyHead
from sureflow.models import AnyFieldModel, AnyModel, FieldModel, FieldModelSettings, network_axis
from sureflow.surrogate import Surrogate
from sureflow.train.loop import Recipe, TrainSettings, weight_shapes
from sureflow.train.tensors import from_tensors, to_tensors
from sureflow.uq.domain import TrainingDomain
from sureflow.validation import Section

MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
SCHEMA = "sureflow-model"
SCHEMA_VERSION = 1
VERSIONED = ("sureflow", "jax", "equinox", "optax", "numpy", "scipy", "tinygp")


class Configuration(Section):
    """What was trained, and how. Whole-field models have neither head nor members nor training of the networks."""

    model: AnyModel | AnyFieldModel = Field(discriminator="name")
    head: AnyHead | None = None
    members: PositiveInt | None = None
    coordinates: str
    train: TrainSettings | None = None

    @model_validator(mode="after")
    def _networks_are_complete(self) -> Self:
        _ = self.recipe
        return self

    @property
    def recipe(self) -> Recipe | FieldModelSettings:
        if isinstance(self.model, FieldModelSettings):
            return self.model
        if self.head is None or self.members is None or self.train is None:
            raise ValueError(f"head, members and train are needed for a {self.model.name}")
        return Recipe(self.model, self.head, self.members, self.train)


class Domain(Section):
    """The conditions of the training runs."""

    names: tuple[str, ...]
    parameters: list[list[float]] = Field(min_length=1)


class MeshForm(Section):
    """How many points, in which coordinates and how many of them, and the cells (nj, ni) if the mesh is structured.

    The arrays are in the weights file.
    """

    points: PositiveInt
    coordinates: dict[str, PositiveInt]
    shape: tuple[PositiveInt, PositiveInt] | None


class Columns(Section):
    """Mean and standard deviation, column by column."""

    mean: list[float]
    std: list[float]


class Normalization(Section):
    parameters: Columns
    coordinates: Columns
    fields: Columns


class ArrayForm(Section):
    shape: tuple[NonNegativeInt, ...]
    dtype: Literal["float32", "float64"]


class Manifest(Section):
    """`model.json`."""

    # `schema` in the file; as an attribute it would hide one of pydantic's own.
    schema_name: str = Field(alias="schema")
    schema_version: int
    configuration: Configuration
    names: tuple[str, ...]
    units: tuple[str, ...]
    normalizer: Normalization
    training_domain: Domain
    mesh: MeshForm
    data_checksum: str
    weights_checksum: str
    network_axis: str
    versions: dict[str, str]
    scaling: AnyScaling
    calibration: dict[str, Any] | None = None
    gas: dict[str, Any] | None = None
    # The arrays of a whole-field model, whose sizes follow from the data; those of networks follow from the settings.
    arrays: dict[str, ArrayForm] | None = None

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        kind, known = self.configuration.coordinates, self.mesh.coordinates
        if kind not in known:
            raise ValueError(f"coordinates {kind!r} are none of {', '.join(known)}")
        if isinstance(self.configuration.model, FieldModelSettings) != (self.arrays is not None):
            raise ValueError("arrays belong to whole-field models, and to all of them")
        names, rows, normalizer = self.training_domain.names, self.training_domain.parameters, self.normalizer
        sizes = {
            "units": (len(self.units), len(self.names)),
            "normalizer.parameters": (len(normalizer.parameters.mean), len(names)),
            "normalizer.coordinates": (len(normalizer.coordinates.mean), known[kind]),
            "normalizer.fields": (len(normalizer.fields.mean), len(self.names)),
            **{f"normalizer.{name}.std": (len(c.std), len(c.mean)) for name, c in normalizer},
            **{f"training_domain.parameters.{case}": (len(row), len(names)) for case, row in enumerate(rows)},
        }
        for name, (found, expected) in sizes.items():
            if found != expected:
                raise ValueError(f"{name} has {found} entries, expected {expected}")
        return self


def save(surrogate: Surrogate, folder: Path) -> None:
    """Write the artifact; `model.json` comes last, so that a folder with one is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = save_tensors(to_tensors(_tensors(surrogate)))
    write_atomically(folder / WEIGHTS, weights)
    manifest = _manifest(surrogate, weights_checksum=hashlib.sha256(weights).hexdigest())
    write_atomically(folder / MANIFEST, (manifest.model_dump_json(indent=2, by_alias=True) + "\n").encode())


def load(folder: str | Path) -> Surrogate:
    """The surrogate of an artifact, or a sentence about what is wrong with it."""
    folder = Path(folder)
    manifest = _read_manifest(folder / MANIFEST)
    recipe = manifest.configuration.recipe
    tensors = _read_tensors(folder / WEIGHTS, manifest.weights_checksum)
    filled = from_tensors(_template(manifest, recipe), tensors, str(folder / WEIGHTS))
    shape, nodes = manifest.mesh.shape, filled["nodes"]
    return Surrogate(
        recipe=recipe,
        weights=_weights(recipe, filled["weights"]),
        normalizer=Normalizer.from_dict(manifest.normalizer.model_dump()),
        coordinates=manifest.configuration.coordinates,
        names=manifest.names,
        units=manifest.units,
        mesh_points=filled["points"],
        mesh=None if shape is None else Mesh(shape, nodes["x"], nodes["r"]),
        domain=TrainingDomain(manifest.training_domain.names, np.array(manifest.training_domain.parameters)),
        data_checksum=manifest.data_checksum,
        scaling=manifest.scaling,
        calibration=manifest.calibration,
        gas=None if manifest.gas is None else gas_from(manifest.gas),
    )


def _weights(recipe: Recipe | FieldModelSettings, filled: Any) -> Any:
    if isinstance(recipe, FieldModelSettings):
        return recipe.fitted.from_arrays(filled)
    return jax.tree.map(jnp.asarray, filled)


def _configuration(surrogate: Surrogate) -> Configuration:
    recipe = surrogate.recipe
    if isinstance(recipe, Recipe):
        networks = {"head": recipe.head, "members": recipe.members, "train": recipe.train}
        return Configuration(model=recipe.model, coordinates=surrogate.coordinates, **networks)
    return Configuration(model=recipe, coordinates=surrogate.coordinates)  # type: ignore[arg-type]


def _array_forms(surrogate: Surrogate) -> dict[str, ArrayForm] | None:
    if not isinstance(surrogate.weights, FieldModel):
        return None
    forms = {
        name: {"shape": array.shape, "dtype": array.dtype.name} for name, array in surrogate.weights.arrays().items()
    }
    return {name: ArrayForm.model_validate(form) for name, form in forms.items()}


def _manifest(surrogate: Surrogate, weights_checksum: str) -> Manifest:
    mesh, points = surrogate.mesh, surrogate.mesh_points
    return Manifest(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        configuration=_configuration(surrogate),
        names=surrogate.names,
        units=surrogate.units,
        normalizer=Normalization.model_validate(surrogate.normalizer.to_dict()),
        training_domain=Domain(names=surrogate.domain.names, parameters=surrogate.domain.parameters.tolist()),
        mesh=MeshForm(
            points=len(points[surrogate.coordinates]),
            coordinates={name: values.shape[1] for name, values in points.items()},
            shape=None if mesh is None else mesh.shape,
        ),
        data_checksum=surrogate.data_checksum,
        weights_checksum=weights_checksum,
        network_axis=network_axis(),
        versions={package: importlib.metadata.version(package) for package in VERSIONED},
        scaling=surrogate.scaling,  # type: ignore[arg-type]
        calibration=None if surrogate.calibration is None else dict(surrogate.calibration),
        gas=None if surrogate.gas is None else describe_gas(surrogate.gas),
        arrays=_array_forms(surrogate),
    )


def _tensors(surrogate: Surrogate) -> dict[str, Any]:
    mesh = surrogate.mesh
    nodes = {} if mesh is None else {"x": mesh.node_x, "r": mesh.node_r}
    weights = surrogate.weights.arrays() if isinstance(surrogate.weights, FieldModel) else surrogate.weights
    return {"weights": weights, "points": surrogate.mesh_points, "nodes": nodes}


def _template(manifest: Manifest, recipe: Recipe | FieldModelSettings) -> dict[str, Any]:
    """Names, shapes and types that the weights file must have, from `model.json` alone."""
    form = manifest.mesh
    n_coordinates = form.coordinates[manifest.configuration.coordinates]

    def double(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, np.dtype(np.float64))

    if isinstance(recipe, Recipe):
        weights = weight_shapes(recipe, n_coordinates, len(manifest.training_domain.names), len(manifest.names))
    else:
        forms = manifest.arrays or {}
        weights = {name: jax.ShapeDtypeStruct(form.shape, np.dtype(form.dtype)) for name, form in forms.items()}
    return {
        "weights": weights,
        "points": {name: double(form.points, size) for name, size in form.coordinates.items()},
        "nodes": {} if form.shape is None else {axis: double(*(n + 1 for n in form.shape)) for axis in ("x", "r")},
    }


def _read_manifest(path: Path) -> Manifest:
    if not path.is_file():
        lacks = f"it has no {path.name}" if path.parent.exists() else "there is no such folder"
        raise SureflowError(f"{path.parent} is not a trained model: {lacks}")
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise SureflowError(f"{path} is damaged: {error}; train the model again") from None
    if not isinstance(content, dict):
        raise SureflowError(f"{path} is damaged: it holds no object; train the model again")
    found = (content.get("schema"), content.get("schema_version"))
    if found != (SCHEMA, SCHEMA_VERSION):
        raise SureflowError(f"{path} has schema {found}; this version of sureflow reads {(SCHEMA, SCHEMA_VERSION)}")
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise SureflowError(f"{path}: {place}: {first['msg']}" if place else f"{path}: {first['msg']}") from None


def _read_tensors(path: Path, checksum: str) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise SureflowError(f"{path} is missing")
    content = path.read_bytes()
    try:
        tensors = load_tensors(content)
    except SafetensorError as error:
        raise SureflowError(f"{path} is damaged or truncated: {error}") from None
    if hashlib.sha256(content).hexdigest() != checksum:
        raise SureflowError(f"{path} is not the file that model.json was written with: its checksum differs")
    return tensors
