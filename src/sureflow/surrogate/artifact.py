"""A model on disk: a folder with `model.json` and the files of arrays that it names. Loading executes nothing from them.

A model is replaced whole: arrays go into files with names of their own, `model.json` then changes from the old ones to the
new ones in one step, and what it no longer names is removed last.
"""

import importlib.metadata
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sureflow import scratch
from sureflow.data.header import Header
from sureflow.data.normalize import Normalizer, Standard
from sureflow.errors import Exists, SureflowError
from sureflow.files import write_atomically
from sureflow.models.contract import ModelSettings, Sizes, require_fitting
from sureflow.surrogate.legacy import load_version1
from sureflow.surrogate.manifest import (
    MANIFEST,
    SCHEMA,
    SCHEMA_VERSION,
    ArrayFile,
    BarFacts,
    Manifest,
    MeshErrorFile,
    MeshFacts,
    Moments,
    NormalizerFacts,
    read_manifest,
    refuse_link,
)
from sureflow.surrogate.model import StoredFile, Surrogate, domain_of
from sureflow.surrogate.model_folder import CHECKPOINT, alone_in, settle, stage
from sureflow.surrogate.numbers import RunNumbers
from sureflow.surrogate.observe import ALONG_BODY, QUANTITIES, known_quantities
from sureflow.surrogate.predictor import Predictor
from sureflow.surrogate.space import Space, require_moving
from sureflow.tensorfile import map_tensors, write_tensors
from sureflow.uq.bars import Calibration, CalibrationFacts, Calibrations, ErrorBars
from sureflow.uq.hull import HullCalibration, HullFacts
from sureflow.uq.mesh_error import ARRAYS as MESH_ARRAYS
from sureflow.uq.mesh_error import MeshError
from sureflow.validation import validated

ARRAYS, BARS, MESH = "weights", "calibration", "mesh"  # what the names of the files of arrays begin with
EVENTS, EXPERIMENT, PROVENANCE = "events.jsonl", "experiment.toml", "provenance.json"
DESCRIBING = (EXPERIMENT, PROVENANCE)
IN_PROGRESS = (CHECKPOINT, f".{EVENTS}")  # of a training that has not ended
OFTEN = 20  # times that a model which is replaced meanwhile is read again
VERSIONED = ("sureflow", "jax", "equinox", "optax", "numpy", "scipy")


def holds_model(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def save(surrogate: Surrogate, folder: Path, *, overwrite: bool = False) -> None:
    """Write the model into a folder; one that is there is replaced only with `overwrite`, and then whole."""
    refuse_model(folder, overwrite=overwrite)
    with alone_in(folder):
        refuse_model(folder, overwrite=overwrite)
        write_model(surrogate, folder)


def refuse_model(folder: Path, *, overwrite: bool) -> None:
    """Replace a model only if asked."""
    if holds_model(folder) and not overwrite:
        raise Exists(f"{folder} holds a trained model: choose another folder, or allow it to be replaced")


def write_model(surrogate: Surrogate, folder: Path, described: Mapping[str, bytes] | None = None) -> None:
    """Write the model, with the files that describe it, into a folder that is held; nothing describes it without them."""
    before = arrays_of(folder)
    weights = _keep_weights(surrogate, folder)
    bars, mesh_error = _keep_bars(surrogate.calibration, folder), _keep_mesh_error(surrogate.mesh_error, folder)
    manifest = _manifest(surrogate, weights, bars, mesh_error)
    if described is None:
        described = dict.fromkeys(DESCRIBING, b"") if before and weights.name not in before else {}
    stage(folder, weights.name, described)
    write_atomically(folder / MANIFEST, (manifest.model_dump_json(indent=2, by_alias=True) + "\n").encode())
    settle_model(folder)


def settle_model(folder: Path) -> None:
    """Finish what a kill may have interrupted right after a model was replaced."""
    arrays = arrays_of(folder)
    if arrays:
        settle(folder, arrays, IN_PROGRESS)


def arrays_of(folder: Path) -> list[str]:
    """The files of arrays of the model in a folder; none where there is no model, or a damaged one."""
    try:
        content = read_manifest(folder / MANIFEST)
        further = [content[name] for name in ("calibration", "mesh_error") if content.get(name)]
        return [content["weights"]["name"], *(one["file"]["name"] for one in further)]
    except (SureflowError, KeyError, TypeError, AttributeError):
        return []


def load(folder: str | Path) -> Surrogate:
    """The model in a folder, or a sentence about what is wrong with it. Large arrays are read when they are needed.

    >>> import numpy as np, sureflow as sf
    >>> x, angle = np.linspace(0, 1, 50)[:, None], np.linspace(0, 4, 15)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, x, {"p": [np.sin(a + x[:, 0]) for a in angle]}, {"p": "Pa"})
    >>> model = sf.fit(runs, "interpolation")
    >>> model.save("model")
    >>> sf.load("model").predict(angle=1.2).identical(model.predict(angle=1.2))
    True
    """
    folder = Path(folder)
    for _ in range(OFTEN):
        content = read_manifest(folder / MANIFEST)
        try:
            return _load(folder, content)
        except (SureflowError, FileNotFoundError):
            if read_manifest(folder / MANIFEST) == content:
                raise
    raise SureflowError(f"{folder} is being replaced faster than it can be read: try again")


def _load(folder: Path, content: dict[str, Any]) -> Surrogate:
    """The model that a manifest describes; files that it names may be gone if the model was replaced meanwhile."""
    if content["schema_version"] == 1:
        return load_version1(folder, content)
    manifest = validated(Manifest, content, str(folder / MANIFEST))
    path = folder / manifest.weights.name
    refuse_link(path)
    groups = grouped(map_tensors(path, manifest.weights.checksum), path)
    try:
        header, parameters = manifest.header, np.array(groups["training"]["parameters"], float)
        if parameters.shape[1:] != (len(header.parameters),) or not len(parameters):
            raise SureflowError(f"{path} is damaged: the training conditions have the shape {parameters.shape}")
        return Surrogate(
            predictor=_predictor(manifest, _space(manifest, groups["space"], folder), groups["model"]),
            header=header,
            field_scale=_standard(manifest.field_scale),
            domain=domain_of(header, parameters),
            data_checksum=manifest.data_checksum,
            calibration=_load_bars(manifest, folder),
            mesh_error=_load_mesh_error(manifest.mesh_error, folder),
            numbers=_numbers(manifest, groups, len(parameters)),
            comparison=manifest.comparison,
            stored=StoredFile(path, manifest.weights.checksum),
        )
    except KeyError as error:
        raise SureflowError(f"{path} is damaged: it lacks {error.args[0]!r}") from None
    except SureflowError as error:
        if str(folder) in str(error):
            raise
        # What fits arrays together does not know where they lie.
        raise SureflowError(f"{folder}: {error}") from None


def _numbers(manifest: Manifest, groups: Mapping[str, Mapping[str, np.ndarray]], n_runs: int) -> RunNumbers | None:
    if not manifest.numbers:
        return None
    found, bars = RunNumbers.restore(manifest.numbers, groups["numbers"], n_runs), manifest.number_bars
    if manifest.number_others:
        found = found.with_others(manifest.number_others, groups["number_others"], n_runs)
    if bars is None:
        return found
    arrays = groups["number_bars"]
    require_fitting(Calibration, arrays, taught=len(bars.taught), variable=len(manifest.numbers), point=1)
    return replace(found, bars=Calibration.restore(bars, arrays))


def grouped(tensors: Mapping[str, np.ndarray], source: Path) -> dict[str, dict[str, np.ndarray]]:
    """Arrays by the first part of their name; all of them must be numbers."""
    groups: dict[str, dict[str, np.ndarray]] = {"model": {}, "space": {}, "training": {}}
    for name, array in tensors.items():
        if array.nbytes <= scratch.IN_MEMORY and not np.isfinite(array).all():
            raise SureflowError(
                f"{source}: {name!r} has values that are not finite: train or calibrate the model again"
            )
        group, _, rest = name.partition(".")
        groups.setdefault(group, {})[rest] = array
    return groups


def _space(manifest: Manifest, arrays: Mapping[str, np.ndarray], folder: Path) -> Space:
    header, mesh = manifest.header, manifest.mesh
    require_moving(arrays, len(header.parameters), len(header.axes))
    try:
        return Space.restore(header.axes, mesh.shape, header.location, mesh.points, arrays, header.parameter_names)
    except SureflowError as error:
        raise SureflowError(f"the mesh of {folder} is damaged: {error}; train the model again") from None


def _predictor(manifest: Manifest, space: Space, arrays: Mapping[str, np.ndarray]) -> Predictor:
    spec, normalizer = manifest.specification, Normalizer.from_dict(manifest.normalizer.model_dump())
    assert isinstance(spec.model, ModelSettings)
    columns = len(normalizer.inputs.mean), len(normalizer.coordinates.mean), len(manifest.header.fields)
    sizes = Sizes(*columns, space.shape)
    n_coordinates = space.coordinates(spec.seen_coordinates, np.ones((1, sizes.inputs))).shape[-1]
    if sizes.coordinates != n_coordinates:
        raise SureflowError(
            f"the normalizer of this model is damaged: it has {sizes.coordinates} coordinates, expected {n_coordinates}"
        )
    kind = getattr(spec.model, "fitted", object)
    require_fitting(kind, arrays, parameter=sizes.inputs, variable=sizes.fields, point=space.n_points)
    fitted = spec.model.restore(arrays, sizes)
    return Predictor(
        spec, fitted, space, manifest.scaling, normalizer, manifest.layer, manifest.floors, manifest.limits
    )


def _standard(moments: Moments | None) -> Standard | None:
    return None if moments is None else Standard(np.array(moments.mean), np.array(moments.std))


def _keep_weights(surrogate: Surrogate, folder: Path) -> ArrayFile:
    """The file of the model's arrays; one that was loaded or saved before is taken over as it is."""
    stored = surrogate.stored
    if stored is not None and stored.path.exists() and stored.path.name.startswith(f"{ARRAYS}-"):
        if stored.path.resolve().parent != folder.resolve():
            making = folder / f".{ARRAYS}.making"
            shutil.copyfile(stored.path, making)
            making.replace(folder / stored.path.name)
        return ArrayFile(name=stored.path.name, checksum=stored.checksum)
    arrays = {f"model.{name}": array for name, array in surrogate.predictor.fitted.arrays().items()}
    arrays |= {f"space.{name}": array for name, array in surrogate.space.arrays().items()}
    if surrogate.numbers is not None:
        arrays |= {f"numbers.{name}": array for name, array in surrogate.numbers.arrays().items()}
        arrays |= {f"number_others.{name}": array for name, array in surrogate.numbers.other_arrays().items()}
        bars = surrogate.numbers.bars
        arrays |= {} if bars is None else {f"number_bars.{name}": array for name, array in bars.arrays().items()}
    return _keep(ARRAYS, arrays | {"training.parameters": surrogate.domain.parameters}, folder)


def _keep(kind: str, arrays: Mapping[str, np.ndarray], folder: Path) -> ArrayFile:
    """A file named after its content."""
    making = folder / f".{kind}.making"
    found = write_tensors(making, arrays)
    name = f"{kind}-{found[:12]}.safetensors"
    making.replace(folder / name)
    return ArrayFile(name=name, checksum=found)


def _keep_bars(calibration: Calibrations | None, folder: Path) -> BarFacts | None:
    if calibration is None:
        return None
    kinds = {"fields": calibration.fields, "quantities": calibration.quantities, "wall": calibration.wall}
    fitted = {name: one for name, one in kinds.items() if one is not None}
    arrays = {f"{name}.{key}": array for name, one in fitted.items() for key, array in one.arrays().items()}
    return BarFacts(file=_keep(BARS, arrays, folder), **{name: one.facts() for name, one in fitted.items()})


def _load_bars(manifest: Manifest, folder: Path) -> Calibrations | None:
    facts = manifest.calibration
    if facts is None:
        return None
    path = folder / facts.file.name
    refuse_link(path)
    groups = grouped(map_tensors(path, facts.file.checksum), path)
    n_fields, n_points = len(manifest.header.fields), manifest.mesh.points
    fields = _restored(manifest, facts.fields, groups["fields"], variable=n_fields, point=n_points)
    if facts.quantities is None:
        return Calibrations(fields)
    count = _count_quantities(manifest.header, groups["quantities"])
    quantities = _restored(manifest, facts.quantities, groups["quantities"], variable=count, point=1)
    if facts.wall is None:
        return Calibrations(fields, quantities)
    faces = manifest.mesh.shape[-1] if manifest.mesh.shape else 0
    wall = _restored(manifest, facts.wall, groups["wall"], variable=len(ALONG_BODY), point=faces)
    assert isinstance(wall, Calibration)
    return Calibrations(fields, quantities, wall)


def _restored(
    manifest: Manifest, facts: CalibrationFacts | HullFacts, arrays: Mapping[str, np.ndarray], **sizes: int
) -> ErrorBars:
    if isinstance(facts, HullFacts):
        require_fitting(HullCalibration, arrays, side=2 * len(manifest.header.parameters), **sizes)
        return HullCalibration.restore(facts, arrays)
    require_fitting(Calibration, arrays, taught=len(facts.taught), **sizes)
    return Calibration.restore(facts, arrays)


def _count_quantities(header: Header, arrays: Mapping[str, np.ndarray]) -> int:
    """How many quantities a calibration may be of: all that the runs offer, or fewer in models of earlier versions."""
    if header.quantities:
        return len(header.quantities)
    stored = np.atleast_1d(arrays["scale"]).shape[0] if "scale" in arrays else 0
    return min(max(stored, len(QUANTITIES)), len(known_quantities(header)))


def _keep_mesh_error(learned: MeshError | None, folder: Path) -> MeshErrorFile | None:
    if learned is None:
        return None
    return MeshErrorFile(file=_keep(MESH, learned.arrays(), folder), facts=learned.facts)


def _load_mesh_error(stored: MeshErrorFile | None, folder: Path) -> MeshError | None:
    if stored is None:
        return None
    path = folder / stored.file.name
    refuse_link(path)
    arrays = map_tensors(path, stored.file.checksum)
    if set(arrays) != set(MESH_ARRAYS):
        raise SureflowError(f"{path} is damaged: it has the arrays {sorted(arrays)}; calibrate the model again")
    return MeshError(**{name: np.array(array) for name, array in arrays.items()}, facts=stored.facts)


def _manifest(
    surrogate: Surrogate, weights: ArrayFile, bars: BarFacts | None, mesh_error: MeshErrorFile | None
) -> Manifest:
    predictor, scale, numbers = surrogate.predictor, surrogate.field_scale, surrogate.numbers
    return Manifest(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        specification=surrogate.spec,
        header=surrogate.header,
        scaling=predictor.scaling,
        layer=predictor.layer,
        floors=predictor.floors,
        limits=predictor.limits,
        normalizer=NormalizerFacts.model_validate(predictor.normalizer.to_dict()),
        field_scale=None if scale is None else Moments(mean=tuple(scale.mean), std=tuple(scale.std)),
        mesh=MeshFacts(points=surrogate.space.n_points, shape=surrogate.space.topology.shape),
        data_checksum=surrogate.data_checksum,
        weights=weights,
        calibration=bars,
        mesh_error=mesh_error,
        numbers=tuple(numbers.facts().values()) if numbers else (),
        number_bars=numbers.bars.facts() if numbers and numbers.bars else None,
        number_others=tuple(one.facts for one in numbers.others) if numbers else (),
        comparison=tuple(dict(row) for row in surrogate.comparison),
        network_axis=_network_axis() if predictor.settings.capabilities.resumes else None,
        versions={package: importlib.metadata.version(package) for package in VERSIONED},
    )


def _network_axis() -> str:
    from sureflow.models.network import network_axis  # takes JAX, which other models do without

    return network_axis()
