"""The page as a file."""

from dataclasses import replace

import numpy as np
import pytest

import kinds_of_runs
import sureflow as sf
from explore.trained import of_kind, trained
from sureflow.errors import Exists, SureflowError
from sureflow.explore.explorer import explorer, write_explorer
from sureflow.explore.packing import Keeping, Kind, coded


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


def test_the_folder_of_a_page_is_there_before_it_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(write_explorer.__globals__, "explorer", lambda *_, **__: pytest.fail("computed"))
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
