"""Models of several levels: what coarse runs tell, what fine ones add, and what is refused."""

import numpy as np
import pytest

import sureflow as sf
import synthetic
from sureflow.models import LevelsSettings
from sureflow.models.levels import Levels
from sureflow.predictive import EPISTEMIC

FINE, COARSE, COARSEST = (24, 32), (12, 16), (6, 8)
ASKED = np.array([[17.0, 33.0], [22.0, 47.0], [28.0, 51.0]])
POD = {"name": "levels", "coarse": "pod-gp", "difference": "pod-gp"}


@pytest.fixture(scope="module")
def both():
    fine, coarse = synthetic.runs(synthetic.grid()[::3], FINE), synthetic.runs(shape=COARSE)
    return fine.with_coarser(coarse)


def missed(model):
    truth = synthetic.runs(ASKED, FINE).array()
    return float((np.abs(model.predictor(ASKED).mean - truth).mean(axis=(0, 2)) / truth.std(axis=(0, 2))).mean())


def fitted(runs, model):
    return sf.fit(runs, model, calibrate=False)


@pytest.mark.parametrize(("alone", "levels", "share"), [("interpolation", "levels", 0.5), ("pod-gp", POD, 0.9)])
def test_coarse_runs_help_few_fine_ones(both, alone, levels, share):
    assert missed(fitted(both, levels)) < share * missed(fitted(both, alone))


def test_it_passes_through_the_fine_runs(both):
    model = fitted(both, "levels")
    np.testing.assert_allclose(model.predictor(both.parameters).mean, both.array(), rtol=1e-6, atol=1e-6)
    at_runs, between = (np.mean(model.predictor(asked).parts[EPISTEMIC]) for asked in (both.parameters, ASKED))
    assert at_runs < 1e-4 * between


def test_the_variances_of_both_add_up(both):
    model = fitted(both, "levels")
    parts, predictor = model.predictor.fitted, model.predictor
    assert isinstance(parts, Levels)
    inputs, nowhere = predictor.inputs(ASKED), np.empty((0, 0))
    variances = [np.asarray(one.predict(inputs, nowhere).std) ** 2 for one in (parts.coarse, parts.difference)]
    np.testing.assert_allclose(np.asarray(parts.predict(inputs, nowhere).std) ** 2, sum(variances))


def test_three_levels_are_learned_one_after_the_other(both):
    few = synthetic.runs(synthetic.grid()[::3], COARSE).with_coarser(synthetic.runs(shape=COARSEST))
    three = both.with_coarser(few)
    model = fitted(three, "levels")
    assert missed(model) < 0.7 * missed(fitted(three, "interpolation"))
    belief = model.predictor.fitted.belief()
    assert belief is not None
    assert sorted({process.level for process in belief.processes}) == [0, 1, 2]


def test_a_saved_model_of_three_levels_predicts_the_same(both, tmp_path):
    three = both.with_coarser(both.coarser.with_coarser(synthetic.runs(shape=COARSEST)))
    model = fitted(three, "levels")
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(sf.load(tmp_path / "model").predictor(ASKED).mean, model.predictor(ASKED).mean)


def test_the_comparison_takes_it_where_it_pays(both):
    chosen = [row["model"] for row in sf.fit(both, calibrate=False).comparison if row["chosen"]]
    assert chosen == ["levels"]


def test_bars_are_calibrated_by_folds_that_leave_both_levels_out(both):
    model = sf.fit(both, "levels")
    assert model.calibration is not None
    assert model.predict(mach=22.0, altitude_km=47.0).attrs["verdict"] == "inside"


def test_exact_derivatives_are_those_of_both_levels(both):
    model = fitted(both, "levels")
    inputs, along = model.predictor.inputs(ASKED[:1]), np.array([[1.0, 0.5]])
    nowhere, step = np.empty((0, 0)), 1e-4
    slope = model.predictor.fitted.slope(inputs, nowhere, along, nowhere)
    ahead, behind = (model.predictor.fitted.predict(inputs + s * along, nowhere).mean[0] for s in (step, -step))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"coarse": "levels"}, "coarse='levels' cannot be a part of levels"),
        ({"difference": "aligned"}, "difference='aligned' cannot be a part of levels"),
    ],
)
def test_what_cannot_be_a_part_is_refused(given, sentence):
    with pytest.raises(sf.SureflowError, match=sentence):
        sf.fit(synthetic.runs(), {"name": "levels", **given})


def test_runs_on_one_mesh_are_refused():
    with pytest.raises(sf.SureflowError, match="levels needs runs on a coarser mesh as well"):
        sf.fit(synthetic.runs(), "levels")


def test_the_title_says_what_is_not_usual():
    assert LevelsSettings().title == "levels"
    assert sf.fit(synthetic.runs().with_coarser(synthetic.runs(shape=(3, 4))), POD, calibrate=False).model_name == (
        "levels (pod-gp + pod-gp)"
    )
