"""The regions of the runs of a dataset."""

import numpy as np
from jaxtyping import Bool, Float

from sureflow.data.dataset import Dataset
from sureflow.data.schema import FREE_STREAM, VARIABLES
from sureflow.physics.free_stream import FreeStream
from sureflow.physics.regions import ALL, flow_regions


def run_regions(
    dataset: Dataset, case: int, fields: Float[np.ndarray, "variable point"] | None = None
) -> dict[str, Bool[np.ndarray, " point"]]:
    """Masks by name of one run: by its own fields, or by others at the same condition such as a prediction.

    Runs whose gas, free stream or structured mesh is not known (a user's own) have the region `all` alone.
    """
    gas, free_streams, mesh = dataset.gas, dataset.free_stream, dataset.mesh
    if gas is None or free_streams is None or mesh is None or dataset.names != tuple(VARIABLES):
        return {ALL: np.ones(dataset.n_points, bool)}
    values = np.asarray(dataset.fields[case] if fields is None else fields)
    row = dict(zip(FREE_STREAM, map(float, free_streams[case]), strict=True))
    free_stream = FreeStream(row["velocity"], row["pressure"], row["temperature"])
    return flow_regions(values.reshape(-1, *mesh.shape), gas, free_stream)
