"""The error of the mesh of one run, from two coarser ones."""

import pytest

import sureflow as sf
from sureflow.evaluate.mesh_study import MeshStudy, require_mergeable, study_mesh


@pytest.fixture(scope="module")
def solution():
    return sf.solve(20, 40, cells=(64, 64), wall_spacing=1e-4)


def test_three_meshes_tell_the_error_of_the_finest(solution):
    told = study_mesh(solution).summary()
    assert told["meshes"] == ["64x64", "32x32", "16x16"]
    for name in ("stand_off", "drag_coefficient", "q_stag_w_m2"):
        one = told["quantities"][name]
        assert one["value"] == solution.record()[name]
        assert 0 < one["std_mesh"] < 0.5 * abs(one["value"])
    assert all(value > 0 for value in told["mean_std_mesh"].values())


def test_two_meshes_tell_it_at_order_1(solution):
    """As where the shock touches the outer boundary of the coarsest."""
    fine, medium, _ = study_mesh(solution).levels
    told = MeshStudy((fine, medium)).summary()
    assert told["meshes"] == ["64x64", "32x32"]
    one = told["quantities"]["drag_coefficient"]
    difference = abs(fine.record()["drag_coefficient"] - medium.record()["drag_coefficient"])
    assert one["order"] is None
    assert one["std_mesh"] == pytest.approx(1.25 * difference / 1.15)
    assert all(value > 0 for value in told["mean_std_mesh"].values())


def test_meshes_that_cannot_be_merged_are_refused():
    with pytest.raises(sf.SureflowError, match="choose multiples of 4 from 64 on"):
        require_mergeable((66, 64))
    require_mergeable((128, 64))
