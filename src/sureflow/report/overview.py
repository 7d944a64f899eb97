"""What is in a store of runs, as plain values, as text and as a picture."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from sureflow.data.layout import COARSER
from sureflow.data.reader import StoreReader
from sureflow.data.schema import Status
from sureflow.data.store import open_store
from sureflow.physics.validity import LIMITS
from sureflow.report.figures import draw_campaign, parameter_label
from sureflow.wording import with_unit

STEPS = "steps"  # the number of a run that tells how long it took


def jsonable(value: Any) -> Any:
    """The same value with null for numbers that JSON cannot hold."""
    if isinstance(value, Mapping):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def overview(store: StoreReader) -> dict[str, Any]:
    """Parameters, fields, mesh, convergence, numbers, how the runs were made, validity and checksum. Reads all runs once."""
    header, status = store.header, store.status()
    attributes = store.attributes
    return jsonable(
        {
            "path": str(store.path),
            "schema": f"{attributes['schema']} {attributes['schema_version']}",
            "runs": len(store),
            "parameters": _parameters(store),
            "fields": {field.name: field.unit for field in header.fields},
            "precision": str(store.dtype),
            "mesh": _mesh(store),
            "stream": None if header.stream is None else header.stream.kind,
            "status": {kind.name.lower(): int((status == kind).sum()) for kind in Status},
            "not_converged": _not_converged(store),
            "interrupted": store.interrupted(),
            "numbers": _ranges(store),
            "made_by": header.made_by,
            "validity": _validity(store),
            "versions": store.versions,
            "checksum": f"sha256:{store.checksum()}",
            "coarser": _coarser(store),
        }
    )


def _coarser(store: StoreReader) -> list[dict[str, Any]]:
    """Cells and converged runs of the coarser levels in the store."""
    path = store.path / COARSER
    if not path.exists():
        return []
    there = open_store(path)
    converged = int((there.status() == Status.CONVERGED).sum())
    return [{"cells": _mesh(there)["cells"], "runs": len(there), "converged": converged}, *_coarser(there)]


def _parameters(store: StoreReader) -> dict[str, dict[str, Any]]:
    """Unit, scale, range of the runs and declared range of everything that varies."""
    found = {}
    for parameter, column in zip(store.header.parameters, store.parameters().T, strict=True):
        reach = {"lowest": float(column.min()), "highest": float(column.max())} if column.size else {}
        declared = {name: getattr(parameter, name) for name in ("low", "high") if getattr(parameter, name) is not None}
        values = {"unit": parameter.unit, "scale": parameter.scale, **reach, "values": len(np.unique(column))}
        found[parameter.name] = values | ({"declared": declared} if declared else {})
    return found


def _mesh(store: StoreReader) -> dict[str, Any]:
    """Kind and size; cells of a structured block by direction, the slowest index first."""
    header, topology = store.header, store.topology
    for case in np.flatnonzero(store.status())[:: 1 if store.is_moving else len(store)] if len(store) else ():
        store.geometry(int(case))  # which may be damaged
    facts: dict[str, Any] = {"kind": topology.kind, "axes": list(header.axes), "location": header.location}
    if topology.shape is not None:
        facts["cells"] = list(topology.shape)
    elif topology.cells is not None:
        facts["cells"] = len(topology.cells.types)
    return facts | {"points": store.n_points, "moves": store.is_moving}


def _not_converged(store: StoreReader) -> list[dict[str, Any]]:
    names = store.header.parameter_names
    return [
        {**dict(zip(names, condition, strict=True)), "status": Status(int(kind)).words}
        for condition, kind in zip(store.parameters().tolist(), store.status(), strict=True)
        if kind in (Status.STALLED, Status.FAILED)
    ]


def _numbers(store: StoreReader) -> dict[str, Float[np.ndarray, " case"]]:
    names = [number.name for number in store.header.numbers]
    return dict(zip(names, store.numbers().T, strict=True)) if names else {}


def _ranges(store: StoreReader) -> dict[str, dict[str, Any]]:
    """Unit, lowest and highest of every number that is kept, over the finished runs."""
    units = {number.name: number.unit for number in store.header.numbers}
    found = {}
    for name, values in _numbers(store).items():
        values = values[np.isfinite(values)]
        if values.size:
            found[name] = {"unit": units[name], "lowest": float(values.min()), "highest": float(values.max())}
    return found


def _validity(store: StoreReader) -> dict[str, dict[str, Any]]:
    """How many finished runs of our solver lie outside its model, and in what way."""
    numbers, done = _numbers(store), store.status() > 0
    viscous = (store.header.made_by.get("wall") or {}).get("kind") != "slip"
    found = {}
    for name, limit in LIMITS.items():
        if name in numbers and done.any() and (viscous or not limit.viscous):
            values = numbers[name][done]
            found[name] = {
                "limit": limit.limit,
                **({"lowest": float(np.nanmin(values))} if limit.lower else {"highest": float(np.nanmax(values))}),
                "outside": int(limit.outside(values).sum()),
                "meaning": limit.meaning,
            }
    return found


def overview_text(facts: Mapping[str, Any]) -> dict[str, str]:
    """The main facts of an overview, each in a line."""
    mesh, status = facts["mesh"], facts["status"]
    rows = {
        "runs": ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in status.items() if count),
        "parameters": "; ".join(f"{name} {_span(values)}" for name, values in facts["parameters"].items()),
        "fields": ", ".join(with_unit(name, unit) for name, unit in facts["fields"].items()),
        "mesh": _mesh_text(mesh),
        "numbers": ", ".join(with_unit(name, values["unit"]) for name, values in facts["numbers"].items()),
        **{"fitted to" if name == "mesh" else name: _words(value) for name, value in facts["made_by"].items()},
        "versions": _words(facts["versions"]),
        "checksum": facts["checksum"],
        "coarser": "; ".join(
            f"{one['converged']} converged on {_times(one['cells'])} cells" for one in facts["coarser"]
        ),
    }
    return {name: text for name, text in rows.items() if text}


def _times(cells: list[int]) -> str:
    return " x ".join(map(str, cells))


def remarks(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Runs that did not converge or that lie outside the model of our solver: what it is, and a sentence about it."""
    found = []
    for run in facts["not_converged"]:
        condition = ", ".join(f"{name}={value:g}" for name, value in run.items() if name != "status")
        found.append((run["status"], condition))
    for case in facts["interrupted"]:
        found.append(
            ("interrupted", f"case {case} has fields but no status: compute it again, or restore it from a copy")
        )
    for name, limit in facts["validity"].items():
        if limit["outside"]:
            lower, unit = "lowest" in limit, _after(facts["numbers"].get(name, {}).get("unit", ""))
            reach = f"{'down' if lower else 'up'} to {limit['lowest' if lower else 'highest']:.3g}{unit}"
            quantity = LIMITS[name].quantity.partition("{")[0].strip() or name.replace("_", " ")
            runs = f"{limit['outside']} runs with {quantity} {'under' if lower else 'over'} {limit['limit']:g}{unit}"
            found.append(("outside the model", f"{runs} ({reach}): {limit['meaning']}"))
    return found


def _after(unit: str) -> str:
    """' K', which follows a value, and nothing where there is no unit."""
    return f" {unit}" if unit not in ("", "1") else ""


def _span(values: Mapping[str, Any]) -> str:
    """'10..30 km (21 values)'."""
    unit = _after(values["unit"])
    if values["values"] <= 1:
        return f"{values['lowest']:g}{unit}" if "lowest" in values else "without values"
    logarithmic = ", logarithmic" if values["scale"] == "log" else ""
    return f"{values['lowest']:g}..{values['highest']:g}{unit} ({values['values']} values{logarithmic})"


def _mesh_text(mesh: Mapping[str, Any]) -> str:
    """'structured, 64 x 64 cells, 4,096 values in x, r'."""
    cells = mesh.get("cells")
    size = (
        "" if cells is None else f", {' x '.join(map(str, cells)) if isinstance(cells, list) else f'{cells:,}'} cells"
    )
    kind = "points without a mesh" if mesh["kind"] == "points" else mesh["kind"]
    values = f"{mesh['points']:,} values on {mesh['location']} in {', '.join(mesh['axes'])}"
    return f"{kind}{size}, {values}" + (", which move from run to run" if mesh["moves"] else "")


def _words(value: Any) -> str:
    """'kind isothermal, temperature 1500'; groups of settings are set apart by semicolons."""
    if isinstance(value, list | tuple):
        return " ".join(map(_words, value))
    if not isinstance(value, Mapping):
        return f"{value:g}" if isinstance(value, float) else str(value)
    groups = [_words(entry) for entry in value.values() if isinstance(entry, Mapping)]
    plain = ", ".join(_setting(name.replace("_", " "), entry) for name, entry in value.items() if _is_plain(entry))
    return "; ".join(part for part in (*groups, plain) if part)


def _is_plain(entry: Any) -> bool:
    return entry is not None and not isinstance(entry, Mapping)


def _setting(name: str, entry: Any) -> str:
    if isinstance(entry, bool):
        return name if entry else f"not {name}"
    return f"{name} {_words(entry)}"


def overview_figure(store: StoreReader) -> Figure:
    """How the runs ended over their parameters, and in how many steps where that is known."""
    labels = [parameter_label(parameter.name, parameter.unit) for parameter in store.header.parameters]
    steps = _numbers(store).get(STEPS)
    return draw_campaign(store.parameters(), store.status(), steps, labels=labels, title=store.path.name)
