from dataclasses import replace

import numpy as np
import pytest

import synthetic
from sureflow.data.header import Variable
from sureflow.data.splits import SPLITS, AllRuns, CampaignParts, RandomRuns, space_filling
from sureflow.errors import SureflowError
from sureflow.validation import plain


def test_all_runs_train():
    division = AllRuns()(synthetic.runs())
    assert division.train.all()
    assert division.test == {}


def test_random_runs():
    runs = synthetic.runs()
    division = RandomRuns(test_runs=7)(runs)
    assert division.test["in_domain"].sum() == 7
    np.testing.assert_array_equal(division.train, ~division.test["in_domain"])
    first, again, other = (RandomRuns(test_runs=7, seed=seed)(runs).train for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    with pytest.raises(
        SureflowError, match="holding out 25 of 25 in-domain runs leaves none to train on: hold out fewer"
    ):
        RandomRuns(test_runs=25)(runs)


def in_parts(parts: list[str]):
    """25 runs of which every third is of the second part, and one was added later."""
    number = np.where(np.arange(25) % 3 == 2, 1.0, 0.0)
    number[7] = np.nan
    runs = synthetic.runs()
    header = replace(runs.header, numbers=(Variable("part", "1"),), made_by={**runs.header.made_by, "parts": parts})
    return replace(runs, header=header, numbers=number[:, None])


def test_parts_of_a_campaign_train_and_test():
    division = CampaignParts()(in_parts(["train", "in_domain"]))
    assert list(division.test) == ["in_domain"]
    assert (division.train.sum(), division.test["in_domain"].sum()) == (16, 8)
    assert not (division.train | division.test["in_domain"])[7]
    with pytest.raises(SureflowError, match="a part named 'train'; the parts of these are other, in_domain"):
        CampaignParts()(in_parts(["other", "in_domain"]))
    with pytest.raises(SureflowError, match="the parts of these are not named"):
        CampaignParts()(synthetic.runs())


def test_splits_are_chosen_by_kind():
    split = SPLITS.build({"kind": "random", "test_runs": 3})
    assert split == RandomRuns(test_runs=3)
    assert SPLITS.describe(split) == {"kind": "random", **plain(split)}
    assert list(SPLITS) == ["all", "random", "parts", "paper"]


def test_space_filling_runs_span_the_box():
    grid = np.array([(m, a) for m in np.arange(12.0, 29.0) for a in np.arange(26.0, 55.0, 2.0)])
    four = grid[space_filling(grid, 4)]
    assert {tuple(run) for run in four} == {(12.0, 26.0), (28.0, 54.0), (12.0, 54.0), (28.0, 26.0)}
    sixteen = space_filling(grid, 16)
    assert sixteen.sum() == 16
    assert not (space_filling(grid, 4) & ~sixteen).any()  # fewer runs are a part of more
    with pytest.raises(SureflowError, match="runs=300 of 255 training runs"):
        space_filling(grid, 300)
