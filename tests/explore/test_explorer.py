"""The page as a file."""

import pytest

from explore.trained import of_kind, trained
from sureflow.errors import Exists, SureflowError
from sureflow.explore.explorer import explorer, write_explorer


def test_the_page_needs_nothing_else():
    page = explorer(trained("interpolation"), "Bow shock")
    assert "<title>Bow shock</title>" in page
    assert "src=" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("kind", ["block", "volume"])
def test_other_meshes(kind):
    assert len(explorer(of_kind(kind))) > 10_000


def test_a_page_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "page.html"
    write_explorer(trained("interpolation"), path)
    with pytest.raises(Exists, match="exists"):
        write_explorer(trained("interpolation"), path)


def test_the_ending_is_that_of_a_page(tmp_path):
    with pytest.raises(SureflowError, match=r"must end in \.html"):
        write_explorer(trained("interpolation"), tmp_path / "page.png")
