"""Made-up runs whose shock and flow depend on their mesh."""

import numpy as np

import sureflow as sf
import synthetic

COARSE, FINE, COARSER = (16, 16), (32, 32), (8, 8)


def runs(shape, conditions=None):
    """Runs whose shock stands a little farther out, and whose flow behind it is a little off, on coarse meshes."""
    made = synthetic.runs(synthetic.grid() if conditions is None else conditions, shape=shape)
    spacing = 1.0 / shape[0]
    moved = synthetic.runs(made.parameters * [1.0 - 0.2 * spacing, 1.0], shape=shape)
    _, _, xi, _ = synthetic.cells(shape)
    off = 1.0 + 2.0 * spacing**2 * np.sin(np.pi * xi).ravel()
    values = {name: column * off for name, column in zip(made.names, np.moveaxis(moved.array(), 1, 0), strict=True)}
    return sf.Runs.from_arrays(
        dict(zip(made.parameter_names, made.parameters.T, strict=True)),
        made.geometry.points,
        values,
        {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K", "mach": "1", "altitude_km": "km"},
        made.header.stream,
        axes=("x", "r"),
        shape=shape,
        nodes=made.geometry.nodes,
        numbers={"stand_off": 1.0 + 0.1 * spacing * np.ones(len(made)), "steps": np.ones(len(made))},
        gas=made.gas,
    )
