"""What runs know of the meshes that they were computed on, if those were brought onto one mesh."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.data.meshes import Geometry
from sureflow.data.sources import Run

RESAMPLING = "resampling"  # the part of error bars that stands for it


class Resampling(NamedTuple):
    """The error of bringing runs onto their common mesh, as a standard deviation; and the share of runs that have a point."""

    std: Float[np.ndarray, "variable point"]
    coverage: Float[np.ndarray, " point"]


class OwnValues(NamedTuple):
    """Fields of a run at points of its own mesh."""

    fields: Float[np.ndarray, "variable sample"]
    points: Float[np.ndarray, "sample axis"]


class RunValues(NamedTuple):
    """All that a store keeps of one run besides its parameters."""

    fields: Run
    numbers: dict[str, float]
    geometry: Geometry | None = None
    own: OwnValues | None = None
