"""Runs with a wall layer of known thickness: profiles between a wall and a shock, on lines normal to a circle."""

import numpy as np

import synthetic
from sureflow.data.runs import Runs
from sureflow.data.streams import Flight
from sureflow.models import View
from sureflow.models.contract import LayerView
from sureflow.physics.gases import PerfectGas

SHAPE = (24, 5)
WALL = 1000.0
LENGTH = 1.0
ROWS = (8.0, 12.0, 16.0)


def view(inputs: np.ndarray, moves: float = 0.0) -> View:
    """What a model of wall layers is given: u, v, density and temperature.

    The second input thickens the layer. The mean of all moves the shock, by so many rows.
    """
    n_runs = len(inputs)
    thickness = 4.0 * np.exp(0.3 * inputs[:, 1])
    landmarks = thickness[:, None] * np.array([0.25, 0.5, 1.0, 1.5]) - 0.5
    wall, hot = 0.2 + 0.02 * inputs[:, 0], 1.0 + 0.05 * inputs[:, 0]
    row, line = np.meshgrid(np.arange(SHAPE[0]) + 0.5, np.linspace(0, 1, SHAPE[1]), indexing="ij")
    eta = row / thickness[:, None, None]
    shape = np.tanh(2.0 * eta)
    temperature = wall[:, None, None] + shape * (hot - wall)[:, None, None]
    behind = 0.5 * (1.0 - np.tanh(row - (20.0 - moves * inputs.mean(axis=1))[:, None, None]))
    pressure = (1.0 + 0.1 * inputs[:, 0])[:, None, None] * (0.2 + behind * (1.0 - 0.3 * line))
    fields = np.stack([shape * line, 0.1 * shape, pressure / temperature, temperature], axis=1).reshape(n_runs, 4, -1)
    along = np.full((n_runs, 3), [1.0, 2.0, 3.0])
    share = np.full((n_runs, SHAPE[0]), (np.arange(SHAPE[0]) + 0.5) / SHAPE[0])
    lines = np.column_stack([along, share, thickness / SHAPE[0]])
    columns = np.column_stack([inputs, lines, np.minimum(landmarks, 0.9 * ROWS[2]), wall, hot])
    points = np.column_stack([row.ravel(), line.ravel()])
    return View(columns, fields, points, ("u", "v", "rho", "T"), shape=SHAPE, layer=LayerView(ROWS, 2, 3, np.zeros(4)))


def runs(conditions: np.ndarray | None = None, shape: tuple[int, int] = SHAPE, wall: str = "isothermal") -> Runs:
    """A laminar layer, as thick as 12 Re^-1/2 lengths, below a shock at 0.8 of lines normal to a circle."""
    conditions = synthetic.grid() if conditions is None else conditions
    gas, flight = PerfectGas(), Flight()
    stream = flight.values(("mach", "altitude_km"), conditions)
    velocity, density, cold = (stream[name][:, None, None] for name in ("velocity", "density", "temperature"))
    hot = cold + velocity**2 / (2.0 * gas.cp)
    reynolds = density * velocity * LENGTH / gas.viscosity(hot, 1.0)
    nodes = _nodes(shape)
    centers = 0.25 * (nodes[1:, 1:] + nodes[1:, :-1] + nodes[:-1, 1:] + nodes[:-1, :-1])
    height = np.linalg.norm(centers - 0.5 * (nodes[:1, 1:] + nodes[:1, :-1]), axis=2)
    angle = np.arctan2(centers[..., 1], 1.0 - centers[..., 0])
    share = np.tanh(2.0 * height / (12.0 * reynolds**-0.5))
    behind = 0.5 * (1.0 - np.tanh(30.0 * (height - 0.4)))
    speed = 0.3 * share * behind + (1.0 - behind)
    temperature = WALL + (hot - WALL) * share - (speed * velocity) ** 2 / (2.0 * gas.cp)
    temperature = np.where(behind > 0.5, np.maximum(temperature, 0.5 * WALL), np.maximum(cold, 0.3 * temperature))
    pressure = density * velocity**2 * (0.02 + behind * np.cos(angle) ** 2)
    fields = {
        "u1": velocity * speed * np.cos(angle),
        "u2": velocity * speed * np.sin(angle),
        "rho": pressure / (gas.gas_constant * temperature),
        "T": temperature,
    }
    return Runs.from_arrays(
        {"mach": conditions[:, 0], "altitude_km": conditions[:, 1]},
        centers.reshape(-1, 2),
        {
            name: np.broadcast_to(values, (len(conditions), *shape)).reshape(len(conditions), -1)
            for name, values in fields.items()
        },
        {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K", "mach": "1", "altitude_km": "km"},
        flight,
        axes=("x", "r"),
        shape=shape,
        nodes=nodes.reshape(-1, 2),
        gas=gas,
        made_by={"mesh": {"body": {"nose_radius": LENGTH}}, "wall": {"kind": wall, "temperature": WALL}},
    )


def _nodes(shape: tuple[int, int]) -> np.ndarray:
    """A quarter of a ring from radius 1 to 1.5, finest at the wall; (node_j, node_i, 2)."""
    way = np.linspace(0.0, 1.0, shape[0] + 1)
    radius, angle = np.meshgrid(1.0 + 0.5 * way**2, np.linspace(0.0, np.pi / 2, shape[1] + 1), indexing="ij")
    return np.stack([1.0 - radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
