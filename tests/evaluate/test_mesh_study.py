"""The error of the mesh of one run, from two coarser ones."""

from dataclasses import replace

import pytest

import sureflow as sf
from sureflow.evaluate import mesh_study
from sureflow.evaluate.mesh_study import MeshStudy, require_mergeable, study_mesh
from sureflow.flow.solution import FlowSolution
from sureflow.metrics.grid_convergence import EXPANSION, SAFETY


@pytest.fixture(scope="module")
def solution():
    return sf.solve(20, 40, cells=(64, 64), wall_spacing=1e-4)


@pytest.fixture(scope="module")
def study(solution) -> MeshStudy:
    return study_mesh(solution)


def unconverged(solution: FlowSolution) -> FlowSolution:
    return replace(solution, convergence=replace(solution.convergence, status="stalled"))


def test_three_meshes_tell_the_error_of_the_finest(solution, study):
    told = study.summary()
    assert told["meshes"] == ["64x64", "32x32", "16x16"]
    for name in ("stand_off", "drag_coefficient", "q_stag_w_m2"):
        one = told["quantities"][name]
        assert one["value"] == solution.record()[name]
        assert 0 < one["std_mesh"] < 0.5 * abs(one["value"])
    assert all(value > 0 for value in told["mean_std_mesh"].values())


def test_two_meshes_tell_it_at_order_1_if_the_coarsest_does_not_converge(study, monkeypatch):
    fine, medium, coarse = study.levels
    runs = iter([medium, unconverged(coarse)])
    monkeypatch.setattr(mesh_study, "_coarser", lambda *given: next(runs))
    told = study_mesh(fine).summary()
    assert told["meshes"] == ["64x64", "32x32"]
    one = told["quantities"]["drag_coefficient"]
    difference = abs(fine.record()["drag_coefficient"] - medium.record()["drag_coefficient"])
    assert one["order"] is None
    assert one["std_mesh"] == pytest.approx(SAFETY * difference / EXPANSION)
    assert all(value > 0 for value in told["mean_std_mesh"].values())


def test_a_coarser_mesh_that_does_not_converge_tells_nothing(study, monkeypatch):
    fine, medium, _ = study.levels
    monkeypatch.setattr(mesh_study, "_coarser", lambda *given: unconverged(medium))
    with pytest.raises(sf.SureflowError, match="32x32 cells did not converge; solve with more cells"):
        study_mesh(fine)


def test_meshes_that_cannot_be_merged_are_refused():
    with pytest.raises(sf.SureflowError, match="choose multiples of 4, at least 64"):
        require_mergeable((66, 64))
    require_mergeable((128, 64))
