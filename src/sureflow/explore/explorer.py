"""The explorer of a model: one HTML file that needs no server, no network and nothing else."""

import base64
import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from jinja2 import Environment
from markupsafe import Markup
from matplotlib import colormaps

from sureflow.data.disk import explain_writing
from sureflow.data.labels import LONG_NAMES
from sureflow.errors import Exists, SureflowError
from sureflow.explore.answers import has_closed_form, program_of, reads_body
from sureflow.explore.packing import Coded, Packing
from sureflow.explore.program import Program
from sureflow.explore.surfaces import Cut, drawn, restricted
from sureflow.explore.tabulated import Ranges
from sureflow.files import write_atomically
from sureflow.surrogate.labelled import LEVEL, facts, worth
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.observe import QUANTITIES
from sureflow.uq.domain import MORE_NOVEL, OFF_PLANE, TrainingDomain

EXPLORER = "explorer.html"  # beside the report of a study
SCRIPTS = ("program.js", "frames.js", "view.js", "chart.js", "quantities.js", "verdict.js", "source.js", "app.js")
COLORS = ("viridis", "cividis", "magma", "inferno", "gray")  # lightness grows along all of them
RADIUS = "r"  # an axis of this name is the distance from an axis of symmetry
BEYOND = 0.25  # how far sliders go beyond the training runs, in widths of their range
LEAST = 0.5  # what is positive by nature is at least this share of its least value in the runs
DENSITY_UNIT = "kg/m3"
# Bits of rows to try, the share of the range that may be lost, and the share of a loss that more bits must leave at most.
MORE_BITS, ENOUGH, WORTH = (-1.5, 0, 0.5, 0.75, 1, 2, 4), 5e-5, 0.95
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
    scene, model = Packing(), Packing()
    header = described(surrogate, scene, cut)
    if surrogate.mesh_error:
        header["subtitle"] += " The error of the mesh is not in the bars of this page; it is in those of predictions."
    ranges = [(one["least"], one["most"]) for one in header["parameters"]]
    closed = has_closed_form(surrogate)
    if not closed:
        for one in header["parameters"]:  # a table ends where it ends
            one |= {"lowest": one["least"], "farthest": one["most"]}
    tabled = 0.0 if closed else TABLED
    program = program_of(surrogate, ranges, lambda share: progress(tabled * share, "tabulating"))

    def rest(share: float, note: str) -> None:
        progress(tabled + (1 - tabled) * share, note)

    rows, read, check = kept_rows(surrogate, program, ranges, rest)
    used = None
    if header["used"] is not None:
        used = scene.content["used"]
        whole = [name for name, one in program.rows.items() if one.shape[2] == surrogate.space.n_points]
        rows |= {name: rows[name]._replace(levels=rows[name].levels[:, :, used], stride=1) for name in whole}
    add_start(header, scene, read, used)
    header |= {"program": packed(program, rows, model), "check": check, "service": None}
    rest(0.7, "compressing")
    return rendered(header, scene, model, title or default_title(surrogate))


def served_explorer(surrogate: Surrogate, name: str, url: str) -> str:
    """The page of a model that a service at this address evaluates."""
    scene = Packing()
    service = {"model": name, "url": url}
    header = {**described(surrogate, scene, None), "program": None, "check": "", "service": service}
    return rendered(header, scene, Packing(), f"{name}: {default_title(surrogate)}")


def add_start(header: dict[str, Any], scene: Packing, program: Program, used: np.ndarray | None) -> None:
    """What the page computes at the condition that it opens with, so that it can show it before it has read the model."""
    found = program.run(np.array([[one["start"] for one in header["parameters"]]]))
    for name, values in found.items():
        shown = values[0] if values.ndim == 2 or used is None or name == "places" else values[0][:, used]
        scene.add(f"start.{name}", shown.astype(np.float32) if values.ndim == 3 and name != "places" else shown)
    header["start"] = list(found)


def default_title(surrogate: Surrogate) -> str:
    return f"A model of {len(surrogate.domain.parameters)} runs ({surrogate.model_name})"


def kept_rows(
    surrogate: Surrogate, program: Program, ranges: Ranges, progress: Progress
) -> tuple[dict[str, Coded], Program, str]:
    """The rows of a program as a page keeps them, the program that reads them, and what is lost, in words.

    Far from the runs their weights are large, and so is what rounding loses: then they are kept in more bits.
    """
    rows: dict[str, Coded] = {}
    read, off = program, Loss(np.inf, np.inf)
    for more_bits in MORE_BITS if has_closed_form(surrogate) else (0,):
        progress(0.0, "packing the fields")
        finer = program.coded(more_bits)
        reading = program.reading(finer)
        left = loss(surrogate, reading, ranges, lambda share: progress(0.3 + 0.4 * share, "comparing with the model"))
        if left.mean > WORTH * off.mean:  # what is left is not the rounding of rows
            break
        rows, read, off = finer, reading, left
        if off.mean <= ENOUGH:
            break
    words = (
        f"At {CHECKED} conditions, predictions of this page differ from those of the model by at most {100 * off.mean:.2g} % of "
        "the range of a field"
    )
    return (
        rows,
        read,
        f"{words}{f', and bars by at most {100 * off.bars:.2g} % of the largest one' if off.bars else ''}.",
    )


class Loss(NamedTuple):
    """The largest differences between page and model: of means over the range of a field, of bars over the largest one."""

    mean: float
    bars: float


def loss(surrogate: Surrogate, program: Program, ranges: Ranges, progress: Callable[[float], None]) -> Loss:
    """Measured at conditions drawn at random: half of them between the runs, the others as far out as the sliders go."""
    low, high = np.array(ranges).T
    inner = np.maximum(low, surrogate.domain.lower), np.minimum(high, surrogate.domain.upper)
    rng, half = np.random.default_rng(0), (CHECKED // 2, len(low))
    conditions = np.concatenate([rng.uniform(*inner, half), rng.uniform(low, high, half)])
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
    return Loss(mean_off, bars_off)


def _most(off: Float[np.ndarray, "case variable point"], size: Float[np.ndarray, "case variable"]) -> float:
    return float((off.max(axis=2) / np.maximum(size, np.finfo(float).tiny)).max())


def rendered(header: dict[str, Any], scene: Packing, model: Packing, title: str) -> str:
    """The page with everything in it.

    The scene, which is all that the first picture needs, comes before the script, the model after it: a browser need not have
    read it to show the first picture.
    """
    assets = resources.files("sureflow.explore") / "assets"
    texts = {name: (assets / name).read_text(encoding="utf-8") for name in ("page.html", "style.css", *SCRIPTS)}
    header = {**header, "scene": scene.description, "model": model.description}
    return (
        Environment(autoescape=True)
        .from_string(texts["page.html"])
        .render(
            title=title,
            style=Markup(texts["style.css"]),
            script=Markup("\n".join(texts[name] for name in SCRIPTS)),
            # Inside of a script only its end could be misread.
            header=Markup(json.dumps(header, allow_nan=False).replace("<", "\\u003c")),
            scene=Markup(scene.text()),
            model=Markup(model.text()),
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
    packing.add("share", surface.share.astype(np.float32))
    packing.add("runs", domain.parameters)
    places = None
    if space.moving is None or cut is not None:
        places = middle.points if middle.nodes is None else middle.nodes
        packing.add("places", surface.at(places).ravel().astype(np.float32))
    palette = np.stack([np.rint(255 * colormaps[name](np.arange(256))[:, :3]) for name in COLORS]).astype(np.uint8)
    return {
        "subtitle": _subtitle(surrogate),
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
        "middle": domain.parameters.mean(axis=0).tolist(),
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
        if parameter.scale == "log" or parameter.name in positive:
            floor = max(floor, LEAST * low)
        width = high - low or abs(high) or 1.0
        least, most = max(floor, low - BEYOND * width), min(ceiling, high + BEYOND * width)
        found.append(
            {"name": parameter.name, "unit": parameter.unit, "low": low, "high": high, "least": least, "most": most}
            | {"lowest": max(floor, low - 2 * width), "farthest": min(ceiling, high + 2 * width)}
            | {"start": 0.5 * (low + high)}
        )
    return found


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
        ("wall", "along the wall", number[0]),
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
        "names": [quantity.name for quantity in QUANTITIES],
        "units": [quantity.unit for quantity in QUANTITIES],
        "gas_constant": float(observer.gas.gas_constant),  # type: ignore[attr-defined]
        "variables": [surrogate.names.index("rho"), surrogate.names.index("T")],
        "moving": geometry is None,
        "shape": shape,
    }
