"""A stand-in for the solver whose flow is smooth in both parameters, and a little off on coarse meshes."""

import numpy as np

from sureflow.campaign.contents import geometry_of
from sureflow.campaign.continuation import Computed
from sureflow.data.schema import Status
from sureflow.flow.solution import RECORD_NAMES


def smooth(case) -> Computed:
    """It does not converge at high Mach numbers and altitudes."""
    condition, (nj, ni) = case.condition, case.mesh.shape
    eta, xi = np.meshgrid(np.linspace(0, 1, nj), np.linspace(0, 1, ni), indexing="ij")
    stream, mach = condition.free_stream(case.gas), condition.mach
    behind = 0.5 * (1 - np.tanh(4 * (eta - 0.35 - 2.0 / mach - 0.1 * xi - 0.001 * condition.altitude_km)))
    speed, density = stream.velocity, stream.density(case.gas)
    velocity = [speed * (1 - 0.9 * behind), speed * 0.4 * behind * xi]
    fields = np.stack([*velocity, density * (1 + 4 * behind), stream.temperature * (1 + 0.1 * mach**2 * behind)])
    fails = condition.mach > 27.0 and condition.altitude_km > 55.0
    status = Status.STALLED if fails else Status.CONVERGED
    geometry = geometry_of(case.mesh) if case.is_fitted else None
    return Computed(fields, dict.fromkeys(RECORD_NAMES, 10.0), status, 0.0, geometry=geometry)
