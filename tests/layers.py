"""Runs with a wall layer of known thickness: profiles between a wall and a shock, on lines normal to a circle."""

import numpy as np
from scipy.stats import qmc

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
    made_by = {"mesh": {"body": {"nose_radius": LENGTH}}, "wall": {"kind": wall, "temperature": WALL}}
    return _flow({"mach": conditions[:, 0], "altitude_km": conditions[:, 1]}, _nodes(shape), made_by)


def bodies(count: int = 40, shape: tuple[int, int] = (24, 9)) -> Runs:
    """The same about circles of other sizes, which end in straight walls of other angles."""
    low, high = np.array([[12.0, 25.0, 0.8, 20.0], [28.0, 55.0, 1.2, 50.0]])
    sample = qmc.Halton(4, rng=0).random(count)
    names = "mach", "altitude_km", "nose_radius", "cone_deg"
    given: dict[str, np.ndarray] = dict(zip(names, (low + sample * (high - low)).T, strict=True))
    nodes = np.stack([_nodes(shape, *pair) for pair in zip(given["nose_radius"], given["cone_deg"], strict=True)])
    return _flow(given, nodes, {"wall": {"kind": "isothermal", "temperature": WALL}})


def folding(count: int = 12, shape: tuple[int, int] = (24, 9)) -> Runs:
    """About one circle, on meshes that are finer at the wall the faster the flow is: beyond the fastest runs they fold."""
    low, high = np.array([[12.0, 25.0], [28.0, 55.0]])
    mach, altitude = (low + qmc.Halton(2, rng=0).random(count) * (high - low)).T
    even = 0.6 - 0.62 * (mach - low[0]) / (high - low)[0]
    made_by = {"mesh": {"body": {"nose_radius": LENGTH}}, "wall": {"kind": "isothermal", "temperature": WALL}}
    nodes = np.stack([_nodes(shape, even=share) for share in even])
    return _flow({"mach": mach, "altitude_km": altitude}, nodes, made_by)


def _flow(parameters: dict[str, np.ndarray], nodes: np.ndarray, made_by: dict) -> Runs:
    """Fields of conditions on nodes (node_j, node_i, 2), or those of every run."""
    gas, flight, shape = PerfectGas(), Flight(), (nodes.shape[-3] - 1, nodes.shape[-2] - 1)
    stream = flight.values(("mach", "altitude_km"), np.column_stack([parameters["mach"], parameters["altitude_km"]]))
    velocity, density, cold = (stream[name][:, None, None] for name in ("velocity", "density", "temperature"))
    length = np.reshape(parameters.get("nose_radius", LENGTH), (-1, 1, 1))
    hot = cold + velocity**2 / (2.0 * gas.cp)
    reynolds = density * velocity * length / gas.viscosity(hot, 1.0)
    corners = nodes.reshape(-1, *nodes.shape[-3:])
    centers = 0.25 * (corners[:, 1:, 1:] + corners[:, 1:, :-1] + corners[:, :-1, 1:] + corners[:, :-1, :-1])
    feet = 0.5 * (corners[:, :1, 1:] + corners[:, :1, :-1])
    height, along = np.linalg.norm(centers - feet, axis=3), corners[:, :1, 1:] - corners[:, :1, :-1]
    angle = np.pi / 2 - np.arctan2(along[..., 1], along[..., 0])
    share = np.tanh(2.0 * height / (12.0 * length * reynolds**-0.5))
    behind = 0.5 * (1.0 - np.tanh(30.0 * (height / length - 0.4)))
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
    count = len(parameters["mach"])
    units = {"mach": "1", "altitude_km": "km", "nose_radius": "m", "cone_deg": "deg"}
    return Runs.from_arrays(
        parameters,
        centers.reshape(*nodes.shape[:-3], -1, 2),
        {name: np.broadcast_to(values, (count, *shape)).reshape(count, -1) for name, values in fields.items()},
        {"u1": "m/s", "u2": "m/s", "rho": "kg/m3", "T": "K", **{name: units[name] for name in parameters}},
        flight,
        axes=("x", "r"),
        shape=shape,
        nodes=nodes.reshape(*nodes.shape[:-3], -1, 2),
        gas=gas,
        made_by=made_by,
    )


def _nodes(shape: tuple[int, int], radius: float = LENGTH, cone: float = 0.0, even: float = 0.0) -> np.ndarray:
    """Lines normal to a circle that ends in a straight wall, half a radius high, finest at the wall; (node_j, node_i, 2).

    Without a cone angle, in degrees, it is a quarter of a circle.
    """
    end = np.pi / 2 - np.radians(cone)
    arc = np.linspace(0.0, 2.2 if cone else end, shape[1] + 1)
    turned = np.minimum(arc, end)
    straight = (arc - turned)[:, None] * np.stack([np.sin(turned), np.cos(turned)], axis=1)
    outward = np.stack([-np.cos(turned), np.sin(turned)], axis=1)
    wall = radius * (np.array([1.0, 0.0]) + outward + straight)
    way = np.linspace(0.0, 1.0, shape[0] + 1)
    return wall + 0.5 * radius * (even * way + (1.0 - even) * way**2)[:, None, None] * outward
