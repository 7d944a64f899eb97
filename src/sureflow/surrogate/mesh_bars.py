"""The mesh's part of the bars: learned for a surrogate from runs on finer meshes, and added to its predictions."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.ndimage import maximum_filter

from sureflow.data.nesting import refinement, require_nested, restricted
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError
from sureflow.metrics.grid_convergence import (
    EXPANSION,
    HIGHEST_ORDER,
    LOWEST_ORDER,
    SAFETY,
    grid_convergence,
    remaining_error,
)
from sureflow.physics.regions import DISTURBED, flow_regions
from sureflow.surrogate.matching import matched
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.observe import FLOW_FIELDS, Observer
from sureflow.surrogate.space import Space
from sureflow.uq.mesh_error import WITHIN, MeshError, Seen, fit_mesh_error, local_order

Conditions = Float[np.ndarray, "_ parameter"]
Block = Float[np.ndarray, "variable nj ni"]

FEWEST_PAIRS = 4
SAME = 1e-9  # conditions that agree to this share of the ranges are one


def with_mesh_error(surrogate: Surrogate, runs: Runs, finer: Runs, coarser: Runs | None = None) -> Surrogate:
    """The same model, whose predictions also carry the error of its mesh.

    `runs` are on the mesh of the model and `finer` on one that divides its cells; those at the same conditions are pairs.
    `coarser` runs at these conditions, on a mesh of merged cells, tell the order of convergence.
    """
    levels = pairs_of_meshes(matched(runs, surrogate), finer, coarser)
    return replace(surrogate, mesh_error=_learn(surrogate, levels, refinement(*levels[:2])))


def pairs_of_meshes(runs: Runs, finer: Runs, coarser: Runs | None = None) -> list[Runs]:
    """The runs at conditions that all of the meshes have, by mesh; too few of them, or meshes not nested, are refused."""
    others = [finer] if coarser is None else [finer, coarser]
    factors = [refinement(runs, finer)] + ([] if coarser is None else [refinement(coarser, runs)])
    common = _common(runs, others)
    if len(common[0]) < FEWEST_PAIRS:
        raise SureflowError(
            f"{len(common[0])} conditions were computed on all of the meshes: the error of the mesh needs {FEWEST_PAIRS} or "
            "more, and some 9 for bars that hold"
        )
    levels = [one.select(cases) for one, cases in zip([runs, *others], common, strict=True)]
    for case in range(len(levels[0])):
        _require_nested(levels[0], levels[1], case, factors[0])
        if coarser is not None:
            _require_nested(levels[2], levels[0], case, factors[1])
    return levels


def mesh_std(
    surrogate: Surrogate, conditions: Conditions, mean: Float[np.ndarray, "case variable point"]
) -> np.ndarray:
    """Standard deviations of the mesh's error, as large as the predicted fields, in physical units."""
    learned, found = surrogate.mesh_error, np.empty(mean.shape)
    assert learned is not None
    inputs = _inputs(surrogate, conditions)
    for case, condition in enumerate(conditions):
        seen, unit, _ = _seen(surrogate, mean[case], condition)
        found[case] = (learned.std(inputs[case], seen) * unit).reshape(mean.shape[1:])
    return found


def mesh_quantity_std(surrogate: Surrogate, conditions: Conditions, names: Sequence[str]) -> np.ndarray:
    """Relative standard deviations (case, quantity) of the mesh's error; NaN where it is not known."""
    learned = surrogate.mesh_error
    if learned is None:
        return np.full((len(conditions), len(names)), np.nan)
    rows = [learned.quantity_std(one) for one in _inputs(surrogate, conditions)]
    return np.array([[row.get(name, np.nan) for name in names] for row in rows])


def _learn(surrogate: Surrogate, levels: list[Runs], factor: int) -> MeshError:
    runs, finer = levels[:2]
    differences, seen, moved, counted = [], [], [], []
    for case, condition in enumerate(runs.parameters):
        ours, theirs = _block(runs, case), restricted(finer, case, factor)
        one, unit, disturbed = _seen(surrogate, ours.reshape(len(ours), -1), condition)
        differences.append((theirs - ours) / unit)
        seen.append(one)
        counted.append(disturbed)
        moved.append(_displacement(surrogate, runs, finer, case, factor))
    order = _order(surrogate, levels, np.stack(differences)) if len(levels) > 2 else None
    names, values = _quantities(levels, factor)
    return fit_mesh_error(
        _inputs(surrogate, runs.parameters),
        np.stack(differences),
        seen,
        np.stack(moved),
        counted,
        refinement=factor,
        order=order,
        quantities=values,
        quantity_names=names,
    )


def _order(surrogate: Surrogate, levels: list[Runs], differences: Float[np.ndarray, "pair variable nj ni"]) -> Block:
    """Local orders of convergence from a third mesh, on the mesh of the model."""
    runs, _, coarser = levels
    factor = refinement(coarser, runs)
    wide, near = [], []
    for case, condition in enumerate(runs.parameters):
        ours = restricted(runs, case, factor)
        unit = surrogate.predictor.unit(_block(runs, case).reshape(1, len(ours), -1), condition[None])
        size = unit.reshape(len(ours), *differences.shape[2:])[:, ::factor, ::factor]
        wide.append((ours - _block(coarser, case)) / size)
        shape = (len(ours), ours.shape[1], factor, ours.shape[2], factor)
        near.append(differences[case].reshape(shape).mean(axis=(2, 4)))
    found = local_order(np.stack(wide), np.stack(near), factor)
    return found.repeat(factor, axis=1).repeat(factor, axis=2)


def _seen(
    surrogate: Surrogate, fields: Float[np.ndarray, "variable point"], condition: Float[np.ndarray, " parameter"]
) -> tuple[Seen, Block, Bool[np.ndarray, "nj ni"]]:
    """Fields in normalized units with their shock, the size of such a unit, and which cells are disturbed."""
    shape = surrogate.space.topology.shape
    assert shape is not None
    block = fields.reshape(len(fields), *shape)
    unit = np.asarray(surrogate.predictor.unit(fields[None], condition[None])).reshape(block.shape)
    gas, streams = surrogate.header.gas, surrogate.header.free_streams(condition[None])
    if gas is None or streams is None or surrogate.names != FLOW_FIELDS:
        return Seen(block / unit, np.zeros(shape, bool)), unit, np.ones(shape, bool)
    masks = flow_regions(block, gas, streams[0])
    shock = maximum_filter(masks["shock"].reshape(shape), (3, 1))
    return Seen(block / unit, shock), unit, masks[DISTURBED].reshape(shape)


def _displacement(surrogate: Surrogate, runs: Runs, finer: Runs, case: int, factor: int) -> Float[np.ndarray, " ni"]:
    """How far the shock moves from one mesh to the other on every line from the wall, in cells of the coarse one."""
    streams = runs.free_streams(np.array([case]))
    if runs.gas is None or streams is None or runs.names != FLOW_FIELDS:
        return np.zeros(_block(runs, case).shape[2])
    places = []
    for level in (runs, finer):
        _, _, rho, temperature = _block(level, case)
        pressure = np.asarray(runs.gas.pressure(rho, runs.gas.energy_from_temperature(rho, temperature)))
        places.append(_half_rise(pressure, streams[0].pressure))
    return places[1].reshape(-1, factor).mean(axis=1) / factor - places[0]


def _half_rise(pressure: Float[np.ndarray, "nj ni"], free: float) -> Float[np.ndarray, " ni"]:
    """Where on every line the pressure has risen by half, outermost and interpolated, in cells from the wall."""
    half = 0.5 * (free + pressure.max(axis=0))
    inner = len(pressure) - 1 - np.argmax((pressure >= half)[::-1], axis=0)
    outer, columns = np.minimum(inner + 1, len(pressure) - 1), np.arange(pressure.shape[1])
    fall = pressure[inner, columns] - pressure[outer, columns]
    share = np.divide(pressure[inner, columns] - half, fall, out=np.zeros_like(half), where=fall > 0)
    return inner + 0.5 + share


def _quantities(levels: list[Runs], factor: int) -> tuple[tuple[str, ...], Float[np.ndarray, "pair quantity"]]:
    """Relative standard uncertainties of the numbers that all levels tell.

    With three meshes by the grid convergence index over its expansion factor (V&V 20), at the mesh of the model; with two by
    the same rule at the order 1. Where the three values oscillate, as shocks do that move about within a cell, there is no limit
    to extrapolate to: the errors of the meshes are then taken as independent and proportional to their cells.
    """
    told = [_told(level) for level in levels]
    names = tuple(name for name in told[0] if all(name in one for one in told))
    values = [np.stack([one[name] for name in names], axis=1) for one in told]
    factors = (factor, refinement(levels[2], levels[0])) if len(levels) > 2 else (factor,)
    found = np.zeros(values[0].shape)
    for pair, quantity in np.ndindex(found.shape):
        ours, fine, *coarse = (float(level[pair, quantity]) for level in values)
        error = (fine - ours) * (
            _whole(fine, ours, coarse[0], *factors) if coarse else float(remaining_error(1.0, factor))
        )
        found[pair, quantity] = SAFETY * abs(error / ours) / EXPANSION if ours else 0.0
    known = np.asarray(np.isfinite(found).all(axis=0))
    return tuple(name for name, good in zip(names, known.tolist(), strict=True) if good), found[:, known]


def _told(runs: Runs) -> dict[str, Float[np.ndarray, " case"]]:
    """What runs say in numbers: those that they keep, and quantities that can be read off their fields."""
    found = {}
    observer = Observer.of(runs.header, Space.of(runs))
    if observer is not None:
        geometries = [runs.geometry_of(case) for case in range(len(runs))]
        values = observer(np.asarray(runs.array(), float), runs.parameters, geometries)
        found = {quantity.name: values[:, column] for column, quantity in enumerate(observer.quantities)}
    kept = [number.name for number in runs.header.numbers]
    return found | (dict(zip(kept, np.asarray(runs.numbers, float).T, strict=True)) if kept else {})


def _whole(fine: float, ours: float, coarse: float, factor: int, coarse_factor: int) -> float:
    """The error of our mesh over its difference to the finer one."""
    found = grid_convergence(fine, ours, coarse, factor, coarse_factor)
    if found.oscillates:
        return 1.0 / math.hypot(1.0, 1.0 / factor)
    order = found.order if math.isfinite(found.order) else LOWEST_ORDER
    return float(remaining_error(min(max(order, LOWEST_ORDER), HIGHEST_ORDER), factor))


def _block(runs: Runs, case: int) -> Block:
    shape = runs.topology.shape
    assert shape is not None
    return np.asarray(runs.fields[case], float).reshape(-1, *shape)


def _inputs(surrogate: Surrogate, conditions: Conditions) -> Conditions:
    predictor = surrogate.predictor
    return predictor.normalizer.inputs.forward(predictor.scaling.inputs(np.asarray(conditions, float)))


def _require_nested(coarse: Runs, fine: Runs, case: int, factor: int) -> None:
    if coarse.is_moving or fine.is_moving:
        shape = coarse.topology.shape
        assert shape is not None
        require_nested(coarse.geometry_of(case), fine.geometry_of(case), shape, factor)


def _common(runs: Runs, others: Sequence[Runs]) -> list[Int[np.ndarray, " pair"]]:
    """The numbers of the runs at conditions that all levels have, by level."""
    for other in others:
        if other.parameter_names != runs.parameter_names or other.names != runs.names:
            raise SureflowError("levels must have the same parameters and fields, in the same order")
    width = np.ptp(runs.parameters, axis=0)
    scale = SAME * np.where(width > 0, width, 1.0)
    rows: list[list[int]] = []
    for case, condition in enumerate(runs.parameters):
        found = [np.flatnonzero((np.abs(other.parameters - condition) <= scale).all(axis=1)) for other in others]
        if all(len(one) for one in found):
            rows.append([case, *(int(one[0]) for one in found)])
    return list(np.array(rows, int).reshape(-1, 1 + len(others)).T)


def add_mesh(arrays: dict[str, np.ndarray], mesh: np.ndarray) -> dict[str, np.ndarray]:
    """What a prediction has of every field, with the error of the mesh: two parts of the bars, which hold both together."""
    found = dict(arrays) | {"_std_surrogate": arrays["_std"], "_std_mesh": mesh, "_std": np.hypot(arrays["_std"], mesh)}
    for name in ("_interval90", "_band90"):
        if name in found:
            found[name] = np.hypot(found[name], WITHIN * mesh)
    return found
