"""Proposals fill the gaps between the runs, as the model sees them."""

import numpy as np
import pytest

import sureflow as sf
import synthetic


@pytest.fixture(scope="module")
def model():
    conditions = synthetic.grid()
    gap = (np.abs(conditions - [20.0, 40.0]) < [1.0, 1.0]).all(axis=1)
    return sf.fit(synthetic.runs(conditions[~gap]), "interpolation", calibrate=False)


def test_the_first_proposal_is_in_the_gap(model):
    first = sf.propose(model, count=1).iloc[0]
    assert abs(first.mach - 20.0) < 4.0
    assert abs(first.altitude_km - 40.0) < 8.0


def test_proposals_keep_away_from_each_other_and_come_in_order(model):
    table = sf.propose(model, count=6)
    assert list(table.columns) == ["mach", "altitude_km", "distance", "mean_std"]
    assert (np.diff(table.distance) <= 0).all()
    assert len(table[["mach", "altitude_km"]].drop_duplicates()) == 6
    assert (table.mean_std > 0).all()
    assert sf.propose(model, count=6).equals(table)


def test_declared_ranges_are_what_is_filled():
    angle, x = np.linspace(0.0, 4.0, 6), np.linspace(0.0, 1.0, 10)[:, None]
    fields = {"p": [np.sin(one + x[:, 0]) for one in angle]}
    runs = sf.Runs.from_arrays({"angle": angle}, x, fields, ranges={"angle": (0.0, 9.0)})
    assert sf.propose(sf.fit(runs, "interpolation"), count=1).angle[0] == pytest.approx(9.0, abs=0.05)


def test_none_are_refused(model):
    with pytest.raises(sf.SureflowError, match="count=0 must be at least 1"):
        sf.propose(model, count=0)
