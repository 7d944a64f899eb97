from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import synthetic
from sureflow.errors import SureflowError
from sureflow.evaluate.held_out import held_out, matched, metric_space, trained_runs
from sureflow.uq.domain import TrainingDomain

NAMES = ("mach", "altitude_km")


def runs(mach, altitude):
    return synthetic.dataset(np.array([(m, h) for m in mach for h in altitude], float), shape=(2, 3))


def trained_on(data, trained, calibrated=slice(0)):
    """What a split asks of a surrogate."""
    domain = TrainingDomain(NAMES, data.parameters[trained])
    return SimpleNamespace(domain=domain, calibrated_with=data.parameters[calibrated])


@pytest.fixture(scope="module")
def paper_runs():
    """The paper's grid: 21 Mach numbers, 21 altitudes."""
    return runs(np.arange(10, 31), np.arange(20, 61, 2))


def inside(data, mach, altitude):
    m, h = data.parameters.T
    return (m >= mach[0]) & (m <= mach[1]) & (h >= altitude[0]) & (h <= altitude[1])


def test_training_runs_of_the_paper_give_its_domains(paper_runs):
    from sureflow.data.split import PaperDomains

    split = PaperDomains()(paper_runs)
    found = held_out(paper_runs, trained_on(paper_runs, split.train))
    assert found.rule == "paper"
    assert found.trained.sum() == 205
    for name, mask in split.test.items():
        np.testing.assert_array_equal(found.test[name], mask)
    some = split.train & (np.cumsum(split.train) % 8 == 1)
    fewer = held_out(paper_runs, trained_on(paper_runs, some))
    assert fewer.rule == "paper"
    assert fewer.test["in_domain"].sum() == 50
    np.testing.assert_array_equal(fewer.units, split.train)  # the units of all numbers of runs


def test_other_training_runs_give_a_box(paper_runs):
    box = inside(paper_runs, (14, 20), (30, 40))
    every_second = box & (paper_runs.parameters[:, 0] % 2 == 0)
    found = held_out(paper_runs, trained_on(paper_runs, every_second))
    assert found.rule == "box"
    np.testing.assert_array_equal(found.test["in_domain"], box & ~every_second)
    np.testing.assert_array_equal(found.test["out_of_domain"], ~box)
    np.testing.assert_array_equal(found.units, every_second)
    with pytest.raises(SureflowError, match=r"the paper's split does not fit .* were trained on; use --split box"):
        held_out(paper_runs, trained_on(paper_runs, every_second), "paper")


def test_a_box_can_be_asked_for(paper_runs):
    from sureflow.data.split import PaperDomains

    found = held_out(paper_runs, trained_on(paper_runs, PaperDomains()(paper_runs).train), "box")
    assert set(found.test) == {"in_domain", "out_of_domain"}


@pytest.mark.parametrize("split", ["auto", "box"])
def test_no_training_run_is_ever_tested(paper_runs, split):
    rng = np.random.default_rng(0)
    for _ in range(5):
        trained = rng.random(len(paper_runs.parameters)) < 0.3
        found = held_out(paper_runs, trained_on(paper_runs, trained), split)
        assert not (np.logical_or.reduce(list(found.test.values())) & trained).any()
        np.testing.assert_array_equal(found.trained, trained)


@pytest.mark.parametrize("split", ["paper", "box"])
def test_no_run_that_gave_the_bars_is_ever_tested(paper_runs, split):
    from sureflow.data.split import PaperDomains

    trained = PaperDomains()(paper_runs).train
    calibrated = ~trained & (np.arange(len(trained)) % 3 == 0)
    found = held_out(paper_runs, trained_on(paper_runs, trained, calibrated), split)
    np.testing.assert_array_equal(found.calibrated, calibrated)
    np.testing.assert_array_equal(np.logical_or.reduce(list(found.test.values())), ~trained & ~calibrated)


def test_domains_without_runs_are_not_there():
    data = runs([10, 11, 12], [20, 30])
    found = held_out(data, trained_on(data, data.parameters[:, 0] != 11))
    assert set(found.test) == {"in_domain"}


def test_conditions_that_differ_by_rounding_are_the_same():
    data = runs([10, 11], [20, 30])
    domain = TrainingDomain(NAMES, data.parameters[:3] * (1 + 1e-12))
    np.testing.assert_array_equal(trained_runs(data, domain)[0], [True, True, True, False])


def test_nothing_left_to_test_on_is_said():
    data = runs([10, 11], [20, 30])
    with pytest.raises(SureflowError, match="all 4 converged runs were trained on"):
        held_out(data, trained_on(data, np.ones(4, bool)))


def test_the_space_is_that_of_the_training_runs():
    data = runs([10, 11], [20, 30])
    trained = np.array([True, True, False, False])
    space = metric_space(data, trained)
    np.testing.assert_allclose(space.mean, data.fields[:2].mean(axis=(0, 2)))
    np.testing.assert_allclose(space.std, data.fields[:2].std(axis=(0, 2)))
    np.testing.assert_allclose(metric_space(data, ~trained & trained).mean, data.fields.mean(axis=(0, 2)))


def model_of(data, **other):
    domain = TrainingDomain(data.parameter_names, data.parameters)
    return SimpleNamespace(names=data.names, domain=domain, mesh_points=data.coordinates, **other)


def test_parameters_are_put_in_the_order_of_the_model():
    data = runs([10, 11], [20, 30])
    model = model_of(data)
    swapped = replace(data, parameters=data.parameters[:, ::-1], parameter_names=NAMES[::-1])
    np.testing.assert_array_equal(matched(swapped, model).parameters, data.parameters)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"names": ("u1", "u2", "rho", "p")}, "predicts u1, u2, rho, T and these runs hold u1, u2, rho, p"),
        ({"parameter_names": ("mach", "alpha")}, "takes mach, altitude_km and these runs have mach, alpha"),
        (
            {"coordinates": {"xr": 2 * synthetic.dataset(shape=(2, 3)).coordinates["xr"]}},
            "from those of the model's mesh",
        ),
    ],
)
def test_runs_that_do_not_fit_are_refused(other, message):
    data = runs([10, 11], [20, 30])
    with pytest.raises(SureflowError, match=message):
        matched(replace(data, **other), model_of(data))


def test_a_mesh_of_another_size_is_refused():
    with pytest.raises(SureflowError, match="on a mesh of 6 points and these runs have 48"):
        matched(synthetic.dataset(), model_of(runs([10, 11], [20, 30])))
