"""Text files of VTK's legacy format that are cut off: VTK itself reads them without a word."""

import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.importers import IMPORTERS
from sureflow.importers.legacy_vtk import require_whole

pyvista = pytest.importorskip("pyvista", reason="the readers of VTK need pip install 'sureflow[cfd]'")


def block():
    mesh = pyvista.ImageData(dimensions=(4, 5, 6))
    rng = np.random.default_rng(0)
    mesh.point_data["p"], mesh.point_data["U"] = rng.random(120), rng.random((120, 3))
    return mesh


KINDS = {
    "uniform": block,
    "rectilinear": lambda: block().cast_to_rectilinear_grid(),
    "structured": lambda: block().cast_to_structured_grid(),
    "unstructured": lambda: block().cast_to_unstructured_grid(),
    "surface": lambda: pyvista.Sphere(theta_resolution=5, phi_resolution=5),
}
# As programs write them by hand: no FIELD, numbers over lines of any length, and values that are no numbers.
BY_HAND = """# vtk DataFile Version 3.0
by hand
ASCII
DATASET STRUCTURED_GRID
DIMENSIONS 2 2 1
POINTS 4 double
0 0 0 1 0 0
0 1 0
1 1 0
POINT_DATA 4
SCALARS p double 1
LOOKUP_TABLE default
1 nan
-inf
.5
VECTORS U double
0 0 0 1 0 0 0 1 0
1 1 {last}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files_pass_and_cut_ones_do_not(tmp_path, kind):
    path, cut = tmp_path / "run.vtk", tmp_path / "cut.vtk"
    KINDS[kind]().save(path, binary=False)
    require_whole(path)
    text = path.read_text()
    last = text.index("METADATA", len(text) // 2) if "METADATA" in text[len(text) // 2 :] else len(text)
    for share in (0.5, 0.9, 0.98):
        cut.write_text(text[: int(share * last)])
        with pytest.raises(ValueError, match=r"it ends after \d+ of \d+ numbers of '\w+'"):
            require_whole(cut)


def test_a_file_that_was_written_by_hand(tmp_path):
    path = tmp_path / "run.vtk"
    path.write_text(BY_HAND.format(last="2"))
    require_whole(path)
    path.write_text(BY_HAND.format(last=""))
    with pytest.raises(
        SureflowError, match=r"cannot be read \(it ends after 11 of 12 numbers of 'U'\): it may be .* cut off"
    ):
        IMPORTERS[".vtk"](path)
    path.write_text(BY_HAND.partition("VECTORS")[0].replace(".5\n", ""))
    with pytest.raises(ValueError, match=r"it ends after 3 of 4 numbers of 'p'"):
        require_whole(path)


def test_binary_files_are_left_to_vtk(tmp_path):
    path = tmp_path / "run.vtk"
    block().save(path, binary=True)
    path.write_bytes(path.read_bytes()[:-200])
    require_whole(path)
