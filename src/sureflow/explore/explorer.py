"""The explorer of a model: one HTML file that needs no server, no network and nothing else."""

import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from sureflow.data.disk import explain_writing
from sureflow.errors import Exists, SureflowError
from sureflow.explore.agreement import Progress, kept_rows, unfollowed
from sureflow.explore.answers import has_closed_form, program_of
from sureflow.explore.description import described, named_quantities, slider_ranges
from sureflow.explore.packing import Coded, Packing
from sureflow.explore.program import Program
from sureflow.explore.restriction import restricted_program
from sureflow.explore.surfaces import Cut
from sureflow.files import write_atomically
from sureflow.surrogate.model import Surrogate

EXPLORER = "explorer.html"  # beside the report of a study
SCRIPTS = (
    "program.js",
    "frames.js",
    "view.js",
    "chart.js",
    "quantities.js",
    "verdict.js",
    "source.js",
    "page.js",
    "scales.js",
    "state.js",
    "shown.js",
    "controls.js",
    "map_values.js",
    "map.js",
    "layout.js",
    "overlay.js",
    "stage.js",
    "gestures.js",
    "words.js",
    "line.js",
    "files.js",
    "app.js",
)
TABLED = 0.8  # the share of the work that tabulating a model takes, about


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

    used = None
    if header["used"] is not None:
        used = scene.content["used"]
        program = restricted_program(program, used, surrogate.space.n_points, header["location"])
    rows, read, check = kept_rows(surrogate, program, used, ranges, rest)
    add_start(header, scene, read)
    header |= {"program": packed(program, rows, model), "check": check, "service": None}
    rest(0.7, "compressing")
    return rendered(header, scene, model, title or default_title(surrogate))


def served_explorer(surrogate: Surrogate, name: str, url: str) -> str:
    """The page of a model that a service at this address evaluates."""
    scene = Packing()
    service = {"model": name, "url": url}
    header = {**described(surrogate, scene, None), "program": None, "check": "", "service": service}
    if surrogate.observer is not None:  # of which a service tells all
        header["quantities"] = named_quantities(surrogate, surrogate.observer.quantities)
    return rendered(header, scene, Packing(), f"{name}: {default_title(surrogate)}")


def add_start(header: dict[str, Any], scene: Packing, program: Program) -> None:
    """What the page computes at the condition that it opens with, so that it can show it before it has read the model."""
    found = program.run(np.array([[one["start"] for one in header["parameters"]]]))
    for name, values in found.items():
        digits = np.float32 if values.ndim == 3 and name != "places" else np.float64
        scene.add(f"start.{name}", values[0].astype(digits))
    header["start"] = list(found)


def default_title(surrogate: Surrogate) -> str:
    return f"A model of {len(surrogate.domain.parameters)} runs ({surrogate.model_name})"


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
