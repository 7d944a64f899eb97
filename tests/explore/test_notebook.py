"""The explorer in a cell of a notebook."""

from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from explore.browsing import Page
from explore.trained import of_kind

LINKED = 200  # milliseconds after a change a page writes its state into its address


@pytest.fixture
def cell(browser, tmp_path: Path):
    """A page with what a notebook shows, from within."""
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!doctype html><title>Notebook</title>{of_kind('block').explore()._repr_html_()}", encoding="utf-8"
    )
    yield Page(browser, path.as_uri(), frame="iframe")
    browser.switch_to.default_content()


def test_it_works_without_an_address_of_its_own(cell):
    cell.at("slider0").send_keys(Keys.ARROW_RIGHT * 3)
    cell.settle()
    assert cell.run("return explorer.shown.answers[0].at[0] > 1")
    cell.browser.execute_async_script(f"setTimeout(arguments[0], {2 * LINKED})")
    assert not cell.at("link").is_displayed()
    assert cell.at("csv").is_displayed()
    assert cell.errors() == []
