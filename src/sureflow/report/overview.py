"""What is in a store of runs, as plain values."""

from typing import Any

import numpy as np

from sureflow.data.schema import PARAMETERS, Status
from sureflow.data.store import RunStore
from sureflow.physics.validity import LIMITS
from sureflow.report.figures import draw_campaign


def overview(store: RunStore) -> dict[str, Any]:
    """Grid, conditions, convergence, gas, wall, validity, versions and checksum. Reads everything once."""
    attributes, conditions, status = store.attributes, store.conditions(), store.status()
    nj, ni = store.shape
    return {
        "path": str(store.path),
        "schema": f"{attributes['schema']} {attributes['schema_version']}",
        "grid": {"cells": [ni, nj], "points": ni * nj, **(attributes["mesh"].get("settings") or {})},
        "body": attributes["mesh"].get("body"),
        "conditions": {
            "count": len(conditions),
            **{
                name: {"lowest": column.min(), "highest": column.max(), "values": len(np.unique(column))}
                for name, column in zip(PARAMETERS, conditions.T, strict=True)
            },
        },
        "status": {kind.name.lower(): int((status == kind).sum()) for kind in Status},
        "not_converged": [
            {"mach": mach, "altitude_km": altitude, "status": Status(int(kind)).name.lower()}
            for (mach, altitude), kind in zip(conditions.tolist(), status, strict=True)
            if kind in (Status.STALLED, Status.FAILED)
        ],
        "gas": attributes["gas"],
        "wall": attributes["wall"],
        "scheme": attributes["scheme"],
        "validity": validity_of(store),
        "record": ranges(store),
        "versions": attributes["versions"],
        "checksum": f"sha256:{store.checksum()}",
    }


def ranges(store: RunStore) -> dict[str, dict[str, float]]:
    """Lowest and highest of every number of the record, over the finished runs."""
    found = {}
    for name, values in store.records().items():
        values = values[np.isfinite(values)]
        if values.size:
            found[name] = {"lowest": float(values.min()), "highest": float(values.max())}
    return found


def validity_of(store: RunStore) -> dict[str, dict[str, Any]]:
    """How many finished runs lie outside the model, and in what way."""
    records, done = store.records(), store.status() > 0
    viscous = store.attributes["wall"]["kind"] != "slip"
    found = {}
    for name, limit in LIMITS.items():
        if name in records and done.any() and (viscous or not limit.viscous):
            values = records[name][done]
            found[name] = {
                "limit": limit.limit,
                **({"lowest": float(np.nanmin(values))} if limit.lower else {"highest": float(np.nanmax(values))}),
                "outside": int(limit.outside(values).sum()),
                "meaning": limit.meaning,
            }
    return found


def overview_figure(store: RunStore):
    """How the runs ended over the Mach-altitude plane."""
    return draw_campaign(store.conditions(), store.status(), store.records()["steps"], title=store.path.name)
