"""Runs with a known answer: a smooth bow shock in front of a circle, on a small body-fitted mesh."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from sureflow.data.layout import Contents
from sureflow.data.run_store import RunStore
from sureflow.data.runs import Runs
from sureflow.data.schema import Status
from sureflow.data.store import contents_of
from sureflow.data.streams import Flight
from sureflow.physics.gases import PerfectGas

SHAPE = (6, 8)
MACH = np.arange(10.0, 31.0, 5.0)
ALTITUDE_KM = np.arange(20.0, 61.0, 10.0)


def grid() -> np.ndarray:
    """All pairs of Mach number and altitude, (case, 2)."""
    return np.array([(mach, altitude) for mach in MACH for altitude in ALTITUDE_KM])


def nodes(shape: tuple[int, int] = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    """A quarter of a ring from radius 1 (the wall) to 2, in meters."""
    radius, angle = np.meshgrid(
        np.linspace(1.0, 2.0, shape[0] + 1), np.linspace(0.0, np.pi / 2, shape[1] + 1), indexing="ij"
    )
    return 1.0 - radius * np.cos(angle), radius * np.sin(angle)


def cells(shape: tuple[int, int] = SHAPE) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, r, xi and eta of the cell centers, each (nj, ni)."""
    eta, xi = np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")
    radius, angle = 1.0 + eta, 0.5 * np.pi * xi
    return 1.0 - radius * np.cos(angle), radius * np.sin(angle), xi, eta


def free_stream(conditions: np.ndarray) -> np.ndarray:
    """Velocity, density, pressure and temperature (case, 4) of an isothermal atmosphere at 250 K."""
    mach, altitude = conditions.T
    density = 1.2 * np.exp(-altitude / 7.0)
    return np.column_stack([317.0 * mach, density, density * 287.0 * 250.0, np.full_like(mach, 250.0)])


def fields(conditions: np.ndarray, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    """u1, u2, rho and T (case, 4, nj, ni) behind a tanh shock that comes nearer as the Mach number grows."""
    _, _, xi, eta = cells(shape)
    velocity, density, _, temperature = free_stream(conditions).T[:, :, None, None]
    mach = conditions[:, :1, None]
    behind = 0.5 * (1 - np.tanh(8 * (eta - 0.35 - 2.0 / mach - 0.1 * xi)))
    return np.stack(
        [
            velocity * (1 - 0.9 * behind),
            velocity * 0.4 * behind * np.sin(np.pi * xi),
            density * (1 + 4 * behind),
            temperature * (1 + 0.1 * mach**2 * behind),
        ],
        axis=1,
    )


def runs(conditions: np.ndarray | None = None, shape: tuple[int, int] = SHAPE) -> Runs:
    """The runs in memory, with one number each."""
    conditions = grid() if conditions is None else conditions
    mach, altitude = conditions.T
    x, r, _, _ = cells(shape)
    values = fields(conditions, shape).reshape(len(conditions), 4, -1)
    return Runs.from_arrays(
        {"mach": mach, "altitude_km": altitude},
        np.column_stack([x.ravel(), r.ravel()]),
        dict(zip(("u1", "u2", "rho", "T"), values.swapaxes(0, 1), strict=True)),
        {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K", "mach": "1", "altitude_km": "km"},
        Flight(),
        axes=("x", "r"),
        shape=shape,
        nodes=np.column_stack([node.ravel() for node in nodes(shape)]),
        numbers={"steps": np.ones(len(conditions))},
        gas=PerfectGas(),
    )


def of_a_sphere(runs: Runs) -> Runs:
    """The same runs, which say how large their body is and how hot its wall."""
    known = {"mesh": {"body": {"nose_radius": 1.0}}, "wall": {"kind": "isothermal", "temperature": 1000.0}}
    return replace(runs, header=replace(runs.header, made_by={**runs.header.made_by, **known}))


def contents(conditions: np.ndarray | None = None, shape: tuple[int, int] = SHAPE) -> Contents:
    """What a store of the runs says before it has their fields."""
    return contents_of(runs(conditions, shape), {})


def write_store(
    path: Path,
    conditions: np.ndarray | None = None,
    status: dict[int, Status] | None = None,
    shape: tuple[int, int] = SHAPE,
) -> Path:
    """The runs as a store; every case is converged but for those given in `status`, which may be to do."""
    conditions = grid() if conditions is None else conditions
    store = RunStore.create(path, contents(conditions, shape))
    for case, run in enumerate(fields(conditions, shape)):
        store.write(case, run, {"steps": 1.0}, (status or {}).get(case, Status.CONVERGED))
    return path
