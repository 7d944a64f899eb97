"""Examples do what they say."""

import re
import runpy
from pathlib import Path

import pytest

from sureflow.config import read_experiment
from sureflow.heads import MVE, Deterministic, Evidential

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_runs_of_ones_own(capsys):
    runpy.run_path(str(EXAMPLES / "own_runs.py"), run_name="__main__")
    output = capsys.readouterr().out
    error, deviation = map(float, re.findall(r"(\d+) Pa", output))
    assert error < 3000
    assert 0 < deviation < 3000
    assert output.endswith("inside\n")


@pytest.mark.parametrize(
    ("name", "head", "members"),
    [
        ("paper", Deterministic(), 10),
        ("paper_mve", MVE(warm_up=0, beta=0), 1),
        ("paper_evidential", Evidential(regularization=1e-2, explosion=0), 1),
    ],
)
def test_the_papers_experiments(name, head, members):
    experiment = read_experiment(EXAMPLES / f"{name}.toml")
    shared = read_experiment(EXAMPLES / "paper.toml")
    assert (experiment.head, experiment.members) == (head, members)
    assert (experiment.model, experiment.train, experiment.split) == (shared.model, shared.train, shared.split)
    assert experiment.model.fourier_octaves == 0
    assert (experiment.coordinates, experiment.scaling) == ("xr", "none")
