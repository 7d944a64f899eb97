"""The regions of the flow of a run, as masks of its points."""

import numpy as np
from jaxtyping import Bool, Float

from sureflow.data.runs import Runs
from sureflow.physics.regions import ALL, flow_regions
from sureflow.surrogate.observe import FLOW_FIELDS


def run_masks(
    runs: Runs, case: int, fields: Float[np.ndarray, "variable point"]
) -> dict[str, Bool[np.ndarray, " point"]]:
    """Masks by name at the condition of one run, by its own fields or by a prediction of them.

    Runs other than flows on a structured block in two dimensions, whose gas and free stream are known, have the region
    `all` alone.
    """
    gas, shape = runs.gas, runs.topology.values_shape(runs.header.location)
    is_flow = gas is not None and shape is not None and len(shape) == 2 and set(FLOW_FIELDS) <= set(runs.names)
    streams = runs.free_streams(np.array([case])) if is_flow else None
    if gas is None or shape is None or streams is None:
        return {ALL: np.ones(runs.n_points, bool)}
    flow = np.stack([fields[runs.names.index(name)].reshape(shape) for name in FLOW_FIELDS])
    return flow_regions(flow, gas, streams[0])
