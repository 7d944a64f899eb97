"""A stored study as its report reads it: rows found by name, maps, provenance, and names for people."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from sureflow.data.schema import VARIABLES
from sureflow.errors import SureflowError
from sureflow.evaluate.results import Results, Row
from sureflow.report import paper

MAPS = "maps.npz"
PROVENANCE = "provenance.json"

OUTER = ("high_mach", "high_altitude", "low_mach", "low_altitude")
DOMAINS = ("in_domain", *OUTER)
BOTH = ("in_domain", "out_of_domain")
DOMAIN_NAMES = {
    "in_domain": "in-domain",
    "high_mach": "high Mach",
    "high_altitude": "high altitude",
    "low_mach": "low Mach",
    "low_altitude": "low altitude",
    "out_of_domain": "out-of-domain",
}
REGION_NAMES = {
    "all": "whole field",
    "disturbed": "disturbed flow",
    "freestream": "free stream",
    "shock": "shock",
    "shock_layer": "shock layer",
    "wall_layer": "wall layer",
}
LABEL_NAMES = {
    "deterministic": "Deterministic",
    "deterministic-all-points": "Deterministic, all points",
    "mve": "MVE",
    "evidential": "Evidential",
    "evidential-epistemic": "Evidential (epistemic std)",
    "ensemble": "Ensemble",
    "interpolation": "Interpolation",
    "interpolation-unscaled": "Interpolation, unscaled",
    "pod-gp": "POD-GP",
    "pod-deeponet": "POD-DeepONet",
    "deeponet-body-fitted": "DeepONet, body-fitted",
}


@dataclass(frozen=True)
class Findings:
    """Results with what lies beside them. A question that the study does not answer is answered with None."""

    results: Results
    maps: Mapping[str, np.ndarray] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Maps and provenance may be missing; what is there must be whole."""
        return cls(Results.read(folder), _read_maps(folder / MAPS), _read_provenance(folder / PROVENANCE))

    @cached_property
    def labels(self) -> list[str]:
        """All models, in the order of the rows."""
        return list(dict.fromkeys(row["label"] for row in self.results.rows))

    @cached_property
    def kinds(self) -> list[str]:
        """Those of the paper's four kinds of model that were evaluated."""
        return [kind for kind in paper.KINDS if kind in self.labels]

    @cached_property
    def default(self) -> str | None:
        """The model that a user gets without asking."""
        return next((row["label"] for row in self.results.rows if row.get("default")), None)

    @cached_property
    def shown(self) -> list[str]:
        """What the main tables and figures compare: the paper's kinds and the default model, or all where there is neither."""
        found = self.kinds + [label for label in (self.default,) if label and label not in self.kinds]
        return found or self.labels

    @cached_property
    def _described(self) -> dict[str, Row]:
        return {row["label"]: row for row in self.results.rows}

    def described(self, label: str) -> Row:
        """Some row of a model, for what all of them say of it; empty if there is none."""
        return self._described.get(label, {})

    @cached_property
    def _rows(self) -> dict[tuple[Any, ...], Row]:
        return {_place(row, row["runs"]): row for row in self.results.rows}

    @cached_property
    def _runs(self) -> dict[str, list[int]]:
        found: dict[str, set[int]] = {}
        for row in self.results.rows:
            found.setdefault(row["label"], set()).add(row["runs"])
        return {label: sorted(runs) for label, runs in found.items()}

    def runs(self, label: str) -> list[int]:
        """The numbers of training runs that a model was evaluated with, ascending."""
        return self._runs.get(label, [])

    def row(
        self, label: str, domain: str, variable: str = "mean", region: str = "all", runs: int | None = None
    ) -> Row | None:
        """One row; with the most training runs unless their number is given."""
        if runs is None:
            runs = max(self.runs(label), default=0)
        return self._rows.get((label, domain, region, variable, runs))

    def value(
        self, key: str, label: str, domain: str, variable: str = "mean", region: str = "all", runs: int | None = None
    ) -> float | None:
        """One number of a row; None if the row or the number is missing."""
        row = self.row(label, domain, variable, region, runs)
        return None if row is None else row.get(key)

    @cached_property
    def domains(self) -> list[str]:
        """In-domain and those of the outer domains that were tested."""
        found = {row["domain"] for row in self.results.rows}
        return [domain for domain in DOMAINS if domain in found]

    @property
    def columns(self) -> list[str]:
        """The domains that tables compare: those that were tested, and all outer ones pooled."""
        return [*self.domains, *(["out_of_domain"] if self.outer else [])]

    @property
    def both(self) -> list[str]:
        """In-domain and, where other runs were tested, out-of-domain."""
        return [domain for domain in BOTH if domain in self.columns]

    @property
    def outer(self) -> list[str]:
        return [domain for domain in self.domains if domain in OUTER]

    def settings(self, label: str) -> Mapping[str, Any]:
        """The configured entry of one model."""
        entries = self.results.configuration.get("models") or ()
        return next((entry for entry in entries if entry.get("label") == label), {})

    def draws(self, label: str) -> dict[int, str]:
        """Models that differ from one in the draw of their test runs alone, itself among them, by the seed of the draw."""
        entries = [entry for entry in self.results.configuration.get("models") or () if entry["label"] in self.labels]
        first = (self.results.configuration.get("split") or {}).get("seed", 0)
        return {
            entry.get("split_seed", first): entry["label"]
            for entry in entries
            if _without_draw(entry) == _without_draw(self.settings(label))
        }

    def name(self, label: str) -> str:
        """What people call a model; of the default one also what it is."""
        if not self.described(label).get("default"):
            return LABEL_NAMES.get(label, label)
        settings = self.settings(label)
        words = self.model_name(label) + (", calibrated" if settings.get("calibrate") else "")
        return f"{words} (default{', {} runs'.format(settings['runs']) if 'runs' in settings else ''})"

    def model_name(self, label: str) -> str:
        """What people call the kind of a model."""
        model: str = self.described(label)["model"]
        return LABEL_NAMES.get(model, model)

    @property
    def shown_condition(self) -> str:
        """The condition whose fields are drawn, as 'Mach 25 and 46 km'."""
        parameters = dict(self.results.data.get("shown") or {})
        if parameters.keys() == {"mach", "altitude_km"}:
            return f"Mach {parameters['mach']:g} and {parameters['altitude_km']:g} km"
        return " and ".join(f"{name} {value:g}" for name, value in parameters.items()) or "one condition"

    def has_map(self, label: str) -> bool:
        """Whether a prediction with standard deviations of the shown condition is stored."""
        return all(name in self.maps for name in ("truth", "space_std", f"{label}__mean", f"{label}__std"))

    def training_seconds(self, label: str) -> float | None:
        """How long a model took to train, where the provenance says so."""
        seconds = self.provenance.get("seconds")
        taken = seconds.get(f"train {label}") if isinstance(seconds, Mapping) else None
        return float(taken) if isinstance(taken, int | float) else None

    def history(self, label: str) -> list[Row]:
        """What was seen of the training points as training went on."""
        return [row for row in self.results.histories if row["label"] == label and row["variable"] in variables()]


def _without_draw(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in ("label", "split_seed")}


def variables() -> Sequence[str]:
    """The state variables, in the order of the maps."""
    return tuple(VARIABLES)


def _place(row: Row, runs: int) -> tuple[Any, ...]:
    return row["label"], row["domain"], row["region"], row["variable"], runs


def _read_maps(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SureflowError(f"{path} is damaged: {error}; `sureflow study` makes it again") from None


def _read_provenance(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise SureflowError(f"{path} is damaged: {error}; `sureflow study` makes it again") from None
