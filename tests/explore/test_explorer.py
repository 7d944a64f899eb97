"""The page as a file."""

import re
import sys
from collections import Counter
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

import kinds_of_runs
import sureflow as sf
from explore.trained import of_kind, trained
from sureflow.errors import Exists, SureflowError
from sureflow.explore.explorer import SCRIPTS, explorer, write_explorer
from sureflow.explore.packing import Keeping, Kind, coded
from sureflow.explore.surfaces import Cut


def test_the_page_needs_nothing_else():
    page = explorer(trained("interpolation"), "Bow shock")
    assert "<title>Bow shock</title>" in page
    assert "src=" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("kind", ["block", "volume"])
def test_other_meshes(kind):
    assert len(explorer(of_kind(kind))) > 10_000


@pytest.mark.parametrize("kind", ["block", "moving"])
def test_declared_quantities_are_left_out(kind):
    runs = kinds_of_runs.runs(kind)
    declared = replace(runs.header, quantities=({"name": "load", "kind": "integral", "field": "p"},))
    model = sf.fit(replace(runs, header=declared), "interpolation", calibrate=False)
    assert model.observer is not None
    assert '"quantities":null' in explorer(model).replace(": ", ":")


def test_a_field_that_is_uniform_in_most_runs():
    rows = np.full((5, 2, 8), 3.0)
    rows[0, 0] = np.arange(8.0)
    np.testing.assert_allclose(coded(rows, Keeping(Kind.RUNS)).values(), rows, atol=1e-4)  # 19 bits of 7, in float32


@pytest.mark.parametrize("kind", [Kind.RUNS, Kind.FRAME, Kind.LOST])
def test_a_field_that_is_uniform_in_all_runs(kind):
    rows = np.stack([np.tile(np.arange(8.0), (5, 1)), np.full((5, 8), 3.0)], axis=1)
    found = coded(rows, Keeping(kind, spread=np.ptp(rows, axis=(0, 2)))).values()
    np.testing.assert_allclose(found, rows, atol=3e-3)  # 11.5 bits of 7 for the coarsest kind


def test_scripts_define_a_name_once():
    """All of them are one script, in which the last definition of a name would serve for all."""
    assets = resources.files("sureflow.explore") / "assets"
    texts = [(assets / name).read_text(encoding="utf-8") for name in SCRIPTS]
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", "\n".join(texts), re.MULTILINE)
    assert "interpolated" in names
    assert {name for name, count in Counter(names).items() if count > 1} == set()


def test_a_slice_of_a_volume_that_moves_is_refused():
    nodes, cells = kinds_of_runs.hexahedra()
    at = kinds_of_runs.conditions()
    nodes = nodes * (1 + at[:, 1])[:, None, None]
    centers = nodes[:, cells.connectivity.reshape(-1, 8)].mean(axis=2)
    parameters = {"angle": at[:, 0], "thickness": at[:, 1]}
    runs = sf.Runs.from_arrays(parameters, centers, kinds_of_runs.fields(at), cells=cells, nodes=nodes)
    model = sf.fit(runs, "interpolation", calibrate=False)
    assert len(explorer(model)) > 10_000
    with pytest.raises(SureflowError, match=r"z=0\.1 cuts other cells at every condition, .*: show the surface"):
        explorer(model, cut=Cut("z", 0.1))


def test_points_on_a_line_are_refused():
    x, at = np.linspace(0, 1, 20), np.linspace(0, 4, 12)
    runs = sf.Runs.from_arrays({"angle": at}, np.column_stack([x, 0 * x]), {"p": np.sin(at[:, None] + x)})
    with pytest.raises(SureflowError, match="the 20 points lie on a line, and have no surface"):
        explorer(sf.fit(runs, "interpolation", calibrate=False))


def test_the_folder_of_a_page_is_there_before_it_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[write_explorer.__module__], "explorer", lambda *_, **__: pytest.fail("computed"))
    with pytest.raises(SureflowError, match="choose a folder that is there"):
        write_explorer(trained("interpolation"), tmp_path / "missing" / "page.html")


def test_a_page_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "page.html"
    write_explorer(trained("interpolation"), path)
    with pytest.raises(Exists, match="exists"):
        write_explorer(trained("interpolation"), path)


def test_the_ending_is_that_of_a_page(tmp_path):
    with pytest.raises(SureflowError, match=r"must end in \.html"):
        write_explorer(trained("interpolation"), tmp_path / "page.png")
