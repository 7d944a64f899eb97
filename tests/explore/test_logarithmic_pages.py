"""Pages over a logarithmic parameter: slider and map move it by factors, links and numbers hold the value itself."""

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from explore.browsing import Page
from explore.trained import logarithmic

DECADES, ANGLES = (2.25, 6.75), (-1.0, 5.0)  # of the sliders, 25 % beyond 1e3..1e6 and 0..4
START = [10**4.5, 2.0]
SLID = """
const slider = $("slider0");
slider.value = +slider.min + arguments[0] * (slider.max - slider.min);
slider.dispatchEvent(new Event("input"));"""
PLACED = """
$("map").scrollIntoView({ block: "center" });
const [x, y] = arguments, { left, top, width, height } = explorer.map.box, map = $("map").getBoundingClientRect();
return [left + x * width - map.width / 2, top + (1 - y) * height - map.height / 2];"""
DRAWN = """
const put = [], context = $("map").getContext("2d");
context.fillText = (text, x, y) => put.push([text, x, y]);
explorer.map.drawAxes(context, { left: 0, top: 0, width: 1, height: 1 }, ([x, y]) => [x, y]);
return put;"""


def at(reynolds_share: float, angle_share: float) -> list[float]:
    """The condition at a place of the map."""
    shares = zip((DECADES, ANGLES), (reynolds_share, angle_share), strict=True)
    decades, angle = (low + share * (high - low) for (low, high), share in shares)
    return [10**decades, angle]


@pytest.fixture
def page(browser, pages):
    opened = Page(browser, pages("logarithmic"))
    yield opened
    assert opened.errors() == []


def shown(page: Page) -> list[float]:
    return page.run("return explorer.state.at")


def test_it_opens_at_the_geometric_mean(page):
    assert shown(page) == pytest.approx(START)
    assert page.at("number0").get_attribute("value") == "31622.8"
    words = page.run("return [...document.querySelector('.parameter .scale').children].map((one) => one.textContent)")
    assert words == ["177.8", "trained on 1000 to 1e6", "5.62e6"]
    assert page.text("verdict") == "inside the training domain"


def test_the_slider_moves_by_factors(page):
    for share in (0.0, 1 / 6, 0.5, 5 / 6, 1.0):
        page.run(SLID, share)
        assert shown(page) == pytest.approx([at(share, 0)[0], 2.0], rel=1e-6)
    page.run(SLID, 0.5)
    wanted = logarithmic().predict(reynolds=10**4.5, angle=2.0)["T"].values.ravel()
    found = page.run("return Array.from(explorer.source.answer(explorer.state.at).mean(0))")
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert float(page.at("number0").get_attribute("value")) == pytest.approx(10**4.5, rel=1e-5)


def test_keys_move_the_slider_by_factors(page):
    step = 10 ** ((DECADES[1] - DECADES[0]) / 200)
    page.at("slider0").send_keys(Keys.ARROW_RIGHT * 3)
    assert shown(page)[0] == pytest.approx(START[0] * step**3, rel=1e-6)
    page.at("slider0").send_keys(Keys.PAGE_DOWN, Keys.ARROW_LEFT)
    assert shown(page)[0] == pytest.approx(START[0] * step**-8, rel=1e-6)
    assert float(page.at("slider0").get_attribute("aria-valuetext")) == pytest.approx(shown(page)[0], rel=1e-3)
    page.at("slider0").send_keys(Keys.HOME)
    assert shown(page)[0] == pytest.approx(10 ** DECADES[0], rel=1e-6)
    page.at("slider1").send_keys(Keys.ARROW_RIGHT)
    assert shown(page)[1] == pytest.approx(2.0 + 6.0 / 200)


def test_a_number_is_the_value_itself(page):
    number = page.at("number0")
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys("2000", Keys.TAB)
    assert shown(page) == [2000, 2.0]
    assert float(page.at("slider0").get_attribute("value")) == pytest.approx(np.log10(2000))
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys("0", Keys.TAB)
    assert shown(page)[0] == pytest.approx(1e-3)  # as far as numbers go


def test_the_map_moves_by_factors(page):
    for x, y in ((0.5, 0.5), (1 / 6, 0.25), (0.9, 0.8)):
        click = ActionChains(page.browser, duration=20)
        click.move_to_element_with_offset(page.at("map"), *page.run(PLACED, x, y)).click().perform()
        (reynolds, angle), wanted = shown(page), at(x, y)
        assert np.log10(reynolds) == pytest.approx(np.log10(wanted[0]), abs=0.03)  # a pixel is 0.02 decades
        assert angle == pytest.approx(wanted[1], abs=0.05)
        assert page.run("return explorer.map.shares(explorer.state.at)") == pytest.approx([x, y], abs=0.007)
    page.drag("map", (0.3, 0.3), (0.6, 0.5))
    reynolds, angle = shown(page)
    page.at("map").send_keys(Keys.ARROW_LEFT)
    assert shown(page) == pytest.approx([reynolds * 10 ** -((DECADES[1] - DECADES[0]) / 100), angle], rel=1e-4)
    page.at("map").send_keys(Keys.ARROW_UP)
    assert shown(page)[1] == pytest.approx(angle + 0.06, rel=1e-4)


def test_the_map_shows_verdicts_where_conditions_are(page):
    page.until("return explorer.map.values.done")
    n, trust = page.run("return [explorer.map.values.n, explorer.map.values.trust]")
    shares = (np.arange(n) + 0.5) / n
    conditions = np.array([at(x, y) for y in shares for x in shares])
    assert page.run("return explorer.map.values.condition(3, 7)") == pytest.approx(conditions[7 * n + 3].tolist())
    wanted = [verdict.trust for verdict in logarithmic().place(conditions, extrapolate=True).verdicts]
    assert trust == wanted
    assert set(wanted) == {"inside", "extrapolated"}
    columns = np.array(trust).reshape(n, n)[n // 2] == "inside"
    assert columns.sum() == pytest.approx(n * 2 / 3, abs=1)  # three decades of four and a half


def test_marks_of_the_map(page):
    marks = {text: place for text, *place in page.run(DRAWN)}
    decades = {text: marks[text] for text in ("1e3", "1e4", "1e5", "1e6")}
    wanted = [(decade - DECADES[0]) / (DECADES[1] - DECADES[0]) for decade in (3, 4, 5, 6)]
    assert [place[0] for place in decades.values()] == pytest.approx(wanted)
    assert {"0", "2", "4"} <= {*marks}


@pytest.mark.parametrize(
    ("least", "most", "labels"),
    [
        (0.56, 17.8, ["1", "2", "5", "10"]),
        (0.32, 316.0, ["1", "3", "10", "30", "100", "300"]),
        (3.2e-5, 3.2e-2, ["1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "3e-2"]),
        (178.0, 5.62e6, ["1e3", "1e4", "1e5", "1e6"]),
        (1e-9, 1e9, ["1e-8", "1e-4", "1e0", "1e4", "1e8"]),
        (0.8, 3.9, ["1", "2", "3"]),
        (80_000.0, 120_000.0, ["8e4", "9e4", "1e5", "1.1e5", "1.2e5"]),
        (500.0, 2000.0, ["500", "1000", "2000"]),
        (0.996, 1.004, ["0.996", "0.998", "1", "1.002", "1.004"]),
    ],
)
def test_marks_are_round_values(page, least, most, labels):
    marks = page.run("return marksOf({ logarithmic: true, least: arguments[0], most: arguments[1] }, 5)", least, most)
    assert [label for _, label in marks] == labels
    assert [value for value, _ in marks] == pytest.approx([float(label) for label in labels])


def test_a_link_holds_the_value(page):
    page.run(SLID, 1 / 6)
    page.settle()
    page.at("link").click()
    assert "#at=1000%2C2" in page.browser.current_url
    again = Page(page.browser, page.browser.current_url)
    assert shown(again) == [1000, 2]
    again.run("location.hash = '#at=250000,1.5'")
    again.until("return explorer.state.at[0] === 250000")
    assert float(again.at("slider0").get_attribute("value")) == pytest.approx(np.log10(250_000))
