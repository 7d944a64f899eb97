"""A stored study as its report reads it: rows found by name, maps, provenance, and names for people."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from sureflow.errors import SureflowError
from sureflow.evaluate.results import Results, Row
from sureflow.report.reproductions import Reproduction, reproduction_of
from sureflow.validation import read_json
from sureflow.wording import condition_words

MAPS = "maps.npz"
PROVENANCE = "provenance.json"

INSIDE, OUTSIDE = "in_domain", "out_of_domain"
MEAN = "mean"  # over the variables
MOST_SHOWN = 6  # models that one figure can compare
DOMAIN_NAMES = {INSIDE: "in-domain", OUTSIDE: "out-of-domain"}
REGION_NAMES = {
    "all": "whole field",
    "disturbed": "disturbed flow",
    "freestream": "free stream",
    "shock": "shock",
    "shock_layer": "shock layer",
    "wall_layer": "wall layer",
}
MODEL_NAMES = {
    "interpolation": "Interpolation",
    "pod-gp": "POD-GP",
    "pod-deeponet": "POD-DeepONet",
    "deeponet": "DeepONet",
    "fno": "FNO",
    "nbf": "NBF",
    "neural-process": "Neural process",
    "ensemble": "Ensemble",
    "mve": "MVE",
    "evidential": "Evidential",
    "dropout": "Dropout",
    "mixture": "Mixture",
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
    def reproduction(self) -> Reproduction:
        """What the study reproduces, if anything; if it has none of the published models, only what is not about them."""
        found = reproduction_of(self.results.configuration)
        return found if not found.kinds or set(found.kinds) & set(self.labels) else found.without_kinds

    def fact(self, name: str) -> Any:
        """Something that is said of the runs, such as the units of their `fields`."""
        return self.results.data.get(name) or self.reproduction.facts.get(name)

    @cached_property
    def labels(self) -> list[str]:
        """All models, in the order of the rows."""
        return list(dict.fromkeys(row["label"] for row in self.results.rows))

    def bar_parts(self, domain: str) -> list[Row]:
        """Both parts of the bars, of the first model that has them: the default one where it is among them."""
        rows = [row for row in self.results.bar_parts if row["domain"] == domain]
        first = next((row["label"] for row in sorted(rows, key=lambda row: not row.get("default"))), None)
        return [row for row in rows if row["label"] == first]

    @cached_property
    def variables(self) -> list[str]:
        """The fields, in the order of the rows and maps."""
        return [name for name in dict.fromkeys(row["variable"] for row in self.results.rows) if name != MEAN]

    @cached_property
    def parameters(self) -> list[str]:
        """The names of what varies from run to run."""
        return list(self.results.data.get("shown") or {})

    def unit(self, parameter: str) -> str:
        """The unit of a parameter, where the results say it."""
        return (self.fact("parameters") or {}).get(parameter, "")

    @cached_property
    def kinds(self) -> list[str]:
        """Those of the published models that were evaluated."""
        return [kind for kind in self.reproduction.kinds if kind in self.labels]

    @cached_property
    def default(self) -> str | None:
        """The model that a user gets without asking."""
        return next((row["label"] for row in self.results.rows if row.get("default")), None)

    @cached_property
    def competing(self) -> list[str]:
        """All models but those with test runs of their own, whose errors cannot be compared."""
        return [label for label in self.labels if "split_seed" not in self.settings(label)] or self.labels

    @cached_property
    def shown(self) -> list[str]:
        """What the main tables and figures compare: published models and the default, else the default and the best."""
        default = [self.default] if self.default else []
        if self.kinds:
            return list(dict.fromkeys(self.kinds + default))
        best = dict.fromkeys(default + sorted(self.competing, key=self.rank))
        chosen = list(best)[:MOST_SHOWN]
        return [label for label in self.labels if label in chosen]

    @cached_property
    def shown_with_parts(self) -> list[str]:
        """The same, and parts of their standard deviations that were evaluated alone."""
        parts = (f"{label}-epistemic" for label in self.shown)
        return list(dict.fromkeys([*self.shown, *(part for part in parts if part in self.labels)]))

    def rank(self, label: str) -> float:
        """The error by which models are ordered: out-of-domain where that was tested."""
        errors = (self.value("mae", label, domain) for domain in reversed(self.both))
        return next((error for error in errors if error is not None), float("inf"))

    @cached_property
    def has_bars(self) -> bool:
        """Whether any model has standard deviations."""
        return any(row.get("miscalibration") is not None for row in self.results.rows)

    @cached_property
    def _described(self) -> dict[str, Row]:
        return {row["label"]: row for row in self.results.rows}

    def described(self, label: str) -> Row:
        """Some row of a model, for what all of them say of it; empty if there is none."""
        return self._described.get(label, {})

    @cached_property
    def _rows(self) -> dict[tuple[Any, ...], Row]:
        return {
            (row["label"], row["domain"], row["region"], row["variable"], row["runs"]): row for row in self.results.rows
        }

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
        self, label: str, domain: str, variable: str = MEAN, region: str = "all", runs: int | None = None
    ) -> Row | None:
        """One row; with the most training runs unless their number is given."""
        if runs is None:
            runs = max(self.runs(label), default=0)
        return self._rows.get((label, domain, region, variable, runs))

    def value(
        self, key: str, label: str, domain: str, variable: str = MEAN, region: str = "all", runs: int | None = None
    ) -> float | None:
        """One number of a row; None if the row or the number is missing."""
        row = self.row(label, domain, variable, region, runs)
        return None if row is None else row.get(key)

    @cached_property
    def _tested(self) -> list[str]:
        return list(dict.fromkeys(row["domain"] for row in self.results.rows))

    @cached_property
    def domains(self) -> list[str]:
        """The domains that were tested, in-domain first."""
        return sorted((domain for domain in self._tested if domain != OUTSIDE), key=lambda domain: domain != INSIDE)

    @property
    def columns(self) -> list[str]:
        """The domains that tables compare: those that were tested, and all outer ones pooled."""
        return [*self.domains, *(["out_of_domain"] if OUTSIDE in self._tested else [])]

    @property
    def both(self) -> list[str]:
        """In-domain and, where other runs were tested, out-of-domain; all domains of a study that has neither."""
        return [domain for domain in (INSIDE, OUTSIDE) if domain in self.columns] or self.columns

    @property
    def outer(self) -> list[str]:
        return [domain for domain in self.domains if domain != INSIDE] if OUTSIDE in self._tested else []

    @cached_property
    def regions(self) -> list[str]:
        """Parts of the field that were evaluated, the whole of it first."""
        found = list(dict.fromkeys(row["region"] for row in self.results.rows))
        return [*(r for r in REGION_NAMES if r in found), *(r for r in found if r not in REGION_NAMES)]

    def settings(self, label: str) -> Mapping[str, Any]:
        """The configured entry of one model."""
        entries = self.results.configuration.get("models") or ()
        return next((entry for entry in entries if entry.get("label") == label), {})

    def name(self, label: str) -> str:
        """What people call a model; of the default one also what it is."""
        if not self.described(label).get("default"):
            return self.reproduction.label_names.get(label) or MODEL_NAMES.get(label, label)
        settings = self.settings(label)
        words = self.model_name(label) + (", calibrated" if settings.get("calibrate") else "")
        return f"{words} (default{', {} runs'.format(settings['runs']) if 'runs' in settings else ''})"

    def model_name(self, label: str) -> str:
        """What people call the kind of a model."""
        model: str = self.described(label)["model"]
        return MODEL_NAMES.get(model, model)

    def domain_name(self, domain: str) -> str:
        """'in-domain', 'high Mach'."""
        known = DOMAIN_NAMES | dict(self.reproduction.domain_names)
        return known.get(domain, domain.replace("_", " "))

    @property
    def shown_condition(self) -> str:
        """The condition whose fields are drawn, as 'Mach 25 and 46 km'."""
        parameters = dict(self.results.data.get("shown") or {})
        if parameters.keys() == {"mach", "altitude_km"}:
            return f"Mach {parameters['mach']:g} and {parameters['altitude_km']:g} km"
        return condition_words(parameters, {name: self.unit(name) for name in parameters}) or "one condition"

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
        return [row for row in self.results.histories if row["label"] == label and row["variable"] in self.variables]


def region_name(region: str) -> str:
    """'shock layer'."""
    return REGION_NAMES.get(region, region.replace("_", " "))


def _read_maps(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SureflowError(f"{path} is damaged: {error}; run the study again") from None


def _read_provenance(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    found = read_json(path)
    wanted = ("machine", "versions", "seconds")
    if not isinstance(found, dict) or not all(isinstance(found.get(name) or {}, dict) for name in wanted):
        raise SureflowError(f"{path} is damaged: {', '.join(wanted)} are not tables in it; run the study again")
    return found
