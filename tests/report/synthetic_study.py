"""A study whose numbers are made up: plausible, marked as synthetic, and equal in every call."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from sureflow.evaluate.results import Results
from sureflow.report.findings import Findings
from sureflow.reproduction.leon2023 import printed

NAMES = ("u1", "u2", "rho", "T")
OUTER = ("high_mach", "high_altitude", "low_mach", "low_altitude")
DOMAINS = ("in_domain", *OUTER)
REGIONS = {"all": 1.0, "disturbed": 1.6, "freestream": 0.2, "shock": 4.0, "shock_layer": 1.0, "wall_layer": 2.0}
# How far a region's error lies from the mean, and the kinds' errors and miscalibration from the ensemble's.
KINDS = {
    "deterministic": ("deterministic", 1.6, None),
    "mve": ("mve", 2.4, 0.42),
    "evidential": ("evidential", 3.2, 0.28),
    "evidential-epistemic": ("evidential-epistemic", 3.2, 0.35),
    "ensemble": ("ensemble", 1.0, 0.09),
}
OTHERS = {"interpolation": ("loo", 0.05, 0.1), "pod-gp": ("gp", 0.04, 0.03)}
LEARNING_CURVE = (6, 12, 25, 100)


def results(
    labels: tuple[str, ...] = (*KINDS, *OTHERS), *, domains: tuple[str, ...] = DOMAINS, complete: bool = True
) -> Results:
    """Rows as an evaluation writes them; `complete=False` leaves out all that is optional."""
    rng = np.random.default_rng(0)
    entries = {label: (KINDS | OTHERS)[label] for label in labels}
    rows, curves = [], []
    for label, (uq, factor, area) in entries.items():
        for runs in (*LEARNING_CURVE, 205) if complete and label in OTHERS else (205,):
            identity = _identity(label, uq, runs)
            scale = factor * (205 / runs) ** 0.5
            rows += [identity | row for row in _rows(rng, scale, area, domains, label == "evidential")]
        if area is not None:
            curves += [_identity(label, uq, 205) | row for row in _curves(area, (*domains, "out_of_domain"))]
    if "pod-gp" in labels:
        rows = [row | {"default": True} if row["label"] == "pod-gp" else row for row in rows]
    return Results(
        configuration={
            "description": "SYNTHETIC numbers for the tests of the report",
            "campaign": "paper",
            "selection": {"epochs": 20, "held_out": 30, "seed": 0},
            "split": {"kind": "paper", "mach": [12.0, 28.0], "altitude_km": [26.0, 54.0], "test_runs": 50, "seed": 0},
            "train": {"epochs": 97, "points_per_run": 512, "batch": 512, "learning_rate": 1e-3, "seed": 0},
            "models": [{"label": label, "uq": uq, "members": 1} for label, (uq, _, _) in entries.items()],
        },
        data={
            "checksum": "sha256:" + "0" * 64,
            "runs": {"train": 205, "test": {"in_domain": 50, "low_mach": 51}, "left_out": {"low_mach": 12}},
            "space": {"mean": [0.0] * 4, "std": [1.0] * 4},
            "shown": {"mach": 24.0, "altitude_km": 44.0},
        },
        selection=_selection() if complete else {},
        rows=rows,
        cases=_cases(rng, entries) if complete else [],
        curves=curves if complete else [],
        histories=_histories() if complete and "evidential" in labels else [],
        histogram=_histogram(rng) if complete and "evidential" in labels else [],
    )


def findings(*labels: str, complete: bool = True) -> Findings:
    """The made-up results with maps of the tests' bow shock and a provenance."""
    found = results(labels, complete=complete) if labels else results(complete=complete)
    return Findings(found, maps((*KINDS, "pod-gp")) if complete else {}, provenance() if complete else {})


def write(folder: Path, study: Findings) -> Path:
    """The study as a folder, the way `sureflow study` leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    study.results.write(folder)
    if study.maps:
        np.savez(folder / "maps.npz", **dict(study.maps))
    if study.provenance:
        (folder / "provenance.json").write_text(json.dumps(dict(study.provenance)))
    return folder


def maps(labels: tuple[str, ...], truth: np.ndarray | None = None, nodes: tuple | None = None) -> dict[str, np.ndarray]:
    """Predictions that err where the truth changes fast, with standard deviations that know it."""
    rng = np.random.default_rng(1)
    if truth is None or nodes is None:
        truth, nodes = bow_shock()
    mean, std = truth.mean(axis=(1, 2)), truth.std(axis=(1, 2))
    found = {"node_x": nodes[0], "node_r": nodes[1], "truth": truth, "space_mean": mean, "space_std": std}
    steep = np.abs(np.gradient(truth, axis=1)) + 0.01 * std[:, None, None]
    for label in labels:
        factor = (KINDS | OTHERS)[label][1]
        found[f"{label}__mean"] = truth + 0.6 * factor * steep * rng.normal(size=truth.shape)
        if label != "deterministic":
            found[f"{label}__std"] = 0.4 * factor * steep * rng.uniform(0.7, 1.3, truth.shape)
    return found


def bow_shock(shape: tuple[int, int] = (12, 16)) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Four fields behind a tanh shock before a circle, and the nodes of a quarter of a ring from radius 1 (the wall) to 2."""
    eta, xi = np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")
    behind = 0.5 * (1 - np.tanh(8 * (eta - 0.35 - 2.0 / 25.0 - 0.1 * xi)))
    velocity, density = 317.0 * 25.0, 1.2 * np.exp(-46 / 7)
    u1, u2 = velocity * (1 - 0.9 * behind), 0.4 * velocity * behind * np.sin(np.pi * xi)
    fields = [u1, u2, density * (1 + 4 * behind), 250.0 * (1 + 62.5 * behind)]
    edges = (np.linspace(1.0, 2.0, shape[0] + 1), np.linspace(0.0, np.pi / 2, shape[1] + 1))
    radius, angle = np.meshgrid(*edges, indexing="ij")
    return np.stack(fields), (1.0 - radius * np.cos(angle), radius * np.sin(angle))


def provenance() -> dict[str, Any]:
    return {
        "seconds": {"runs": 737.3, "train ensemble": 3000.0, "train pod-gp": 4.2, "evaluate ensemble": 12.0},
        "machine": {"cores": 2, "platform": "Linux"},
        "versions": {"sureflow": "0.1.0", "jax": "0.10.2"},
    }


def _identity(label: str, uq: str, runs: int) -> dict[str, Any]:
    model = "deeponet" if label in KINDS else label
    scaling, coordinates = ("none", "xr") if label in KINDS else ("freestream", None)
    return {"label": label, "model": model, "uq": uq, "scaling": scaling, "coordinates": coordinates, "runs": runs}


def _rows(rng, factor: float, area: float | None, domains, explodes: bool) -> list[dict[str, Any]]:
    found = []
    for domain in (*domains, "out_of_domain"):
        outside = domain != "in_domain"
        base = printed.TABLE["ensemble"].get(domain, printed.TABLE["ensemble"]["high_mach"]).mae
        for region, higher in REGIONS.items():
            level = base * (factor**0.5 if outside else factor) * higher * rng.uniform(0.9, 1.1)
            each = [_row(rng, level * rng.uniform(0.8, 1.2), area, outside, explodes, name) for name in NAMES]
            mean = {key: _mean([row[key] for row in each]) for key in each[0]}
            mean["largest_std"] = max((row["largest_std"] for row in each if area is not None), default=None)
            mean["mae_spread"] = float(np.std([row["mae"] for row in each]))
            mean["miscalibration_spread"] = 0.02 if area is not None else None
            for name, row in zip((*NAMES, "mean"), (*each, mean), strict=True):
                found.append({"domain": domain, "region": region, "variable": name, **row, "n_runs": 50})
    return found


def _row(rng, mae: float, area: float | None, outside: bool, explodes: bool, name: str) -> dict[str, float | None]:
    wrong = None if area is None else min(0.49, area + 0.15 * outside + 0.02 * rng.random())
    relative = 2.2 * mae * rng.uniform(0.9, 1.1)
    known = {
        "miscalibration": wrong,
        "miscalibration_spread": None,
        "coverage50": None if wrong is None else 0.5 - 0.8 * wrong,
        "coverage90": None if wrong is None else 0.9 - wrong,
        "coverage95": None if wrong is None else 0.95 - wrong,
        "mean_std": mae,
        "sharpness": 1.1 * mae,
        "crps": 0.7 * mae,
        "nll": -1.0,
        "z_rms": 1.5,
        "ause": 0.1,
        "spearman": 0.6,
        "largest_std": (2e4 if name in ("u1", "u2") else 20.0) if explodes else 0.5,
        "share_std_over_10": 2e-4 if explodes else 0.0,
    }
    if area is None:
        known = dict.fromkeys(known)
    quartiles = {"relative_error_q25": 0.7 * relative, "relative_error_q75": 1.3 * relative}
    return {"mae": mae, "mae_spread": None, "relative_error": relative, **quartiles, **known}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _curves(area: float, domains) -> list[dict[str, Any]]:
    expected = np.linspace(0, 1, 100)
    found = []
    for domain in domains:
        wrong = min(0.49, area + 0.15 * (domain != "in_domain"))
        observed = np.clip(expected ** (1 + 8 * wrong), 0, 1)
        for region in ("all", "disturbed"):
            row = {"domain": domain, "region": region, "variable": "mean"}
            found.append(row | {"expected": expected.tolist(), "observed": observed.tolist()})
    return found


def _cases(rng, entries: dict[str, tuple[str, float, float | None]]) -> list[dict[str, Any]]:
    found = []
    for label, (uq, factor, area) in entries.items():
        for mach in np.arange(10.0, 31.0):
            for altitude in np.arange(20.0, 61.0, 2.0):
                inside = 12 <= mach <= 28 and 26 <= altitude <= 54
                tested = (3 * mach + altitude / 2) % 5 == 0 or (mach, altitude) == (25.0, 46.0)
                if inside and not tested:
                    continue
                away = max(0, 12 - mach, mach - 28) / 16 + max(0, 26 - altitude, altitude - 54) / 28
                for name in NAMES:
                    mae = 0.04 * factor * (1 + 12 * away) * rng.uniform(0.8, 1.2)
                    row = {"domain": "in_domain" if inside else "out_of_domain", "mach": mach, "altitude_km": altitude}
                    bars = {"mean_std": None, "coverage90": None}
                    if area is not None:
                        bars = {"mean_std": mae, "coverage90": float(np.clip(0.9 - area - away, 0, 1))}
                    row |= {"variable": name, "mae": mae, "relative_error": 2 * mae, **bars}
                    found.append(_identity(label, uq, 205) | row)
    return found


def _histories() -> list[dict[str, Any]]:
    rows = []
    for epoch in (1, 5, 10, 25, 50, 97):
        for name in NAMES:
            row = {"label": "evidential", "epoch": epoch, "domain": "train", "variable": name}
            rows.append(row | {"mean_std": 0.1 + 0.01 * epoch})
    return rows


def _histogram(rng) -> list[dict[str, Any]]:
    edges = np.linspace(-4.0, 5.0, 46)
    rows = []
    for name in NAMES:
        exponents = np.concatenate([rng.normal(-1.2, 0.4, 20000), rng.uniform(0, 4 if name in ("u1", "u2") else 1, 40)])
        counts = np.histogram(exponents, edges)[0].tolist()
        row = {"label": "evidential", "domain": "in_domain", "variable": name}
        rows.append(row | {"edges": edges.tolist(), "counts": counts})
    return rows


def _selection() -> dict[str, Any]:
    candidates = [
        {"learning_rate": rate, "batch": batch, "schedule": "cosine", "mae": 0.1 + abs(np.log10(rate) + 2.5) / 10}
        for rate in (1e-3, 3e-3, 1e-2)
        for batch in (512, 2048)
    ]
    candidates.append({"learning_rate": 1.0, "batch": 512, "schedule": "cosine", "mae": None})
    return {"candidates": candidates, "chosen": candidates[2]}
