"""What a page is told of a model besides its program: names, ranges, mesh, lines, quantities and the training domain."""

import base64
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps

from sureflow.data.declared import DeclaredQuantity
from sureflow.data.header import Parameter
from sureflow.data.labels import LONG_NAMES
from sureflow.explore.answers import reads_body
from sureflow.explore.packing import Packing
from sureflow.explore.surfaces import Cut, drawn, restricted
from sureflow.explore.tabulated import Ranges
from sureflow.surrogate.labelled import LEVEL, facts, worth
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.observe import QUANTITIES, Quantity
from sureflow.uq.domain import MORE_NOVEL, OFF_PLANE, TrainingDomain
from sureflow.wording import words_of

COLORS = ("viridis", "cividis", "magma", "inferno", "gray")  # lightness grows along all of them
RADIUS = "r"  # an axis of this name is the distance from an axis of symmetry
# How far sliders and numbers go beyond the training runs, in widths of their range.
BEYOND, FARTHEST = 0.25, 2.0
LEAST = 0.5  # what is positive by nature is at least this share of its least value in the runs
DENSITY_UNIT = "kg/m3"


def described(surrogate: Surrogate, packing: Packing, cut: Cut | None) -> dict[str, Any]:
    """Everything about a model but its program."""
    space, header, domain = surrogate.space, surrogate.header, surrogate.domain
    location = space.location if space.topology.kind != "points" else "points"
    parameters = _parameters(surrogate)
    middle = space.at(np.array([one["start"] for one in parameters]))
    surface = drawn(space, middle, cut)
    used = None
    if len(space.axes) == 3:
        used, surface = restricted(surface, location)
        packing.add("used", used.astype(np.int32))
    packing.add("triangles", surface.triangles.ravel().astype(np.int32))
    for name in ("owners", "first", "second"):
        packing.add(name, getattr(surface, name).astype(np.int32))
    packing.add("share", surface.share.astype(np.float32))
    packing.add("runs", domain.parameters)
    places = None
    if space.moving is None:
        places = middle.points if middle.nodes is None else middle.nodes
        packing.add("places", surface.at(places).ravel().astype(np.float32))
    palette = np.stack([np.rint(255 * colormaps[name](np.arange(256))[:, :3]) for name in COLORS]).astype(np.uint8)
    return {
        "subtitle": _subtitle(surrogate),
        "facts": facts(surrogate),
        "parameters": parameters,
        "fields": [
            {
                "name": one.name,
                "unit": one.unit,
                "label": LONG_NAMES.get(one.name, one.name),
                "logarithmic": one.unit == DENSITY_UNIT,
            }
            for one in header.fields
        ],
        "axes": [{"name": name, "unit": header.axis_unit} for name in header.axes],
        "revolved": len(header.axes) == 2 and header.axes[1] == RADIUS,
        "location": location,
        "shape": space.topology.shape,
        "values": space.n_points if used is None else len(used),
        "used": None if used is None else "used",
        "places": None if places is None else "places",
        "moving": places is None,
        "lines": _lines(surrogate, packing),
        "bands": _bands(surrogate),
        "quantities": _quantities(surrogate, packing),
        "domain": _domain(surrogate.trusted_domain),
        "colors": {"names": COLORS, "bytes": base64.b64encode(palette.tobytes()).decode()},
    }


def _subtitle(surrogate: Surrogate) -> str:
    """What the bars are worth."""
    if surrogate.calibration is None:
        return "The error bars are the model's own: it is not calibrated."
    words = worth(surrogate)
    return f"{words[:1].upper()}{words[1:]}."


def _domain(domain: TrainingDomain) -> dict[str, Any]:
    """What verdicts follow from."""
    limits = []
    for name, lower, upper in zip(domain.names, domain.lower, domain.upper, strict=True):
        low, high = domain.limits.get(name, (-np.inf, np.inf))
        kept = low <= lower and upper <= high
        limits.append([float(edge) if kept and np.isfinite(edge) else None for edge in (low, high)])
    return {
        "names": domain.names,
        "ranges": np.stack(domain.ranges, axis=1).tolist(),
        "runs": np.stack([domain.lower, domain.upper], axis=1).tolist(),
        "estimated": [*domain.estimated],
        "width": domain.width.tolist(),
        "limits": limits,
        "reach": domain.reach,
        "usual": float(domain.usual) if np.isfinite(domain.usual) else None,
        "more_novel": MORE_NOVEL,
        "missing": domain.missing.tolist(),
        "middle": domain.middle.tolist(),
        "logarithmic": [name in domain.logarithmic for name in domain.names],
        "off_plane": OFF_PLANE,
        "conditions": domain.parameters.tolist(),
    }


def _parameters(surrogate: Surrogate) -> list[dict[str, Any]]:
    """Names, units and ranges: of the runs, of the sliders, and beyond which nothing is computed."""
    domain, limits, positive = surrogate.domain, surrogate.header.limits, _positive(surrogate)
    found = []
    for column, parameter in enumerate(surrogate.header.parameters):
        low, high = float(domain.lower[column]), float(domain.upper[column])
        floor, ceiling = limits.get(parameter.name, (-np.inf, np.inf))
        if parameter.scale == "linear" and parameter.name in positive:
            floor = max(floor, LEAST * low)
        start, moved = _moving(parameter, low, high)
        ends = {name: max(floor, moved(low, -away)) for name, away in (("least", BEYOND), ("lowest", FARTHEST))}
        ends |= {name: min(ceiling, moved(high, away)) for name, away in (("most", BEYOND), ("farthest", FARTHEST))}
        found.append(
            {"name": parameter.name, "words": words_of(parameter.name, parameter.unit), "unit": parameter.unit}
            | {"logarithmic": parameter.scale == "log", "low": low, "high": high, "start": start}
            | ends
        )
    return _possible_start(surrogate, found)


def _possible_start(surrogate: Surrogate, parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A page opens at the middle of the runs, or at the run nearest to it where the model has no prediction there."""
    domain, middle = surrogate.trusted_domain, np.array([one["start"] for one in parameters])
    if domain.impossible(middle):
        away = (domain.seen(domain.parameters) - domain.seen(middle)) / domain.width
        nearest = domain.parameters[np.linalg.norm(away, axis=1).argmin()]
        return [one | {"start": float(value)} for one, value in zip(parameters, nearest, strict=True)]
    return parameters


def _moving(parameter: Parameter, low: float, high: float) -> tuple[float, Callable[[float, float], float]]:
    """The middle of the range of the runs, and how a value moves by widths of it: a logarithmic parameter moves by factors."""
    if parameter.scale == "log":
        ratio = high / low if high > low else math.e
        return low * math.sqrt(high / low), lambda value, widths: value * ratio**widths
    width = high - low or abs(high) or 1.0
    return 0.5 * (low + high), lambda value, widths: value + widths * width


def slider_ranges(surrogate: Surrogate) -> Ranges:
    """How far the sliders go."""
    return [(one["least"], one["most"]) for one in _parameters(surrogate)]


def _positive(surrogate: Surrogate) -> set[str]:
    """Parameters that a model of similar flows takes the logarithm of, or divides by."""
    predictor = surrogate.predictor
    known = (
        predictor.layer.similarity if predictor.layer is not None else getattr(predictor.scaling, "similarity", None)
    )
    if known is None:
        return set()
    return {
        one
        for one in (*known.free_stream.columns.values(), known.length, known.wall_temperature)
        if isinstance(one, str)
    }


def _bands(surrogate: Surrogate) -> list[dict[str, Any]]:
    """The bars that can be shown: standard deviations, and intervals where they were calibrated."""
    if surrogate.calibration is None and not surrogate.predictor.fitted.has_samples:
        return []
    found: list[dict[str, Any]] = [{"name": "std", "label": "standard deviation", "short": "std", "factors": None}]
    if surrogate.calibration is not None:
        fitted = surrogate.calibration.fields
        kinds = (
            ("interval90", fitted.factors, "90 % of the points"),
            ("band90", fitted.band_factors, "90 %, all points at once"),
        )
        for name, table, label in kinds:
            if np.isfinite(table[LEVEL]).all():
                found.append({"name": name, "label": label, "short": label, "factors": list(table[LEVEL])})
    return found


def _lines(surrogate: Surrogate, packing: Packing) -> list[dict[str, Any]]:
    """Along the wall and along the stagnation line of a block around a body."""
    space = surrogate.space
    if not space.is_plane_block:
        return []
    shape = space.topology.shape
    assert shape is not None
    number = np.arange(space.n_points).reshape(shape)
    unit = f" ({surrogate.header.axis_unit})" if surrogate.header.axis_unit else ""
    found = []
    for name, label, points in (
        ("wall", "along the wall (first cells)", number[0]),
        ("stagnation", "along the stagnation line", number[:, 0]),
    ):
        if space.geometry is not None:
            places = space.geometry.points[points]
            arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))])
            packing.add(f"line.{name}.x", arc)
        packing.add(f"line.{name}.points", points.astype(np.int32))
        axis = ("distance along the wall" if name == "wall" else "distance from the wall") + unit
        x = None if space.geometry is None else f"line.{name}.x"  # of a mesh that moves the page knows it
        found.append({"name": name, "label": label, "axis": axis, "x": x, "points": f"line.{name}.points"})
    return found


def _quantities(surrogate: Surrogate, packing: Packing) -> dict[str, Any] | None:
    """What is read off the pressure of a perfect gas around a body."""
    observer, space = surrogate.observer, surrogate.space
    if observer is None or not reads_body(surrogate):
        return None
    shape, geometry = space.topology.shape, space.geometry
    assert shape is not None
    if geometry is not None:
        x, r = (geometry.grid(axis, shape) for axis in (0, 1))
        centers = np.stack([0.25 * (n[1:, 1:] + n[1:, :-1] + n[:-1, 1:] + n[:-1, :-1])[:, 0] for n in (x, r)], axis=1)
        packing.add("wall_nodes", np.column_stack([x[0], r[0]]).ravel())
        packing.add("axis_centers", centers.ravel())
    number = np.arange(space.n_points).reshape(shape)
    packing.add("quantity_points", np.concatenate([number[0], number[:, 0]]).astype(np.int32))
    return {
        **named_quantities(surrogate, QUANTITIES),
        "gas_constant": float(observer.gas.gas_constant),  # type: ignore[attr-defined]
        "variables": [surrogate.names.index("rho"), surrogate.names.index("T")],
        "moving": geometry is None,
        "shape": shape,
    }


def named_quantities(surrogate: Surrogate, quantities: Sequence[Quantity | DeclaredQuantity]) -> dict[str, list]:
    """What a page calls them, and whether each errs less as a number learned by itself than if it is read off the field."""
    return {
        "names": [quantity.name for quantity in quantities],
        "words": [words_of(quantity.name) for quantity in quantities],
        "units": [quantity.unit for quantity in quantities],
        "learned": [surrogate.better_way(quantity.name) == "gp" for quantity in quantities],
    }
