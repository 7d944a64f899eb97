"""A model of given settings learned from runs: scale, normalize, fit with checkpoints, and put together what a user needs."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from sureflow.data.enthalpy_limits import EnthalpyLimits
from sureflow.data.meshes import PHYSICAL
from sureflow.data.nesting import prolonged
from sureflow.data.normalize import Normalizer, normalized_fields
from sureflow.data.runs import Runs
from sureflow.data.scaling import POSITIVE_UNITS, Scaling, scaling_for
from sureflow.data.wall_layer import WallLayer, layer_columns, lines_of
from sureflow.errors import SureflowError
from sureflow.models.contract import Checkpoint, LayerView, ModelSettings, Progress, View, unheard
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.model_folder import CHECKPOINT
from sureflow.surrogate.predictor import Predictor
from sureflow.surrogate.space import Space
from sureflow.surrogate.specification import Specification
from sureflow.validation import plain


def learn(
    runs: Runs,
    spec: Specification,
    *,
    folder: Path | None = None,
    progress: Progress = unheard,
    fitted: Predictor | None = None,
) -> Surrogate:
    """Learn from all of the runs what the specification says, without calibration.

    With a `folder`, models that resume keep a checkpoint there after every epoch, and go on from the one they find. `fitted` is
    what was learned already, where a comparison of models did so.
    """
    runs.require_trainable()
    runs.require_apart()
    return Surrogate.of(runs, fitted or fit_predictor(runs, spec, folder, progress))


def fit_predictor(
    runs: Runs, spec: Specification, folder: Path | None = None, progress: Progress = unheard
) -> Predictor:
    """The same as a bare model, of runs that are known to be trainable: what folds over the runs need many times."""
    spec = settled(spec, runs)
    model = spec.model
    if not isinstance(model, ModelSettings):
        raise SureflowError("several models are compared before one is learned: give the one to learn")
    scaling = scaling_for(spec.scaling, runs)
    normalizer = Normalizer.fit(runs, scaling, spec.seen_coordinates)
    space, layer = Space.of(runs), _layer(model, runs)
    # Networks of single points learn from the meshes that the runs were computed on, where those are known.
    on_own_mesh = runs.own is not None and model.capabilities.anywhere and spec.seen_coordinates == PHYSICAL
    view = view_of(runs.own if on_own_mesh and runs.own else runs, scaling, normalizer, spec.seen_coordinates)
    if model.capabilities.needs_structured_mesh and view.shape is None:
        raise SureflowError(
            f"{model.title} needs runs on a structured mesh, and the mesh of these is {runs.topology.kind}: choose another "
            "model"
        )
    if layer is not None:
        view = with_layer(view, runs, scaling, normalizer, layer)
    if model.capabilities.needs_levels:
        view = replace(view, coarser=_coarser(runs, runs.coarser, spec, scaling, normalizer, layer))
    checkpoint = None
    if folder is not None and model.capabilities.resumes:
        checkpoint = Checkpoint(folder / CHECKPOINT, fingerprint(runs, spec))
    fitted = model.fit(view, progress, checkpoint)
    # As a loaded model has them: the same arrays give the same bits.
    fitted = model.restore(fitted.arrays(), view.sizes)
    floors = _floors(view, runs.units, normalizer)
    return Predictor(spec, fitted, space, scaling, normalizer, layer, floors, EnthalpyLimits.of(runs))


def _coarser(
    runs: Runs,
    below: Runs | None,
    spec: Specification,
    scaling: Scaling,
    normalizer: Normalizer,
    layer: WallLayer | None,
) -> View | None:
    """Runs of the coarser levels, as a model of the finest one learns from them."""
    if below is None:
        return None
    there = prolonged(below, runs)
    view = view_of(there, scaling, normalizer, spec.seen_coordinates)
    view = view if layer is None else with_layer(view, there, scaling, normalizer, layer)
    return replace(view, coarser=_coarser(runs, below.coarser, spec, scaling, normalizer, layer))


def _floors(view: View, units: tuple[str, ...], normalizer: Normalizer) -> tuple[float | None, ...]:
    """Half of the least scaled value in the runs, of fields that are positive by nature: below lies nothing that they suggest."""
    lowest = (
        np.min([np.min(run, axis=1) for run in view.fields], axis=0) * normalizer.fields.std + normalizer.fields.mean
    )
    pairs = zip(units, lowest.tolist(), strict=True)
    return tuple(0.5 * low if unit in POSITIVE_UNITS and low > 0 else None for unit, low in pairs)


def _layer(model: ModelSettings, runs: Runs) -> WallLayer | None:
    """The wall layer of the runs, for a model that needs one."""
    if not model.capabilities.needs_wall_layer:
        return None
    found = WallLayer.of(runs)
    if found is None:
        raise SureflowError(
            f"{model.title} needs velocity, density and temperature on lines normal to a wall of known temperature, in a known "
            "gas, and these runs do not have them: choose interpolation"
        )
    return found


def settled(spec: Specification, runs: Runs) -> Specification:
    """The specification with scaling and coordinates chosen."""
    return replace(spec, scaling=spec.scaling_for(runs), coordinates=spec.coordinates_for(runs))


def view_of(runs: Runs, scaling: Scaling, normalizer: Normalizer, coordinates: str) -> View:
    """The runs as a model learns from them."""
    points = runs.coordinates(coordinates)
    if runs.is_moving and coordinates == PHYSICAL:
        points = np.stack([runs.coordinates(coordinates, case) for case in range(len(runs))])
    return View(
        normalizer.inputs.forward(scaling.inputs(runs.parameters)),
        normalized_fields(runs, scaling, normalizer),
        normalizer.coordinates.forward(points),
        runs.names,
        runs.topology,
        runs.topology.values_shape(runs.header.location),
    )


def with_layer(view: View, runs: Runs, scaling: Scaling, normalizer: Normalizer, layer: WallLayer) -> View:
    """With what the wall layer is at every run."""
    lines = [lines_of(runs.geometry_of(case), runs.topology) for case in range(len(runs) if runs.is_moving else 1)]
    every = [lines[case % len(lines)] for case in range(len(runs))]
    columns = layer_columns(layer, scaling, normalizer, runs.parameters, every)  # type: ignore[arg-type]
    zero = -normalizer.fields.mean / normalizer.fields.std
    told = LayerView(layer.rows, layer.density, layer.temperature, zero)
    return replace(view, inputs=np.column_stack([view.inputs, columns]), layer=told)


def continues(folder: Path, runs: Runs, spec: Specification) -> bool:
    """Whether the folder has a checkpoint of this very training."""
    checkpoint = folder / CHECKPOINT
    if not checkpoint.exists():
        return False
    from sureflow.train.checkpoint import fingerprint_of  # takes JAX, which many models do without

    return fingerprint_of(checkpoint) == fingerprint(runs, settled(spec, runs))


def fingerprint(runs: Runs, spec: Specification) -> str:
    """Equal when and only when data and settings are: what a checkpoint must match to be continued."""
    return hashlib.sha256((runs.checksum + json.dumps(plain(spec), sort_keys=True)).encode()).hexdigest()
