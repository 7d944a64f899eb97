"""Pages in Chromium, as their users meet them."""

import shutil
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from sureflow.surrogate.model import Surrogate

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
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


def started(downloads: Path) -> webdriver.Chrome:
    """A browser that saves files in a folder."""
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, "--window-size=900,700"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = str(BROWSER)
    return webdriver.Chrome(options, webdriver.ChromeService(str(DRIVER)))


class Page:
    """A page in the browser."""

    def __init__(self, browser: webdriver.Chrome, url: str, frame: str = ""):
        """The page at an address, or in a frame of it."""
        self.browser = browser
        browser.get("about:blank")
        browser.get(url)
        if frame:
            browser.switch_to.frame(browser.find_element(By.TAG_NAME, frame))
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


def conditions(surrogate: Surrogate, count: int = 50, beyond: float = 0.3) -> np.ndarray:
    """Some inside, some outside."""
    low, high = surrogate.domain.lower, surrogate.domain.upper
    reach = beyond * (high - low)
    return np.random.default_rng(1).uniform(low - reach, high + reach, (count, len(low)))
