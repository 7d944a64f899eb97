"""The explorer in Chromium, as its users meet it: numbers, controls, links and files."""

import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pandas
import pytest
import uvicorn
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

import kinds_of_runs
import sureflow as sf
from explore.trained import CLOSED, network, of_kind, trained
from sureflow.explore.description import BEYOND
from sureflow.explore.explorer import write_explorer
from sureflow.explore.surfaces import Cut
from sureflow.serve.hosting import listening
from sureflow.serve.service import create_app
from sureflow.surrogate.both_ways import both_ways

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver"
)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
ASKED = """
const [conditions, fields] = arguments;
return conditions.map((at) => {
  const answer = explorer.source.answer(at), quantities = answer.quantities;
  return { mean: fields.map((v) => Array.from(answer.mean(v))), std: fields.map((v) => Array.from(answer.std(v))),
    trust: answer.verdict.trust, text: answer.verdict.text, quantities };
});"""


@pytest.fixture(scope="module")
def downloads(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads):
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, "--window-size=900,700"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = str(BROWSER)
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))
    yield driver
    driver.quit()


class Page:
    """A page in the browser."""

    def __init__(self, browser, url: str):
        self.browser = browser
        browser.get("about:blank")
        browser.get(url)
        self.until("return document.body.dataset.ready === 'true'")

    def until(self, script: str) -> None:
        WebDriverWait(self.browser, 30, 0.02).until(lambda browser: browser.execute_script(script))

    def run(self, script: str, *arguments):
        return self.browser.execute_script(script, *arguments)

    def at(self, name: str):
        return self.browser.find_element(By.ID, name)

    def text(self, name: str) -> str:
        self.settle()
        return self.at(name).text

    def settle(self) -> None:
        """Wait for the next frame, which shows the last change."""
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
        )

    def drag(self, name: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        """With the pointer, between places in shares of the element's size."""
        element = self.at(name)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        width, height = element.size["width"], element.size["height"]
        (x0, y0), (x1, y1) = (((x - 0.5) * width, (y - 0.5) * height) for x, y in (start, end))
        chain = ActionChains(self.browser, duration=20).move_to_element_with_offset(element, x0, y0).click_and_hold()
        chain.move_by_offset(x1 - x0, y1 - y0).release().perform()

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """A page of every kind of model and mesh."""
    folder = tmp_path_factory.mktemp("pages")
    for model in CLOSED:
        write_explorer(trained(model), folder / f"{model}.html")
    for kind in ("volume", "moving"):
        write_explorer(of_kind(kind), folder / f"{kind}.html")
    write_explorer(of_kind("volume"), folder / "slice.html", cut=Cut("z", 0.1))
    write_explorer(network(), folder / "network.html")
    return folder


@pytest.fixture
def page(browser, pages):
    opened = Page(browser, (pages / "interpolation.html").as_uri())
    yield opened
    assert opened.errors() == []


def conditions(surrogate, count: int = 50, beyond: float = 0.3) -> np.ndarray:
    """Some inside, some outside."""
    low, high = surrogate.domain.lower, surrogate.domain.upper
    reach = beyond * (high - low)
    return np.random.default_rng(1).uniform(low - reach, high + reach, (count, len(low)))


@pytest.mark.parametrize("model", CLOSED)
def test_numbers_are_those_of_python(browser, pages, model):
    surrogate, page = trained(model), Page(browser, (pages / f"{model}.html").as_uri())
    # Beyond all ranges of four parameters at once, as far as sliders go.
    at = conditions(surrogate, beyond=BEYOND if model == "bodies" else 0.3)
    found = page.run(ASKED, at.tolist(), [0, 1, 2, 3])
    wanted = surrogate.answer(at)
    mean, std = np.asarray(wanted.predictive.mean), np.asarray(wanted.predictive.std)
    extent = np.ptp(mean, axis=2, keepdims=True)
    assert (np.abs(np.array([one["mean"] for one in found]) - mean) <= 1e-4 * extent).all()
    off = np.abs(np.array([one["std"] for one in found]) - std)
    assert (off <= 0.01 * std + 1e-4 * std.max(axis=2, keepdims=True)).all()
    assert [one["text"] for one in found] == [str(verdict) for verdict in wanted.place.verdicts]
    assert {one["trust"] for one in found} >= {"inside", "extrapolated"}
    values, bars = (array[:, :6] for array in both_ways(surrogate, at, wanted)[:2])
    quantities = np.array([[(one["value"], one["std"]) for one in row["quantities"]] for row in found])
    assert np.allclose(quantities[:, :, 0], values, rtol=1e-3)
    # Where field and number disagree, a bar follows their difference: it is no closer than fields are, to 1e-4 of their range.
    # Far outside in four parameters at once, values and numbers are each off by up to 1e-3.
    close = 2e-3 if model == "bodies" else 1e-4
    assert (np.abs(quantities[:, :, 1] - bars) <= 0.01 * bars + close * np.abs(values)).all()
    narrow = surrogate.observed(surrogate.observer, at, wanted)[1][:, :6]
    assert (bars > 1.1 * narrow).any()  # where the field and a number that was learned by itself disagree
    assert page.errors() == []


def test_a_tabulated_network_says_how_far_off_it_is(browser, pages):
    surrogate, page = network(), Page(browser, (pages / "network.html").as_uri())
    at = conditions(surrogate, 10, beyond=0.0)
    found = np.array([one["mean"] for one in page.run(ASKED, at.tolist(), [0, 1, 2, 3])])
    wanted = np.asarray(surrogate.answer(at).predictive.mean)
    assert (np.abs(found - wanted).max(axis=2) < 2e-3 * np.ptp(wanted, axis=2)).all()
    assert "differ from those of the model by at most" in page.text("check")


@pytest.mark.parametrize("kind", ["volume", "slice", "moving"])
def test_other_meshes(browser, pages, kind):
    page = Page(browser, (pages / f"{kind}.html").as_uri())
    element = page.at("overlay")
    ActionChains(browser, duration=20).move_to_element(element).perform()
    assert " ± " in page.text("readout")
    before = page.run("return Array.from(explorer.mesh.places)")
    page.at("slider1").send_keys(Keys.ARROW_RIGHT)
    page.settle()
    assert (page.run("return Array.from(explorer.mesh.places)") != before) == (kind == "moving")
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
    before = page.run("return Array.from(explorer.panels[0].values)")
    page.at("slider0").send_keys(Keys.ARROW_RIGHT * 3)
    page.settle()
    assert page.run("return explorer.state.at[0]") > 20.0
    assert page.run("return Array.from(explorer.panels[0].values)") != before
    number = page.at("number1")
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys("66", Keys.TAB)
    assert page.run("return explorer.state.at[1]") == 66
    page.settle()
    assert page.at("verdict").get_attribute("class") == "extrapolated"
    assert "altitude_km=66 is outside 20..60" in page.text("verdict")


def test_the_map_moves_the_condition(page):
    page.drag("map", (0.3, 0.3), (0.5, 0.6))
    first = page.run("return [...explorer.state.at]")
    page.at("map").send_keys(Keys.ARROW_LEFT)
    assert page.run("return explorer.state.at[0]") < first[0]
    page.until("return explorer.mapped.done")
    assert {"inside", "extrapolated"} <= set(page.run("return explorer.mapped.trust"))


def test_hover_reads_value_and_bar(page):
    Select(page.at("field")).select_by_visible_text("T (K)")
    page.at("overlay").send_keys(Keys.ARROW_LEFT)
    place = page.run("const [x, y] = explorer.toScreen([-0.5, 0.4], explorer.boxes[0]); return [x, y]")
    element = page.at("overlay")
    x, y = place[0] - element.size["width"] / 2, place[1] - element.size["height"] / 2
    ActionChains(page.browser, duration=20).move_to_element_with_offset(element, x, y).perform()
    words = page.text("readout")
    surrogate, where = trained("interpolation"), page.run("return explorer.probe")
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
        assert page.run("return explorer.curves().curves[0].y.length") == count
        assert page.run("return document.querySelectorAll('#chart path').length") == 2
    page.at("draw").click()
    page.drag("overlay", (0.3, 0.35), (0.5, 0.3))
    page.settle()
    assert page.run("return explorer.state.line") == "drawn"
    assert page.run("return explorer.curves().curves[0].y.length") > 5


def test_two_conditions_and_their_difference(page):
    page.at("compare").click()
    page.at("slider0").send_keys(Keys.ARROW_RIGHT * 5)
    page.settle()
    assert page.run("return explorer.panels.map((panel) => panel.title)")[2].startswith("B - A")
    a, b, difference = page.run("return explorer.panels.map((panel) => Array.from(panel.values))")
    assert np.allclose(np.array(b) - a, difference, atol=1e-3)
    assert page.run("return document.querySelectorAll('#quantities thead th').length") == 3


def test_bars_and_hatching(page):
    for show in ("std", "relative"):
        Select(page.at("show")).select_by_value(show)
        page.settle()
        std, extent = page.run("return [Array.from(explorer.panels[0].std), explorer.panels[0].values[0]]")
        assert min(std) >= 0.0
        assert extent >= 0.0
    page.at("threshold").send_keys(Keys.CONTROL, "a")
    page.at("threshold").send_keys("0.01", Keys.TAB)
    page.settle()
    assert page.run("return explorer.panels[0].threshold") > 0.0
    page.at("hatch").click()
    page.settle()
    assert page.run("return explorer.panels[0].bars") is None


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
    url = (pages / "interpolation.html").as_uri() + "#at=1,x&field=99&zoom=-3&line=none&drawn=1&across=7&active=5"
    url += "&show=nothing&colors=pink&band=wide&low=5&high=1&auto=false&threshold=-1"
    page = Page(browser, url)
    assert page.run("return explorer.panels[0].title") == "T (K)"
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
    page = Page(browser, (pages / f"{kind}.html").as_uri())
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


@pytest.fixture
def service():
    """The address of a service with two models."""
    bound = listening("127.0.0.1", 0)
    models = {"net": network(), "bow": trained("interpolation")}
    server = uvicorn.Server(uvicorn.Config(create_app(models), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_the_same_page_with_a_service_behind_it(browser, service):
    page = Page(browser, f"{service}/explore/net")
    page.until("return explorer.panels?.length > 0")
    page.at("slider0").send_keys(Keys.ARROW_RIGHT)
    page.until("return explorer.answers[0].at[0] === explorer.state.at[0]")
    mach, altitude = page.run("return explorer.state.at")
    wanted = network().predict(mach=mach, altitude_km=altitude)
    assert np.allclose(page.run("return Array.from(explorer.panels[0].mean)"), wanted["u1"].values.ravel(), rtol=1e-5)
    page.until("return explorer.mapped.done")
    assert "inside" in page.text("verdict")
    assert page.errors() == []


def test_intervals_are_those_that_the_service_tells(browser, service):
    page = Page(browser, f"{service}/explore/bow")
    page.until("return explorer.panels?.length > 0")
    wanted = trained("interpolation").predict(mach=20.0, altitude_km=40.0)
    for band in ("interval90", "band90"):
        found = page.run("return Array.from(explorer.answers[0].half(3, { name: arguments[0], factors: [] }))", band)
        assert np.allclose(found, wanted[f"T_{band}"].values.ravel(), rtol=1e-5)
    assert page.errors() == []
