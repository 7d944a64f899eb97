"""Runs as a model is given them."""

from sureflow.data.normalize import Normalizer
from sureflow.data.runs import Runs
from sureflow.data.scaling import scaling_for
from sureflow.models import View
from sureflow.surrogate.learning import view_of


def view_of_runs(runs: Runs, coordinates: str = "physical", scaling: str = "none") -> View:
    chosen = scaling_for(scaling, runs)
    return view_of(runs, chosen, Normalizer.fit(runs, chosen, coordinates), coordinates)
