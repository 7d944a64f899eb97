"""The explorer in Chromium with software rendering: size of the page, time to the first picture, time of a slider step.

    python benchmarks/explorer.py model/ [other/ ...] [--dash python-with-dash]

A slider step is timed in the page of each model: from the input event to the drawn picture, which a read of one of its pixels
waits for, and the page laid out; it includes mean, bars, verdict, quantities, curve and map. The time between frames is that of a
slider in motion, with all that the browser does to bring them to a screen, here without a graphics card. With --dash, a page of
Dash that shows the same field of the first model on the same mesh is timed as well, in an environment that has dash and sureflow.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

import sureflow as sf

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
STEPS = """
const done = arguments[0], picture = document.getElementById("picture").getContext("2d"), times = [];
let k = 0;
function step() {
  const slider = document.getElementById(`slider${k % 2}`), share = 0.2 + 0.6 * ((k * 0.618) % 1);
  const began = performance.now();
  slider.value = +slider.min + share * (slider.max - slider.min);
  slider.dispatchEvent(new Event("input"));
  explorer.render();
  picture.getImageData(0, 0, 1, 1);
  document.body.getBoundingClientRect();
  times.push(performance.now() - began);
  if (++k < 120) setTimeout(step, 5); else done(times.slice(20));
}
step();"""
FRAMES = """
const done = arguments[0], times = [];
let k = 0, before = performance.now();
function step(now) {
  times.push(now - before); before = now;
  const slider = document.getElementById(`slider${k % 2}`), share = 0.2 + 0.6 * ((k * 0.618) % 1);
  slider.value = +slider.min + share * (slider.max - slider.min);
  slider.dispatchEvent(new Event("input"));
  if (++k < 80) requestAnimationFrame(step); else done(times.slice(20));
}
requestAnimationFrame(step);"""
MARK = "return performance.getEntriesByName(arguments[0])[0]?.startTime"


def driver() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, "--window-size=1400,1000"):
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or sys.exit("apt-get install chromium chromium-driver")
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def page_times(url: str) -> tuple[float, float, list[float], list[float]]:
    """Milliseconds from navigation to the first picture and to sliders that work, of slider steps, and between frames of a
    slider in motion."""
    with driver() as browser:
        browser.set_script_timeout(120)
        browser.get(url)
        WebDriverWait(browser, 60, 0.05).until(lambda b: b.execute_script(MARK, "complete"))
        first, complete = (browser.execute_script(MARK, name) for name in ("first-picture", "complete"))
        WebDriverWait(browser, 60, 0.05).until(lambda b: b.execute_script("return explorer.map.values.done"))
        return first, complete, browser.execute_async_script(STEPS), browser.execute_async_script(FRAMES)


def dash_times(python: str, model: Path) -> list[float]:
    """Milliseconds of slider steps in a page of Dash, from the change of the slider to its next drawn figure."""
    server = subprocess.Popen([python, str(Path(__file__).with_name("explorer_dash.py")), str(model), "8059"])
    steps = """
    const done = arguments[0], graph = document.querySelector('#field .js-plotly-plot'), times = [];
    let k = 0;
    function step() {
      const began = performance.now();
      graph.once('plotly_afterplot', () => {
        times.push(performance.now() - began);
        if (++k < 25) setTimeout(step, 200); else done(times.slice(5));
      });
      dash_clientside.set_props('mach', { value: 12 + 16 * ((k * 0.618) % 1) });
    }
    step();"""
    try:
        with driver() as browser:
            browser.set_script_timeout(300)
            for _ in range(120):
                time.sleep(1)
                try:
                    browser.get("http://127.0.0.1:8059/")
                    break
                except Exception:  # not there yet
                    continue
            WebDriverWait(browser, 120, 0.1).until(
                lambda b: b.execute_script("return !!document.querySelector('#field .js-plotly-plot .main-svg')")
            )
            time.sleep(3)
            return browser.execute_async_script(steps)
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--dash", help="python of an environment with dash and sureflow")
    options = parser.parse_args()
    print("| model | runs | page | first picture | sliders work | slider step: median | 90 % | between frames |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    medians = []
    for folder in options.models:
        model = sf.load(folder)
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "explorer.html"
            model.explore(path)
            first, complete, times, frames = page_times(path.as_uri())
            size = path.stat().st_size / 1e6
        medians.append(statistics.median(times))
        high = sorted(times)[int(0.9 * len(times))]
        print(
            f"| {model.model_name} | {len(model.domain.parameters)} | {size:.1f} MB | {first:.0f} ms | {complete:.0f} ms "
            f"| {medians[-1]:.1f} ms | {high:.1f} ms | {statistics.median(frames):.0f} ms |",
            flush=True,
        )
    if options.dash:
        found = statistics.median(dash_times(options.dash, options.models[0]))
        print(f"| the first in Dash | | | | | {found:.0f} ms: {found / medians[0]:.0f} times as long | | |", flush=True)


if __name__ == "__main__":
    main()
