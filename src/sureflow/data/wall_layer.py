"""The layer of slow, cooled gas at a wall, on meshes with lines normal to the wall: how thick it is at any condition.

A cold wall's layer is as thick as a power of the Reynolds number says. Where runs are compared at equal shares of that
thickness instead of at equal cells, they hardly differ.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sureflow.data.header import Header
from sureflow.data.meshes import Geometry, Topology
from sureflow.data.normalize import Normalizer
from sureflow.data.runs import Runs
from sureflow.data.scaling import Scaling
from sureflow.data.similarity import Similarity, SimilarityNumbers
from sureflow.data.streams import Conditions
from sureflow.remembered import once_for_each
from sureflow.validation import settings

# Places in the layer that maps from run to run keep, in thicknesses.
LANDMARKS = (0.25, 0.5, 1.0, 1.5)
# Places along the wall that maps from run to run keep, in arc lengths from its beginning to where it has turned.
ALONG = (0.5, 1.0, 2.0)
# Walls that turn by less, in radians, have no such places.
LEAST_TURN = 0.2
# The layer ends where this share of the total enthalpy that the wall took is back.
RECOVERED = 0.95
# Shares of the way to the innermost shock, in cells: up to the first, what is interpolated is the wall layer's, from the
# second on the shock's; from the third on nothing is moved.
ROWS = (0.5, 0.7, 0.92)
# Landmarks beyond this share of the way to where nothing is moved come closer and closer to it.
FREE = 0.75
# Prior of the powers of the Reynolds number and of exp(T_wall/T_0), and how many runs it counts as.
POWERS, PRIOR_RUNS = (-0.5, 0.0), (0.4, 0.004)
# Lines whose first step is farther than this from the normal, as the cosine of its angle to the wall, are none.
MOST_OBLIQUE = 0.35

UNITS = {"m/s": 2, "kg/m3": 1, "K": 1}


class Lines(NamedTuple):
    """Lines from the wall outward: where the cells lie, as shares of the way, and how long the lines are."""

    share: Float[np.ndarray, " level"]  # of the wall, of the cells, and of the outer boundary; means over the lines
    length: float  # harmonic mean
    along: Float[np.ndarray, " place"]  # the lines, as fractions, at the places along the wall of ALONG


@settings
class WallLayer:
    """log(thickness / length) = constant + power log(Re) + of_wall T_wall/T_0, from the runs; `rows` in cells, see ROWS."""

    similarity: Similarity
    density: int  # the columns of the fields
    temperature: int
    constant: float
    power: float
    of_wall: float
    rows: tuple[float, float, float]

    @staticmethod
    def of(runs: Runs) -> "WallLayer | None":
        """That of these runs, or None where they have none."""
        return _layer_of(runs)

    def thickness(self, numbers: SimilarityNumbers) -> Float[np.ndarray, " case"]:
        """In the unit of the length."""
        exponent = self.constant + self.power * np.log(numbers.reynolds) + self.of_wall * numbers.wall_ratio
        return numbers.length * np.exp(exponent)

    def landmarks(self, numbers: SimilarityNumbers, lines: Sequence[Lines]) -> Float[np.ndarray, "case landmark"]:
        """The rows of the mesh, as fractions of cells, where the landmarks lie."""
        found = []
        for thickness, one in zip(self.thickness(numbers), lines, strict=True):
            share = np.array(LANDMARKS) * thickness / one.length
            rows = np.concatenate([[-0.5], np.arange(len(one.share) - 2), [len(one.share) - 2.5]])
            beyond = rows[-1] * np.maximum(share - 1.0, 0.0)  # so that no two of them are at one place
            found.append(np.interp(share, one.share, rows) + beyond)
        return _held_back(np.array(found), self.rows[2])


@once_for_each
def _layer_of(runs: Runs) -> WallLayer | None:
    similarity = _layer_similarity(runs.header, runs.topology)
    if similarity is None:
        return None
    lines = [lines_of(runs.geometry_of(case), runs.topology) for case in range(1 if not runs.is_moving else len(runs))]
    if any(one is None for one in lines):
        return None
    found = [_observe(runs, case, similarity, lines[case % len(lines)]) for case in range(len(runs))]  # type: ignore[arg-type]
    thickness, shock = np.array(found).T
    if not np.isfinite(thickness).all():
        return None
    numbers = similarity.numbers(runs.parameters)
    columns = np.column_stack([np.log(numbers.reynolds), numbers.wall_ratio])
    logarithms = np.log(thickness / numbers.length)
    constant, power, of_wall = _fitted(columns, logarithms)
    rows = tuple(float(share * shock.min()) for share in ROWS)
    columns = (runs.units.index("kg/m3"), runs.units.index("K"))
    return WallLayer(similarity, *columns, constant, power, of_wall, rows)  # type: ignore[arg-type]


def lines_of(geometry: Geometry, topology: Topology) -> Lines | None:
    """The lines of a plane block from its wall at row 0, or None where they are not normal to it."""
    assert topology.shape is not None
    shape = topology.shape
    nodes = np.stack([geometry.grid(axis, shape) for axis in (0, 1)], axis=-1)
    wall, outer = (0.5 * (nodes[row, 1:] + nodes[row, :-1]) for row in (0, -1))
    length = np.linalg.norm(outer - wall, axis=1)
    with np.errstate(all="ignore"):  # of lines without length, which are none
        share = np.linalg.norm(geometry.points.reshape(*shape, 2) - wall, axis=2) / length
        levels = np.concatenate([[0.0], share.mean(axis=1), [1.0]])
        if not are_normal(nodes, levels):
            return None
    return Lines(levels, float(1.0 / np.mean(1.0 / length)), places_along(nodes[0]))


def are_normal(nodes: Float[np.ndarray, "row column 2"], share: Float[np.ndarray, " level"]) -> bool:
    """Whether lines of nodes are normal to the wall at row 0 and do not fold; `share` is that of `Lines`."""
    wall = 0.5 * (nodes[0, 1:] + nodes[0, :-1])
    away, along = 0.5 * (nodes[1, 1:] + nodes[1, :-1]) - wall, nodes[0, 1:] - nodes[0, :-1]
    sizes = np.linalg.norm(away, axis=1) * np.linalg.norm(along, axis=1)
    oblique = np.mean(np.abs((away * along).sum(axis=1)) / sizes)
    return bool((sizes > 0).all() and oblique <= MOST_OBLIQUE and (np.diff(share) > 0).all())


def places_along(wall: Float[np.ndarray, "node 2"]) -> Float[np.ndarray, " place"]:
    """The lines at ALONG, as fractions; on a wall that hardly turns they are at even distances.

    The wall has turned at twice the arc up to half of its turn: where the sphere of a sphere-cone ends.
    """
    step = np.diff(wall, axis=0)
    size, last = np.linalg.norm(step, axis=1), len(step) - 1.0
    arc, angle = np.cumsum(size) - 0.5 * size, np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    turned = np.abs(angle - angle[0])
    if turned[-1] < LEAST_TURN:
        return np.linspace(0.0, last, len(ALONG) + 2)[1:-1]
    after = int(np.argmax(turned >= 0.5 * turned[-1]))
    part = (0.5 * turned[-1] - turned[after - 1]) / (turned[after] - turned[after - 1])
    half = arc[after - 1] + part * (arc[after] - arc[after - 1]) - arc[0]
    places = arc[0] + 2.0 * half * np.array(ALONG)
    beyond = last * np.maximum(places / arc[-1] - 1.0, 0.0)
    return _held_back(np.interp(places, arc, np.arange(len(arc))) + beyond, last)


def layer_columns(
    layer: WallLayer, scaling: Scaling, normalizer: Normalizer, parameters: Conditions, lines: Sequence[Lines]
) -> Float[np.ndarray, "case column"]:
    """What a model of wall layers is told of conditions: places along the wall, where the cells of a line lie, the thickness of
    the layer, both as shares of the line, the landmarks, and the temperatures of wall and stagnation.
    """
    numbers, column = layer.similarity.numbers(parameters), layer.temperature
    assert numbers.wall_temperature is not None
    fields = np.zeros((len(parameters), len(normalizer.fields.mean), 2))
    fields[:, column] = np.stack([numbers.wall_temperature, numbers.stagnation_temperature], axis=1)
    scaled = scaling.forward(fields, parameters)[:, column]
    normalized = (scaled - normalizer.fields.mean[column]) / normalizer.fields.std[column]
    along, share = np.stack([one.along for one in lines]), np.stack([one.share[1:-1] for one in lines])
    thickness = layer.thickness(numbers) / [one.length for one in lines]
    return np.column_stack([along, share, thickness, layer.landmarks(numbers, lines), normalized])


def _layer_similarity(header: Header, topology: Topology) -> Similarity | None:
    """Where lines, velocity, density, temperature and an isothermal wall are known."""
    plane = topology.shape is not None and len(topology.shape) == 2 and header.location == "cells"
    if not plane or any(header.units.count(unit) != count for unit, count in UNITS.items()):
        return None
    similarity = Similarity.of(header)
    return None if similarity is None or similarity.wall_temperature is None else similarity


def _observe(runs: Runs, case: int, similarity: Similarity, lines: Lines) -> tuple[float, float]:
    """Thickness of the layer of a run, and the row of the innermost shock."""
    assert runs.topology.shape is not None
    fields = np.asarray(runs.fields[case], float).reshape(-1, *runs.topology.shape)
    condition, units = runs.parameters[case : case + 1], runs.units
    temperature, density = fields[units.index("K")], fields[units.index("kg/m3")]
    speed = sum(fields[column] ** 2 for column, unit in enumerate(units) if unit == "m/s")
    total = temperature + speed / (2.0 * similarity.free_stream.cp)
    numbers = similarity.numbers(condition)
    wall, hot = numbers.wall_temperature, numbers.stagnation_temperature
    recovered = np.concatenate([np.zeros((1, total.shape[1])), (total - wall) / (hot - wall)])
    share = [_first_above(line, lines.share[:-1]) for line in recovered.T]
    pressure = density * temperature
    is_behind = pressure > 0.5 * pressure.max(axis=0)
    shock = len(pressure) - 1 - np.argmax(is_behind[::-1], axis=0)
    known = np.isfinite(share)
    thickness = lines.length * np.mean(np.array(share)[known]) if known.mean() > 0.5 else np.nan
    return float(thickness), float(shock.min())


def _first_above(line: Float[np.ndarray, " level"], share: Float[np.ndarray, " level"]) -> float:
    """Where a line first reaches RECOVERED; NaN where it does not."""
    level = int(np.argmax(line >= RECOVERED))
    if level == 0:
        return np.nan
    part = (RECOVERED - line[level - 1]) / (line[level] - line[level - 1])
    return float(share[level - 1] + part * (share[level] - share[level - 1]))


def _fitted(columns: Float[np.ndarray, "case 2"], values: Float[np.ndarray, " case"]) -> tuple[float, float, float]:
    """Least squares with a prior on the powers, which few runs hardly tell."""
    center, middle = columns.mean(axis=0), values.mean()
    system = np.vstack([columns - center, np.diag(np.sqrt(PRIOR_RUNS))])
    target = np.concatenate([values - middle, np.sqrt(PRIOR_RUNS) * np.array(POWERS)])
    powers = np.linalg.lstsq(system, target, rcond=None)[0]
    return float(middle - powers @ center), float(powers[0]), float(powers[1])


def _held_back(rows: Float[np.ndarray, "..."], end: float) -> Float[np.ndarray, "..."]:
    """Rows up to FREE of the end as they are, the others squeezed into what is left before it, in order."""
    share, room = rows / end, 1.0 - FREE
    squeezed = FREE + room * (1.0 - np.exp(-(np.maximum(share, FREE) - FREE) / room))
    return end * np.where(share < FREE, share, squeezed)
