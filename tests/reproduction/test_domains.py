"""The paper's split, counted on its own 441 conditions."""

import numpy as np
import pytest

from sureflow.data.runs import Runs
from sureflow.data.splits import SPLITS
from sureflow.errors import SureflowError
from sureflow.reproduction.leon2023.domains import PaperDomains


@pytest.fixture(scope="module")
def runs():
    mach, altitude = (a.ravel() for a in np.meshgrid(np.arange(10.0, 31), np.arange(20.0, 61, 2), indexing="ij"))
    return Runs.from_arrays({"mach": mach, "altitude_km": altitude}, np.zeros((1, 2)), {"T": np.zeros((mach.size, 1))})


def test_the_papers_domains(runs):
    split = PaperDomains()(runs)
    mach, altitude = runs.parameters.T
    assert split.train.sum() == 205
    assert split.test["in_domain"].sum() == 50
    box = split.train | split.test["in_domain"]
    np.testing.assert_array_equal(box, (mach >= 12) & (mach <= 28) & (altitude >= 26) & (altitude <= 54))
    np.testing.assert_array_equal(split.test["high_mach"], np.isin(mach, [29, 30]))
    np.testing.assert_array_equal(split.test["high_altitude"], np.isin(altitude, [56, 58, 60]))
    np.testing.assert_array_equal(split.test["low_altitude"], np.isin(altitude, [20, 22, 24]))
    np.testing.assert_array_equal(split.test["low_mach"], np.isin(mach, [10, 11, 12]) & ~split.train)
    assert split.test["in_domain"][(mach == 25) & (altitude == 46)].all()


def test_training_runs_are_left_out_of_every_test_and_counted(runs):
    split = PaperDomains()(runs)
    assert not any((mask & split.train).any() for mask in split.test.values())
    mach_12 = (runs.parameters[:, 0] == 12) & split.train
    assert split.left_out["low_mach"] == split.left_out["out_of_domain"] == mach_12.sum() > 0
    assert split.left_out["high_mach"] == split.left_out["in_domain"] == 0


def test_the_pooled_domain_counts_a_corner_once(runs):
    split = PaperDomains()(runs)
    four = [split.test[name] for name in ("high_mach", "high_altitude", "low_mach", "low_altitude")]
    np.testing.assert_array_equal(split.test["out_of_domain"], np.any(four, axis=0))


def test_the_printed_low_mach_domain_can_be_kept(runs):
    split = PaperDomains(printed=True)(runs)
    assert split.test["low_mach"].sum() == 3 * 21
    assert split.left_out["low_mach"] == 0


def test_the_seed_decides_which_runs_test(runs):
    first, again, other = (PaperDomains(seed=seed)(runs).train for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_domain_without_runs_is_refused(runs):
    with pytest.raises(SureflowError, match="leaves high_mach without a run"):
        PaperDomains()(runs.select(runs.parameters[:, 0] <= 28))


def test_a_test_set_that_takes_all_runs_is_refused(runs):
    with pytest.raises(SureflowError, match="holding out 255 of 255 in-domain runs leaves none"):
        PaperDomains(test_runs=255)(runs)


def test_the_papers_split_needs_its_parameters():
    data = Runs.from_arrays({"angle": np.arange(4.0)}, np.zeros((1, 2)), {"T": np.zeros((4, 1))})
    with pytest.raises(SureflowError, match="needs the parameter mach"):
        PaperDomains()(data)


def test_files_name_it_paper():
    split = SPLITS.build({"kind": "paper", "test_runs": 5})
    assert split == PaperDomains(test_runs=5)
    assert SPLITS.build(SPLITS.describe(split)) == split
