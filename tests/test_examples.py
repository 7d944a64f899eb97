"""Examples do what they say."""

import ast
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from sureflow.heads import MVE, Deterministic, Evidential
from sureflow.samplers import Ensemble
from sureflow.surrogate.experiment import read_experiment

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_runs_of_ones_own(capsys):
    runpy.run_path(str(EXAMPLES / "own_runs.py"), run_name="__main__")
    output = capsys.readouterr().out
    error, deviation = map(float, re.findall(r"(\d+) Pa,", output))
    assert error < 30
    assert 0 < deviation < 30
    assert output.endswith("inside\n")


def shown(cell: str, namespace: dict) -> object:
    """Run a cell as a notebook does: the value of its last expression is what it shows."""
    *before, last = ast.parse(cell).body
    is_value = isinstance(last, ast.Expr)
    exec(compile(ast.Module(before if is_value else [*before, last], []), "cell", "exec"), namespace)
    if not is_value:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)


def test_the_quickstart(tmp_path, monkeypatch, capsys):
    """Cell by cell, and everything that is shown has a picture, HTML, or text that is not the default one."""
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "quickstart.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    namespace: dict = {}
    results = {cell.splitlines()[-1]: shown(cell, namespace) for cell in cells}
    for line in (
        "runs",
        "model",
        "field",
        "model.quantities(mach=25, altitude_km=46)",
        "sf.evaluate(model, test).table()",
    ):
        assert results[line]._repr_html_().startswith("<"), line
    assert results["sf.plot(field)"]._repr_png_().startswith(b"\x89PNG")
    assert results['sf.load("model/").predict(mach=25, altitude_km=46).identical(field)'] is True
    assert "refused: mach=39" in capsys.readouterr().out
    assert namespace["standing"].finished == 16
    compared = results["DataFrame(comparison).T"]
    assert list(compared.index) == ["stand_off", "drag_coefficient", "stagnation_heat_flux"]
    # On a mesh of its own, that is fitted to Mach 25, so that only the quantities compare.
    apart = abs(compared.predicted / compared.computed - 1)
    assert (apart < [0.01, 0.01, 0.1]).all()
    assert (compared["std"] > 0).all()


def test_files_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "own_files.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    namespace: dict = {}
    results = [shown(cell, namespace) for cell in cells]
    assert results[0] == len(namespace["runs"]) == 20
    assert namespace["runs"].is_moving
    field = namespace["field"]
    expected = 1e5 * (1 + 3.2 * 0.05 * np.sin(2 * np.pi * field.x) * np.exp(-3 * field.y))
    assert abs(field.p / expected - 1).max() < 1e-3
    assert set(results[-2].cell_data) >= {"p", "p_std", "p_interval90", "T"}
    assert 0.9 < results[-1] <= 1.0


@pytest.mark.parametrize(
    ("name", "head", "members"),
    [
        ("paper", Deterministic(), 10),
        ("paper_mve", MVE(warm_up=0, beta=0), 1),
        ("paper_evidential", Evidential(regularization=1e-2, explosion=0), 1),
    ],
)
def test_the_papers_experiments(name, head, members):
    experiment, shared = (read_experiment(EXAMPLES / f"{which}.toml") for which in (name, "paper"))
    model = experiment.spec.model
    assert (model.head, model.sampler) == (head, Ensemble(members))
    assert (model.network, model.train) == (shared.spec.model.network, shared.spec.model.train)
    assert experiment.split == shared.split
    assert model.network.fourier_octaves == 0
    assert (experiment.spec.coordinates, experiment.spec.scaling) == ("physical", "none")
