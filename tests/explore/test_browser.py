"""The explorer in Chromium, as its users meet it: numbers, controls, links and files."""

import time
from itertools import product

import numpy as np
import pandas
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import kinds_of_runs
import sureflow as sf
from explore.browsing import ASKED, Page, conditions
from explore.trained import CLOSED, block_volume, network, trained
from sureflow.explore.description import BEYOND
from sureflow.explore.explorer import write_explorer
from sureflow.surrogate.both_ways import better_values, both_ways
from sureflow.uq.domain import apart


@pytest.fixture
def page(browser, pages):
    opened = Page(browser, pages("interpolation"))
    yield opened
    assert opened.errors() == []


@pytest.mark.parametrize("model", CLOSED)
def test_numbers_are_those_of_python(browser, pages, model):
    surrogate, page = trained(model), Page(browser, pages(model))
    # Beyond all ranges of four parameters at once, as far as sliders go.
    at = conditions(surrogate, beyond=BEYOND if model == "bodies" else 0.3)
    found = page.run(ASKED, at.tolist(), [0, 1, 2, 3])
    wanted = surrogate.answer(at)
    mean, std = np.asarray(wanted.predictive.mean), np.asarray(wanted.predictive.std)
    extent = np.ptp(mean, axis=2, keepdims=True)
    assert (np.abs(np.array([one["mean"] for one in found]) - mean) <= 1e-4 * extent).all()
    off = np.abs(np.array([one["std"] for one in found]) - std)
    # Half of a bar beyond the runs is a difference of two predictions, which the page has in single precision.
    assert (off <= 0.01 * np.maximum(std, 0.01 * std.max(axis=2, keepdims=True)) + 1e-6 * extent).all()
    assert [one["text"] for one in found] == [str(verdict) for verdict in wanted.place.verdicts]
    assert {one["trust"] for one in found} >= {"inside", "extrapolated"}
    values, bars = (array[:, :6] for array in better_values(surrogate, both_ways(surrogate, at, wanted)))
    quantities = np.array([[(one["value"], one["std"]) for one in row["quantities"]] for row in found])
    assert np.allclose(quantities[:, :, 0], values, rtol=1e-3)
    # Where field and number disagree, a bar follows their difference: it is no closer than fields are, to 1e-4 of their range.
    # Far outside in four parameters at once, values and numbers are each off by up to 1e-3.
    close = 2e-3 if model == "bodies" else 1e-4
    assert (np.abs(quantities[:, :, 1] - bars) <= 0.01 * bars + close * np.abs(values)).all()
    narrow = surrogate.observed(surrogate.observer, at, wanted)[1][:, :6]
    assert (bars > 1.1 * narrow).any()  # where the field and a number that was learned by itself disagree
    assert page.errors() == []


def test_ends_of_ranges_are_written_as_in_python(page):
    """Halves too, which Python rounds to even digits."""
    rows = [(12.0, 12.00004, 28.12345), (2e6, 859.699, 1231812.0), (1234.6, 1234.5, 1235.5), (-10.2, -10.125, -10.0)]
    found = page.run("return arguments[0].map(([value, ...ends]) => apart(value, ends))", rows)
    assert found == [list(apart(*row)) for row in rows]


def test_a_logarithmic_parameter_is_judged_as_in_python(browser, tmp_path):
    at = np.array(list(product(np.geomspace(0.01, 100.0, 6), np.linspace(0.0, 1.0, 5))))
    x, y = np.random.default_rng(0).uniform(size=(2, 30))
    field = 300.0 + 20.0 * np.sin(0.4 * np.log(at[:, :1]) + at[:, 1:] + 3.0 * x) + y
    parameters = {"p": at[:, 0], "angle": at[:, 1]}
    runs = sf.Runs.from_arrays(parameters, np.column_stack([x, y]), {"T": field}, {"T": "K"}, logarithmic=["p"])
    surrogate, path = sf.fit(runs, "interpolation"), tmp_path / "page.html"
    write_explorer(surrogate, path)
    page, asked = (
        Page(browser, path.as_uri()),
        np.array([[0.02, 0.3], [3e-3, 0.5], [300.0, 1.1], [1e-9, 0.5], [0.0, 0.5]]),
    )
    found, wanted = page.run(ASKED, asked.tolist(), [0]), surrogate.place(asked, extrapolate=True)
    assert [one["text"] for one in found] == [str(verdict) for verdict in wanted.verdicts]
    assert [one["trust"] for one in found] == ["inside", "extrapolated", "extrapolated", "refused", "refused"]
    std = np.asarray(surrogate.predictive(asked[:3]).std)
    np.testing.assert_allclose([one["std"] for one in found[:3]], std, rtol=0.01, atol=1e-4 * std.max())


@pytest.mark.parametrize("drawn", ["volume", "slice"])
def test_bars_of_a_volume_are_those_of_python(browser, pages, drawn):
    """Outside of the runs they depend on those of neighbors, most of which a page does not draw."""
    surrogate, page = block_volume(), Page(browser, pages(f"block {drawn}"))
    used = page.run("return Array.from(explorer.payload.array('used').data)")
    assert len(used) < surrogate.space.n_points
    at = conditions(surrogate, 20)
    found, predictive = page.run(ASKED, at.tolist(), [0, 1]), surrogate.answer(at).predictive
    mean, std = (np.asarray(one)[:, :, used] for one in (predictive.mean, predictive.std))
    extent = np.ptp(mean, axis=2, keepdims=True)
    assert (np.abs(np.array([one["mean"] for one in found], float) - mean) <= 1e-4 * extent).all()
    bars = np.array([one["std"] for one in found], float)
    assert (np.abs(bars - std) <= 0.01 * std + 1e-4 * std.max(axis=2, keepdims=True)).all()
    assert {one["trust"] for one in found} >= {"inside", "extrapolated"}
    assert page.errors() == []


@pytest.mark.parametrize(("beyond", "of_bars"), [(0.0, 5e-3), (BEYOND, 3e-2)])
def test_a_tabulated_network_is_close_to_python(browser, pages, beyond, of_bars):
    """Between the runs, and as far as sliders and tables go; bars to a share of the largest one."""
    surrogate, page = network(), Page(browser, pages("network"))
    at = conditions(surrogate, beyond=beyond)
    found, predictive = page.run(ASKED, at.tolist(), [0, 1, 2, 3]), surrogate.answer(at).predictive
    for name, share in (("mean", 1e-3), ("std", of_bars)):
        wanted = np.asarray(getattr(predictive, name))
        size = np.ptp(wanted, axis=2) if name == "mean" else wanted.max(axis=2)
        assert (np.abs(np.array([one[name] for one in found]) - wanted).max(axis=2) <= share * size).all()
    assert "differ from those of the model by at most" in page.text("check")
    assert page.errors() == []


@pytest.mark.parametrize("kind", ["volume", "slice", "moving"])
def test_other_meshes(browser, pages, kind):
    page = Page(browser, pages(kind))
    element = page.at("overlay")
    ActionChains(browser, duration=20).move_to_element(element).perform()
    assert " ± " in page.text("readout")
    before = page.run("return Array.from(explorer.shown.mesh.places)")
    page.at("slider1").send_keys(Keys.ARROW_RIGHT)
    page.settle()
    assert (page.run("return Array.from(explorer.shown.mesh.places)") != before) == (kind == "moving")
    assert page.errors() == []


def test_rounding_is_not_drawn_as_a_pattern(browser, tmp_path):
    at, rng = kinds_of_runs.conditions(), np.random.default_rng(0)
    corners = kinds_of_runs.nodes()
    rounded = 300.0 * (1.0 + 1e-8 * rng.standard_normal((len(at), np.prod(kinds_of_runs.SHAPE))))
    mesh = {"shape": kinds_of_runs.SHAPE, "nodes": corners}
    runs = sf.Runs.from_arrays(
        {"angle": at[:, 0], "thickness": at[:, 1]}, kinds_of_runs.centers(corners), {"T": rounded}, {"T": "K"}, **mesh
    )
    write_explorer(sf.fit(runs, "interpolation"), tmp_path / "uniform.html")
    page = Page(browser, (tmp_path / "uniform.html").as_uri())
    low, high = (float(page.at(end).get_attribute("value")) for end in ("low", "high"))
    assert low == pytest.approx(297.0, rel=1e-3)
    assert high == pytest.approx(303.0, rel=1e-3)
    assert page.errors() == []


def test_sliders_numbers_and_keys(page):
    before = page.run("return Array.from(explorer.stage.panels[0].values)")
    page.at("slider0").send_keys(Keys.ARROW_RIGHT * 3)
    page.settle()
    assert page.run("return explorer.state.at[0]") > 20.0
    assert page.run("return Array.from(explorer.stage.panels[0].values)") != before
    number = page.at("number1")
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys("66", Keys.TAB)
    assert page.run("return explorer.state.at[1]") == 66
    page.settle()
    assert page.at("verdict").get_attribute("class") == "extrapolated"
    assert "altitude_km=66 is outside 20..60" in page.text("verdict")


@pytest.mark.parametrize(
    ("low", "high"), [(99_359.0, 105_050.0), (0.0, 1.0), (-3e-4, 2e-4), (288.1, 288.9), (1e9, 1.001e9)]
)
def test_labels_of_marks_differ_and_are_right(page, low, high):
    found = page.run(
        "const marks = ticks(...arguments, 6); return [marks, marks.map((one) => short(one, digitsOf(marks, 3)))];",
        low,
        high,
    )
    marks, labels = found
    assert len(set(labels)) == len(marks) >= 3
    np.testing.assert_allclose([float(label) for label in labels], marks, atol=1e-6 * max(abs(low), abs(high)))


def test_the_map_moves_the_condition(page):
    page.drag("map", (0.3, 0.3), (0.5, 0.6))
    first = page.run("return [...explorer.state.at]")
    page.at("map").send_keys(Keys.ARROW_LEFT)
    assert page.run("return explorer.state.at[0]") < first[0]
    page.until("return explorer.map.values.done")
    assert {"inside", "extrapolated"} <= set(page.run("return explorer.map.values.trust"))


def test_hover_reads_value_and_bar(page):
    Select(page.at("field")).select_by_visible_text("T (K)")
    page.at("overlay").send_keys(Keys.ARROW_LEFT)
    place = page.run(
        "const [x, y] = explorer.stage.layout.toScreen([-0.5, 0.4], explorer.stage.layout.boxes[0]); return [x, y]"
    )
    element = page.at("overlay")
    x, y = place[0] - element.size["width"] / 2, place[1] - element.size["height"] / 2
    ActionChains(page.browser, duration=20).move_to_element_with_offset(element, x, y).perform()
    words = page.text("readout")
    surrogate, where = trained("interpolation"), page.run("return explorer.stage.probe")
    points = surrogate.space.geometry.points
    nearest = int(np.linalg.norm(points - np.array(where[:2]), axis=1).argmin())
    wanted = surrogate.predict(mach=20.0, altitude_km=40.0)
    assert float(words.partition("T = ")[2].split(" ± ")[0]) == pytest.approx(
        wanted["T"].values.ravel()[nearest], rel=1e-3
    )
    assert "90 % of the points" in words
    assert " K " in words


def test_lines(page, downloads):
    for line, count in (("wall", 8), ("stagnation", 6)):
        Select(page.at("line")).select_by_value(line)
        page.settle()
        assert page.run("return explorer.line.curves().curves[0].y.length") == count
        assert page.run("return document.querySelectorAll('#chart path').length") == 2
    page.at("draw").click()
    page.drag("overlay", (0.3, 0.35), (0.5, 0.3))
    page.settle()
    assert page.run("return explorer.state.line") == "drawn"
    assert page.run("return explorer.line.curves().curves[0].y.length") > 5


def test_two_conditions_and_their_difference(page):
    page.at("compare").click()
    page.at("slider0").send_keys(Keys.ARROW_RIGHT * 5)
    page.settle()
    assert page.run("return explorer.stage.panels.map((panel) => panel.title)")[2].startswith("B - A")
    a, b, difference = page.run("return explorer.stage.panels.map((panel) => Array.from(panel.values))")
    assert np.allclose(np.array(b) - a, difference, atol=1e-3)
    assert page.run("return document.querySelectorAll('#quantities thead th').length") == 3


@pytest.mark.parametrize("show", ["mean", "std", "relative"])
def test_the_difference_that_is_read_is_that_of_the_field(page, show):
    page.run(
        "Object.assign(explorer.state, { at: [20, 40], other: [24, 30], show: arguments[0] }); explorer.changed()", show
    )
    page.settle()
    words = page.run("explorer.stage.readAt(-0.5, 0.4, 2); return document.getElementById('readout').textContent")
    cell = page.run("const { mesh } = explorer.shown; return mesh.owners[mesh.locate(-0.5, 0.4).triangle]")
    a, b = (
        trained("interpolation").predict(mach=m, altitude_km=h)["u1"].values.ravel() for m, h in ((20, 40), (24, 30))
    )
    assert float(words.partition("B - A, u1 = ")[2].split(" ±")[0]) == pytest.approx((b - a)[cell], rel=1e-3)


def test_bars_that_are_no_numbers_are_hatched(page):
    shades = page.run(
        "return Array.from(explorer.stage.view.shades({ values: [1], bars: [NaN], threshold: 1, range: [0, 2], palette: 0 }))"
    )
    assert shades[4:] == [0xFF000000, 0xFFFFFFFF]


def test_one_parameter_is_not_on_both_axes_of_the_map(browser, pages):
    page = Page(browser, pages("bodies"))
    axes = "return [explorer.state.across, explorer.state.up]"
    for element, chosen, wanted in (("map-x", "1", [1, 0]), ("map-y", "1", [0, 1]), ("map-x", "2", [2, 1])):
        Select(page.at(element)).select_by_value(chosen)
        assert page.run(axes) == wanted
        assert [int(page.at(one).get_attribute("value")) for one in ("map-x", "map-y")] == wanted
    assert page.errors() == []


def test_a_line_lifts_a_field_at_points_once(browser, tmp_path):
    y, x = np.mgrid[0:1:9j, 0:1:9j]
    points, angle = np.column_stack([x.ravel(), y.ravel()]), np.linspace(0.0, 4.0, 12)
    runs = sf.Runs.from_arrays({"angle": angle}, points, {"p": [np.sin(one + points[:, 0]) for one in angle]})
    write_explorer(sf.fit(runs, "interpolation", calibrate=False), tmp_path / "points.html")
    page = Page(browser, (tmp_path / "points.html").as_uri())
    page.run("Object.assign(explorer.state, { drawn: [0.1, 0.1, 0.9, 0.8], line: 'drawn' }); explorer.changed()")
    page.settle()
    lifted, curve = page.run(
        "const { mesh } = explorer.shown, lift = mesh.lift; let count = 0;"
        "mesh.lift = (values) => { count++; return lift.call(mesh, values); };"
        "const { x, y } = explorer.line.curves().curves[0]; explorer.stage.readAt(0.5, 0.5);"
        "return [count, [Array.from(x), Array.from(y)]]"
    )
    assert lifted <= 3  # the prediction, its bars and the band
    assert len(curve[0]) == 240
    at, (mean,) = (
        0.1 + 0.8 * np.array(curve[0]) / curve[0][-1],
        page.run("return [Array.from(explorer.shown.answers[0].mean(0))]"),
    )
    assert np.allclose(curve[1], np.interp(at, points[:9, 0], mean[:9]), atol=1e-5)
    assert page.errors() == []


def test_a_volume_far_from_the_origin_is_drawn(browser, tmp_path):
    corners, cells = kinds_of_runs.hexahedra()
    corners, at = corners + np.array([0.0, 0.0, 100.0]), kinds_of_runs.conditions()
    centers, given = corners[cells.connectivity.reshape(-1, 8)].mean(axis=1), {"angle": at[:, 0], "thickness": at[:, 1]}
    runs = sf.Runs.from_arrays(given, centers, kinds_of_runs.fields(at), cells=cells, nodes=corners)
    write_explorer(sf.fit(runs, "interpolation", calibrate=False), tmp_path / "far.html")
    page = Page(browser, (tmp_path / "far.html").as_uri())
    colors = page.run(
        "explorer.stage.draw(); const { width, height } = $('view');"
        "const all = Object.assign(document.createElement('canvas'), { width, height });"
        "const context = all.getContext('2d'); context.drawImage($('view'), 0, 0);"
        "return new Set(new Uint32Array(context.getImageData(0, 0, width, height).data.buffer)).size"
    )
    assert colors > 5
    assert page.errors() == []


def test_bars_and_hatching(page):
    for show in ("std", "relative"):
        Select(page.at("show")).select_by_value(show)
        page.settle()
        std, extent = page.run("return [Array.from(explorer.stage.panels[0].std), explorer.stage.panels[0].values[0]]")
        assert min(std) >= 0.0
        assert extent >= 0.0
    page.at("threshold").send_keys(Keys.CONTROL, "a")
    page.at("threshold").send_keys("0.01", Keys.TAB)
    page.settle()
    assert page.run("return explorer.stage.panels[0].threshold") > 0.0
    page.at("hatch").click()
    page.settle()
    assert page.run("return explorer.stage.panels[0].bars") is None


def test_a_link_restores_the_state(page):
    page.drag("map", (0.4, 0.4), (0.6, 0.5))
    Select(page.at("field")).select_by_visible_text("rho (kg/m3)")
    Select(page.at("colors")).select_by_visible_text("gray")
    page.at("smooth").click()
    page.drag("overlay", (0.5, 0.5), (0.6, 0.6))
    page.settle()
    page.at("link").click()
    kept = "const s = explorer.state; return JSON.stringify([s.at, s.field, s.colors, s.smooth, s.x, s.y, s.zoom])"
    wanted, url = page.run(kept), page.browser.current_url
    assert "#at=" in url
    again = Page(page.browser, url)
    assert again.run(kept) == wanted
    again.run("location.hash = '#at=15,30'")
    again.until("return explorer.state.at[0] === 15")
    assert again.run("const { colors, smooth, zoom } = explorer.state; return [colors, smooth, zoom]") == [
        "viridis",
        False,
        None,
    ]


def test_a_bad_link_does_no_harm(browser, pages):
    url = pages("interpolation") + "#at=1,x&field=99&zoom=-3&line=none&drawn=1&across=7&active=5"
    url += "&show=nothing&colors=pink&band=wide&low=5&high=1&auto=false&threshold=-1"
    page = Page(browser, url)
    assert page.run("return explorer.stage.panels[0].title") == "T (K)"
    for name in ("show", "colors", "line", "band"):
        assert page.at(name).get_attribute("value")
    assert page.run("const { zoom, auto, active } = explorer.state; return [zoom, auto, active]") == [None, True, 0]
    assert page.run("return explorer.state.at.every(isFinite)")
    assert page.errors() == []


def test_saved_files(page, downloads):
    page.at("csv").click()
    page.at("png").click()
    for _ in range(200):
        saved = [path for path in downloads.iterdir() if path.suffix in (".csv", ".png")]
        if {path.suffix for path in saved} == {".csv", ".png"}:
            break
        time.sleep(0.05)
    table = pandas.read_csv(next(path for path in saved if path.suffix == ".csv"))
    wanted = trained("interpolation").predict(mach=20.0, altitude_km=40.0)
    assert list(table.columns[:4]) == ["x", "r", "u1", "u1_std"]
    assert np.allclose(table["T"], wanted["T"].values.ravel(), rtol=1e-4, atol=1.0)
    assert np.allclose(table["T_std"], wanted["T_std"].values.ravel(), rtol=0.02, atol=1e-3)
    assert next(path for path in saved if path.suffix == ".png").read_bytes()[:4] == b"\x89PNG"


def test_everything_can_be_reached_by_keyboard_and_has_a_name(page):
    unnamed = page.run(
        """const all = [...document.querySelectorAll("input, select, button, canvas[tabindex]")];
        const named = (one) => one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim();
        return all.filter((one) => one.checkVisibility() && !named(one)).map((one) => one.id)"""
    )
    assert unnamed == []
    page.run("document.activeElement.blur()")
    page.run("window.seen = []; addEventListener('focusin', (event) => seen.push(event.target.id))")
    ActionChains(page.browser, duration=0).send_keys(Keys.TAB * 40).perform()
    wanted = {"slider0", "number0", "map", "field", "show", "overlay", "threshold", "csv", "link", "line"}
    assert wanted <= set(page.run("return seen"))


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colors."""

    def luminance(color: str) -> float:
        shares = [level / 255 for level in bytes.fromhex(color[1:])]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("kind", ["interpolation", "volume"])
def test_fields_are_printed_in_light_colors(browser, pages, kind):
    """On paper, a canvas that was cleared hides the one behind it: while printing, none is."""
    page = Page(browser, pages(kind))
    page.run(
        "window.cleared = 0; const kind = CanvasRenderingContext2D.prototype, clear = kind.clearRect;"
        "kind.clearRect = function (...box) {"
        " if (this.canvas.parentElement === $('overlay').parentElement) window.cleared++; clear.apply(this, box); };"
    )
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    page.settle()
    found = page.run("return [window.cleared, color('--ink'), color('--ground')]")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert found == [0, "#000", "#ffffff"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_contrast(page, scheme):
    page.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    page.settle()
    names = ("--ink", "--soft", "--inside", "--extrapolated", "--refused", "--accent", "--b")
    colors = page.run("return arguments[0].map(color)", ["--ground", "--panel", *names])
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    for ink in colors[2:]:
        assert min(contrast(ink, ground) for ground in colors[:2]) >= 4.5
    assert (colors[0] == "#ffffff") == (scheme == "light")


def test_phone_width(page):
    size = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page.settle()
    assert page.run("return document.documentElement.scrollWidth") <= 380
    page.at("slider0").send_keys(Keys.ARROW_RIGHT)
    page.settle()
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
