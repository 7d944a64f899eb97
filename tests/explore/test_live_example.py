"""The live example in docs/ shows the page as it is."""

from importlib import resources
from pathlib import Path

import pytest

from sureflow.explore.explorer import SCRIPTS

EXAMPLE = Path(__file__).parents[2] / "docs" / "explore" / "quick.html"


@pytest.mark.parametrize("name", ["style.css", *SCRIPTS])
def test_it_has_the_assets_of_today(name):
    asset = (resources.files("sureflow.explore") / "assets" / name).read_text(encoding="utf-8")
    assert asset.strip() in EXAMPLE.read_text(encoding="utf-8"), "repeat benchmarks/live_example.py"


def test_it_is_small():
    assert EXAMPLE.stat().st_size < 1_000_000
