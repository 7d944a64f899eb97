"""Runs that are warped to conditions and combined there: of all runs, and without those that are left out."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from sureflow import scratch
from sureflow.models.body_frame import BodyFrame
from sureflow.models.contract import Fields, Groups
from sureflow.models.kernels import KERNELS, System, inverse_system, is_flat
from sureflow.models.shock_frame import ShockFrame
from sureflow.models.warps import COLUMNS, LayerWarp

KERNEL = KERNELS["cubic"]

Weights = Float[np.ndarray, "_ case run"]  # for all of the fields, then region by region
Field = Float[np.ndarray, "variable point"]
Warp = LayerWarp | ShockFrame | BodyFrame
Powers = Float[np.ndarray, "_ case"]  # alike
Systems = list[tuple[np.ndarray, np.ndarray]]  # nodes, and the inverse of A


def combined(warp: Warp, weights: Weights, told: Float[np.ndarray, "case column"]) -> Iterator[Field]:
    """Sums of the runs, warped to conditions of which this is told; one after the other."""
    return (
        warp.combined(weights, told) if isinstance(warp, BodyFrame) else warp.combined(weights[0], told[:, -COLUMNS:])
    )


def at_points(warp: Warp, powers: Powers) -> Float[np.ndarray, "case 1 _"]:
    """The power function at the points of the fields, by their regions where there are some; else one number."""
    return (powers[1:].T @ warp.shares_of_points)[:, None] if isinstance(warp, BodyFrame) else powers[0][:, None, None]


def left_out(systems: Systems, groups: Groups) -> tuple[Weights, Powers]:
    """Weights of the other runs at runs that are left out in groups, and the power function, in every region."""
    n_runs, runs = len(systems[0][0]), np.concatenate([np.asarray(group) for group in groups])
    weights, powers = np.zeros((len(systems), len(runs), n_runs)), np.empty((len(systems), len(runs)))
    start = 0
    for group in map(np.asarray, groups):
        rows, others = slice(start, start := start + len(group)), np.setdiff1d(np.arange(n_runs), group)
        for number, (nodes, inverse) in enumerate(systems):
            weights[number][rows, others], powers[number, rows] = _weights_without(nodes, inverse, group, others)
    return weights, powers


def residuals(systems: Systems, warp: Warp, fields: Fields) -> Fields:
    """What is missed at every run left out, over the power function there."""
    found, everyone = scratch.empty(fields.shape, np.float32), np.arange(len(fields))
    weights, powers = left_out(systems, [*everyone[:, None]])
    # A run that the polynomial needs leaves no interpolation behind: it tells nothing.
    useful, power = powers[0] < 1.0 / np.sqrt(np.finfo(float).eps), at_points(warp, powers)
    for run, field in enumerate(combined(warp, weights, warp.layers)):
        found[run] = (field - fields[run]) / power[run] if useful[run] else 0.0
    return found


def _weights_without(
    nodes: Float[np.ndarray, "run varying"],
    inverse: Float[np.ndarray, "row row"],
    group: Int[np.ndarray, " some"],
    others: Int[np.ndarray, " other"],
) -> tuple[Float[np.ndarray, "some other"], Float[np.ndarray, " some"]]:
    """Weights of the other runs, and the power function, at a group G that is left out.

    With P the block of A^-1 that belongs to the runs: -(P_GG)^-1 P_GK, and the diagonal of (P_GG)^-1.
    """
    if is_flat(nodes[others]):
        own = System.of(KERNEL, nodes[others], inverse_system(KERNEL, nodes[others]))
        return own.weights_and_powers(nodes[group])
    errors = np.linalg.inv(inverse[np.ix_(group, group)])
    return -errors @ inverse[np.ix_(group, others)], np.sqrt(np.maximum(np.diag(errors), 0.0))
