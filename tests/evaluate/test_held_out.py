"""Which runs test a model, in which domains and units, and a trained model through the whole of it."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import kinds_of_runs
from sureflow.data.normalize import Standard
from sureflow.data.runs import Runs
from sureflow.data.splits import Division, RandomRuns, Split
from sureflow.errors import SureflowError
from sureflow.evaluate.evaluation import evaluate_surrogate
from sureflow.evaluate.held_out import held_out, metric_space
from sureflow.surrogate.learning import learn
from sureflow.surrogate.model import Surrogate
from sureflow.surrogate.specification import specification
from sureflow.uq.bars import Calibration, Calibrations
from sureflow.validation import settings

POINTS = np.linspace(0.0, 1.0, 6)[:, None]


def runs(first, second, points=POINTS, names=("p", "T"), parameters=("a", "b")) -> Runs:
    at = np.array([(a, b) for a in first for b in second], float)
    waves = [np.sin(a / 5 + points[:, 0]) + b / 9 for a, b in at], [b * np.cos(a / 7 + points[:, 0]) for a, b in at]
    return Runs.from_arrays(dict(zip(parameters, at.T, strict=True)), points, dict(zip(names, waves, strict=True)))


def trained_on(data: Runs, trained, calibrated=None) -> Surrogate:
    surrogate = learn(data.select(trained), specification({"model": "interpolation"}))
    if calibrated is None:
        return surrogate
    fields = {"scale": np.ones((2, 6), np.float32), "sides": np.zeros((0, 2, 6), np.float32)}
    shape = {"growth": 0.0, "near": 0.1, "taught": (), "spread": ()}
    conditions = tuple(map(tuple, data.parameters[calibrated].tolist()))
    fitted = Calibration(
        **fields, **shape, factors={}, band_factors={}, runs=9, exact=True, reach=0, conditions=conditions
    )
    return replace(surrogate, calibration=Calibrations(fitted))


@settings
class Corner(Split):
    """Runs with a <= 13 and b <= 23 train, but for every third; `far` tests where a > 13, `deep` where b > 23."""

    kind: ClassVar[str] = "corner"

    def __call__(self, runs: Runs) -> Division:
        first, second = runs.parameters.T
        inside = (first <= 13) & (second <= 23)
        test = inside & (np.cumsum(inside) % 3 == 0)
        outer = {"far": first > 13, "deep": second > 23}
        return Division(inside & ~test, {"in_domain": test, **outer, "out_of_domain": ~inside}, {})


@pytest.fixture(scope="module")
def data():
    return runs(np.arange(10, 16), np.arange(20, 26))


def all_tested(found):
    return np.logical_or.reduce(list(found.test.values()))


def test_a_split_gives_its_domains_and_units_to_all_models_of_its_training_runs(data):
    division = Corner()(data)
    found = held_out(data, trained_on(data, division.train), Corner())
    assert found.split == "corner"
    for name, mask in division.test.items():
        np.testing.assert_array_equal(found.test[name], mask)
    some = division.train & (np.cumsum(division.train) % 2 == 1)
    fewer = held_out(data, trained_on(data, some), Corner())
    np.testing.assert_array_equal(fewer.trained, some)
    np.testing.assert_array_equal(fewer.test["in_domain"], division.test["in_domain"])
    np.testing.assert_array_equal(fewer.units, division.train)


def test_without_a_split_the_box_of_the_training_runs_divides(data):
    first, second = data.parameters.T
    box = (first >= 11) & (first <= 13) & (second >= 21) & (second <= 24)
    trained = box & ((first + second) % 2 == 0)
    found = held_out(data, trained_on(data, trained))
    assert found.split is None
    np.testing.assert_array_equal(found.test["in_domain"], box & ~trained)
    np.testing.assert_array_equal(found.test["out_of_domain"], ~box)
    np.testing.assert_array_equal(found.units, trained)


def test_a_split_that_does_not_fit_is_refused(data):
    trained = Corner()(data).train.copy()
    trained[-2:] = True
    with pytest.raises(
        SureflowError,
        match="the split 'corner' does not fit this model: it was trained on 2 runs that are not in the training set",
    ):
        held_out(data, trained_on(data, trained), Corner())
    model = trained_on(data, Corner()(data).train)
    with pytest.raises(SureflowError, match="some of its training runs are not among these runs; choose another split"):
        held_out(data.select(np.arange(1, len(data))), model, Corner())


@pytest.mark.parametrize("seed", range(3))
def test_no_training_run_is_ever_tested(data, seed):
    trained = np.random.default_rng(seed).random(len(data)) < 0.3
    found = held_out(data, trained_on(data, trained))
    assert not (all_tested(found) & trained).any()
    np.testing.assert_array_equal(found.trained, trained)
    division = RandomRuns(test_runs=8, seed=seed)(data)
    by_split = held_out(data, trained_on(data, division.train), RandomRuns(test_runs=8, seed=seed))
    np.testing.assert_array_equal(all_tested(by_split), ~division.train)


@pytest.mark.parametrize("split", [None, Corner()])
def test_no_run_that_gave_the_bars_is_ever_tested(data, split):
    trained = Corner()(data).train
    calibrated = ~trained & (np.arange(len(trained)) % 3 == 0)
    found = held_out(data, trained_on(data, trained, calibrated), split)
    np.testing.assert_array_equal(found.calibrated, calibrated)
    np.testing.assert_array_equal(all_tested(found), ~trained & ~calibrated)
    assert f"{trained.sum()} trained on and {calibrated.sum()} used for calibration" in found.explanation()


def test_domains_without_runs_are_not_there():
    data = runs([10, 11, 12], [20, 30])
    found = held_out(data, trained_on(data, data.parameters[:, 0] != 11))
    assert set(found.test) == {"in_domain"}


def test_nothing_left_to_test_on_is_said():
    data = runs([10, 11], [20, 30])
    with pytest.raises(SureflowError, match="all 4 runs were trained on or calibrated with: hold some of them out"):
        held_out(data, trained_on(data, np.ones(4, bool)))


def test_the_units_are_those_of_the_training_runs_even_if_they_are_not_at_hand(data):
    trained = np.arange(len(data)) % 3 == 0
    model, expected = trained_on(data, trained), Standard.of_fields(data.select(trained))
    for given in (data, data.select(~trained), data.select(np.arange(len(data)) > 4)):
        space = metric_space(given, held_out(given, model), model)
        np.testing.assert_allclose(space.mean, expected.mean)
        np.testing.assert_allclose(space.std, expected.std)


def test_the_explanation_says_what_was_tested(data):
    trained = np.arange(len(data)) % 3 == 0
    model = trained_on(data, trained)
    assert held_out(data, model).explanation() == (
        "Tested on 24 of 36 runs; not tested: 12 trained on. "
        "in_domain and out_of_domain are inside and outside the ranges of the training runs."
    )
    others = held_out(data.select(~trained), model).explanation()
    assert others.startswith("Tested on 24 of 24 runs, none of which was trained on. ")
    division = Corner()(data)
    by_split = held_out(data, trained_on(data, division.train), Corner()).explanation()
    assert by_split.endswith("The domains are those of the split 'corner'.")


@pytest.mark.parametrize("kind", kinds_of_runs.KINDS)
def test_a_model_is_evaluated_on_runs_of_any_kind(kind):
    train, test = kinds_of_runs.runs(kind).split(test=0.2, seed=0)
    model = learn(train, specification({"model": "interpolation"}))
    found = evaluate_surrogate(model, test)
    table = found.table().set_index(["domain", "variable"])
    truth = test.array()
    outside = (model.domain.excess(test.parameters) > 0).any(axis=1)
    error = np.abs(np.asarray(model.predictive(test.parameters).mean) - truth).mean(axis=2) / model.field_scale.std
    assert table.loc[("in_domain", "p"), "mae"] == pytest.approx(error[~outside, 0].mean(), rel=1e-5)
    assert table.loc[("in_domain", "mean"), "n_runs"] == (~outside).sum()
    assert "none of which was trained on" in repr(found)
    everything = evaluate_surrogate(model, kinds_of_runs.runs(kind))
    assert everything.rows == found.rows


def test_an_evaluation_with_a_split(data):
    division = Corner()(data)
    found = evaluate_surrogate(trained_on(data, division.train), data, Corner())
    assert set(found.table()["domain"]) == {"in_domain", "far", "deep", "out_of_domain"}
    assert "split 'corner'" in found.explanation


def test_parameters_are_put_in_the_order_of_the_model():
    data = runs([10, 11, 12], [20, 30, 40])
    trained = np.arange(9) != 4
    model = trained_on(data, trained)
    swapped = Runs.from_arrays(
        {"b": data.parameters[:, 1], "a": data.parameters[:, 0]},
        POINTS,
        dict(zip(("p", "T"), np.moveaxis(data.array(), 1, 0), strict=True)),
    )
    assert evaluate_surrogate(model, swapped).rows == evaluate_surrogate(model, data).rows


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"names": ("p", "q")}, "predicts p, T and these runs have p, q"),
        ({"parameters": ("a", "alpha")}, "takes a, b and these runs have a, alpha"),
        ({"points": 2 * POINTS}, "from those of the model's mesh"),
        ({"points": np.linspace(0.0, 1.0, 48)[:, None]}, "on a mesh of 6 points and these runs have 48"),
    ],
)
def test_runs_that_do_not_fit_are_refused(others, message):
    model = trained_on(runs([10, 11], [20, 30]), np.ones(4, bool))
    with pytest.raises(SureflowError, match=message):
        evaluate_surrogate(model, runs([12, 13], [20, 30], **others))
