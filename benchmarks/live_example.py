"""The live example of docs/explore.md and its pictures, from the runs of the quick study.

    sureflow generate runs.zarr --preset quick
    python benchmarks/live_example.py runs.zarr

Writes docs/explore/quick.html (POD-GP), and in Chromium explorer.png and compare.png of the default model. To be repeated when
the assets of the page change; a test compares them with those of the example.
"""

import argparse
import base64
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

import sureflow as sf
from explorer import driver

FOLDER = Path(__file__).parents[1] / "docs" / "explore"
TITLE = "Bow shock of the RAM-C II"
# By name: the state in the link, and the color scheme.
PICTURES = {
    "explorer.png": ("at=33,60&field=3&colors=inferno&threshold=0.06&line=stagnation&band=band90", "light"),
    "compare.png": ("at=14,30&other=27,50&field=3&active=1&line=wall", "dark"),
}


def take(browser: webdriver.Chrome, page: Path, path: Path) -> None:
    state, scheme = PICTURES[path.name]
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#{state}")
    WebDriverWait(browser, 120, 0.1).until(lambda b: b.execute_script("return window.explorer?.map?.values?.done"))
    browser.execute_script("explorer.stage.readAt(0.25, 0.27); explorer.stage.drawOverlay()")
    size = browser.execute_script("return [document.body.scrollWidth, document.body.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(shot["data"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    runs = sf.open_runs(parser.parse_args().store)
    sf.fit(runs, "pod-gp").explore(
        FOLDER / "quick.html", title=f"{TITLE}: 39 runs of the quick study (POD-GP)", overwrite=True
    )
    with tempfile.TemporaryDirectory() as folder, driver() as browser:
        page = Path(folder) / "default.html"
        sf.fit(runs).explore(page, title=TITLE)
        for name in PICTURES:
            take(browser, page, FOLDER / name)


if __name__ == "__main__":
    main()
