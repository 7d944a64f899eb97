"""The explorer of a model: one HTML file that needs no server, no network and nothing else."""

import base64
import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from jinja2 import Environment
from markupsafe import Markup
from matplotlib import colormaps

from sureflow.data.disk import explain_writing
from sureflow.data.labels import LONG_NAMES
from sureflow.errors import Exists, SureflowError
from sureflow.explore.answers import has_closed_form, program_of
from sureflow.explore.packing import Coded, Packing, coded
from sureflow.explore.program import Program
from sureflow.explore.surfaces import Cut, drawn, restricted
from sureflow.explore.tabulated import Ranges
from sureflow.files import write_atomically
from sureflow.surrogate.labelled import LEVEL, facts, worth
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.observe import QUANTITIES
from sureflow.uq.domain import MORE_NOVEL, OFF_PLANE, TrainingDomain

EXPLORER = "explorer.html"  # beside the report of a study
SCRIPTS = ("program.js", "view.js", "chart.js", "quantities.js", "verdict.js", "source.js", "app.js")
COLORS = ("viridis", "cividis", "magma", "inferno", "gray")  # lightness grows along all of them
RADIUS = "r"  # an axis of this name is the distance from an axis of symmetry
BEYOND = 0.25  # how far sliders go beyond the training runs, in widths of their range
DENSITY_UNIT = "kg/m3"
CHECKED, CHECKED_AT_ONCE = 20, 5  # conditions at which the page is compared with the model
TABLED = 0.8  # the share of the work that tabulating a model takes, about

Progress = Callable[[float, str], None]  # the share of the work that is done, and what comes next


def unfollowed(share: float, note: str) -> None:
    """Progress that nobody follows."""


def write_explorer(
    surrogate: Surrogate,
    path: Path,
    *,
    title: str = "",
    cut: Cut | None = None,
    overwrite: bool = False,
    progress: Progress = unfollowed,
) -> None:
    """Write the page of a model."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise SureflowError(f"{path} must end in .html: the explorer is a page")
    if path.exists() and not overwrite:
        raise Exists(f"{path} exists: choose another name, or allow it to be replaced")
    content = explorer(surrogate, title, cut=cut, progress=progress).encode()
    with explain_writing(path.parent):
        write_atomically(path, content)


def explorer(surrogate: Surrogate, title: str = "", *, cut: Cut | None = None, progress: Progress = unfollowed) -> str:
    """The page of a model, which evaluates it in the browser."""
    packing = Packing()
    header = described(surrogate, packing, cut)
    ranges = [(one["least"], one["most"]) for one in header["parameters"]]
    closed = has_closed_form(surrogate)
    if not closed:
        for one in header["parameters"]:  # a table ends where it ends
            one |= {"lowest": one["least"], "farthest": one["most"]}
    tabled = 0.0 if closed else TABLED
    program = program_of(surrogate, ranges, lambda share: progress(tabled * share, "tabulating"))

    def rest(share: float, note: str) -> None:
        progress(tabled + (1 - tabled) * share, note)

    rows: dict[str, Coded] = {}
    for name, one in program.rows.items():
        rest(0.3 * len(rows) / len(program.rows), "packing the fields")
        rows[name] = coded(one, program.kinds[name])
    read = program.reading({name: one.values() for name, one in rows.items()})
    check = checked(surrogate, read, ranges, lambda share: rest(0.3 + 0.4 * share, "comparing with the model"))
    if header["used"] is not None:
        used = packing.content["used"]
        whole = [name for name, one in program.rows.items() if one.shape[2] == surrogate.space.n_points]
        rows |= {name: rows[name]._replace(levels=rows[name].levels[:, :, used]) for name in whole}
    header |= {"program": packed(program, rows, packing), "check": check, "service": None}
    rest(0.7, "compressing")
    return rendered(header, packing, title or default_title(surrogate))


def served_explorer(surrogate: Surrogate, name: str, url: str) -> str:
    """The page of a model that a service at this address evaluates."""
    packing = Packing()
    service = {"model": name, "url": url}
    header = {**described(surrogate, packing, None), "program": None, "check": "", "service": service}
    return rendered(header, packing, f"{name}: {default_title(surrogate)}")


def default_title(surrogate: Surrogate) -> str:
    return f"A model of {len(surrogate.domain.parameters)} runs ({surrogate.model_name})"


def checked(surrogate: Surrogate, program: Program, ranges: Ranges, progress: Callable[[float], None]) -> str:
    """What the page loses, measured at conditions drawn at random."""
    low, high = np.array(ranges).T
    low, high = np.maximum(low, surrogate.domain.lower), np.minimum(high, surrogate.domain.upper)
    conditions = np.random.default_rng(0).uniform(low, high, (CHECKED, len(low)))
    mean_off = bars_off = 0.0
    for first in range(0, CHECKED, CHECKED_AT_ONCE):
        progress(first / CHECKED)
        some = conditions[first : first + CHECKED_AT_ONCE]
        found, wanted = program.run(some), surrogate.answer(some).predictive
        mean = np.asarray(wanted.mean)
        mean_off = max(mean_off, _most(np.abs(found["mean"] - mean), np.ptp(mean, axis=2)))
        if wanted.std is not None and "std" in found:
            std = np.asarray(wanted.std)
            bars_off = max(bars_off, _most(np.abs(found["std"] - std), std.max(axis=2)))
    words = (
        f"At {CHECKED} conditions, predictions of this page differ from those of the model by at most {100 * mean_off:.2g} % of "
        "the range of a field"
    )
    return f"{words}{f', and bars by at most {100 * bars_off:.2g} % of the largest one' if bars_off else ''}."


def _most(off: Float[np.ndarray, "case variable point"], size: Float[np.ndarray, "case variable"]) -> float:
    return float((off.max(axis=2) / np.maximum(size, np.finfo(float).tiny)).max())


def rendered(header: dict[str, Any], packing: Packing, title: str) -> str:
    """The page with everything in it."""
    assets = resources.files("sureflow.explore") / "assets"
    texts = {name: (assets / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", *SCRIPTS)}
    header = {**header, "arrays": packing.arrays, "rows": packing.rows}
    return (
        Environment(autoescape=True)
        .from_string(texts["page.html"])
        .render(
            title=title,
            style=Markup(texts["style.css"]),
            script=Markup("\n".join(texts[name] for name in SCRIPTS)),
            # Inside of a script only its end could be misread.
            header=Markup(json.dumps(header, allow_nan=False).replace("<", "\\u003c")),
            payload=Markup(packing.text()),
        )
    )


def packed(program: Program, rows: dict[str, Coded], packing: Packing) -> dict[str, Any]:
    """A program for the header of the page, with its arrays in the packing."""
    for name, array in program.arrays.items():
        packing.add(name, array)
    for name, one in rows.items():
        packing.add_rows(name, one)
    steps = [
        {"op": step.op, "inputs": step.inputs, "arrays": dict(step.arrays), "settings": dict(step.settings)}
        for step in program.steps
    ]
    return {"steps": steps, "outputs": program.outputs}


def described(surrogate: Surrogate, packing: Packing, cut: Cut | None) -> dict[str, Any]:
    """Everything about a model but its program."""
    space, header, domain = surrogate.space, surrogate.header, surrogate.domain
    location = space.location if space.topology.kind != "points" else "points"
    middle = space.at(0.5 * (domain.lower + domain.upper))
    surface = drawn(space, middle, cut)
    used = None
    if len(space.axes) == 3:
        used, surface = restricted(surface, location)
        packing.add("used", used.astype(np.int32))
    packing.add("triangles", surface.triangles.ravel().astype(np.int32))
    for name in ("owners", "first", "second"):
        packing.add(name, getattr(surface, name).astype(np.int32))
    packing.add("share", surface.share)
    packing.add("runs", domain.parameters)
    places = None
    if space.moving is None or cut is not None:
        places = middle.points if middle.nodes is None else middle.nodes
        packing.add("places", surface.at(places).ravel())
    palette = np.stack([np.rint(255 * colormaps[name](np.arange(256))[:, :3]) for name in COLORS]).astype(np.uint8)
    return {
        "subtitle": f"{worth(surrogate)[:1].upper()}{worth(surrogate)[1:]}.",
        "facts": facts(surrogate),
        "parameters": _parameters(surrogate),
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
        "width": domain.width.tolist(),
        "limits": limits,
        "reach": domain.reach,
        "usual": float(domain.usual) if np.isfinite(domain.usual) else None,
        "more_novel": MORE_NOVEL,
        "missing": domain.missing.tolist(),
        "middle": domain.parameters.mean(axis=0).tolist(),
        "off_plane": OFF_PLANE,
        "conditions": domain.parameters.tolist(),
    }


def _parameters(surrogate: Surrogate) -> list[dict[str, Any]]:
    """Names, units and ranges: of the runs, of the sliders, and beyond which nothing is computed."""
    domain, limits = surrogate.domain, surrogate.header.limits
    found = []
    for column, parameter in enumerate(surrogate.header.parameters):
        low, high = float(domain.lower[column]), float(domain.upper[column])
        floor, ceiling = limits.get(parameter.name, (-np.inf, np.inf))
        floor, ceiling = max(floor, low / 100 if parameter.scale == "log" else -np.inf), ceiling
        width = high - low or abs(high) or 1.0
        least, most = max(floor, low - BEYOND * width), min(ceiling, high + BEYOND * width)
        found.append(
            {"name": parameter.name, "unit": parameter.unit, "low": low, "high": high, "least": least, "most": most}
            | {"lowest": max(floor, low - 2 * width), "farthest": min(ceiling, high + 2 * width)}
            | {"start": 0.5 * (low + high)}
        )
    return found


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
    if not space.is_plane_block or space.geometry is None:
        return []
    shape = space.topology.shape
    assert shape is not None
    number = np.arange(space.n_points).reshape(shape)
    unit = f" ({surrogate.header.axis_unit})" if surrogate.header.axis_unit else ""
    found = []
    for name, label, points in (
        ("wall", "along the wall", number[0]),
        ("stagnation", "along the stagnation line", number[:, 0]),
    ):
        places = space.geometry.points[points]
        arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))])
        packing.add(f"line.{name}.x", arc)
        packing.add(f"line.{name}.points", points.astype(np.int32))
        axis = ("distance along the wall" if name == "wall" else "distance from the wall") + unit
        found.append(
            {"name": name, "label": label, "axis": axis, "x": f"line.{name}.x", "points": f"line.{name}.points"}
        )
    return found


def _quantities(surrogate: Surrogate, packing: Packing) -> dict[str, Any] | None:
    """What is read off the pressure of a perfect gas around a body, on a mesh that all runs share."""
    observer, space = surrogate.observer, surrogate.space
    if observer is None or observer.gas is None or observer.gas.model != "perfect" or space.geometry is None:
        return None
    shape, geometry = space.topology.shape, space.geometry
    assert shape is not None
    x, r = (geometry.grid(axis, shape) for axis in (0, 1))
    centers = np.stack([0.25 * (n[1:, 1:] + n[1:, :-1] + n[:-1, 1:] + n[:-1, :-1])[:, 0] for n in (x, r)], axis=1)
    packing.add("wall_nodes", np.column_stack([x[0], r[0]]).ravel())
    packing.add("axis_centers", centers.ravel())
    number = np.arange(space.n_points).reshape(shape)
    packing.add("quantity_points", np.concatenate([number[0], number[:, 0]]).astype(np.int32))
    return {
        "names": [quantity.name for quantity in QUANTITIES],
        "units": [quantity.unit for quantity in QUANTITIES],
        "gas_constant": float(observer.gas.gas_constant),  # type: ignore[attr-defined]
        "variables": [surrogate.names.index("rho"), surrogate.names.index("T")],
    }
