"""The explorer of a model: one HTML file that needs no server, no network and nothing else."""

import json
import os
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from jinja2 import Environment
from markupsafe import Markup

from sureflow.data.disk import explain_writing
from sureflow.errors import Exists, SureflowError
from sureflow.explore.answers import has_closed_form, program_of
from sureflow.explore.description import described, slider_ranges
from sureflow.explore.packing import Coded, Packing
from sureflow.explore.program import Program
from sureflow.explore.surfaces import Cut
from sureflow.explore.tabulated import Ranges
from sureflow.files import write_atomically
from sureflow.predictive import Predictive
from sureflow.surrogate.model import Surrogate

EXPLORER = "explorer.html"  # beside the report of a study
SCRIPTS = ("program.js", "frames.js", "view.js", "chart.js", "quantities.js", "verdict.js", "source.js", "app.js")
# The share of the range that may be lost. Bits of rows to begin with, how often others are tried, how many more of them than
# needed, and the share of a loss that more of them must leave at most.
ENOUGH = 5e-5
MORE_BITS, TRIES, MARGIN, WORTH = -3.0, 5, 0.1, 0.95
CHECKED, CHECKED_AT_ONCE = 20, 5  # conditions at which the page is compared with the model
WEIGHED = 8  # conditions for every run, which tell how large weights are
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
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):  # before anything is computed
        raise SureflowError(f"{path} cannot be made in {path.parent}: choose a folder that is there and can be written")
    content = explorer(surrogate, title, cut=cut, progress=progress).encode()
    with explain_writing(path.parent):
        write_atomically(path, content)


def explorer(surrogate: Surrogate, title: str = "", *, cut: Cut | None = None, progress: Progress = unfollowed) -> str:
    """The page of a model, which evaluates it in the browser."""
    scene, model = Packing(), Packing()
    header = described(surrogate, scene, cut)
    if surrogate.mesh_error:
        header["subtitle"] += " The error of the mesh is not in the bars of this page; it is in those of predictions."
    ranges = slider_ranges(surrogate)
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
    """The rows of a program as a page keeps them, the program that reads them, and what is lost, in words."""
    closed = has_closed_form(surrogate)
    weights = program.weights(checked_conditions(surrogate, ranges, WEIGHED * len(surrogate.domain.parameters)))
    conditions, rows = checked_conditions(surrogate, ranges, CHECKED), {}
    progress(0.1, "comparing with the model")
    wanted = [surrogate.answer(some).predictive for some in np.split(conditions, CHECKED // CHECKED_AT_ONCE)]
    read, off = program, Loss(np.inf, np.inf)
    more_bits = MORE_BITS if closed else 0.0
    for tried in range(TRIES if closed else 1):
        progress(0.2 + 0.5 * tried / TRIES, "packing the fields")
        finer = program.coded(more_bits, weights if closed else None)
        reading = program.reading(finer)
        left = loss(reading, conditions, wanted)
        if tried > 1 and left.mean > WORTH * off.mean:  # what is left is not the rounding of rows
            break
        rows, read, off = finer, reading, left
        if tried and off.mean <= ENOUGH:
            break
        # A bit halves what rounding loses; the first try tells how many are needed, more or less.
        more_bits += np.log2(off.mean / ENOUGH) + MARGIN
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


def loss(program: Program, conditions: Float[np.ndarray, "case parameter"], wanted: Sequence[Predictive]) -> Loss:
    """Measured at conditions, a few at a time."""
    mean_off = bars_off = 0.0
    for some, predictive in zip(np.split(conditions, len(wanted)), wanted, strict=True):
        found, mean = program.run(some), np.asarray(predictive.mean)
        mean_off = max(mean_off, _most(np.abs(found["mean"] - mean), np.ptp(mean, axis=2)))
        if predictive.std is not None and "std" in found:
            std = np.asarray(predictive.std)
            bars_off = max(bars_off, _most(np.abs(found["std"] - std), std.max(axis=2)))
    return Loss(mean_off, bars_off)


def checked_conditions(surrogate: Surrogate, ranges: Ranges, count: int) -> Float[np.ndarray, "case parameter"]:
    """Drawn at random: half of them between the runs, the others as far out as the sliders go."""
    low, high = np.array(ranges).T
    inner = np.maximum(low, surrogate.domain.lower), np.minimum(high, surrogate.domain.upper)
    rng, half = np.random.default_rng(0), (count // 2, len(low))
    return np.concatenate([rng.uniform(*inner, half), rng.uniform(low, high, half)])


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
