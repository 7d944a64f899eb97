"""A browser and pages for all tests of the explorer."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from selenium import webdriver

from explore.browsing import BROWSER, DRIVER, started
from explore.trained import CLOSED, block_volume, folding, logarithmic, network, of_kind, trained
from sureflow.explore.explorer import write_explorer
from sureflow.explore.surfaces import Cut
from sureflow.surrogate.model import Surrogate

# What pages are made of, and where they cut it, by the names of the pages.
MODELS: dict[str, tuple[Callable[[], Surrogate], Cut | None]] = {
    **{model: (partial(trained, model), None) for model in CLOSED},
    "network": (network, None),
    "logarithmic": (logarithmic, None),
    "volume": (partial(of_kind, "volume"), None),
    "moving": (partial(of_kind, "moving"), None),
    "folding": (folding, None),
    "slice": (partial(of_kind, "volume"), Cut("z", 0.1)),
    "block volume": (block_volume, None),
    "block slice": (block_volume, Cut("z", 0.6)),
}


@pytest.fixture(scope="session")
def downloads(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads) -> Iterator[webdriver.Chrome]:
    if not (BROWSER and DRIVER):
        pytest.skip("no Chromium here: apt-get install chromium chromium-driver")
    driver = started(downloads)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Callable[[str], str]:
    """The address of the page of a kind of model and mesh."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def address(name: str) -> str:
        model, cut = MODELS[name]
        write_explorer(model(), folder / f"{name}.html", cut=cut)
        return (folder / f"{name}.html").as_uri()

    return address
