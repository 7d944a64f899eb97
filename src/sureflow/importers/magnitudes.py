"""Runs whose numbers are out of line: where files state no units, one of them may well be in other units than the rest."""

import numpy as np
from jaxtyping import Float

from sureflow.data.meshes import Geometry
from sureflow.data.scaling import POSITIVE_UNITS
from sureflow.importers.assembly import Fields
from sureflow.importers.planning import Plan

SAMPLED = 1000  # values of a field that its size is taken from
NOTHING = 1e-300  # stands for zero in logarithms
SUSPECT = 300.0  # times the size in the nearest runs; less than kPa instead of Pa, or mm instead of m


class Magnitudes:
    """The typical size of every field that is positive by nature, and the size of the mesh, run by run."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.variables = [n for n, field in enumerate(plan.header.fields) if field.unit in POSITIVE_UNITS]
        self.sizes: dict[int, list[float]] = {}

    def add(self, case: int, fields: Fields, geometry: Geometry | None) -> None:
        """A run; with its mesh, where that is its own."""
        some = slice(None, None, max(1, fields.shape[1] // SAMPLED))
        typical = [float(np.median(np.abs(fields[variable, some]))) for variable in self.variables]
        extent = 1.0 if geometry is None else float(np.ptp(geometry.points, axis=0).max())
        self.sizes[case] = [*typical, extent]

    def remarks(self) -> list[str]:
        """A sentence for every run and field that is far from the nearest other run."""
        cases = list(self.sizes)
        if len(cases) < 3:
            return []
        sizes = np.log(np.maximum(np.array([self.sizes[case] for case in cases]), NOTHING))
        names = [*(self.plan.header.fields[variable].name for variable in self.variables), "the mesh"]
        found = []
        for row, near in enumerate(nearest(self.plan.parameters[cases])):
            # It takes two: one neighbor may be the odd one itself.
            for name, away in zip(names, (sizes[row] - sizes[near]).T, strict=True):
                if np.abs(away).min() > np.log(SUSPECT):
                    found.append(self._sentence(cases[row], name, float(away[0]), cases[near[0]]))
        return found

    def _sentence(self, case: int, name: str, away: float, near: int) -> str:
        files = self.plan.files
        if abs(away) > abs(np.log(NOTHING)) / 2:
            empty, other = (case, near) if away < 0 else (near, case)
            return f"{files[empty]}: {name} is zero, and it is not in {files[other].name}, a run at a similar condition"
        return (
            f"{files[case]}: {name} is {np.exp(away):.3g} times as large as in {files[near].name}, a run at a similar condition: "
            "if it is in other units, convert it and import it again"
        )


def nearest(parameters: Float[np.ndarray, "case parameter"]) -> list[np.ndarray]:
    """For every run the two runs nearest to it, in widths of the ranges."""
    width = np.ptp(parameters, axis=0)
    scaled = parameters / np.where(width > 0, width, 1.0)
    return [np.argsort(((scaled - one) ** 2).sum(axis=1), kind="stable")[1:3] for one in scaled]
