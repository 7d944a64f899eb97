import json

import numpy as np
import pytest

from sureflow.data.meshes import Cells
from sureflow.data.run_store import RunStore
from sureflow.data.runs import Runs
from sureflow.data.schema import Status
from sureflow.data.store import contents_of, open_store
from sureflow.report.figures import save
from sureflow.report.overview import overview, overview_figure, overview_text, remarks


def runs(**further) -> Runs:
    """Six runs of somebody's own on two tetrahedra."""
    rng = np.random.default_rng(0)
    cells = Cells(np.array([0, 1, 2, 3, 1, 2, 3, 4]), np.array([0, 4, 8]), np.array([10, 10]))
    return Runs.from_arrays(
        {"angle": np.arange(6.0), "reynolds": 10.0 ** np.arange(6), "trip": np.ones(6)},
        rng.random((2, 3)),
        {"cp": rng.random((6, 2)).astype(np.float32), "tke": rng.random((6, 2)).astype(np.float32)},
        {"tke": "m2/s2", "angle": "deg", "lift": "N"},
        cells=cells,
        nodes=rng.random((5, 3)),
        numbers={"lift": np.linspace(1, 2, 6)},
        ranges={"angle": (0.0, 10.0)},
        logarithmic=["reynolds"],
        **further,
    )


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "runs.zarr"
    runs(made_by={"solver": {"name": "su2", "cfl": 2.0}, "note": "by hand"}).save(path)
    return open_store(path)


def test_a_store_of_any_runs_says_what_it_holds(own):
    facts = overview(own)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["runs"] == 6
    assert facts["parameters"]["angle"] == {
        "unit": "deg", "scale": "linear", "lowest": 0.0, "highest": 5.0, "values": 6, "declared": {"low": 0.0, "high": 10.0},
    }  # fmt: skip
    assert facts["parameters"]["reynolds"]["scale"] == "log"
    assert facts["fields"] == {"cp": "", "tke": "m2/s2"}
    assert facts["mesh"] == {
        "kind": "unstructured", "axes": ["x", "y", "z"], "location": "cells", "cells": 2, "points": 2, "moves": False,
    }  # fmt: skip
    assert facts["numbers"] == {"lift": {"unit": "N", "lowest": 1.0, "highest": 2.0}}
    assert facts["status"] == {"to_do": 0, "converged": 6, "stalled": 0, "failed": 0}
    assert facts["validity"] == {}
    assert facts["checksum"] == f"sha256:{own.checksum()}"


def test_the_same_as_text(own):
    text = overview_text(overview(own))
    assert text["runs"] == "6 converged"
    assert text["parameters"] == "angle 0..5 deg (6 values); reynolds 1..100000 (6 values, logarithmic); trip 1"
    assert text["fields"] == "cp, tke (m2/s2)"
    assert text["mesh"] == "unstructured, 2 cells, 2 values on cells in x, y, z"
    assert text["numbers"] == "lift (N)"
    assert text["solver"] == "name su2, cfl 2"
    assert text["note"] == "by hand"
    assert remarks(overview(own)) == []


def test_runs_that_did_not_converge_are_named(tmp_path):
    some = runs()
    store = RunStore.create(tmp_path / "runs.zarr", contents_of(some, {}))
    for case, status in enumerate((Status.CONVERGED, Status.FAILED, Status.STALLED)):
        store.write(case, some.fields[case], {"lift": 1.0}, status)
    facts = overview(open_store(tmp_path / "runs.zarr"))
    assert facts["status"] == {"to_do": 3, "converged": 1, "stalled": 1, "failed": 1}
    assert facts["not_converged"][0] == {"angle": 1.0, "reynolds": 10.0, "trip": 1.0, "status": "failed"}
    assert remarks(facts) == [("failed", "angle=1, reynolds=10, trip=1"), ("stalled", "angle=2, reynolds=100, trip=1")]
    assert overview_text(facts)["runs"] == "3 to do, 1 converged, 1 stalled, 1 failed"
    save(overview_figure(open_store(tmp_path / "runs.zarr")), tmp_path / "runs.png")


def test_runs_outside_the_model_of_our_solver_are_counted(tmp_path):
    data = Runs.from_arrays(
        {"mach": [10.0, 20.0, 30.0], "altitude_km": [20.0, 40.0, 60.0]},
        np.zeros((2, 2)),
        {"T": np.ones((3, 2))},
        units={"stagnation_temperature_k": "K"},
        numbers={
            "stagnation_temperature_k": [2400.0, 5000.0, 9000.0],
            "knudsen": [1e-3, 2e-2, 3e-2],
            "undisturbed_cells": [2.0, 9.0, 9.0],
            "steps": [100.0, 200.0, 300.0],
        },
        made_by={"wall": {"kind": "isothermal", "temperature": 1500.0}},
    )
    data.save(tmp_path / "runs.zarr")
    store = open_store(tmp_path / "runs.zarr")
    facts = overview(store)
    assert facts["validity"]["knudsen"]["outside"] == 2
    assert facts["validity"]["undisturbed_cells"] | {"meaning": ""} == {
        "limit": 3, "lowest": 2.0, "outside": 1, "meaning": "",
    }  # fmt: skip
    (temperature, knudsen, cells) = (sentence for _, sentence in remarks(facts))
    assert temperature.startswith("2 runs with stagnation temperature over 2500 K (up to 9e+03 K): ")
    assert knudsen.startswith("2 runs with Knudsen number over 0.01 (up to 0.03): ")
    assert cells.startswith("1 runs with undisturbed cells under 3 (down to 2): ")
    figure = overview_figure(store)
    assert [axis.get_title(loc="left") for axis in figure.axes][:2] == ["how each run ended", "implicit steps"]
    assert figure.axes[0].get_ylabel() == "altitude (km)"
