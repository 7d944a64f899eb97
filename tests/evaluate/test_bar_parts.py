"""Which part of the bars dominates: numbers, the sentence, and where users read it."""

import numpy as np
import pytest

import sureflow as sf
import synthetic
from mesh_pairs import COARSE, COARSER, FINE, runs
from sureflow.evaluate.bar_parts import bar_part_rows, bar_parts, larger_part
from sureflow.surrogate.mesh_bars import with_mesh_error

PAIRS = synthetic.grid()[::2]


@pytest.fixture(scope="module")
def learned():
    model = sf.fit(runs(COARSE), "interpolation", calibrate=False)
    return with_mesh_error(model, runs(COARSE), runs(FINE, PAIRS), runs(COARSER, PAIRS))


def test_parts_are_the_means_of_what_predictions_carry(learned):
    conditions = np.array([[22.0, 44.0], [18.0, 31.0]])
    rows = {row["name"]: row for row in bar_parts(learned, conditions)}
    found = [learned.predict(mach=mach, altitude_km=altitude) for mach, altitude in conditions]
    for part in ("surrogate", "mesh"):
        expected = np.mean([float(one[f"T_std_{part}"].mean()) for one in found])
        assert rows["T"][part] == pytest.approx(expected)
    assert (rows["T"]["kind"], rows["T"]["unit"]) == ("field", "K")
    numbers = [learned.quantities(mach=mach, altitude_km=altitude) for mach, altitude in conditions]
    percent = np.mean([100 * float(one.stand_off_std_mesh / abs(one.stand_off)) for one in numbers])
    assert rows["stand_off"]["mesh"] == pytest.approx(percent)
    assert rows["stagnation_pressure"]["mesh"] > 0  # read off the fields of all meshes


def test_a_domain_without_runs_and_a_model_without_the_mesh_have_no_rows(learned):
    some = runs(COARSE)
    inside = np.zeros(len(some), bool)
    inside[:3] = True
    rows = bar_part_rows(learned, some, {"in_domain": inside, "out_of_domain": ~inside & inside})
    assert {row["domain"] for row in rows} == {"in_domain"}
    assert bar_part_rows(sf.fit(some, "interpolation", calibrate=False), some, {"in_domain": inside}) == []


def test_the_sentence_names_the_larger_part():
    rows = [
        {"name": "u1", "surrogate": 1.0, "mesh": 12.0},
        {"name": "T", "surrogate": 4.0, "mesh": 2.0},
        {"name": "rho", "surrogate": 0.0, "mesh": 2.0},
        {"name": "u2", "surrogate": 0.0, "mesh": 0.0},
        {"name": "p", "surrogate": 1e-6, "mesh": 2.0},
    ]
    assert larger_part(rows) == (
        "The error of the mesh is the larger part of the bars of u1 (12 times the other), p (nearly all of it), rho (all of it). "
        "The surrogate's own error is the larger part of the bars of T (2.0 times the other)."
    )
    assert larger_part([]) == ""
