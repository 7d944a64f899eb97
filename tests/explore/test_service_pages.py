"""Pages with a service behind them, which may fail."""

import threading

import numpy as np
import pytest
import uvicorn
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from explore.browsing import Page
from explore.trained import logarithmic, network, trained
from sureflow.serve.hosting import listening
from sureflow.serve.service import create_app

# Before a page begins: requests fail while `failing` has a word of their address, and errors are kept.
FAULTS = """
window.failing = %s; window.asked = 0; window.uncaught = [];
window.answered = () => Promise.reject(new Error("down"));
const served = window.fetch;
window.fetch = (address, ...others) => {
  window.asked += 1;
  return window.failing.some((word) => address.includes(word)) ? window.answered() : served(address, ...others);
};
addEventListener("error", (event) => window.uncaught.push(event.message));
addEventListener("unhandledrejection", (event) => window.uncaught.push(String(event.reason)));
"""
PAUSE = 50  # milliseconds until a page asks again
DRAWN = "return explorer.stage.panels?.length > 0"
STARTS_AT = {"mach": 20.0, "altitude_km": 40.0}


@pytest.fixture(scope="module")
def service():
    """The address of a service with a few models."""
    bound = listening("127.0.0.1", 0)
    models = {"net": network(), "bow": trained("interpolation"), "log": logarithmic()}
    server = uvicorn.Server(uvicorn.Config(create_app(models), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def faulty(browser, service):
    """Opens a page of which some requests fail; no error in it goes uncaught."""
    opened = []

    def page(failing: str = "[]") -> Page:
        script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": FAULTS % failing})
        opened.append(Page(browser, f"{service}/explore/bow"))
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        opened[0].run("explorer.source.pause = arguments[0]", PAUSE)
        return opened[0]

    yield page
    assert opened[0].run("return window.uncaught") == []


def is_answered(page: Page) -> bool:
    return page.run(
        "return explorer.shown.answers.every((one) => !one.failed) && !document.getElementById('csv').disabled"
    )


def test_the_same_page_with_a_service_behind_it(browser, service):
    page = Page(browser, f"{service}/explore/net")
    page.until(DRAWN)
    page.at("slider0").send_keys(Keys.ARROW_RIGHT)
    page.until("return explorer.shown.answers[0].at[0] === explorer.state.at[0]")
    mach, altitude = page.run("return explorer.state.at")
    wanted = network().predict(mach=mach, altitude_km=altitude)
    assert np.allclose(
        page.run("return Array.from(explorer.stage.panels[0].mean)"), wanted["u1"].values.ravel(), rtol=1e-5
    )
    page.until("return explorer.map.values.done")
    assert "inside" in page.text("verdict")
    assert page.errors() == []


def test_a_logarithmic_parameter_of_a_service(browser, service):
    """Slider and map move it by factors; the service is asked for values."""
    page = Page(browser, f"{service}/explore/log")
    page.until(DRAWN)
    assert page.run("return explorer.state.at") == pytest.approx([10**4.5, 2.0])
    page.run("$('slider0').value = 4; $('slider0').dispatchEvent(new Event('input'))")
    page.until("return explorer.shown.answers[0].at[0] === 10000")
    wanted = logarithmic().predict(reynolds=1e4, angle=2.0)["T"].values.ravel()
    assert np.allclose(page.run("return Array.from(explorer.stage.panels[0].mean)"), wanted, rtol=1e-5)
    page.until("return explorer.map.values?.trust.length > 0")
    n, trust = page.run("return [explorer.map.values.n, explorer.map.values.trust]")
    inside = (np.array(trust).reshape(n, n) == "inside").any(axis=0)
    assert inside.sum() == n * 2 / 3  # three decades of four and a half
    assert page.errors() == []


def test_intervals_are_those_that_the_service_tells(browser, service):
    page = Page(browser, f"{service}/explore/bow")
    page.until(DRAWN)
    wanted = trained("interpolation").predict(**STARTS_AT)
    for band in ("interval90", "band90"):
        found = page.run(
            "return Array.from(explorer.shown.answers[0].half(3, { name: arguments[0], factors: [] }))", band
        )
        assert np.allclose(found, wanted[f"T_{band}"].values.ravel(), rtol=1e-5)
    assert page.errors() == []


def test_a_page_whose_first_answer_fails_says_so_and_asks_again(faulty):
    page = faulty("['predict']")
    page.until("return document.getElementById('verdict').textContent !== ''")
    assert page.text("verdict") == "the service cannot be reached (down)"
    assert not page.at("waiting").is_displayed()
    page.run("explorer.set(0, 21)")  # while nothing is drawn
    page.settle()
    closed = "return ['csv', 'png', 'line-csv', 'fit', 'draw'].map((id) => document.getElementById(id).disabled)"
    assert page.run(closed) == [True] * 5
    assert page.run("return document.getElementById('stage').inert")
    page.run("window.failing = []")
    page.until(DRAWN)
    page.settle()
    assert is_answered(page)
    assert page.run(closed) == [False] * 5
    assert not page.run("return document.getElementById('stage').inert")
    wanted = trained("interpolation").predict(mach=21.0, altitude_km=40.0)
    assert np.allclose(
        page.run("return Array.from(explorer.stage.panels[0].mean)"), wanted["u1"].values.ravel(), rtol=1e-5
    )


def test_a_failure_is_not_kept(faulty):
    page = faulty()
    page.until(DRAWN)
    page.run("window.failing = ['predict']; explorer.set(0, 22)")
    page.until("return document.getElementById('verdict').className === 'refused'")
    reason = "the service cannot be reached (down); shown is the prediction at mach=20, altitude_km=40"
    assert page.text("verdict") == reason
    assert page.run("return document.getElementById('csv').disabled")  # of another condition than its name would say
    assert "-" in page.text("quantities")
    asked = page.run("return window.asked")
    page.until(f"return window.asked > {asked} + 2")
    assert page.text("verdict") == reason
    page.run("window.failing = []")
    page.until("return explorer.shown.answers[0].at[0] === 22 && !explorer.shown.answers[0].failed")
    page.settle()
    assert is_answered(page)
    assert "inside" in page.text("verdict")


def test_one_of_two_conditions_fails(faulty):
    page = faulty()
    page.until(DRAWN)
    page.run("document.getElementById('compare').click()")
    page.settle()
    page.run("window.failing = ['predict']; explorer.set(0, 21.5)")
    page.until("return document.getElementById('verdict').className === 'refused'")
    assert page.text("verdict").startswith("B: the service cannot be reached")
    # At once: the page asks again, and draws the table anew.
    cells = page.run(
        "return [...document.querySelectorAll('#quantities tbody tr:first-child td')].map((one) => one.textContent)"
    )
    assert "±" in cells[0]
    assert cells[1:] == ["-", "-"]
    page.run("explorer.state.active = 0; explorer.changed()")
    assert page.text("verdict").startswith("B: the service cannot be reached")
    page.run("window.failing = []")
    page.until("return explorer.shown.answers[1].at[0] === 21.5 && !explorer.shown.answers[1].failed")
    page.settle()
    assert is_answered(page)


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (422, '{"error": "mach=22 is refused"}', "mach=22 is refused"),
        (502, "<html>bad gateway</html>", "the service answered with the status 502"),
    ],
)
def test_what_the_service_says_is_told(faulty, status, body, sentence):
    page = faulty()
    page.until(DRAWN)
    page.run("window.failing = ['predict']; const [body, status] = arguments;"
        "window.answered = async () => new Response(body, { status }); explorer.set(0, 22)", body, status)  # fmt: skip
    page.until("return document.getElementById('verdict').className === 'refused'")
    assert page.text("verdict").startswith(f"{sentence}; shown is the prediction at")
    asked = page.run("return window.asked")
    page.browser.execute_async_script(f"setTimeout(arguments[0], {6 * PAUSE})")
    assert (page.run("return window.asked") > asked) == (status != 422)  # what is refused is refused again


def test_a_map_that_fails_says_so_and_is_asked_for_again(faulty):
    page = faulty("['verdicts']")
    page.until("return document.getElementById('map-note').textContent.startsWith('There is no map')")
    assert "cannot be reached (down)." in page.text("map-note")
    Select(page.at("field")).select_by_value("1")
    page.until("return document.getElementById('map-note').textContent.endsWith('(down).')")
    page.run("window.failing = []")
    page.until("return explorer.map.values?.trust.length > 0")
    assert page.text("map-note").endswith("Circles: training runs.")
