"""Two conditions on a mesh that moves: each is drawn and read on its own mesh."""

import csv
import io

import numpy as np
import pytest

from explore.browsing import Page
from explore.trained import folding, of_kind

THIN, THICK = [1.0, 0.3], [1.0, 0.6]  # nodes reach up to 1.3 and 1.6
COMPARED = """
const [a, b] = arguments;
Object.assign(explorer.state, { at: a, other: b, active: 1, drawn: null, zoom: null, smooth: false });
explorer.changed(); explorer.render();
"""


@pytest.fixture
def page(browser, pages):
    opened = Page(browser, pages("moving"))
    yield opened
    assert opened.errors() == []


def geometries():
    return [of_kind("moving").space.at(np.array(one)) for one in (THIN, THICK)]


def test_every_panel_has_the_mesh_of_its_condition(page):
    page.run(COMPARED, THIN, THICK)
    assert page.run("return explorer.stage.panels.map((panel) => panel.mesh.high[0])") == pytest.approx([1.3, 1.6, 1.3])
    covered = page.run("return explorer.stage.view.rasters.map((raster) => raster.cells.length)")
    assert covered[1] / covered[0] == pytest.approx((1.6 / 1.3) ** 2, rel=0.02)
    assert covered[2] == covered[0]
    page.run("explorer.state.smooth = true; explorer.render()")
    assert page.run("return explorer.stage.panels.map((panel) => panel.mesh.buffers.cells !== undefined)") == [True] * 3


def test_the_difference_says_which_mesh_it_is_on(page):
    page.run(COMPARED, THIN, THICK)
    title, note = page.run("return explorer.stage.panels[2].title"), page.text("meshes")
    assert title == "B - A on the mesh of A: p (Pa)"
    assert (
        note
        == "The meshes of A and B differ: B - A is taken cell by cell, not place by place, and drawn on the mesh of A."
    )
    page.run(COMPARED, THIN, [1.5, 0.3])
    assert page.run("return explorer.stage.panels[2].title") == "B - A: p (Pa)"
    assert not page.at("meshes").is_displayed()


@pytest.mark.parametrize("smooth", [False, True])
def test_a_place_is_read_on_the_mesh_of_its_panel(page, smooth):
    page.run(COMPARED, THIN, THICK)
    page.run("explorer.state.smooth = arguments[0]; explorer.render()", smooth)
    read = "explorer.stage.readAt(1.45, 1.0, arguments[0]); return document.getElementById('readout').textContent"
    outside, inside, difference = (page.run(read, panel) for panel in range(3))
    assert outside == difference == "Outside of the mesh."
    nearest = np.linalg.norm(geometries()[1].points - (1.45, 1.0), axis=1).argmin()
    wanted = of_kind("moving").predict(angle=THICK[0], thickness=THICK[1])["p"].values.ravel()[nearest]
    assert float(inside.partition("p = ")[2].split(" ±")[0]) == pytest.approx(wanted, rel=1e-3)


def test_lines_are_drawn_on_both_meshes(page):
    page.run(COMPARED, THIN, THICK)
    page.run("Object.assign(explorer.state, { drawn: [0.1, 1, 1.55, 1], line: 'drawn' }); explorer.render()")
    ends = page.run("return explorer.line.curves().curves.map((curve) => Math.max(...curve.x))")
    assert ends == pytest.approx([1.2, 1.45], abs=0.01)
    table = list(csv.reader(io.StringIO(page.run("return explorer.files.lineCsv()"))))
    assert [name for name in table[0] if "distance" in name] == ["A_distance", "B_distance"]
    assert table[-1][0] == ""  # the line leaves the mesh of A before that of B
    assert float(table[-1][table[0].index("B_distance")]) == pytest.approx(ends[1], rel=1e-5)
    page.run("explorer.state.line = 'wall'; explorer.changed()")
    page.settle()
    ends = page.run("return explorer.line.curves().curves.map((curve) => curve.x[curve.x.length - 1])")
    assert ends == pytest.approx(
        [0.8 * 1.3, 0.8 * 1.6], rel=1e-4
    )  # between the centers of the first and last of five cells
    page.run("Object.assign(explorer.state, { drawn: [1.4, 0.2, 1.4, 1.2], line: 'drawn' }); explorer.render()")
    assert page.run("return explorer.line.curves().curves.map((curve) => curve.x.length > 0)") == [False, True]


def test_saved_values_are_at_places_of_their_mesh(page):
    page.run(COMPARED, THIN, THICK)
    head, *rows = csv.reader(io.StringIO(page.run("return explorer.files.fieldCsv()")))
    table = np.array(rows, float)
    for name, geometry in zip("AB", geometries(), strict=True):
        columns = [head.index(f"{name}_{axis}") for axis in "xy"]
        assert np.allclose(table[:, columns], geometry.points, atol=1e-5)


def test_conditions_at_which_the_mesh_folds_are_not_trusted(browser, pages):
    surrogate, opened = folding(), Page(browser, pages("folding"))
    at = np.array([[mach, altitude] for mach in (15.0, 27.0, 29.5, 30.5) for altitude in (22.0, 40.0, 57.0)])
    found = opened.run("return arguments[0].map((at) => explorer.source.answer(at).verdict)", at.tolist())
    wanted = [str(verdict) for verdict in surrogate.place(at, extrapolate=True).verdicts]
    assert [one["text"] for one in found] == wanted
    assert sum("folds" in text for text in wanted) >= 2
    opened.run("explorer.state.at = arguments[0]; explorer.changed(); explorer.render()", at[-2].tolist())
    opened.settle()
    assert "refused: the mesh that the runs suggest at mach=30.5, altitude_km=40 folds" in opened.text("verdict")
    opened.until("return explorer.map.values.done")
    assert {"inside", "extrapolated", "refused"} <= set(opened.run("return explorer.map.values.trust"))
    assert opened.errors() == []
