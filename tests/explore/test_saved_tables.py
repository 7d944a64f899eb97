"""Tables that a page saves."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import kinds_of_runs
import sureflow as sf
from explore.browsing import Page
from sureflow.data.meshes import Cells
from sureflow.explore.explorer import write_explorer
from sureflow.explore.surfaces import Cut

TRIANGLE = 5  # VTK's type


@pytest.fixture
def table(browser, tmp_path: Path):
    """The names and values of the fields that the page of some runs saves."""

    def saved(runs: sf.Runs, cut: Cut | None = None) -> tuple[list[str], np.ndarray]:
        write_explorer(sf.fit(runs, "interpolation", calibrate=False), tmp_path / "page.html", cut=cut)
        page = Page(browser, (tmp_path / "page.html").as_uri())
        head, *rows = csv.reader(io.StringIO(page.run("return explorer.files.fieldCsv()"), newline=""))
        assert page.errors() == []
        return head, np.array(rows, float)

    return saved


def linear(places: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Fields from which the place can be told."""
    return np.array([places @ (10.0, 100.0, 1000.0)[: places.shape[1]] + angle for angle, _ in at])


def runs_at_points(nodes: np.ndarray, cells: Cells, *, at: np.ndarray) -> sf.Runs:
    parameters = {"angle": at[:, 0], "thickness": at[:, 1]}
    return sf.Runs.from_arrays(parameters, nodes, {"p": linear(nodes, at)}, cells=cells, nodes=nodes, location="points")


def slab() -> tuple[np.ndarray, Cells, Cut | None]:
    return *kinds_of_runs.hexahedra(), Cut("z", 0.05)


def with_a_node_of_no_cell() -> tuple[np.ndarray, Cells, Cut | None]:
    nodes = np.array([[9.0, 9.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return nodes, Cells(np.array([1, 2, 3, 2, 4, 3]), np.array([0, 3, 6]), np.full(2, TRIANGLE)), None


@pytest.mark.parametrize("mesh", [slab, with_a_node_of_no_cell])
def test_values_at_points_are_at_their_places(table, mesh):
    nodes, cells, cut = mesh()
    head, rows = table(runs_at_points(nodes, cells, at=kinds_of_runs.conditions()), cut)
    places, values = rows[:, : nodes.shape[1]], rows[:, head.index("p")]
    np.testing.assert_allclose(values, linear(places, np.array([[1.0, 0.45]]))[0], atol=0.05)  # 5e-5 of the range
    if cut is None:
        assert len(rows) == 4
    else:
        np.testing.assert_allclose(places[:, 2], cut.value, atol=1e-6)


def test_values_of_cells_are_at_their_centers(table):
    """Also of cells that are no parallelograms."""
    at, nodes = kinds_of_runs.conditions(), kinds_of_runs.nodes()
    nodes = nodes * (1.0 + 0.5 * nodes[:, ::-1])
    centers = kinds_of_runs.centers(nodes)
    parameters = {"angle": at[:, 0], "thickness": at[:, 1]}
    fields, mesh = kinds_of_runs.fields(at), {"shape": kinds_of_runs.SHAPE, "nodes": nodes}
    _, rows = table(sf.Runs.from_arrays(parameters, centers, fields, **mesh))
    np.testing.assert_allclose(rows[:, :2], centers, atol=1e-6)


NAMES = {"=SUM(A1)": "'=SUM(A1)", "@x": "'@x", "-p": "'-p", "+p": "'+p", "p,1": "p,1", 'the "p"': 'the "p"'}


def test_names_are_quoted_and_no_formulas(table):
    y, x = np.mgrid[0:1:3j, 0:1:3j]
    points, angle = np.column_stack([x.ravel(), y.ravel()]), np.linspace(0.0, 4.0, 8)
    values = [np.sin(one + points[:, 0]) for one in angle]
    head, rows = table(sf.Runs.from_arrays({"angle": angle}, points, dict.fromkeys(NAMES, values)))
    assert [name for name in head if name.endswith(tuple(NAMES))] == list(NAMES.values())
    assert rows.shape == (9, len(head))
