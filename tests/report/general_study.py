"""Made-up studies of runs that are nobody's in particular: any fields, parameters, domains and meshes."""

from typing import Any

import numpy as np

from sureflow.evaluate.results import Results
from sureflow.report.findings import Findings

FIELDS = {"pressure_coefficient": "1", "T": "K", "k_t": "m2/s2"}
PARAMETERS = {"angle": "deg", "speed": "m/s", "reynolds": ""}
MODELS = {"default": ("interpolation", 1.0), "pod-gp": ("pod-gp", 1.4), "my-model": ("my-model", 2.0)}


def findings(
    parameters: dict[str, str] | None = None,
    fields: dict[str, str] | None = None,
    domains: tuple[str, ...] = ("in_domain",),
    *,
    bars: bool = True,
    mesh: str = "triangles",
    seed: int = 0,
) -> Findings:
    """A study with three models, one of them the default and one with a name that nobody knows."""
    rng = np.random.default_rng(seed)
    parameters, fields = parameters or PARAMETERS, fields or FIELDS
    conditions = rng.uniform(0.0, 10.0, (24, len(parameters))).round(2)
    rows, cases, curves = [], [], []
    for label, (model, worse) in MODELS.items():
        identity = {"label": label, "model": model, "uq": "calibrated" if bars else "none", "scaling": "my-scaling"}
        identity |= {"coordinates": "physical" if label == "my-model" else None, "runs": 60}
        identity |= {"default": True} if label == "default" else {}
        for domain in domains:
            for name in (*fields, "mean"):
                rows.append(identity | {"domain": domain, "region": "all", "variable": name, **_row(rng, worse, bars)})
            for values in conditions:
                row = dict(zip(parameters, values.tolist(), strict=True)) | {"domain": domain, "variable": "mean"}
                error = 0.01 * worse * (1 + values[0] / 5) * rng.uniform(0.8, 1.2)
                coverage = float(rng.uniform(0.8, 0.98)) if bars else None
                cases.append(identity | row | {"mae": error, "mean_std": error, "coverage90": coverage})
            if bars:
                expected = np.linspace(0, 1, 50)
                place = {"domain": domain, "region": "all", "variable": "mean"}
                curves.append(identity | place | {"expected": expected.tolist(), "observed": (expected**1.3).tolist()})
    data = {
        "checksum": "0" * 64,
        "runs": {"train": 60, "test": dict.fromkeys(domains, 24), "left_out": {}, "not_converged": {"failed": 2}},
        "space": {"mean": [0.0] * len(fields), "std": [10.0**n for n in range(len(fields))]},
        "shown": dict(zip(parameters, conditions[0].tolist(), strict=True)),
        "fields": fields,
        "parameters": parameters,
        "axes": list("xyz" if mesh == "tetrahedra" else "xy"),
        "axis_unit": "m",
    }
    models = [{"label": label, "model": {"name": model}} for label, (model, _) in MODELS.items()]
    configuration = {"description": "SYNTHETIC", "split": {"kind": "random", "seed": 0}, "models": models}
    results = Results(configuration, data, {}, rows, cases, curves)
    return Findings(results, _maps(rng, mesh, len(fields), bars))


def _row(rng, worse: float, bars: bool) -> dict[str, Any]:
    error = 0.02 * worse * rng.uniform(0.8, 1.2)
    row = {"mae": error, "relative_error": 2 * error, "relative_error_q25": error, "relative_error_q75": 3 * error}
    scores = ("miscalibration", "coverage50", "coverage90", "coverage95", "mean_std", "crps", "z_rms", "largest_std")
    return row | {key: float(rng.uniform(0.02, 0.4)) if bars else None for key in scores} | {"n_runs": 24}


def _maps(rng, mesh: str, n_fields: int, bars: bool) -> dict[str, np.ndarray]:
    """Triangles around a hole, nothing but points, or tetrahedra, which cannot be drawn."""
    if mesh == "none":
        return {}
    if mesh == "tetrahedra":
        nodes = rng.random((40, 3))
        maps = {
            "connectivity": rng.integers(0, 40, 400),
            "offsets": np.arange(0, 401, 4),
            "cell_types": np.full(100, 10),
        }
        count = 100
    else:
        radius, angle = np.meshgrid(np.linspace(1, 3, 13), np.linspace(0, 2 * np.pi, 41)[:-1], indexing="ij")
        nodes = np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()])
        corner = np.arange(12 * 40).reshape(12, 40)
        quads = np.stack([corner, np.roll(corner, -1, 1), np.roll(corner, -1, 1) + 40, corner + 40], axis=-1).reshape(
            -1, 4
        )
        maps = {
            "connectivity": quads.ravel(),
            "offsets": np.arange(0, quads.size + 1, 4),
            "cell_types": np.full(480, 9),
        }
        count = 480
    axes = "xyz"[: nodes.shape[1]]
    centers = nodes[maps["connectivity"].reshape(count, 4)].mean(axis=1)
    if mesh == "points":
        maps = {}
    else:
        maps |= {f"node_{axis}": nodes[:, place] for place, axis in enumerate(axes)}
    maps |= {axis: centers[:, place] for place, axis in enumerate(axes)}
    truth = np.stack([np.sin((n + 1) * centers[:, 0]) + centers[:, 1] for n in range(n_fields)])
    maps |= {"truth": truth, "space_mean": np.zeros(n_fields), "space_std": np.ones(n_fields)}
    for label in MODELS:
        maps[f"{label}__mean"] = truth + 0.05 * rng.normal(size=truth.shape)
        if bars:
            maps[f"{label}__std"] = 0.05 * rng.uniform(0.5, 1.5, truth.shape)
    return maps
